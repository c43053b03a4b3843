using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Commands that look at all clients, with thousands of them on two loops: they work, need no lock of the data, and occupy their own loop
/// alone. What is compared are counts and shares, which a busy machine does not change.
/// </summary>
public sealed class ManyClientsTests
{
    private static readonly int ClientCount = TestScale.Of(gate: 1_000, full: 10_000);
    private static readonly int SubscriberCount = ClientCount / 10;
    private const int BlockedCount = 100;
    private const int SpareFiles = 1_000;
    private const int PatienceMs = 60_000;
    private const int ListCount = 300;

    [Fact]
    public void Thousands_of_clients_are_listed_unblocked_and_closed_while_others_are_served()
    {
        SkipWithFewFiles();
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--loops", "2", "--stripes", "1", "--maxclients", "12000", "--tcp-backlog", "1024");
        using RespConnection first = ConnectTo(server, loop: 0), second = ConnectTo(server, loop: 1);
        List<RespConnection> clients = [];
        try
        {
            for (int i = 0; i < ClientCount; i++) clients.Add(server.Connect());
            foreach (RespConnection client in clients) client.SendCommand("PING");
            foreach (RespConnection client in clients) client.Read().IsSimple("PONG");
            AssertListed(first);
            // With few clients the lists are too quick to be compared.
            if (TestScale.IsLong) AssertOtherLoopIsServed(first, second);
            if (TestScale.IsLong) AssertOtherLoopRests(server, first);
            AssertNoStripeIsNeeded(first, second);
            AssertUnblocked(first, clients[..BlockedCount]);
            AssertKilled(first, second, clients);
        }
        finally
        {
            foreach (RespConnection client in clients) client.Dispose();
        }
    }

    private static void AssertListed(RespConnection client)
    {
        string[] lines = client.Run("CLIENT LIST").Text.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(ClientCount + 2, lines.Length);
        Assert.Equal(lines.Length, lines.Select(line => Field(line, "id")).Distinct().Count());
        int ofFirst = lines.Count(line => Field(line, "io-thread") == "0");
        Assert.InRange(ofFirst, ClientCount / 3, ClientCount * 2 / 3); // both loops have their share
    }

    // The loop of the lists has no reply sent before the last one is done: each PING that is answered until then was not in their way.
    private static void AssertOtherLoopIsServed(RespConnection lister, RespConnection other)
    {
        lister.Send(Lists());
        using var done = new ManualResetEventSlim();
        var reader = new Thread(() =>
        {
            for (int i = 0; i < ListCount; i++) lister.Read().IsBulk("");
            done.Set();
        });
        reader.Start();
        int answered = 0;
        while (!done.IsSet)
        {
            other.Run("PING").IsSimple("PONG");
            if (!done.IsSet) answered++;
        }

        reader.Join();
        Assert.True(answered >= 10, $"{answered} PINGs were answered while {ListCount} lists were made");
    }

    private static void AssertOtherLoopRests(ServerProcess server, RespConnection lister)
    {
        Dictionary<string, long> before = LoopCpuNs(server);
        lister.Send(Lists());
        for (int i = 0; i < ListCount; i++) lister.Read().IsBulk("");
        long[] spent = [.. LoopCpuNs(server).Select(pair => pair.Value - before.GetValueOrDefault(pair.Key)).OrderDescending()];
        Assert.True(spent[1] < spent[0] / 4, $"the loop of the lists took {spent[0] / 1_000_000} ms of CPU, another {spent[1] / 1_000_000} ms");
    }

