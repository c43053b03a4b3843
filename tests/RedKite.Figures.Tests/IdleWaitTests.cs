using System.Diagnostics;

namespace RedKite.Figures.Tests;

/// <summary>CPU after the last reply is counted until a server is idle.</summary>
public class IdleWaitTests
{
    private Stopwatch? _watch;

    // Since the first reading: what happens before that on a busy machine is no work.
    private double Seconds => (_watch ??= Stopwatch.StartNew()).Elapsed.TotalSeconds;

    [Fact]
    public void Work_after_the_last_reply_is_counted()
    {
        // A tenth of a core for 0.4 seconds.
        LaterWork later = IdleWait.Run(() => Math.Min(Seconds, 0.4) / 10, TimeSpan.FromSeconds(30));
        Assert.True(later.BecameIdle);
        Assert.InRange(later.CpuSeconds, 0.039, 0.0401);
        Assert.InRange(later.Seconds, 0.3, 30);
    }

    [Fact]
    public void Idle_server_is_not_waited_for()
    {
        LaterWork later = IdleWait.Run(() => Seconds / 1000, TimeSpan.FromSeconds(30));
        Assert.True(later.BecameIdle);
        Assert.Equal(0, later.Seconds);
    }

    [Fact]
    public void Pauses_shorter_than_the_quiet_time_do_not_end_the_wait()
    {
        // Works for 0.1 s, rests for 0.2 s, works again for 0.1 s.
        double Cpu() => (Math.Min(Seconds, 0.1) + Math.Clamp(Seconds - 0.3, 0, 0.1)) / 2;
        LaterWork later = IdleWait.Run(Cpu, TimeSpan.FromSeconds(30), quiet: TimeSpan.FromSeconds(1));
        Assert.InRange(later.CpuSeconds, 0.099, 0.1001);
    }

    [Fact]
    public void Timers_of_an_idle_server_are_no_work()
    {
        // 3 ms once a second: a burst is far more than 2 % of its 50 ms, and far less of the quiet time.
        double Cpu() => 0.003 * (1 + Math.Floor(Seconds + 0.5));
        LaterWork later = IdleWait.Run(Cpu, TimeSpan.FromSeconds(10), quiet: TimeSpan.FromSeconds(1));
        Assert.True(later.BecameIdle);
        Assert.InRange(later.CpuSeconds, 0, 0.0091);
    }

    [Fact]
    public void Endless_work_is_reported()
    {
        LaterWork later = IdleWait.Run(() => Seconds, TimeSpan.FromMilliseconds(200));
        Assert.False(later.BecameIdle);
        Assert.InRange(later.CpuSeconds, 0.19, 30);
    }
}
