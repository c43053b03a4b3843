using System.Diagnostics;
using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Store.Tests.Keyspace;

public class StripeLockTests
{
    private StripeLock _lock = new();
    private long _plain;
    private int _inside;

    [Theory]
    [InlineData(2, 50_000, 0)]
    [InlineData(16, 50_000, 0)]
    [InlineData(4, 4_000, 40)] // sometimes held for long, so that the others sleep
    [InlineData(12, 1_500, 40)]
    public void One_thread_at_a_time_is_inside(int threads, int turns, int turnsPerLongOne)
    {
        int intruders = 0;
        Run(threads, _ =>
        {
            for (int i = 0; i < turns; i++)
            {
                _lock.Enter();
                if (++_inside != 1) Interlocked.Increment(ref intruders);
                _plain++;
                if (i % 64 == 0) Thread.Yield();
                if (turnsPerLongOne > 0 && i % turnsPerLongOne == 0) SpinFor(TimeSpan.FromMicroseconds(150));
                _inside--;
                _lock.Exit();
            }
        });
        Assert.Equal(0, intruders);
        Assert.Equal((long)threads * turns, _plain);
        Assert.False(_lock.IsHeld);
        if (turnsPerLongOne > 0) Assert.NotEqual(0, _lock.Parks);
    }

    [Fact]
    public void Waiting_is_counted()
    {
        HoldWhileAnotherParks();
        Assert.Equal(1, _lock.Contended);
        Assert.Equal(1, _lock.Parks);
        Assert.InRange(_lock.Waited, TimeSpan.FromMicroseconds(20), TimeSpan.FromSeconds(60));
    }

    [Fact]
    public void Uncontended_lock_never_waits()
    {
        for (int i = 0; i < 1_000; i++)
        {
            _lock.Enter();
            _lock.Exit();
        }

        Assert.Equal(0, _lock.Contended);
        Assert.Equal(0, _lock.Parks);
        Assert.Equal(TimeSpan.Zero, _lock.Waited);
    }

    [Fact]
    public void TryEnter_enters_only_a_free_lock()
    {
        Assert.True(_lock.TryEnter());
        Assert.True(_lock.IsHeld);
        Assert.False(_lock.TryEnter());
        _lock.Exit();
        Assert.False(_lock.IsHeld);
        Assert.True(_lock.TryEnter());
    }

    // Redis serves its other clients meanwhile; here at least their processors are free for other work.
    [Fact]
    public void Long_wait_uses_no_cpu_time()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "A thread's processor time is read from /proc.");
        const int Threads = 3;
        double[] cpuMs = new double[Threads];
        _lock.Enter();
        Thread[] waiters = [.. Enumerable.Range(0, Threads).Select(index => new Thread(() =>
        {
            double before = ThreadCpuMs();
            _lock.Enter();
            cpuMs[index] = ThreadCpuMs() - before;
            _lock.Exit();
        }))];
        foreach (Thread waiter in waiters) waiter.Start();
        WaitUntilParked(waiters);
        Thread.Sleep(200);
        _lock.Exit();
        foreach (Thread waiter in waiters) waiter.Join();
        Assert.Equal(Threads, _lock.Parks);
        Assert.All(cpuMs, used => Assert.InRange(used, 0, 5));
    }

    [Fact]
    public void Repeatedly_overtaken_thread_eventually_gets_the_lock()
    {
        const int Turns = 50;
        bool done = false;
        var busy = new Thread(() =>
        {
            while (!Volatile.Read(ref done))
            {
                _lock.Enter();
                SpinFor(TimeSpan.FromMicroseconds(100));
                _lock.Exit(); // and enters again at once, before a sleeping thread can
            }
        });
        busy.Start();
        var longest = TimeSpan.Zero;
        for (int i = 0; i < Turns; i++)
        {
            long start = Stopwatch.GetTimestamp();
            _lock.Enter();
            TimeSpan waited = Stopwatch.GetElapsedTime(start);
            if (waited > longest) longest = waited;
            _lock.Exit();
        }

        Volatile.Write(ref done, true);
        busy.Join();
        if (TestScale.IsLong) Assert.InRange(longest, TimeSpan.Zero, TimeSpan.FromSeconds(1)); // 1 ms, a wake-up, and what the machine adds
    }

    [Fact]
    public void Interrupt_is_deferred_until_the_lock_is_entered()
    {
        bool entered = false, interrupted = false;
        _lock.Enter();
        var waiter = new Thread(() =>
        {
            _lock.Enter();
            entered = true;
            _lock.Exit();
            try
            {
                Thread.Sleep(10_000);
            }
            catch (ThreadInterruptedException)
            {
                interrupted = true;
            }
        });
        waiter.Start();
        for (int i = 0; i < 20; i++)
        {
            Thread.Sleep(5);
            waiter.Interrupt();
            Assert.False(Volatile.Read(ref entered));
        }

        _lock.Exit();
        waiter.Join();
        Assert.True(entered);
        Assert.True(interrupted);
        Assert.True(_lock.TryEnter());
    }

    internal static void Run(int threads, Action<int> work)
    {
        var failures = new System.Collections.Concurrent.ConcurrentQueue<Exception>();
        Thread[] all = [.. Enumerable.Range(0, threads).Select(index => new Thread(() =>
        {
            try
            {
                work(index);
            }
            catch (Exception failure)
            {
                failures.Enqueue(failure);
            }
        }))];
        foreach (Thread thread in all) thread.Start();
        foreach (Thread thread in all) thread.Join();
        if (!failures.IsEmpty) throw new AggregateException(failures);
    }

    private void HoldWhileAnotherParks()
    {
        _lock.Enter();
        var waiter = new Thread(() =>
        {
            _lock.Enter();
            _lock.Exit();
        });
        waiter.Start();
        WaitUntilParked(waiter);
        _lock.Exit();
        waiter.Join();
    }

    private static void WaitUntilParked(params Thread[] waiters) =>
        Assert.True(SpinWait.SpinUntil(() => waiters.All(waiter => (waiter.ThreadState & System.Threading.ThreadState.WaitSleepJoin) != 0), 60_000));

    private static void SpinFor(TimeSpan time)
    {
        long start = Stopwatch.GetTimestamp();
        while (Stopwatch.GetElapsedTime(start) < time) Thread.SpinWait(10);
    }

    // The first number is the time on a processor, in nanoseconds.
    private static double ThreadCpuMs() =>
        long.Parse(File.ReadAllText("/proc/thread-self/schedstat").Split(' ')[0], CultureInfo.InvariantCulture) / 1e6;
}
