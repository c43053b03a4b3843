using RedKite.Figures.Types;

namespace RedKite.Figures.Tests.Types;

/// <summary>The length of a round.</summary>
public class RoundSizeTests
{
    [Fact]
    public void Round_takes_about_the_requested_cpu()
    {
        Assert.Equal(400_000, RoundSize.For(cpuSeconds: 0.4, nsPerOperation: 1000));
        Assert.Equal(4000, RoundSize.For(cpuSeconds: 0.4, nsPerOperation: 100_000));
    }

    [Fact]
    public void Every_connection_sends_whole_batches()
    {
        foreach (double cost in new[] { 7, 333.3, 1234.5, 98_765.4 }) Assert.Equal(0, RoundSize.For(0.4, cost) % RoundSize.Smallest);
    }

    [Fact]
    public void Round_size_is_bounded()
    {
        Assert.Equal(RoundSize.Smallest, RoundSize.For(0.4, 1e12));
        Assert.Equal(RoundSize.Largest, RoundSize.For(0.4, 0));
    }
}
