using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>Keys and fields that no command meets are reported when the server itself finds that they have expired.</summary>
public sealed class ActiveExpiryEventTests(WatchedServers servers) : IClassFixture<WatchedServers>
{
    private const int PatienceMs = 60_000;

    private static readonly string[] Script =
    [
        "SET string 1 PX 30", "SET stays 1", "RPUSH list 1 2", "PEXPIRE list 40", "SADD set 1 2", "PEXPIRE set 50", "ZADD zset 1 a", "PEXPIRE zset 60", "XADD stream 1-1 a 1", "PEXPIRE stream 70",
        "HSET hash a 1 b 2", "PEXPIRE hash 80",
        "HSET packed a 1 b 2 c 3", "HPEXPIRE packed 30 FIELDS 1 a", "HPEXPIRE packed 60 FIELDS 1 b",
        "HSET table 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9", "HPEXPIRE table 30 FIELDS 3 1 2 3", "HPEXPIRE table 60 FIELDS 1 4",
        "HSET whole a 1 b 2", "HPEXPIRE whole 30 FIELDS 1 a", "HPEXPIRE whole 90 FIELDS 1 b",
        "HSET wholetable 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8", "HPEXPIRE wholetable 50 FIELDS 8 1 2 3 4 5 6 7 8",
        "SELECT 1", "SET string 1 PX 30", "HSET hash a 1", "HPEXPIRE hash 30 FIELDS 1 a", "SELECT 0",
    ];

    [Fact(Timeout = 300_000)]
    public async Task Keys_and_fields_that_expire_untouched_have_the_events_of_Redis()
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "events: " + OracleProgram.Redis8Missing);
        List<string> oracle = await Task.Run(() => Run(servers.Oracle, events => events.Contains("0 del wholetable") && Remaining(servers.Oracle) == (3, 1, 5)), TestContext.Current.CancellationToken);
        List<string> expected = EventsByKey(oracle);
        List<string> subject = await Task.Run(() => Run(servers.Subject, events => EventsByKey(events).SequenceEqual(expected)), TestContext.Current.CancellationToken);

        Assert.Equal(expected, EventsByKey(subject));
        Assert.Contains("0 expired string", subject);
        Assert.Contains("0 hexpired packed", subject);
        Assert.Contains("1 del hash", subject);
    }

    private static List<string> Run(IWatchedServer server, Func<List<string>, bool> isComplete)
    {
        server.Reset();

        // In a transaction time stands still: nothing expires between two commands, however slow the machine is.
        foreach (string command in (string[])["MULTI", .. Script, "EXEC"]) Assert.False(server.Control.Run(command).IsError, command);
        server.Control.Run("DEBUG SET-ACTIVE-EXPIRE 1");
        List<string> events = [];
        Stopwatch clock = Stopwatch.StartNew();
        do
        {
            Thread.Sleep(20);
            events.AddRange(server.TakeEvents());
        }
        while (!isComplete(events) && clock.ElapsedMilliseconds < PatienceMs);
        server.Control.Run("DEBUG SET-ACTIVE-EXPIRE 0");

        // The server may have removed a key whose event is still on its way: it has come when a later one has.
        server.Control.Run("SET last 1");
        while (!events.Contains("0 set last") && clock.ElapsedMilliseconds < 2 * PatienceMs)
        {
            Thread.Sleep(5);
            events.AddRange(server.TakeEvents());
        }

        events.RemoveAll(text => text.EndsWith(" last", StringComparison.Ordinal));
        return events;
    }

    // Of Redis: a hash's length counts expired fields that are still there.
    private static (long Keys, long Packed, long Table) Remaining(IWatchedServer server) =>
        (server.Control.Run("DBSIZE").Number, server.Control.Run("HLEN packed").Number, server.Control.Run("HLEN table").Number);

    // Which of several expired keys is found first is each server's own affair; a key's own events have an order.
    private static List<string> EventsByKey(List<string> events) =>
        [.. events.GroupBy(text => (text.Split(' ')[0], text.Split(' ')[2])).Select(key => $"{key.Key}: {string.Join(", ", Collapse(key))}").Order(StringComparer.Ordinal)];

    // Fields of one hash that are found together make one event, and how many are is chance.
    private static IEnumerable<string> Collapse(IEnumerable<string> events)
    {
        string last = "";
        foreach (string text in events)
        {
            if (text != last || !text.Contains(" hexpired ", StringComparison.Ordinal)) yield return text;
            last = text;
        }
    }
}
