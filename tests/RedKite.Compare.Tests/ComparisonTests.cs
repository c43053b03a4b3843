namespace RedKite.Compare.Tests;

/// <summary>Verdicts on measurements whose true cost is known.</summary>
public class ComparisonTests
{
    private const int Seeds = 100;
    private const double ThresholdPercent = 2;

    [Fact]
    public void Five_percent_shift_is_found_in_one_percent_noise()
    {
        Assert.Equal(Seeds, CountOf(Verdict.Slower, clock => (clock.Measure(100, 0.01), clock.Measure(105, 0.01))));
        Assert.Equal(Seeds, CountOf(Verdict.Faster, clock => (clock.Measure(105, 0.01), clock.Measure(100, 0.01))));
    }

    [Fact]
    public void Shift_within_the_threshold_is_same()
    {
        Assert.InRange(CountOf(Verdict.Same, clock => (clock.Measure(100, 0.01), clock.Measure(101, 0.01))), 85, Seeds);
        Assert.Equal(0, CountOf(Verdict.Slower, clock => (clock.Measure(100, 0.01), clock.Measure(101, 0.01))));
    }

    [Fact]
    public void Noise_alone_is_same()
    {
        Assert.InRange(CountOf(Verdict.Same, clock => (clock.Measure(100, 0.01), clock.Measure(100, 0.01))), 95, Seeds);
    }

    [Fact]
    public void Noise_above_the_threshold_is_not_same()
    {
        Assert.InRange(CountOf(Verdict.Inconclusive, clock => (clock.Measure(100, 0.2), clock.Measure(100, 0.2))), 95, Seeds);
    }

    [Fact]
    public void One_disturbed_launch_is_no_change()
    {
        double[] usual = [.. Enumerable.Range(0, 10).Select(i => 100 + 0.1 * i)];
        double[] lucky = [.. usual.Select(ns => ns - 5)];
        double[] unlucky = [.. usual.Select(ns => ns + 10)];
        Comparison comparison = Judge(
            new Measurements([usual, usual, usual, usual], BytesPerOperation: 0), new Measurements([unlucky, unlucky, lucky, unlucky], BytesPerOperation: 0));
        Assert.Equal((Verdict.Inconclusive, "the launches vary too much for a verdict"), (comparison.Verdict, comparison.Reason));
    }

    [Fact]
    public void Change_lies_within_its_interval()
    {
        ChangeInterval interval = Judge(new Measurements([[100.0], [110.0], [90.0]], null), new Measurements([[121.0], [132.0], [111.0]], null)).Interval!.Value;
        Assert.Equal((0.148, 0.214, 0.285), (Math.Round(interval.Low, 3), Math.Round(interval.Middle, 3), Math.Round(interval.High, 3)));
    }

    [Fact]
    public void Agreeing_launches_are_a_change()
    {
        Assert.InRange(
            CountOf(Verdict.Slower, clock => (clock.Measure(100, 0.005, launchNoise: 0.01), clock.Measure(110, 0.005, launchNoise: 0.01))), 98, Seeds);
    }

    [Fact]
    public void Eight_more_bytes_are_slower_regardless_of_time()
    {
        var clock = new NoisyClock(1);
        Comparison comparison = Judge(clock.Measure(100, 0.01, bytes: 24), clock.Measure(50, 0.01, bytes: 32));
        Assert.Equal((Verdict.Slower, "allocates 8 bytes more"), (comparison.Verdict, comparison.Reason));
    }

    [Fact]
    public void With_fewer_bytes_the_time_decides()
    {
        var clock = new NoisyClock(1);
        Assert.Equal(Verdict.Same, Judge(clock.Measure(100, 0.005, bytes: 32), clock.Measure(100, 0.005, bytes: 24)).Verdict);
    }

    [Fact]
    public void Bytes_measured_by_one_build_only_are_inconclusive()
    {
        var clock = new NoisyClock(1);
        Assert.Equal(Verdict.Inconclusive, Judge(clock.Measure(100, 0.005, bytes: 32), clock.Measure(100, 0.005, bytes: null)).Verdict);
        Assert.Equal(Verdict.Same, Judge(clock.Measure(100, 0.005, bytes: null), clock.Measure(100, 0.005, bytes: null)).Verdict);
    }

    [Theory]
    [InlineData(0, 10, true)]
    [InlineData(1, 1, true)]
    [InlineData(2, 30, true)]
    [InlineData(30, 2, true)]
    [InlineData(3, 3, false)]
    public void Too_few_launches_are_inconclusive(int before, int after, bool isInconclusive)
    {
        var clock = new NoisyClock(1);
        Comparison comparison = Judge(clock.Measure(100, 0.001, before), clock.Measure(200, 0.001, after));
        Assert.Equal(isInconclusive ? Verdict.Inconclusive : Verdict.Slower, comparison.Verdict);
        Assert.Equal(isInconclusive ? $"too few launches: {before} and {after}" : "", comparison.Reason);
    }

    [Fact]
    public void Zero_time_is_inconclusive()
    {
        var clock = new NoisyClock(1);
        Comparison comparison = Judge(clock.Measure(0, 0), clock.Measure(1, 0.01));
        Assert.Equal((Verdict.Inconclusive, null), (comparison.Verdict, comparison.Change));
    }

    [Fact]
    public void Threshold_option_is_applied()
    {
        var clock = new NoisyClock(1);
        (Measurements before, Measurements after) = (clock.Measure(100, 0.005), clock.Measure(105, 0.005));
        Assert.Equal(Verdict.Slower, Comparison.Of("benchmark", before, after, 2).Verdict);
        Assert.Equal(Verdict.Same, Comparison.Of("benchmark", before, after, 10).Verdict);
    }

    [Fact]
    public void Minimum_bytes_of_the_launches_count()
    {
        Measurements two = new Measurements([[1.0]], 40).FollowedBy(new Measurements([[2.0]], 32));
        Assert.Equal(32, two.BytesPerOperation);
        Assert.Equal([1.0, 2.0], two.LaunchMedians);
    }

    private static int CountOf(Verdict verdict, Func<NoisyClock, (Measurements Before, Measurements After)> measure) =>
        Enumerable.Range(1, Seeds).Select(seed => measure(new NoisyClock(seed))).Count(pair => Judge(pair.Before, pair.After).Verdict == verdict);

    private static Comparison Judge(Measurements before, Measurements after) => Comparison.Of("benchmark", before, after, ThresholdPercent);
}
