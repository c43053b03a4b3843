namespace RedKite.Store.Tests.Keyspace;

/// <summary>No wake-up of a stripe's lock is lost, in any order of the threads' steps; and the checker would see it.</summary>
public class StripeLockModelTests
{
    [Theory]
    [InlineData(2, 1, int.MaxValue)] // 64,544: all
    [InlineData(2, 2, 1)] // 167,233
    [InlineData(3, 1, 0)] // 4,268
    public void No_wake_up_is_lost_in_any_schedule(int threads, int turns, int preemptionsMax)
    {
        int schedules = Interleavings.ExploreAll(preemptionsMax, schedule => new StripeLockModel(schedule, StripeLockFault.None, threads, turns));
        Assert.InRange(schedules, 1_000, int.MaxValue);
    }

    [Theory]
    [InlineData(2, 6)]
    [InlineData(3, 3)]
    [InlineData(5, 2)]
    public void No_wake_up_is_lost_in_random_schedules(int threads, int turns)
    {
        Interleavings.ExploreRandomly(15_000, (schedule, _) => new StripeLockModel(schedule, StripeLockFault.None, threads, turns));
    }

    [Fact]
    public void Giving_way_to_a_script_loses_no_wake_up()
    {
        Interleavings.ExploreRandomly(20_000, (schedule, number) =>
            new StripeLockModel(schedule, StripeLockFault.None, threads: 3 + (number % 2), turns: 2, givingWay: 1 + (number % 3), claims: true));
    }

    [Theory]
    [InlineData(StripeLockFault.NoBarrier)]
    [InlineData(StripeLockFault.LooksBeforeRelease)]
    [InlineData(StripeLockFault.SleepsWithoutLook)]
    [InlineData(StripeLockFault.WakingIsNeverCleared)]
    [InlineData(StripeLockFault.WakingIsClearedAfterLook)]
    [InlineData(StripeLockFault.HandsOverWithoutWaiter)]
    [InlineData(StripeLockFault.GivesWayBeforeLook)]
    public void The_checker_finds_a_faulty_lock(StripeLockFault fault)
    {
        Assert.Throws<ModelViolationException>(() => Interleavings.ExploreRandomly(100_000, (schedule, number) =>
            new StripeLockModel(schedule, fault, threads: 2 + (number % 3), turns: 1 + (number % 4), givingWay: number % 3, claims: number % 2 == 0)));
    }
}
