namespace RedKite.Fuzz.Tests.Cluster;

/// <summary>The agents and controllers of a cluster in virtual time, over schedules of deaths, delays and lost messages. <c>./dev fuzz cluster</c> runs it for longer.</summary>
public class AgreementTests
{
    private const int GateRounds = 300;

    [Fact]
    public async Task No_schedule_loses_an_acknowledged_write_or_has_two_primaries()
    {
        int replied = 0, takeovers = 0;
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
}
