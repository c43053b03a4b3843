using System.Diagnostics;
using RedKite.Store.Keyspace;

namespace RedKite.Store.Tests.Keyspace;

public class ScriptMutexHoldTests
{
    private readonly ScriptMutex _mutex = new([]);

    [Fact]
    public void Turn_lasts_over_several_scripts_but_not_for_long()
    {
        var turn = new ScriptMutexHold(_mutex);
        long start = Stopwatch.GetTimestamp();
        Assert.True(turn.Begin(start));
        Assert.True(turn.Begin(start + Ticks(100)));
        Assert.False(_mutex.TryEnter());

        turn.EndIfOverdue(start + Ticks(399));
        Assert.True(turn.HasBegun);
        turn.EndIfOverdue(start + Ticks(401));
        Assert.False(turn.HasBegun);
        Assert.True(_mutex.TryEnter());
        _mutex.Exit();
    }

    [Fact]
    public void Overdue_turn_begins_again()
    {
        var turn = new ScriptMutexHold(_mutex);
        long start = Stopwatch.GetTimestamp();
        Assert.True(turn.Begin(start));
        Assert.True(turn.Begin(start + Ticks(500)));
        turn.EndIfOverdue(start + Ticks(600));
        Assert.True(turn.HasBegun);
        turn.End();
        turn.End(); // does nothing
        Assert.True(_mutex.TryEnter());
    }

    [Fact]
    public void Other_threads_wait_for_the_end_of_a_turn()
    {
        var turn = new ScriptMutexHold(_mutex);
        turn.Begin(Stopwatch.GetTimestamp());
        bool began = false;
        var other = new Thread(() =>
        {
            var next = new ScriptMutexHold(_mutex);
            began = next.Begin(Stopwatch.GetTimestamp());
            next.End();
        });
        other.Start();
        Assert.False(other.Join(50));
        turn.End();
        other.Join();
        Assert.True(began);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(50)] // it sleeps
    public void Thread_stops_waiting_for_a_busy_script(int milliseconds)
    {
        var turn = new ScriptMutexHold(_mutex);
        turn.Begin(Stopwatch.GetTimestamp());
        bool? began = null;
        var other = new Thread(() => began = new ScriptMutexHold(_mutex).Begin(Stopwatch.GetTimestamp()));
        other.Start();
        Thread.Sleep(milliseconds);
        _mutex.NoteBusy();
        other.Join();
        Assert.False(began);

        _mutex.NoteBusyEnded();
        turn.End();
        Assert.True(new ScriptMutexHold(_mutex).Begin(Stopwatch.GetTimestamp()));
    }

    private static long Ticks(long microseconds) => microseconds * Stopwatch.Frequency / 1_000_000;
}
