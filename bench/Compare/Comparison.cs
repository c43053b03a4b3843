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

    /// <summary>The measurements support none of the other verdicts.</summary>
    Inconclusive,
}

/// <summary>One benchmark in two builds, and the verdict.</summary>
/// <remarks>
/// Slower and faster mean by more than the threshold, and same means within it. Each is claimed only if a one-sided
/// Mann-Whitney test refutes the opposite, so that noise leads to no claim rather than to "same". A test of the means was
/// rejected, because one disturbed measurement moves them.
/// </remarks>
/// <param name="Reason">The reason, unless the times alone explain the verdict.</param>
internal sealed record Comparison(string Benchmark, Measurements Base, Measurements Diff, Verdict Verdict, string Reason)
{
    /// <summary>The maximum probability of a false claim.</summary>
    internal const double ChanceMax = 0.01;

    /// <summary>With four measurements each, even perfectly separated builds could be chance: one order in seventy.</summary>
    internal const int MeasurementsMin = 5;

    /// <summary>
    /// The share of pairs of a base launch and a working-copy launch that must point in the verdict's direction: with three
    /// launches each, all of them. Measurements of one launch are correlated, so a test of the pooled ones alone would mistake
    /// an unlucky launch for a change.
    /// </summary>
    private const double AgreeingPairsMin = 0.9;

    internal double BaseNs { get; } = MedianOrZero(Base.Pooled);

    internal double DiffNs { get; } = MedianOrZero(Diff.Pooled);

    /// <summary>0.05 if the working copy takes 5 % longer.</summary>
    internal double? Change => BaseNs > 0 ? DiffNs / BaseNs - 1 : null;

    internal static Comparison Of(string benchmark, Measurements before, Measurements after, double thresholdPercent)
    {
        (Verdict verdict, string reason) = Judge(before, after, thresholdPercent);
        return new Comparison(benchmark, before, after, verdict, reason);
    }

    private static (Verdict Verdict, string Reason) Judge(Measurements before, Measurements after, double thresholdPercent)
    {
        // Exact, and before the time: allocations have no noise, and the whole process pays for them later.
        if (after.BytesPerOperation > before.BytesPerOperation)
        {
            return (Verdict.Slower, $"allocates {after.BytesPerOperation - before.BytesPerOperation} bytes more");
        }

        if (after.BytesPerOperation is null != before.BytesPerOperation is null)
        {
            return (Verdict.Inconclusive, "allocations were measured in one of the builds only");
        }

        if (before.Pooled.Length < MeasurementsMin || after.Pooled.Length < MeasurementsMin)
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
        return agreeing >= AgreeingPairsMin * pairs
            ? (verdict, "")
            : (Verdict.Inconclusive, $"launches disagree: {agreeing} of {pairs} pairs");
    }

    // The test shifts its second sample by the threshold.
    private static bool IsLonger(Measurements one, Measurements other, Threshold threshold) =>
        Chance(one, other, AlternativeHypothesis.Greater, threshold) < ChanceMax;

    private static bool IsWithin(Measurements one, Measurements other, Threshold threshold) =>
        Chance(one, other, AlternativeHypothesis.Less, threshold) < ChanceMax;

    private static double Chance(Measurements one, Measurements other, AlternativeHypothesis alternative, Threshold threshold) =>
        MannWhitneyTest.Instance.Perform(new Sample(one.Pooled), new Sample(other.Pooled), alternative, threshold).PValue;

    private static double MedianOrZero(double[] measurements) => measurements.Length > 0 ? Median.Of(measurements) : 0;
}