    // A script has the only stripe's lock until it is killed: a command that needed it would not be answered before.
    private static void AssertNoStripeIsNeeded(RespConnection scripted, RespConnection caller)
    {
        caller.Run("CONFIG SET busy-reply-threshold 3600000").IsOk();
        scripted.SendCommand("EVAL \"redis.call('GET', KEYS[1]) while true do end\" 1 key");
        Thread.Sleep(200); // it has begun
        Assert.Equal(ClientCount + 2, caller.Run("CLIENT LIST").Text.Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
        caller.Run("CLIENT KILL TYPE pubsub").IsInteger(0);
        caller.Run("CLIENT UNBLOCK 123456789").IsInteger(0);
        Eventually(() => !caller.Run("SCRIPT KILL").IsError, "the script runs");
        Assert.True(scripted.Read().IsError);
    }

    private static void AssertUnblocked(RespConnection caller, List<RespConnection> waiting)
    {
        string[] ids = [.. waiting.Select(client => client.Run("CLIENT ID").Text)];
        foreach (RespConnection client in waiting) client.SendCommand("BLPOP nosuch 0");
        Eventually(() => Info(caller, "blocked_clients") == BlockedCount, "all are blocked");
        foreach (string id in ids) caller.Run($"CLIENT UNBLOCK {id} ERROR").IsInteger(1);
        foreach (RespConnection client in waiting) Assert.StartsWith("UNBLOCKED", client.Read().Text, StringComparison.Ordinal);
        foreach (string id in ids) caller.Run($"CLIENT UNBLOCK {id}").IsInteger(0);
    }

    private static void AssertKilled(RespConnection caller, RespConnection other, List<RespConnection> clients)
    {
        string id = clients[0].Run("CLIENT ID").Text;
        caller.Run($"CLIENT KILL ID {id}").IsInteger(1);
        clients[0].Read().IsClosed();
        caller.Run($"CLIENT KILL ID {id}").IsInteger(0);

        List<RespConnection> subscribers = clients[1..(SubscriberCount + 1)];
        foreach (RespConnection client in subscribers) client.Run("SUBSCRIBE news");
        caller.Run("CLIENT KILL TYPE pubsub").IsInteger(SubscriberCount);
        foreach (RespConnection client in subscribers) client.Read().IsClosed();
        other.Run("PING").IsSimple("PONG");

        // All that are left, with the other client of this test.
        caller.Run("CLIENT KILL TYPE normal").IsInteger(ClientCount - 1 - SubscriberCount + 1);
        foreach (RespConnection client in clients[(SubscriberCount + 1)..]) client.Read().IsClosed();
        Eventually(() => Info(caller, "connected_clients") == 1, "only the caller is left");
    }

    // They sort all clients and show none, so that one reply takes them all.
    private static string Lists() => string.Concat(Enumerable.Repeat("*4\r\n$6\r\nCLIENT\r\n$4\r\nLIST\r\n$4\r\nTYPE\r\n$6\r\npubsub\r\n", ListCount));

    private static RespConnection ConnectTo(ServerProcess server, int loop)
    {
        for (int i = 0; i < 100; i++)
        {
            RespConnection client = server.Connect();
            if (Field(client.Run("CLIENT INFO").Text, "io-thread") == loop.ToString(CultureInfo.InvariantCulture)) return client;
            client.Dispose();
        }

        throw new TranscriptException($"no connection came to loop {loop}");
    }

    private static string Field(string line, string name) => line.Split(' ').First(field => field.StartsWith(name + "=", StringComparison.Ordinal))[(name.Length + 1)..].TrimEnd();

    private static long Info(RespConnection client, string field)
    {
        string line = client.Run("INFO clients").Text.Split("\r\n").First(line => line.StartsWith(field + ":", StringComparison.Ordinal));
        return long.Parse(line.AsSpan(field.Length + 1), CultureInfo.InvariantCulture);
    }

    // The time on CPUs of each loop's thread.
    private static Dictionary<string, long> LoopCpuNs(ServerProcess server) => Directory.GetDirectories($"/proc/{server.Id}/task")
        .Where(task => File.ReadAllText(task + "/comm").StartsWith("loop-", StringComparison.Ordinal))
        .ToDictionary(task => task, task => long.Parse(File.ReadAllText(task + "/schedstat").Split(' ')[0], CultureInfo.InvariantCulture));

    private static void SkipWithFewFiles()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite && File.Exists("/proc/self/limits"), "loops and limits are looked up as Linux and RedKite have them");
        string limit = File.ReadLines("/proc/self/limits").First(line => line.StartsWith("Max open files", StringComparison.Ordinal)).Split(' ', StringSplitOptions.RemoveEmptyEntries)[3];
        Assert.SkipWhen(limit != "unlimited" && long.Parse(limit, CultureInfo.InvariantCulture) < ClientCount + SpareFiles, $"this process may open {limit} files, fewer than {ClientCount + SpareFiles}");
    }

    private static void Eventually(Func<bool> condition, string what)
    {
        var clock = Stopwatch.StartNew();
        while (!condition())
        {
            Assert.True(clock.ElapsedMilliseconds < PatienceMs, $"not within {PatienceMs} ms: {what}");
            Thread.Sleep(20);
        }
    }
}
