namespace RedKite.Bench.Tests;

/// <summary>Percentiles are accurate to one bucket.</summary>
public class LatencyHistogramTests
{
    [Fact]
    public void Percentiles_are_accurate_to_one_percent()
    {
        var histogram = new LatencyHistogram();
        var random = new RandomSource(7);
        long[] values = [.. Enumerable.Range(0, 50_000).Select(_ => (long)Math.Exp(random.Fraction() * 23))];
        foreach (long value in values) histogram.Record(value);
        Array.Sort(values);
        foreach (double percentile in (double[])[1, 50, 90, 99, 99.9, 100])
        {
            long exact = values[(int)Math.Ceiling(values.Length * percentile / 100) - 1];
            Assert.InRange(histogram.PercentileNs(percentile), exact, (exact * 1.01) + 1);
        }

        Assert.Equal((values[0], values[^1], values.Sum()), (histogram.MinNs, histogram.MaxNs, histogram.SumNs));
    }

    [Fact]
    public void Merged_histogram_contains_both()
    {
        LatencyHistogram one = new(), other = new(), sum = new();
        for (int i = 0; i < 99; i++) one.Record(1000);
        other.Record(5_000_000);
        one.AddTo(sum);
        other.AddTo(sum);
        Assert.Equal((100, 1000, 5_000_000), (sum.Count, sum.MinNs, sum.MaxNs));
        Assert.InRange(sum.PercentileNs(99), 1000, 1010);
        Assert.Equal(5_000_000, sum.PercentileNs(100));
    }

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
