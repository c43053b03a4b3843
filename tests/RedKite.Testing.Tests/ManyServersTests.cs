using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Testing.Tests;

/// <summary>Test servers come and go in one process, and leave nothing behind.</summary>
[Collection(nameof(RedKiteTestServer))] // one after the other: it counts threads and handles
public sealed class ManyServersTests
{
    private const int ReleasesMax = 600;
    private const int ReleaseMs = 100;

    [Fact]
    public async Task A_few_dozen_servers_leave_nothing_behind() => await StartAndStop(30);

    [Fact]
    [Long]
    public async Task A_thousand_servers_leave_nothing_behind()
    {
        long start = Stopwatch.GetTimestamp();
        await StartAndStop(1000);
        TestContext.Current.TestOutputHelper?.WriteLine($"1,000 servers: {Stopwatch.GetElapsedTime(start).TotalSeconds:F1} s");
    }

    private static async Task StartAndStop(int servers)
    {
        await StartAndStopOne();
        (int threads, int handles, long bytes) = Counts();
        for (int i = 0; i < servers; i++) await StartAndStopOne();
        (int threadsAfter, int handlesAfter, long bytesAfter) = Counts();

        // A thread of the pool may still refer to the last server until it gets other work.
        long bytesMax = bytes + (1 << 20) + (servers * 1024L);
        for (int i = 0; i < ReleasesMax && bytesAfter > bytesMax; i++)
        {
            await Task.Delay(ReleaseMs);
            (threadsAfter, handlesAfter, bytesAfter) = Counts();
        }

        TestContext.Current.TestOutputHelper?.WriteLine($"threads {threads} to {threadsAfter}, handles {handles} to {handlesAfter}, managed bytes {bytes:N0} to {bytesAfter:N0}");
        Assert.InRange(threadsAfter, 0, threads + 8); // the pool may have grown
        Assert.InRange(handlesAfter, 0, handles + 8);
        Assert.InRange(bytesAfter, 0, bytesMax);
    }

    private static async Task StartAndStopOne()
    {
        await using RedKiteTestServer redis = await RedKiteTestServer.StartAsync();
        using var client = RespConnection.Connect(redis.Port);
        Assert.Equal("OK", client.Execute("SET", "k", "v").Text);
    }

    private static (int Threads, int Handles, long Bytes) Counts()
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        GC.Collect();
        int handles = Directory.Exists("/proc/self/fd") ? Directory.GetFiles("/proc/self/fd").Length : 0;
        using var process = Process.GetCurrentProcess();
        return (process.Threads.Count, handles, GC.GetTotalMemory(forceFullCollection: true));
    }
}
