using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Fuzz.Tests.Cluster;

/// <summary>The agents and controllers of a cluster in virtual time, over schedules of deaths, delays and lost messages. <c>./dev fuzz cluster</c> runs it for longer.</summary>
/// <remarks>REDKITE_CLUSTER_SCHEDULES is the number of schedules; REDKITE_SEED is the seed of the first one, and each has the next seed.</remarks>
public class AgreementTests(ITestOutputHelper output)
{
    private const int GateRounds = 100;
    private const int GateRoundsOfMoves = 15;
    private const int FailuresMax = 20; // then it is enough to look at
    private static readonly TimeSpan ReportEvery = TimeSpan.FromSeconds(30);

    private static readonly int? Schedules =
        int.TryParse(Environment.GetEnvironmentVariable("REDKITE_CLUSTER_SCHEDULES"), CultureInfo.InvariantCulture, out int schedules) ? schedules : null;

    [Fact]
    public async Task No_schedule_loses_an_acknowledged_write_or_has_two_primaries()
    {
        if (Schedules is { } schedules)
        {
            RunInARow(schedules);
            return;
        }

        (int replied, int takeovers) = (0, 0);
        await FuzzRun.RunAsync(GateRounds, seed =>
        {
            var simulation = new Simulation(seed);
            simulation.Run();
            replied += simulation.Replied;
            takeovers += simulation.Takeovers;
            return Task.CompletedTask;
        });
        Assert.True(replied > GateRounds && takeovers > GateRounds, $"{replied} writes were acknowledged, and nodes took over {takeovers} times");
    }

    [Fact]
    public async Task No_schedule_loses_an_acknowledged_write_while_slots_move()
    {
        if (Schedules is { } schedules)
        {
            RunInARow(schedules, shards: 2);
            return;
        }

        (int replied, int given) = (0, 0);
        await FuzzRun.RunAsync(GateRoundsOfMoves, seed =>
        {
            var simulation = new Simulation(seed, shards: 2);
            simulation.Run();
            (replied, given) = (replied + simulation.Replied, given + simulation.Moves.Given);
            return Task.CompletedTask;
        });
        Assert.True(replied > GateRoundsOfMoves && given > GateRoundsOfMoves, $"{replied} writes were acknowledged, and {given} moves gave their slots");
    }

    [Fact]
    public async Task No_schedule_has_two_owners_while_slots_are_assigned()
    {
        if (Schedules is { } schedules)
        {
            RunInARow(schedules, shards: 2, assigns: true);
            return;
        }

        (int replied, int assigned) = (0, 0);
        await FuzzRun.RunAsync(GateRoundsOfMoves, seed =>
        {
            var simulation = new Simulation(seed, shards: 2, assigns: true);
            simulation.Run();
            (replied, assigned) = (replied + simulation.Replied, assigned + simulation.Assigned);
            return Task.CompletedTask;
        });
        Assert.True(replied > GateRoundsOfMoves && assigned > GateRoundsOfMoves, $"{replied} writes were acknowledged, and slots were assigned {assigned} times");
    }

    [Fact]
    public async Task No_schedule_loses_an_acknowledged_write_while_destinations_trade_their_roles()
    {
        if (Schedules is { } schedules)
        {
            RunInARow(schedules, shards: 2, trades: true);
            return;
        }

        (int replied, int trades) = (0, 0);
        await FuzzRun.RunAsync(GateRoundsOfMoves, seed =>
        {
            var simulation = new Simulation(seed, shards: 2, trades: true);
            simulation.Run();
            (replied, trades) = (replied + simulation.Replied, trades + simulation.Trades);
            return Task.CompletedTask;
        });
        Assert.True(replied > GateRoundsOfMoves && trades > 0, $"{replied} writes were acknowledged, and destinations were to trade their roles {trades} times");
    }

    [Theory]
    [InlineData(10057)] // a primary that was started again gave its older data to a replica that was to take over
    [InlineData(48990)] // a role went to a replica that was started again, by what its life before had acknowledged
    [InlineData(66352)]
    [InlineData(84509)]
    public void Schedules_that_have_failed(int seed) => new Simulation(seed).Run();

    [Theory]
    [InlineData(5003437)] // a destination that was taken out while it ended a move waited for the topology of before
    [InlineData(5004414)]
    [InlineData(914472)] // a handover to a replica that was never connected
    public void Schedules_with_moves_that_have_failed(int seed) => new Simulation(seed, shards: 2).Run();

    [Theory]
    [InlineData(47111047)] // a registration that ended while its node prepared a handover
    [InlineData(4189)] // a destination that had handed its role over and got it back was given slots whose keys it had removed in between
    public void Schedules_with_traded_roles_that_have_failed(int seed) => new Simulation(seed, shards: 2, trades: true).Run();

    [Theory]
    [InlineData(918588)] // slots that were being received were assigned to their destination
    public void Schedules_with_assignments_that_have_failed(int seed) => new Simulation(seed, shards: 2, assigns: true).Run();

    private void RunInARow(int schedules, int shards = 1, bool assigns = false, bool trades = false)
    {
        int first = TestScale.GivenSeed ?? Random.Shared.Next(), run = 0;
        long replied = 0, takeovers = 0, given = 0, notGiven = 0, doubts = 0;
        List<string> failures = [];
        var clock = Stopwatch.StartNew();
        TimeSpan reported = TimeSpan.Zero;
        while (run < schedules && failures.Count < FailuresMax)
        {
            int seed = unchecked(first + run++);
            var simulation = new Simulation(seed, shards, assigns, trades);
            try
            {
                simulation.Run();
            }
#pragma warning disable CA1031 // Reported with its seed.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                failures.Add($"REDKITE_SEED={seed}: {failure.Message}");
                output.WriteLine($"REDKITE_SEED={seed} fails: {failure.Message.Split('\n')[0]}");
            }

            replied += simulation.Replied;
            takeovers += simulation.Takeovers;
            given += simulation.Moves.Given;
            notGiven += simulation.Moves.Failed;
            doubts += simulation.Doubts;
            if (run < schedules && clock.Elapsed - reported < ReportEvery) continue;
            reported = clock.Elapsed;
            output.WriteLine($"{run} schedules from seed {first} on: {replied} writes acknowledged, {takeovers} takeovers, {given} moves of slots and {notGiven} that failed, {doubts} in doubt, {failures.Count} schedules failed");
        }

        Assert.True(failures.Count == 0, string.Join('\n', failures));
    }
}
