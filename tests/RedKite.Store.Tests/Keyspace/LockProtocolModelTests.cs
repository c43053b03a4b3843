using RedKite.TestSupport;

namespace RedKite.Store.Tests.Keyspace;

/// <summary>Commands, blocked clients, walkers and scripts never wait for each other in a circle; and the checker would see it.</summary>
public class LockProtocolModelTests
{
    [Fact]
    public void No_schedule_of_few_threads_deadlocks()
    {
        Func<Schedule, LockProtocolModel>[] cases =
        [
            schedule => New(schedule, 2, 2).Command(0, 1).Command(1, 0),
            schedule => New(schedule, 2, 2).Command(0, 1).Server([1], [0]),
            schedule => New(schedule, 2, 2).Server([0], [1]).Server([1], [0]),
            schedule => New(schedule, 2, 2).Command(0, 1).Script([1], [0]),
            schedule => New(schedule, 2, 2).Server([0], [1]).Script([1], [0]),
            schedule => New(schedule, 3, 2).Command(0, 1, 2).Script([2], [0], [1]),
            schedule => New(schedule, 2, 2).Script([0], [1]).Script([1], [0]),
            schedule => New(schedule, 2, 2).Walker().Script([1], [0]),
        ];
        Assert.InRange(cases.Sum(create => Interleavings.ExploreAll(preemptionsMax: int.MaxValue, create)), 1_000, int.MaxValue);
    }

    [Fact]
    public void No_schedule_of_three_threads_with_few_interruptions_deadlocks()
    {
        Func<Schedule, LockProtocolModel>[] cases =
        [
            schedule => New(schedule, 3, 3).Command(0, 1).Command(1, 2).Command(0, 2),
            schedule => New(schedule, 3, 3).Command(0, 1).Command(1, 2).Script([2], [0]),
            schedule => New(schedule, 3, 3).Command(0, 1, 2).Server([2], [0]).Script([1], [0, 2]),
            schedule => New(schedule, 3, 3).Script([0], [2]).Script([2], [1]).Command(0, 1, 2),
        ];
        Assert.InRange(cases.Sum(create => Interleavings.ExploreAll(preemptionsMax: 3, create)), 10_000, int.MaxValue);
    }

    [Fact]
    public void No_random_schedule_deadlocks() => Explore(TestScale.Of(gate: 6_000, full: 30_000), LockProtocolFault.None);

    [Theory]
    [InlineData(LockProtocolFault.DescendingOrder)]
    [InlineData(LockProtocolFault.WaitsWhileGrowing)]
    [InlineData(LockProtocolFault.ClaimsWithoutFlag)]
    [InlineData(LockProtocolFault.ClaimsWithoutWaking)]
    [InlineData(LockProtocolFault.WakesOnlyForFirstStripe)]
    [InlineData(LockProtocolFault.GivesWayHolding)]
    [InlineData(LockProtocolFault.NoMutex)]
    public void The_checker_finds_a_faulty_protocol(LockProtocolFault fault)
    {
        Assert.Throws<ModelViolationException>(() => Explore(100_000, fault));
    }

    private static void Explore(int schedules, LockProtocolFault fault) => Interleavings.ExploreRandomly(schedules, (schedule, number) =>
    {
        var random = new Random(number);
        int stripes = random.Next(2, 6);
        int threads = random.Next(2, 6);
        var model = new LockProtocolModel(schedule, fault, stripes, threads);
        for (int i = 0; i < threads; i++)
        {
            switch (random.Next(7))
            {
                case 0:
                    model.Command(random.Next(stripes));
                    break;
                case 1:
                    model.Command(RandomStripes(random, stripes));
                    break;
                case 2:
                    model.Command([.. Enumerable.Range(0, stripes)]);
                    break;
                case 3:
                    model.Server(RandomStripes(random, stripes), RandomStripes(random, stripes));
                    break;
                case 4:
                    model.Walker();
                    break;
                default:
                    model.Script(RandomStripes(random, stripes), [.. Enumerable.Range(0, random.Next(1, 4)).Select(_ => RandomStripes(random, stripes))]);
                    break;
            }
        }

        return model;
    });

    private static LockProtocolModel New(Schedule schedule, int stripes, int threads) => new(schedule, LockProtocolFault.None, stripes, threads);

    private static int[] RandomStripes(Random random, int stripes)
    {
        int[] all = [.. Enumerable.Range(0, stripes)];
        random.Shuffle(all);
        return all[..random.Next(1, stripes + 1)];
    }
}
