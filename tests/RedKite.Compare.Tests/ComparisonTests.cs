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

    // One in a hundred may occur by chance, in either direction.
    [Theory]
    [InlineData(0.01, 0, 0)]
    [InlineData(0.05, 0, 0)]
    [InlineData(0.2, 0, 2)]
    [InlineData(0.005, 0.01, 2)]
    public void False_positives_are_as_rare_as_the_test_promises(double noise, double launchNoise, int most)
    {
        (Measurements, Measurements) Measure(NoisyClock clock) =>
            (clock.Measure(100, noise, launchNoise: launchNoise), clock.Measure(100, noise, launchNoise: launchNoise));
        Assert.InRange(CountOf(Verdict.Slower, Measure), 0, most);
        Assert.InRange(CountOf(Verdict.Faster, Measure), 0, most);
    }

    [Fact]
    public void Noise_above_the_threshold_is_not_same()
    {
        Assert.InRange(CountOf(Verdict.Inconclusive, clock => (clock.Measure(100, 0.2), clock.Measure(100, 0.2))), 95, Seeds);
    }

    [Fact]
    public void Disagreeing_launches_are_no_change()
    {
        double[] usual = [.. Enumerable.Range(0, 10).Select(i => 100 + 0.1 * i)];
        double[] lucky = [.. usual.Select(ns => ns - 5)];
        double[] unlucky = [.. usual.Select(ns => ns + 10)];
        Comparison comparison = Judge(
            new Measurements([usual, usual, usual, usual], BytesPerOperation: 0), new Measurements([unlucky, unlucky, lucky, unlucky], BytesPerOperation: 0));
        Assert.Equal((Verdict.Inconclusive, "launches disagree: 12 of 16 pairs"), (comparison.Verdict, comparison.Reason));
    }

    [Fact]
    public void Agreeing_launches_are_a_change()
    {
        Assert.InRange(
            CountOf(Verdict.Slower, clock => (clock.Measure(100, 0.005, launchNoise: 0.01), clock.Measure(110, 0.005, launchNoise: 0.01))), 98, Seeds);
    }

    [Fact]
    public void One_launch_each_suffices_with_enough_measurements()
    {
        var clock = new NoisyClock(1);
        Assert.Equal(Verdict.Slower, Judge(clock.Measure(100, 0.01, launches: 1), clock.Measure(110, 0.01, launches: 1)).Verdict);
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
    [InlineData(4, 4, true)]
    [InlineData(4, 30, true)]
    [InlineData(30, 4, true)]
    [InlineData(5, 5, false)]
    public void Too_few_measurements_are_inconclusive(int before, int after, bool isInconclusive)
    {
        var clock = new NoisyClock(1);
        Comparison comparison = Judge(clock.Measure(100, 0.001, 1, before), clock.Measure(200, 0.001, 1, after));
        Assert.Equal(isInconclusive ? Verdict.Inconclusive : Verdict.Slower, comparison.Verdict);
        Assert.Equal(isInconclusive ? $"too few measurements: {before} and {after}" : "", comparison.Reason);
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
        Assert.Equal([1.0, 2.0], two.Pooled);
    }

    private static int CountOf(Verdict verdict, Func<NoisyClock, (Measurements Before, Measurements After)> measure) =>
        Enumerable.Range(1, Seeds).Select(seed => measure(new NoisyClock(seed))).Count(pair => Judge(pair.Before, pair.After).Verdict == verdict);

    private static Comparison Judge(Measurements before, Measurements after) => Comparison.Of("benchmark", before, after, ThresholdPercent);
}
