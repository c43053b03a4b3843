using RedKite.Store.Memory;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Store.Tests.Memory;

/// <summary>Work on the pool ends before the memory that it uses, in any order of the threads' steps.</summary>
public class PoolTaskTests
{
    [Theory]
    [InlineData(1, 3, false)]
    [InlineData(2, 1, false)]
    [InlineData(2, 1, true)]
    public void No_work_uses_unmapped_memory_in_any_schedule(int beginners, int turns, bool poolIsBusy)
    {
        int schedules = Interleavings.ExploreAll(preemptionsMax: 4, schedule => new PoolTaskModel(schedule, PoolTaskFault.None, beginners, turns, poolIsBusy));
        Assert.InRange(schedules, 100, int.MaxValue);
    }

    [Theory]
    [InlineData(PoolTaskFault.EndsWithoutWaiting)]
    [InlineData(PoolTaskFault.WaitsBeforeEnd)]
    [InlineData(PoolTaskFault.RunsCancelled)]
    [InlineData(PoolTaskFault.WaitsForQueued)]
    public void The_checker_finds_a_faulty_task(PoolTaskFault fault)
    {
        Assert.Throws<ModelViolationException>(() => Interleavings.ExploreRandomly(20_000, (schedule, number) =>
            new PoolTaskModel(schedule, fault, beginners: 1 + (number % 2), turns: 2, poolIsBusy: number % 3 == 0)));
    }

    [Fact]
    public void A_source_ends_behind_work_in_idle_time()
    {
        var source = new SlabSource();
        unsafe
        {
            source.Take();
        }

        using var started = new ManualResetEventSlim();
        var ending = new Thread(source.Dispose);
        bool endedBefore = true;
        long held = 0;
        source.BeginIdleWork(() =>
        {
            started.Set();
            SpinWait.SpinUntil(() => ending.ThreadState != ThreadState.Unstarted);
            endedBefore = ending.Join(100); // an end that waited for nothing would be over by then
            held = source.HeldBytes;
        });
        started.Wait(TestContext.Current.CancellationToken);
        ending.Start();
        ending.Join();
        Assert.False(endedBefore);
        Assert.Equal(SlabSource.SlabBytes, held);
        source.BeginIdleWork(() => throw new InvalidOperationException("Work begins after the end."));
        Assert.False(source.HasIdleWork);
    }

    [Fact]
    public void One_piece_of_work_runs_at_a_time_and_the_next_after_it()
    {
        var task = new PoolTask();
        using var mayEnd = new ManualResetEventSlim();
        int runs = 0;
        Assert.True(task.TryBegin(() =>
        {
            mayEnd.Wait();
            runs++;
        }));
        Assert.False(task.TryBegin(() => runs += 10));
        Assert.True(task.IsBusy);
        mayEnd.Set();
        Assert.True(SpinWait.SpinUntil(() => !task.IsBusy, 60_000));
        Assert.True(task.TryBegin(() => runs++));
        Assert.True(SpinWait.SpinUntil(() => !task.IsBusy, 60_000));
        task.End();
        Assert.False(task.TryBegin(() => runs += 10));
        task.End();
        Assert.Equal(2, runs);
    }
}
