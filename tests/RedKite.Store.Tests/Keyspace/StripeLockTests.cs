using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

public class StripeLockTests
{
    private StripeLock _lock;
    private long _plain;
    private int _inside;

    [Theory]
    [InlineData(2)]
    [InlineData(16)]
    public void One_thread_at_a_time_is_inside(int threads)
    {
        const int Turns = 50_000;
        int intruders = 0;
        Run(threads, _ =>
        {
            for (int i = 0; i < Turns; i++)
            {
                _lock.Enter();
                if (++_inside != 1) Interlocked.Increment(ref intruders);
                _plain++;
                if (i % 64 == 0) Thread.Yield();
                _inside--;
                _lock.Exit();
            }
        });
        Assert.Equal(0, intruders);
        Assert.Equal((long)threads * Turns, _plain);
    }

    [Fact]
    public void Waiting_is_counted()
    {
        // A thread that says that it is about to enter may be held up before it does: then it is tried again.
        for (int attempt = 0; attempt < 200 && _lock.Contended == 0; attempt++)
        {
            bool entering = false;
            _lock.Enter();
            var waiter = new Thread(() =>
            {
                Volatile.Write(ref entering, true);
                _lock.Enter();
                _lock.Exit();
            });
            waiter.Start();
            while (!Volatile.Read(ref entering)) Thread.Yield();
            Thread.Sleep(5);
            _lock.Exit();
            waiter.Join();
        }

        Assert.Equal(1, _lock.Contended);
    }

    [Fact]
    public void Who_holds_the_lock_alone_never_waits()
    {
        for (int i = 0; i < 1_000; i++)
        {
            _lock.Enter();
            _lock.Exit();
        }

        Assert.Equal(0, _lock.Contended);
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
}
