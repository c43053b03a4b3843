using RedKite.Server.Commands.Server;
using RedKite.Server.Metrics;

namespace RedKite.Server.Tests.Commands;

public class LatencyReportTests
{
    private const string Ruler = "--------------------------------------------------------------------------------\n";

    // The output of a real server for these samples.
    [Fact]
    public void Graph_has_one_column_per_sample_with_its_age()
    {
        LatencyEvent latency = Event(10, 50, 20, 100, 10);
        Assert.Equal(
            "command - high 100 ms, low 10 ms (all time high 100 ms)\n" + Ruler + "   # \n   | \n # | \n_|o|_\n     \n54321\nsssss\n",
            LatencyReport.Graph(latency, nowMs: 1006_000));
    }

    [Fact]
    public void Single_sample_is_drawn_at_the_bottom()
    {
        Assert.Equal(
            "command - high 40 ms, low 40 ms (all time high 40 ms)\n" + Ruler + " \n \n \n_\n \n1\ns\n",
            LatencyReport.Graph(Event(40), nowMs: 1002_000));
    }

    private static LatencyEvent Event(params long[] ms) =>
        new("command", [.. ms.Select((value, i) => new LatencySample(1001 + i, value))], ms.Max());
}
