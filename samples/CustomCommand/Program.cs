// Commands of the application's own, in C#: they run in the server, with their keys locked, and every Redis client can call them.
using RedKite;

var options = new RedKiteOptions { Port = 0 };
options.Commands.Add(typeof(LeaderboardCommands));
await using RedKiteServer server = await RedKiteServer.StartAsync(options);
RedKiteClient client = server.CreateClient();

foreach ((string player, int points) in new[] { ("ann", 30), ("bob", 50), ("cid", 40), ("ann", 25) })
{
    Console.WriteLine($"{player} has {client.Execute("LEADERBOARD.SCORE", "game:1", player, $"{points}").Text} points");
}

Console.WriteLine($"members and scores of the best: {string.Join(", ", client.Execute("LEADERBOARD.TOP", "game:1", "2").Items.Select(item => item.Text))}");
Console.WriteLine($"refused: {client.Execute("LEADERBOARD.SCORE", "game:1", "ann", "-5").Text}");
Console.WriteLine($"arguments are checked: {client.Execute("LEADERBOARD.TOP", "game:1", "two").Text}");
Console.WriteLine($"one more command: {client.Execute("COMMAND", "DOCS", "LEADERBOARD.TOP").Items[1].Items[1].Text}");

internal static class LeaderboardCommands
{
    [RedKiteCommand("LEADERBOARD.SCORE", Summary = "Adds points to a player and remembers when.")]
    public static double Score(RedKiteCommandKeys keys, [RedKiteKey] string board, string player, int points)
    {
        if (points < 0) throw new RedKiteException("ERR", "ERR points are not taken away");
        keys.Expire(board, TimeSpan.FromDays(30));
        return keys.SortedSetIncrement(board, player, points);
    }

    [RedKiteCommand("LEADERBOARD.TOP", IsReadOnly = true, Summary = "Returns the best players, best first.")]
    public static RedKitePairs Top(RedKiteCommandKeys keys, [RedKiteKey] string board, int count) =>
        keys.SortedSetRangeByRank(board, 0, count - 1, fromHighest: true);
}
