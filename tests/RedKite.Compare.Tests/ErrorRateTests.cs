namespace RedKite.Compare.Tests;

/// <summary>
/// The promise of docs/bench-compare.md, simulated: a verdict is wrong in at most one of a hundred comparisons, whatever the
/// true change is, with the launch-to-launch variation of 4 % that was measured. The true changes are the hardest ones: exactly
/// at the threshold, where one verdict is wrong on either side, and none at all.
/// </summary>
public class ErrorRateTests
{
    private const int Comparisons = 5000;
    private const double Threshold = 0.05;
    private const double LaunchNoise = 0.04;

    // Three standard deviations of the count above the promised rate.
    private static readonly int WrongMax = (int)((Comparison.ChanceMax * Comparisons) + (3 * Math.Sqrt(Comparison.ChanceMax * Comparisons)));

    [Theory]
    [InlineData(3)]
    [InlineData(5)]
    [InlineData(10)]
    [InlineData(30)]
    public void Wrong_verdicts_are_as_rare_as_promised(int launches)
    {
        Dictionary<Verdict, int> unchanged = Count(1, launches);
        Assert.InRange(unchanged[Verdict.Slower], 0, WrongMax);
        Assert.InRange(unchanged[Verdict.Faster], 0, WrongMax);

        // At the threshold, neither of the two verdicts next to it is right.
        Dictionary<Verdict, int> longer = Count(1 + Threshold, launches);
        Assert.InRange(longer[Verdict.Slower], 0, WrongMax);
        Assert.InRange(longer[Verdict.Same], 0, WrongMax);
        Assert.InRange(longer[Verdict.Faster], 0, WrongMax);

        Dictionary<Verdict, int> shorter = Count(1 / (1 + Threshold), launches);
        Assert.InRange(shorter[Verdict.Faster], 0, WrongMax);
        Assert.InRange(shorter[Verdict.Same], 0, WrongMax);
        Assert.InRange(shorter[Verdict.Slower], 0, WrongMax);
    }

    // One launch in ten meets a busy machine and takes a quarter longer.
    [Theory]
    [InlineData(3)]
    [InlineData(10)]
    public void Disturbed_launches_are_no_change(int launches)
    {
        Dictionary<Verdict, int> unchanged = Count(1, launches, disturbed: 0.1);
        Assert.InRange(unchanged[Verdict.Slower], 0, WrongMax);
        Assert.InRange(unchanged[Verdict.Faster], 0, WrongMax);
    }

    // A rule that never decides would be right as well: these are the launches that docs/bench-compare.md recommends.
    [Theory]
    [InlineData(10, 1.15, nameof(Verdict.Slower))]
    [InlineData(10, 1 / 1.15, nameof(Verdict.Faster))]
    [InlineData(20, 1.10, nameof(Verdict.Slower))]
    [InlineData(30, 1, nameof(Verdict.Same))]
    public void Enough_launches_give_a_verdict(int launches, double factor, string verdict) =>
        Assert.InRange(Count(factor, launches)[Enum.Parse<Verdict>(verdict)], (int)(0.8 * Comparisons), Comparisons);

    [Fact]
    public void Three_varying_launches_cannot_show_that_nothing_changed() =>
        Assert.InRange(Count(1, launches: 3)[Verdict.Inconclusive], (int)(0.9 * Comparisons), Comparisons);

    private static Dictionary<Verdict, int> Count(double factor, int launches, double disturbed = 0)
    {
        var clock = new NoisyClock(HashCode(factor, launches));
        Dictionary<Verdict, int> counts = Enum.GetValues<Verdict>().ToDictionary(verdict => verdict, _ => 0);
        for (int i = 0; i < Comparisons; i++)
        {
            Measurements before = clock.Measure(100, 0.02, launches, perLaunch: 5, LaunchNoise, disturbed: disturbed);
            Measurements after = clock.Measure(100 * factor, 0.02, launches, perLaunch: 5, LaunchNoise, disturbed: disturbed);
            counts[Comparison.Of("benchmark", before, after, 100 * Threshold).Verdict]++;
        }

        return counts;
    }

    // The same samples in every run.
    private static int HashCode(double factor, int launches) => (int)(factor * 1000) + (launches * 10_000);
}
