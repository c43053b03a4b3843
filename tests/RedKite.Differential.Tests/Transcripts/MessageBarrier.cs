using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// Reads what a server has sent to a client, pushes and replies alike, up to the reply to a second PING: pushes of prefixes follow the
/// replies to all commands that Redis read at once, and so perhaps the reply to the first.
/// </summary>
internal static class MessageBarrier
{
    private const string Word = "barrier";
    private const int RoundsMin = 2;
    private const int PatienceMs = 60_000;

    /// <param name="connection">A client that may PING.</param>
    /// <param name="atLeast">
    /// How many messages are expected. A message of another client may take a moment longer than that client's reply, and so may follow the PING.
    /// </param>
    internal static List<RespValue> Read(RespConnection connection, int atLeast = 0)
    {
        var messages = new List<RespValue>();
        var clock = Stopwatch.StartNew();
        int rounds = 0;
        do
        {
            connection.SendCommand($"PING {Word}");
            while (true)
            {
                RespValue message = connection.ReadAny();
                if (IsBarrier(message)) break;
                messages.Add(message);
                if (message.IsClosed || message.IsTimeout) return messages;
            }
        }
        while (++rounds < RoundsMin || (messages.Count < atLeast && clock.ElapsedMilliseconds < PatienceMs));
        return messages;
    }

    /// <summary>Messages as text. Without an order, names and counts of subscriptions are sorted apart from each other.</summary>
    internal static string Shown(IReadOnlyList<RespValue> messages, bool isOrdered)
    {
        if (isOrdered) return string.Join('\n', messages.Select(message => message.ToString()));
        IEnumerable<string> names = messages.Select(message => IsConfirmation(message) ? $"{message.Marker} {message.Items[0]} {message.Items[1]}" : message.ToString());
        IEnumerable<string> counts = messages.Where(IsConfirmation).Select(message => message.Items[2].ToString());
        return string.Join('\n', [.. names.Order(StringComparer.Ordinal), .. counts]);
    }

    // A subscriber over RESP2 gets an array.
    private static bool IsBarrier(RespValue message) => message.Text == Word || (message.Items is [_, { Text: Word }] && message.Items[0].Text == "pong");

    private static bool IsConfirmation(RespValue message) => message.Items is [_, _, { IsInteger: true }];
}
