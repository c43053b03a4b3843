using Perfolizer;
using Perfolizer.Mathematics.SignificanceTesting.Base;
using Perfolizer.Mathematics.SignificanceTesting.MannWhitney;
using Perfolizer.Metrology;
using RedKite.Figures;

namespace RedKite.Compare;

internal enum Verdict
{
    Same,
    Faster,
    Slower,

    /// <summary>The measurements do not suffice to say any of the others.</summary>
    Inconclusive,
}

/// <summary>One benchmark in two builds, and what can be said of it.</summary>
/// <remarks>
/// Slower and faster are by more than the threshold, and same is within it: each is claimed only where a one-sided
/// Mann-Whitney test refutes the opposite, so that noise leads to no claim rather than to "same". A test of the means was
/// rejected: one disturbed measurement moves them.
/// </remarks>
/// <param name="Reason">Why, where the times alone do not say it.</param>
internal sealed record Comparison(string Benchmark, Measurements Base, Measurements Diff, Verdict Verdict, string Reason)
{
    /// <summary>How often, at most, pure chance may lead to a claim.</summary>
    internal const double ChanceMost = 0.01;

    /// <summary>With four and four, even builds that are sorted apart could be chance: one order in seventy.</summary>
    internal const int MeasurementsLeast = 5;

    /// <summary>
    /// Of all pairs of a base's launch and a working copy's, the share that has to point in the verdict's direction: with
    /// three launches each, all of them. Measurements of one launch are not independent, so that pooled ones alone would
    /// take an unlucky launch for a change.
    /// </summary>
    private const double AgreeingPairsLeast = 0.9;

    internal double BaseNs { get; } = MedianOrZero(Base.Pooled);

    internal double DiffNs { get; } = MedianOrZero(Diff.Pooled);

    /// <summary>0.05 where the working copy takes 5 % longer.</summary>
    internal double? Change => BaseNs > 0 ? DiffNs / BaseNs - 1 : null;

    internal static Comparison Of(string benchmark, Measurements before, Measurements after, double thresholdPercent)
    {
        (Verdict verdict, string reason) = Judge(before, after, thresholdPercent);
        return new Comparison(benchmark, before, after, verdict, reason);
    }

    private static (Verdict Verdict, string Reason) Judge(Measurements before, Measurements after, double thresholdPercent)
    {
        // Strictly, and before the time: allocations are exact where times are noisy, and are paid for later by all.
        if (after.BytesPerOperation > before.BytesPerOperation)
        {
            return (Verdict.Slower, $"allocates {after.BytesPerOperation - before.BytesPerOperation} bytes more");
        }

        if (after.BytesPerOperation is null != before.BytesPerOperation is null)
        {
            return (Verdict.Inconclusive, "allocations were measured in one of the builds only");
        }

        if (before.Pooled.Length < MeasurementsLeast || after.Pooled.Length < MeasurementsLeast)
        {
            return (Verdict.Inconclusive, $"too few measurements: {before.Pooled.Length} and {after.Pooled.Length}");
        }

        if (before.Pooled.Min() <= 0 || after.Pooled.Min() <= 0) return (Verdict.Inconclusive, "too short to be measured");

        return JudgeTimes(before, after, new Threshold(new PercentValue(thresholdPercent)));
    }

    private static (Verdict Verdict, string Reason) JudgeTimes(Measurements before, Measurements after, Threshold threshold)
    {
        if (IsLonger(after, before, threshold)) return Agreeing(Verdict.Slower, shorter: before, longer: after);
        if (IsLonger(before, after, threshold)) return Agreeing(Verdict.Faster, shorter: after, longer: before);
        return IsWithin(after, before, threshold) && IsWithin(before, after, threshold)
            ? (Verdict.Same, "")
            : (Verdict.Inconclusive, "noise hides whether there is a difference");
    }

    private static (Verdict Verdict, string Reason) Agreeing(Verdict verdict, Measurements shorter, Measurements longer)
    {
        double[] shorterNs = [.. shorter.Launches.Select(Median.Of)];
        double[] longerNs = [.. longer.Launches.Select(Median.Of)];
        int pairs = shorterNs.Length * longerNs.Length;
        int agreeing = shorterNs.Sum(ns => longerNs.Count(other => other > ns));
        return agreeing >= AgreeingPairsLeast * pairs
            ? (verdict, "")
            : (Verdict.Inconclusive, $"launches disagree: {agreeing} of {pairs} pairs");
    }

    // The test shifts its second sample by the threshold.
    private static bool IsLonger(Measurements one, Measurements other, Threshold threshold) =>
        Chance(one, other, AlternativeHypothesis.Greater, threshold) < ChanceMost;

    private static bool IsWithin(Measurements one, Measurements other, Threshold threshold) =>
        Chance(one, other, AlternativeHypothesis.Less, threshold) < ChanceMost;

    private static double Chance(Measurements one, Measurements other, AlternativeHypothesis alternative, Threshold threshold) =>
        MannWhitneyTest.Instance.Perform(new Sample(one.Pooled), new Sample(other.Pooled), alternative, threshold).PValue;

    private static double MedianOrZero(double[] measurements) => measurements.Length > 0 ? Median.Of(measurements) : 0;
}
