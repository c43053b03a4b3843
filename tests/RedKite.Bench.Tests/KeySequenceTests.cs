namespace RedKite.Bench.Tests;

/// <summary>Key patterns: the numbers, and how they are distributed. Seeds are fixed, so a bound that holds always holds.</summary>
public class KeySequenceTests
{
    private const int Draws = 200_000;

    [Fact]
    public void Sequential_wraps_around_the_range()
    {
        Assert.Equal([3, 4, 5, 3, 4], Draw("S", 3, 5, 5));
    }

    [Fact]
    public void Parallel_parts_cover_the_range_once()
    {
        IEnumerable<long> all = Enumerable.Range(0, 4).SelectMany(client => Draw("P", 10, 19, client % 2 == 0 ? 2 : 3, client: client, clients: 4));
        Assert.Equal(Enumerable.Range(10, 10).Select(key => (long)key), all);
    }

    [Fact]
    public void Random_is_uniform()
    {
        int[] counts = Histogram(Draw("R", 0, 9, Draws), 10);
        Assert.All(counts, count => Assert.InRange(count, Draws / 10 * 0.97, Draws / 10 * 1.03));
    }

    [Fact]
    public void Gaussian_has_the_configured_median_and_deviation()
    {
        long[] keys = Draw("G", 0, 10_000, Draws, "--key-median=4000", "--key-stddev=500");
        double mean = keys.Average();
        Assert.InRange(mean, 3980, 4020);
        Assert.InRange(Math.Sqrt(keys.Average(key => (key - mean) * (key - mean))), 490, 510);
        Assert.All(keys, key => Assert.InRange(key, 0, 10_000));
    }

    [Fact]
    public void Gaussian_stays_within_the_range()
    {
        Assert.All(Draw("G", 5, 9, 10_000, "--key-stddev=100"), key => Assert.InRange(key, 5, 9));
    }

    [Theory]
    [InlineData(0.7)]
    [InlineData(1)]
    [InlineData(2.5)]
    public void Zipf_frequencies_follow_the_distribution(double exponent)
    {
        const int keys = 50;
        int[] counts = Histogram(Draw("Z", 0, keys - 1, Draws, FormattableString.Invariant($"--key-zipf-exp={exponent}")), keys);
        double sum = Enumerable.Range(1, keys).Sum(rank => Math.Pow(rank, -exponent));
        for (int rank = 1; rank <= keys; rank++)
        {
            double expected = Draws * Math.Pow(rank, -exponent) / sum;
            Assert.InRange(counts[rank - 1], expected - (5 * Math.Sqrt(expected)) - 1, expected + (5 * Math.Sqrt(expected)) + 1);
        }
    }

    [Fact]
    public void Every_pattern_accepts_a_single_key()
    {
        foreach (string pattern in (string[])["R", "S", "P", "G", "Z"]) Assert.Equal([7, 7, 7], Draw(pattern, 7, 7, 3));
    }

    [Fact]
    public void Full_64_bit_range_is_reached()
    {
        const long maximum = long.MaxValue - 1;
        Assert.All(Draw("R", 0, maximum, 1000), key => Assert.InRange(key, 0, maximum));
        Assert.True(Draw("R", 0, maximum, 1000).Max() > maximum / 10 * 9);
    }

    private static long[] Draw(string pattern, long minimum, long maximum, int count, params string[] options) =>
        Draw(pattern, minimum, maximum, count, client: 0, clients: 1, options);

    private static long[] Draw(string pattern, long minimum, long maximum, int count, int client, int clients, params string[] options)
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
