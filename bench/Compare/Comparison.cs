using Perfolizer.Mathematics.Common;
using RedKite.Figures;

namespace RedKite.Compare;

internal enum Verdict
{
    Same,
    Faster,
    Slower,

    /// <summary>The measurements support none of the other verdicts.</summary>
    Inconclusive,
}

/// <summary>One benchmark in two builds, and the verdict.</summary>
/// <remarks>
/// Slower and faster mean by more than the threshold, and same means within it. The unit is the launch: everything in one
/// launch shares its accidents (addresses, the compiler's timing), which were measured at 4 %, far more than the noise within
/// it. So each launch counts as one value, its median, and each base launch forms a pair with the working-copy launch next to
/// it. The mean logarithm of the pairs' ratios has a confidence interval by Student's distribution, and a verdict requires
/// that the whole interval lies on its side of the threshold. A Mann-Whitney test of the pooled measurements was rejected: it
/// takes thirty measurements of three launches for thirty independent ones. With variation of 4 % between launches, it called
/// builds that differ by exactly the threshold slower in one of seven comparisons.
/// </remarks>
/// <param name="Reason">The reason, unless the times alone explain the verdict.</param>
internal sealed record Comparison(string Benchmark, Measurements Base, Measurements Diff, Verdict Verdict, string Reason)
{
    /// <summary>The maximum probability of a wrong verdict.</summary>
    internal const double ChanceMax = 0.01;

    /// <summary>With two pairs, the interval is more than thirty times as wide as their difference.</summary>
    internal const int LaunchesMin = 3;

    internal double BaseNs { get; } = MedianOrZero(Base);

    internal double DiffNs { get; } = MedianOrZero(Diff);

    /// <summary>0.05 if the working copy takes 5 % longer; null if it was not measured.</summary>
    internal double? Change => Interval?.Middle ?? (BaseNs > 0 ? DiffNs / BaseNs - 1 : null);

    /// <summary>The range in which the change lies; null without enough launches.</summary>
    internal ChangeInterval? Interval { get; private init; }

    internal static Comparison Of(string benchmark, Measurements before, Measurements after, double thresholdPercent)
    {
        // Exact, and before the time: allocations have no noise, and the whole process pays for them later.
        if (after.BytesPerOperation > before.BytesPerOperation)
        {
            return Made(Verdict.Slower, $"allocates {after.BytesPerOperation - before.BytesPerOperation} bytes more");
        }

        if (after.BytesPerOperation is null != before.BytesPerOperation is null)
        {
            return Made(Verdict.Inconclusive, "allocations were measured in one of the builds only");
        }

        if (before.Launches.Count < LaunchesMin || after.Launches.Count < LaunchesMin)
        {
            return Made(Verdict.Inconclusive, $"too few launches: {before.Launches.Count} and {after.Launches.Count}");
        }

        if (before.LaunchMedians.Min() <= 0 || after.LaunchMedians.Min() <= 0) return Made(Verdict.Inconclusive, "too short to be measured");

        var interval = ChangeInterval.Of(before.LaunchMedians, after.LaunchMedians);
        (Verdict verdict, string reason) = Judge(interval, thresholdPercent / 100);
        return Made(verdict, reason) with { Interval = interval };

        Comparison Made(Verdict verdict, string reason) => new(benchmark, before, after, verdict, reason);
    }

    // "5 % slower" is a factor of 1.05, and "5 % faster" its reciprocal, so that exchanging the builds exchanges the verdicts.
    private static (Verdict Verdict, string Reason) Judge(ChangeInterval interval, double threshold)
    {
        double slowerFrom = threshold, fasterFrom = 1 / (1 + threshold) - 1;
        if (interval.Low > slowerFrom) return (Verdict.Slower, "");
        if (interval.High < fasterFrom) return (Verdict.Faster, "");
        return interval.Low > fasterFrom && interval.High < slowerFrom
            ? (Verdict.Same, "")
            : (Verdict.Inconclusive, "the launches vary too much for a verdict");
    }

    private static double MedianOrZero(Measurements measurements) => measurements.Launches.Count > 0 ? Median.Of(measurements.LaunchMedians) : 0;
}

/// <summary>A change and the range in which it lies: 0.05 is 5 % longer.</summary>
/// <param name="Low">The change is less with a probability of <see cref="Comparison.ChanceMax"/>.</param>
/// <param name="High">The change is more with the same probability.</param>
internal readonly record struct ChangeInterval(double Low, double Middle, double High)
{
    /// <summary>The change from paired launches, at least two; surplus launches of one side are ignored.</summary>
    internal static ChangeInterval Of(IReadOnlyList<double> before, IReadOnlyList<double> after)
    {
        double[] logarithms = [.. before.Zip(after, (one, other) => Math.Log(other / one))];
        double mean = logarithms.Average();
        double variance = logarithms.Sum(value => (value - mean) * (value - mean)) / (logarithms.Length - 1);
        ConfidenceInterval interval = new ConfidenceIntervalEstimator(logarithms.Length, mean, Math.Sqrt(variance / logarithms.Length))
            .ConfidenceInterval(1 - (2 * Comparison.ChanceMax));
        return new ChangeInterval(Math.Exp(interval.Lower) - 1, Math.Exp(mean) - 1, Math.Exp(interval.Upper) - 1);
    }
}
