namespace RedKite.Net.Tests;

/// <summary>Histograms of durations against the sorted samples themselves.</summary>
public class LatencyHistogramTests
{
    private const double Precision = 1.0 / 31; // a bucket's width by its lower end, of the coarser scale

    [Theory]
    [InlineData(1, 5, Precision)]
    [InlineData(2, 5, Precision)]
    [InlineData(3, 7, 1.0 / 127)]
    public void Percentiles_are_those_of_the_samples_to_the_width_of_a_bucket(int seed, int subBits, double precision)
    {
        long[] samples = SamplesOf(seed, 20_000);
        LatencyHistogram histogram = HistogramOf(samples, subBits);
        Array.Sort(samples);
        Assert.Equal((samples.Length, samples[0], samples[^1], samples.Sum()), (histogram.Count, histogram.MinNs, histogram.MaxNs, histogram.SumNs));
        foreach (double percentile in (double[])[0.1, 1, 25, 50, 90, 99, 99.9, 100])
        {
            long exact = samples[(int)Math.Ceiling(samples.Length * percentile / 100) - 1];
            Assert.InRange(histogram.PercentileNs(percentile), exact, exact + (long)(exact * precision));
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
        Assert.Equal((before.Concat(after).Min(), before.Concat(after).Max(), before.Sum() + after.Sum()), (sum.MinNs, sum.MaxNs, sum.SumNs));

        LatencyHistogram difference = HistogramOf(before); // what it held is gone
        sum.CopySince(HistogramOf(before), difference);
        Assert.Equal(HistogramOf(after).Buckets(), difference.Buckets());
        Assert.Equal((after.Length, after.Sum()), (difference.Count, difference.SumNs));
        Assert.InRange(difference.MaxNs, after.Max(), after.Max() + (long)(after.Max() * Precision));
        sum.Clear();
        Assert.Empty(sum.Buckets());
        Assert.Equal((0, 0, 0, 0), (sum.Count, sum.SumNs, sum.MinNs, sum.PercentileNs(99)));
    }

    [Fact]
    public void Durations_beyond_the_range_are_in_the_last_bucket()
    {
        LatencyHistogram histogram = HistogramOf([-1, 0, long.MaxValue]);
        Assert.Equal((3, 0, 0), (histogram.Count, histogram.Buckets().First().UpperNs, histogram.PercentileNs(50)));
        Assert.InRange(histogram.Buckets().Last().UpperNs, 18L * 60_000_000_000, 19L * 60_000_000_000);
    }

    private static LatencyHistogram HistogramOf(long[] samples, int subBits = 5)
    {
        var histogram = new LatencyHistogram(subBits);
        foreach (long sample in samples) histogram.Record(sample);
        return histogram;
    }

    // From nanoseconds to a minute, evenly by magnitude.
    private static long[] SamplesOf(int seed, int count)
    {
        var random = new Random(seed);
        return [.. Enumerable.Range(0, count).Select(_ => (long)Math.Exp(random.NextDouble() * Math.Log(60e9)))];
    }
}
