using System.Diagnostics;
using RedKite.Store.Memory;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution;

/// <summary>While a long command of one loop holds a stripe, a loop that waits for it sleeps.</summary>
[Alone]
public sealed class LongCommandTests : NetworkTests
{
    private const int LeastMs = 30; // so long that spinning would show
    private const int MembersPerRequest = 1000;
    private const int MembersMax = 6_000_000;

    // There is more and more data until the other client has waited for the command long enough.
    [Theory]
    [InlineData("SINTERCARD 2 set set", "SADD set")]
    [InlineData("SORT list ALPHA LIMIT 0 1", "RPUSH list")]
    [InlineData("KEYS none*", "SETS")]
    public async Task Waiting_for_a_long_command_takes_little_cpu(string command, string adds)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "the CPU of a thread is known on Linux alone");
        var probe = new CpuProbe();
        var options = new RedKiteOptions { Port = 0, Settings = { ["loops"] = "2", ["stripes"] = "1", ["transport"] = "epoll" }, Behaviors = { probe } };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        (RespConnection busy, RespConnection waiting) = ConnectToBothLoops(server);
        using (busy)
        using (waiting)
        {
            int members = 0;
            for (int goal = 100_000; goal < MembersMax; goal *= 2)
            {
                for (; members < goal; members += MembersPerRequest) Add(server, adds, members);
                (double waitedMs, double cpuMs) = Measure(busy, waiting, probe, command);
                if (waitedMs < LeastMs) continue;
                Assert.InRange(cpuMs, 0, waitedMs / 5);
                return;
            }
        }

        Assert.Fail($"{command} never took {LeastMs} ms");
    }

    private static void Add(RedKiteServer server, string adds, int first)
    {
        string[] members = [.. Enumerable.Range(first, MembersPerRequest).Select(member => $"m{member}")];
        string[] request = adds == "SETS" ? ["MSET", .. members.SelectMany(member => (string[])[member, "1"])] : [.. adds.Split(' '), .. members];
        Assert.False(server.Execute(request).IsError);
    }

    private static (double WaitedMs, double CpuMs) Measure(RespConnection busy, RespConnection waiting, CpuProbe probe, string command)
    {
        waiting.Run("ECHO before").IsBulk("before");
        long before = probe.CpuNs;
        busy.SendCommand(command);
        Thread.Sleep(5); // it has begun
        long start = Stopwatch.GetTimestamp();
        waiting.Run("GET missing").IsNull();
        double waitedMs = Stopwatch.GetElapsedTime(start).TotalMilliseconds;
        waiting.Run("ECHO after").IsBulk("after");
        Assert.False(busy.Read().IsError);
        return (waitedMs, (probe.CpuNs - before) / 1e6);
    }

    // ECHO replies the CPU time of the thread that executes it.
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
