namespace RedKite.Server.Tests.Limits;

/// <summary>Requests that would exhaust a stack if what reads them recursed with their length. They execute on a thread with little of it.</summary>
public sealed class HostileNestingTests
{
    private const int StackBytes = 256 * 1024;
    private const int Length = 100_000;

    [Fact]
    public async Task Nothing_recurses_as_deep_as_a_request_is_long()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        using RedKiteSession client = server.CreateSession();
        client.Execute("RPUSH", "list", "a", "b");
        client.Execute("SET", "a", "x");
        client.Execute("SET", "long", new string('a', 1000));
        string parentheses = new('(', Length);
        string[][] requests =
        [
            ["ACL", "SETUSER", "u", parentheses + new string(')', Length)],
            ["ACL", "SETUSER", "u", .. Enumerable.Repeat("(", Length)],
            ["ACL", "SETUSER", "u", "+" + string.Concat(Enumerable.Repeat("config|", Length))],
            ["KEYS", string.Concat(Enumerable.Repeat("*a", Length))],
            ["KEYS", string.Concat(Enumerable.Repeat("[", Length))],
            ["KEYS", string.Concat(Enumerable.Repeat("\\", Length))],
            ["LCS", "long", "a", "IDX"],
            ["SORT", "list", "BY", string.Concat(Enumerable.Repeat("*->", Length)), "ALPHA"],
            ["SORT", "list", "ALPHA", .. Enumerable.Repeat(new[] { "GET", "*" }, Length / 4).SelectMany(words => words)],
            ["RESTORE", "r", "0", new string('\u0001', Length)],
            ["COMMAND", "GETKEYS", "COMMAND", .. Enumerable.Repeat("GETKEYS", Length)],
            ["GEORADIUS", "g", "0", "0", "1", .. Enumerable.Repeat("m", Length)],
            ["BITFIELD", "b", .. Enumerable.Repeat(new[] { "OVERFLOW", "WRAP" }, Length / 4).SelectMany(words => words)],
        ];
        var replies = new List<RedKiteReply>();
        var thread = new Thread(() => replies.AddRange(requests.Select(request => client.Execute(request))), StackBytes);
        thread.Start();
        thread.Join();
        Assert.Equal(requests.Length, replies.Count);
        Assert.Equal("PONG", client.Execute("PING").Text);
    }
}
