using System.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Fuzz.Tests;

/// <summary>A server in this process, and its invariants after every round.</summary>
internal sealed class FuzzedServer : IAsyncDisposable
{
    private const int PatienceMs = 60_000;
    private const long HeapGrowthMax = 256L << 20;

    private readonly string _folder;
    private readonly long _heapBytes = GC.GetTotalMemory(forceFullCollection: true);

    private FuzzedServer(RedKiteServer server, string folder)
    {
        Server = server;
        Grammar = new RequestGrammar(server.Engine.Commands);
        _folder = folder;
    }

    internal RedKiteServer Server { get; }

    internal RequestGrammar Grammar { get; }

    internal static async Task<FuzzedServer> StartAsync(string transport, Action<RedKiteOptions>? configure = null, bool guardsMemory = false)
    {
        string folder = Directory.CreateTempSubdirectory("redkite-fuzz-").FullName;
        var options = new RedKiteOptions { Port = 0, GuardsMemory = guardsMemory };
        options.Settings["dir"] = folder;
        options.Settings["transport"] = transport;
        options.Settings["loops"] = "2";
        options.Settings["enable-debug-command"] = "yes";
        options.Settings["enable-module-command"] = "yes";
        options.Settings["proto-max-bulk-len"] = "1048576"; // keeps commands from allocating half a gigabyte of zeros
        configure?.Invoke(options);
        return new FuzzedServer(await RedKiteServer.StartAsync(options), folder);
    }

    /// <summary>A stream: valid requests, damaged ones, or noise.</summary>
    internal byte[] Stream(Random random) => random.Next(5) switch
    {
        0 => StreamMutation.RandomBytes(random),
        < 3 => StreamMutation.Mutate(Grammar.Stream(random, random.Next(1, 40)), random),
        _ => Grammar.Stream(random, random.Next(1, random.Next(5) == 0 ? 400 : 40)),
    };

    /// <summary>Asserts that the server runs, replies to a new client, has removed the others, and releases all memory.</summary>
    internal void AssertInvariants()
    {
        if (Server.Failure is { } failure) throw new FuzzFailureException($"The server broke: {failure}");
        if (Server.Stopped.IsCompleted) throw new FuzzFailureException("The server stopped.");
        using (RespConnection fresh = RespConnection.Connect(Server.Port, PatienceMs))
        {
            RespValue pong = fresh.Run("PING");
            if (pong.ToString() != "+PONG") throw new FuzzFailureException($"A fresh client's PING was answered with {pong}.");
        }

        Await(() => Server.Engine.Clients.Count == 0, () => $"{Server.Engine.Clients.Count} clients are still there after all have left.");
    }

    /// <summary>Asserts that the emptied store has no blocks left and that the managed heap has not grown permanently.</summary>
    internal void AssertMemoryReturns()
    {
        Empty();
        Await(IsEmptied, () => $"{Server.Engine.Keyspace.UsedBytes} bytes are used although every database is empty.");
        long growth = GC.GetTotalMemory(forceFullCollection: true) - _heapBytes;
        if (growth > HeapGrowthMax) throw new FuzzFailureException($"The managed heap grew by {growth} bytes.");
    }

    /// <summary>Moves every block.</summary>
    internal void MoveAll()
    {
        new Store.Keyspace.Defragmentation(Server.Engine.Keyspace, 0, 1).MoveAll();
        using Store.Keyspace.LockScope locked = Server.Engine.Keyspace.LockAll();
        Server.Engine.Keyspace.CheckGuards();
    }

    /// <summary>Asserts that every command of the grammar reached its handler: a fuzzer that misses some proves little.</summary>
    internal void AssertEveryCommandWasReached()
    {
        ExecutorMetrics[] executors = Server.Engine.Metrics.Executors;
        string[] missed = [.. Grammar.Commands.Where(command => executors.All(executor => executor.Of(command.Index).Calls == 0)).Select(command => command.FullName)];
        if (missed.Length > 0) throw new FuzzFailureException($"Never executed: {string.Join(", ", missed)}.");
    }

    /// <summary>Asserts that the server sent valid replies; the last one may be truncated if the connection ended.</summary>
    internal static void AssertReplies(byte[] received, bool mayBeCut)
    {
        int at = 0;
        var reader = new RespReader((buffer, offset) =>
        {
            int count = Math.Min(received.Length - at, buffer.Length - offset);
            received.AsSpan(at, count).CopyTo(buffer.AsSpan(offset));
            at += count;
            return count;
        });
        while (true)
        {
            RespValue reply = reader.Read();
            if (reply.IsClosed) return;
            if (reply.Marker != '\u0003') continue;
            if (mayBeCut && reply.Text.StartsWith("cut by close", StringComparison.Ordinal)) return;
            throw new FuzzFailureException($"The server sent something that is no reply: {Shown(reply.Text)}");
        }
    }

    internal static string Shown(byte[] stream) => Shown(CommandLine.Format(stream));

    public async ValueTask DisposeAsync()
    {
        await Server.DisposeAsync();
        Directory.Delete(_folder, recursive: true);
    }

    private static string Shown(string text) => text.Length <= 4_000 ? text : string.Concat(text.AsSpan(0, 4_000), "...");

    // A client that left early may be accepted, and its input executed, after all others have gone.
    private bool IsEmptied()
    {
        bool hasKeys = false;
        foreach (Store.Keyspace.Database database in Server.Engine.Keyspace.Databases) hasKeys |= database.Count > 0;
        if (hasKeys) Empty();
        return Server.Engine.Keyspace.UsedBytes == 0;
    }

    private void Empty()
    {
        using Store.Keyspace.LockScope locked = Server.Engine.Keyspace.LockAll();
        foreach (Store.Keyspace.Database database in Server.Engine.Keyspace.Databases) database.Clear();
    }

    internal static void Await(Func<bool> condition, Func<string> otherwise)
    {
        var clock = Stopwatch.StartNew();
        while (!condition())
        {
            if (clock.ElapsedMilliseconds > PatienceMs) throw new FuzzFailureException(otherwise());
            Thread.Sleep(1);
        }
    }
}
