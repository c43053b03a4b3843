using RedKite.Server.Metrics;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>The server's histograms of durations against the sorted samples themselves.</summary>
public class LatencyHistogramTests
{
    private const double Precision = 1.0 / 31; // a bucket's width by its lower end

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Percentiles_are_those_of_the_samples_to_three_percent(int seed)
    {
        long[] samples = SamplesOf(seed, 20_000);
        LatencyHistogram histogram = HistogramOf(samples);
        Array.Sort(samples);
        Assert.Equal((samples.Length, samples[^1]), (histogram.Count, histogram.MaxNs));
        foreach (double percentile in (double[])[0.1, 1, 25, 50, 90, 99, 99.9, 100])
        {
            long exact = samples[(int)Math.Ceiling(samples.Length * percentile / 100) - 1];
            Assert.InRange(histogram.PercentileNs(percentile), exact, exact + (long)(exact * Precision));
        }
    }

    [Fact]
    public void Buckets_hold_every_sample_in_rising_order()
    {
        long[] samples = SamplesOf(seed: 4, 5_000);
        (long UpperNs, long Count)[] buckets = [.. HistogramOf(samples).Buckets()];
        Assert.Equal(samples.Length, buckets.Sum(bucket => bucket.Count));
        Assert.Equal(buckets.Select(bucket => bucket.UpperNs).Order().Distinct(), buckets.Select(bucket => bucket.UpperNs));
        foreach ((long upper, _) in buckets)
        {
            Assert.Equal(samples.Count(sample => sample <= upper), buckets.Where(bucket => bucket.UpperNs <= upper).Sum(bucket => bucket.Count));
        }
    }

    [Fact]
    public void Sum_and_difference_are_those_of_the_samples()
    {
        long[] before = SamplesOf(seed: 5, 3_000), after = SamplesOf(seed: 6, 4_000);
        LatencyHistogram sum = HistogramOf(before);
        HistogramOf(after).AddTo(sum);
        Assert.Equal(HistogramOf([.. before, .. after]).Buckets(), sum.Buckets());
        Assert.Equal(Math.Max(before.Max(), after.Max()), sum.MaxNs);

        LatencyHistogram difference = sum.Since(HistogramOf(before));
        Assert.Equal(HistogramOf(after).Buckets(), difference.Buckets());
        Assert.Equal(after.Length, difference.Count);
        Assert.InRange(difference.MaxNs, after.Max(), after.Max() + (long)(after.Max() * Precision));
        sum.Clear();
        Assert.Empty(sum.Buckets());
        Assert.Equal((0, 0), (sum.Count, sum.PercentileNs(99)));
    }

    [Fact]
    public void Durations_beyond_the_range_are_in_the_last_bucket()
    {
        LatencyHistogram histogram = HistogramOf([-1, 0, long.MaxValue]);
        Assert.Equal((3, 0, 0), (histogram.Count, histogram.Buckets().First().UpperNs, histogram.PercentileNs(50)));
        Assert.InRange(histogram.Buckets().Last().UpperNs, 60_000_000_000, 140_000_000_000);
    }

    private static LatencyHistogram HistogramOf(long[] samples)
    {
        var histogram = new LatencyHistogram();
        foreach (long sample in samples) histogram.Record(sample, 1);
        return histogram;
    }

    // From nanoseconds to a minute, evenly by magnitude.
    private static long[] SamplesOf(int seed, int count)
    {
        var random = new Random(seed);
        return [.. Enumerable.Range(0, count).Select(_ => (long)Math.Exp(random.NextDouble() * Math.Log(60e9)))];
    }
}
