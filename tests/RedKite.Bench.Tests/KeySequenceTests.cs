namespace RedKite.Bench.Tests;

/// <summary>Key patterns and their distributions. Seeds are fixed, so the statistical bounds always hold.</summary>
public class KeySequenceTests
{
    private const int Samples = 200_000;

    [Fact]
    public void Sequential_wraps_around_the_range()
    {
        Assert.Equal([3, 4, 5, 3, 4], Generate("S", 3, 5, 5));
    }

    [Fact]
    public void Parallel_parts_cover_the_range_once()
    {
        IEnumerable<long> all = Enumerable.Range(0, 4).SelectMany(client => Generate("P", 10, 19, client % 2 == 0 ? 2 : 3, client: client, clients: 4));
        Assert.Equal(Enumerable.Range(10, 10).Select(key => (long)key), all);
    }

    [Fact]
    public void Random_is_uniform()
    {
        int[] counts = Histogram(Generate("R", 0, 9, Samples), 10);
        Assert.All(counts, count => Assert.InRange(count, Samples / 10 * 0.97, Samples / 10 * 1.03));
    }

    [Fact]
    public void Gaussian_has_the_configured_median_and_deviation()
    {
        long[] keys = Generate("G", 0, 10_000, Samples, "--key-median=4000", "--key-stddev=500");
        double mean = keys.Average();
        Assert.InRange(mean, 3980, 4020);
        Assert.InRange(Math.Sqrt(keys.Average(key => (key - mean) * (key - mean))), 490, 510);
        Assert.All(keys, key => Assert.InRange(key, 0, 10_000));
    }

    [Fact]
    public void Gaussian_stays_within_the_range()
    {
        Assert.All(Generate("G", 5, 9, 10_000, "--key-stddev=100"), key => Assert.InRange(key, 5, 9));
    }

    [Theory]
    [InlineData(0.7)]
    [InlineData(1)]
    [InlineData(2.5)]
    public void Zipf_frequencies_follow_the_distribution(double exponent)
    {
        const int keys = 50;
        int[] counts = Histogram(Generate("Z", 0, keys - 1, Samples, FormattableString.Invariant($"--key-zipf-exp={exponent}")), keys);
        double sum = Enumerable.Range(1, keys).Sum(rank => Math.Pow(rank, -exponent));
        for (int rank = 1; rank <= keys; rank++)
        {
            double expected = Samples * Math.Pow(rank, -exponent) / sum;
            Assert.InRange(counts[rank - 1], expected - (5 * Math.Sqrt(expected)) - 1, expected + (5 * Math.Sqrt(expected)) + 1);
        }
    }

    [Fact]
    public void Every_pattern_accepts_a_single_key()
    {
        foreach (string pattern in (string[])["R", "S", "P", "G", "Z"]) Assert.Equal([7, 7, 7], Generate(pattern, 7, 7, 3));
    }

    [Fact]
    public void Full_64_bit_range_is_reached()
    {
        const long maximum = long.MaxValue - 1;
        Assert.All(Generate("R", 0, maximum, 1000), key => Assert.InRange(key, 0, maximum));
        Assert.True(Generate("R", 0, maximum, 1000).Max() > maximum / 10 * 9);
    }

    private static long[] Generate(string pattern, long minimum, long maximum, int count, params string[] options) =>
        Generate(pattern, minimum, maximum, count, client: 0, clients: 1, options);

    private static long[] Generate(string pattern, long minimum, long maximum, int count, int client, int clients, params string[] options)
    {
        BenchOptions parsed = BenchArguments.Parse([$"--key-minimum={minimum}", $"--key-maximum={maximum}", $"--key-pattern={pattern}:{pattern}", .. options]);
        var keys = new KeySequence(parsed.SetPattern, parsed, client, clients, new RandomSource(42));
        return [.. Enumerable.Range(0, count).Select(_ => keys.Next())];
    }

    private static int[] Histogram(long[] keys, int count)
    {
        var counts = new int[count];
        foreach (long key in keys) counts[key]++;
        return counts;
    }
}
