using System.Diagnostics;
using RedKite.Store.Memory;
using RedKite.Testing;

namespace RedKite.Server.Tests.Execution;

/// <summary>A loop that waits for a stripe that a long command of another loop holds sleeps.</summary>
public sealed class LongCommandTests : NetworkTests
{
    private const int LeastMs = 40; // shorter ones say nothing about waiting
    private const int AttemptsMax = 20;

    [Theory]
    [InlineData("SINTERCARD 2 a b")]
    [InlineData("SORT list ALPHA LIMIT 0 1")]
    [InlineData("KEYS none*")]
    public async Task Waiting_for_a_long_command_takes_little_cpu(string command)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "the CPU of a thread is known on Linux alone");
        var probe = new CpuProbe();
        var options = new RedKiteOptions { Port = 0, Settings = { ["loops"] = "2", ["stripes"] = "1", ["transport"] = "epoll" }, Behaviors = { probe } };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options);
        for (int i = 0; i < 200; i++)
        {
            string[] members = [.. Enumerable.Range(i * 1000, 1000).Select(member => $"m{member}")];
            server.Execute(["SADD", "a", .. members]);
            server.Execute(["SADD", "b", .. members]);
            server.Execute(["RPUSH", "list", .. members]);
            server.Execute(["MSET", .. members.SelectMany(member => (string[])[member, "1"])]);
        }

        using RespConnection busy = RespConnection.Connect(server.Port);
        using RespConnection waiting = ConnectElsewhere(server, busy);
        for (int attempt = 0; attempt < AttemptsMax; attempt++)
        {
            waiting.Run("ECHO before");
            long before = probe.CpuNs;
            busy.SendCommand(command);
            long start = Stopwatch.GetTimestamp();
            while (Stopwatch.GetElapsedTime(start).TotalMilliseconds < 5) Thread.Yield(); // it has begun
            waiting.Run("GET m1").IsBulk("1");
            double waitedMs = Stopwatch.GetElapsedTime(start).TotalMilliseconds - 5;
            waiting.Run("ECHO after");
            double cpuMs = (probe.CpuNs - before) / 1e6;
            Assert.False(busy.Read().IsError);
            if (waitedMs < LeastMs) continue;
            Assert.InRange(cpuMs, 0, waitedMs / 5);
            return;
        }

        Assert.Skip("the machine is too fast, or never let both loops run");
    }

    private static RespConnection ConnectElsewhere(RedKiteServer server, RespConnection other)
    {
        while (true)
        {
            RespConnection connection = RespConnection.Connect(server.Port);
            if (LoopOf(server, connection) != LoopOf(server, other)) return connection;
            connection.Dispose();
        }
    }

    // ECHO tells the CPU time of the thread that executes it.
    private sealed class CpuProbe : Behavior
    {
        private long _cpuNs;

        internal long CpuNs => Volatile.Read(ref _cpuNs);

        public override void Invoke(ref CommandCall call)
        {
            if (call.Name == "echo") Volatile.Write(ref _cpuNs, SystemMemory.ThreadCpuNs());
            Next.Invoke(ref call);
        }
    }
}
