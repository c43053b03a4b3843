using RedKite.Net;

namespace RedKite.Bench.Tests;

/// <summary>What a run prints.</summary>
public class ResultTableTests
{
    [Fact]
    public void Printed_percentiles_rise_to_100()
    {
        var histogram = new LatencyHistogram();
        var random = new RandomSource(7);
        for (int i = 0; i < 100_000; i++) histogram.Record(random.Below(1_000_000));
        (double Ms, double Percent)[] steps = [.. ResultTable.Steps(histogram)];
        Assert.Equal(100, steps[^1].Percent);
        Assert.Equal(steps.OrderBy(step => step.Ms), steps);
        Assert.InRange(steps.Length, 10, 60);
    }
}
