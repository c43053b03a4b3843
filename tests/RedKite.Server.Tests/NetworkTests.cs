using System.Diagnostics;
using RedKite.TestSupport;

// Many wait for a server or for the clock.
[assembly: CollectionBehavior(MaxParallelThreads = 4)]

namespace RedKite.Server.Tests;

/// <summary>Tests over real sockets: a server with two loops in this process, on a free port, with either transport.</summary>
public abstract class NetworkTests
{
    public static TheoryData<string> Transports => OperatingSystem.IsLinux() ? ["epoll", "sockets"] : ["sockets"];

    /// <summary>The time after which an expected event counts as missing, even on a busy machine.</summary>
    internal const int PatienceMs = 60_000;

    /// <summary>Starts a server; further settings are pairs of a name and a value.</summary>
    internal static Task<RedKiteServer> StartAsync(string transport, params (string Name, string Value)[] settings) =>
        StartAsync(transport, TimeProvider.System, settings);

    /// <summary>Likewise, with the test's clock.</summary>
    internal static async Task<RedKiteServer> StartAsync(string transport, TimeProvider clock, params (string Name, string Value)[] settings)
    {
        var options = new RedKiteOptions { Port = 0, TimeProvider = clock };
        options.Settings["loops"] = "2";
        options.Settings["transport"] = transport;
        foreach ((string name, string value) in settings) options.Settings[name] = value;
        return await RedKiteServer.StartAsync(options);
    }

    /// <summary>CONFIG SET.</summary>
    internal static void Set(RedKiteServer server, string name, string value) =>
        Assert.Null(server.Engine.Configuration.Set([new(name, value)]));

    internal static void WaitFor(Func<bool> condition, string what)
    {
        Stopwatch clock = Stopwatch.StartNew();
        while (!condition())
        {
            Assert.True(clock.ElapsedMilliseconds < PatienceMs, $"timed out waiting for: {what}");
            Thread.Sleep(5);
        }
    }

    /// <summary>The id by which the server knows a connection.</summary>
    internal static long IdOf(RespConnection connection) => connection.Run("CLIENT ID").Number;

    /// <summary>Waits until a client is closed at its output limit; returns the maximum of the bytes in buffers until then.</summary>
    internal static long MaxBytesUntilClosed(RedKiteServer server)
    {
        long max = 0;
        WaitFor(
            () =>
            {
                max = Math.Max(max, server.Engine.Buffers.UsedBytes);
                return server.Engine.Metrics.Server.OutputBufferDisconnections == 1;
            },
            "a client is closed at its output limit");
        return max;
    }

    /// <summary>The event loop that a connection belongs to.</summary>
    internal static int LoopOf(RedKiteServer server, RespConnection connection) => server.Engine.Clients.Find(IdOf(connection))!.Connection!.Loop.Index;

    /// <summary>A connection to each of the two loops of a server without other clients.</summary>
    internal static (RespConnection One, RespConnection Other) ConnectToBothLoops(RedKiteServer server)
    {
        Assert.SkipWhen(Environment.ProcessorCount == 1, "loops beyond the cores get no connections");
        var one = RespConnection.Connect(server.Port);
        int loop = LoopOf(server, one);
        for (int tries = 0; tries < 100; tries++)
        {
            var other = RespConnection.Connect(server.Port);
            if (LoopOf(server, other) != loop) return (one, other);
            other.Dispose(); // the other loop stood still for long, and gets none for a while
            Thread.Sleep(50);
        }

        throw new InvalidOperationException("All connections are on one loop.");
    }
}
