using RedKite.Figures.Guards;

namespace RedKite.Figures.Tests;

/// <summary>The trace of the hit rates: Zipf's distribution, and the same for every server.</summary>
public class CacheTraceTests
{
    private const int Keys = 1000;
    private const int Requests = 200_000;

    [Fact]
    public void Same_seed_gives_the_same_trace()
    {
        Assert.Equal(CacheTrace.Create(Keys, 1000, 0.99, seed: 1), CacheTrace.Create(Keys, 1000, 0.99, seed: 1));
        Assert.NotEqual(CacheTrace.Create(Keys, 1000, 0.99, seed: 1), CacheTrace.Create(Keys, 1000, 0.99, seed: 2));
    }

    [Fact]
    public void Shares_of_keys_follow_their_ranks()
    {
        int[] trace = CacheTrace.Create(Keys, Requests, 0.99, seed: 3);
        Assert.All(trace, key => Assert.InRange(key, 0, Keys - 1));
        double[] shares = [.. trace.GroupBy(key => key).Select(group => (double)group.Count() / Requests).OrderDescending()];
        double sum = Enumerable.Range(1, Keys).Sum(rank => Math.Pow(rank, -0.99));
        foreach (int rank in (int[])[1, 2, 10, 100]) Assert.InRange(shares[rank - 1], 0.85 * Math.Pow(rank, -0.99) / sum, 1.15 * Math.Pow(rank, -0.99) / sum);
    }
}
