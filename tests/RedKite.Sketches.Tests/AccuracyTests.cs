using System.Globalization;
using RedKite.Types.Tests;

namespace RedKite.Sketches.Tests;

/// <summary>
/// Promised errors, with 100,000 elements that are the same in each run: an observed rate is at most the promised one and three standard deviations of it.
/// </summary>
public sealed class AccuracyTests
{
    private const int Count = 100_000;
    private const int Batch = 1000;
    private const double MiddleError = 0.001;

    [Theory]
    [InlineData(0.01, 100_000)]
    [InlineData(0.001, 100_000)]
    [InlineData(0.01, 1000)] // seven layers
    public async Task Bloom_filters_keep_their_error_rate(double rate, int capacity)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("BF.RESERVE", "f", rate.ToString(CultureInfo.InvariantCulture), capacity.ToString(CultureInfo.InvariantCulture));
        for (int i = 0; i < Count; i += Batch) server.Run(["BF.MADD", "f", .. Names("in", i)]);
        int missing = 0, wrong = 0;
        for (int i = 0; i < Count; i += Batch)
        {
            missing += Batch - Ones(server, ["BF.MEXISTS", "f", .. Names("in", i)]);
            wrong += Ones(server, ["BF.MEXISTS", "f", .. Names("out", i)]);
        }

        Assert.Equal(0, missing);
        AssertRate(rate, wrong);
        Assert.InRange(server.Client.Run("BF.CARD f").Number, (long)(Count * (1 - (2 * rate))), Count);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(4)]
    public async Task Cuckoo_filters_keep_their_error_rate(int bucketSize)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("CF.RESERVE", "f", "131072", "BUCKETSIZE", bucketSize.ToString(CultureInfo.InvariantCulture), "MAXITERATIONS", "200");
        for (int i = 0; i < Count; i += Batch) server.Run(["CF.INSERT", "f", "ITEMS", .. Names("in", i)]);
        int layers = (int)server.Client.Run("CF.INFO f").Items[5].Number, wrong = 0, missing = 0;
        for (int i = 0; i < Count; i += Batch)
        {
            missing += Batch - Ones(server, ["CF.MEXISTS", "f", .. Names("in", i)]);
            wrong += Ones(server, ["CF.MEXISTS", "f", .. Names("out", i)]);
        }

        Assert.Equal(0, missing);
        Assert.Equal(Count, server.Client.Run("CF.INFO f").Items[7].Number);
        AssertRate(2.0 * bucketSize / 255 * layers, wrong);
    }

    // At most one of 1 / probability elements has a count that is too large by more than the error's part of all counts.
    [Fact]
    public async Task Counts_are_at_most_as_wrong_as_promised()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("CMS.INITBYPROB", "m", "0.001", "0.01");
        for (int i = 0; i < Count; i += Batch) server.Run(["CMS.INCRBY", "m", .. Names("in", i).SelectMany((name, n) => new[] { name, (1 + (n % 3)).ToString(CultureInfo.InvariantCulture) })]);
        long total = server.Client.Run("CMS.INFO m").Items[5].Number;
        int wrong = 0;
        for (int i = 0; i < Count; i += Batch)
        {
            int n = 0;
            foreach (string count in server.Run(["CMS.QUERY", "m", .. Names("in", i)]).Split(' '))
            {
                long error = long.Parse(count, CultureInfo.InvariantCulture) - (1 + (n++ % 3));
                Assert.True(error >= 0, "a count is too small");
                if (error > 0.001 * total) wrong++;
            }
        }

        AssertRate(0.01, wrong);
    }

    [Fact]
    public async Task Most_frequent_elements_are_found()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TOPK.RESERVE", "t", "50", "2000", "5", "0.9");
        var random = new Random(20261129);
        var counts = new int[10_000];
        for (int i = 0; i < Count; i += Batch)
        {
            // Zipf's law with the exponent 1.
            int[] drawn = [.. Enumerable.Range(0, Batch).Select(_ => (int)Math.Pow(counts.Length, random.NextDouble()) - 1)];
            foreach (int element in drawn) counts[element]++;
            server.Run(["TOPK.ADD", "t", .. drawn.Select(element => element.ToString(CultureInfo.InvariantCulture))]);
        }

        int[] expected = [.. Enumerable.Range(0, counts.Length).OrderByDescending(element => counts[element]).Take(50)];
        string[] listed = server.Run("TOPK.LIST", "t", "WITHCOUNT").Split(' ');
        Assert.True(expected.Take(30).All(element => listed.Where((_, i) => i % 2 == 0).Contains(element.ToString(CultureInfo.InvariantCulture))), string.Join(' ', listed));
        for (int i = 0; i < 60; i += 2) Assert.InRange(int.Parse(listed[i + 1], CultureInfo.InvariantCulture), counts[int.Parse(listed[i], CultureInfo.InvariantCulture)] * 0.9, counts[int.Parse(listed[i], CultureInfo.InvariantCulture)]);
    }

    // What the reference implementation publishes of t-digests (README of github.com/tdunning/t-digest): typically less than 1,000 parts per million of the rank
    // in the middle, and parts per million at the extremes, where an observation is ten here: three observations. Between them, the bound falls as q (1 - q) does.
    [Theory]
    [InlineData("uniform")]
    [InlineData("normal")]
    [InlineData("sorted")]
    [InlineData("exponential")]
    public async Task Digests_are_exact_at_the_tails(string distribution)
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Run("TDIGEST.CREATE", "d", "COMPRESSION", "100");
        var random = new Random(20261129);
        var values = new double[Count];
        for (int i = 0; i < Count; i++)
        {
            double u = 1 - random.NextDouble();
            values[i] = distribution switch
            {
                "uniform" => u,
                "sorted" => i,
                "normal" => Math.Sqrt(-2 * Math.Log(u)) * Math.Cos(2 * Math.PI * random.NextDouble()),
                _ => -Math.Log(u),
            };
        }

        for (int i = 0; i < Count; i += Batch) server.Run(["TDIGEST.ADD", "d", .. values.AsSpan(i, Batch).ToArray().Select(value => value.ToString("R", CultureInfo.InvariantCulture))]);
        Array.Sort(values);
        Assert.Equal(values[0], double.Parse(server.Run("TDIGEST.MIN", "d"), CultureInfo.InvariantCulture));
        Assert.Equal(values[^1], double.Parse(server.Run("TDIGEST.MAX", "d"), CultureInfo.InvariantCulture));
        List<string> wrong = [];
        foreach (double q in (double[])[0.00001, 0.0001, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999])
        {
            double value = double.Parse(server.Run("TDIGEST.QUANTILE", "d", q.ToString("R", CultureInfo.InvariantCulture)), CultureInfo.InvariantCulture);
            int at = Array.BinarySearch(values, value);
            double rank = (at < 0 ? ~at : at) / (double)Count, allowed = Math.Max(3.5 / Count, MiddleError * Math.Min(1, 10 * q * (1 - q)));
            if (Math.Abs(rank - q) > allowed) wrong.Add($"{q}: {value} has the rank {rank}, {Math.Abs(rank - q) * 1e6:F0} ppm");
            double cdf = double.Parse(server.Run("TDIGEST.CDF", "d", value.ToString("R", CultureInfo.InvariantCulture)), CultureInfo.InvariantCulture);
            if (Math.Abs(cdf - rank) > allowed) wrong.Add($"{q}: the part below {value} is {rank}, not {cdf}, {Math.Abs(cdf - rank) * 1e6:F0} ppm");
        }

        Assert.Empty(wrong);
        Assert.InRange(server.Client.Run("TDIGEST.INFO d").Items[5].Number, 50, 510);
    }

    private static void AssertRate(double promised, int wrong)
    {
        double observed = (double)wrong / Count, deviation = Math.Sqrt(promised * (1 - promised) / Count);
        Assert.True(observed <= promised + (3 * deviation), $"{observed} of the elements are wrong, {promised} were promised");
    }

    private static string[] Names(string prefix, int start) => [.. Enumerable.Range(start, Batch).Select(i => string.Create(CultureInfo.InvariantCulture, $"{prefix}:{i}"))];

    private static int Ones(TypeServer server, string[] request) => server.Run(request).AsSpan().Count('1');
}
