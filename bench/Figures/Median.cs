using Perfolizer;
using Perfolizer.Mathematics.QuantileEstimators;

namespace RedKite.Figures;

/// <summary>The median over rounds, which one disturbed round does not move.</summary>
internal static class Median
{
    internal static double Of(IEnumerable<double> values) => SimpleQuantileEstimator.Instance.Median(new Sample(values.ToArray()));

    /// <summary>Returns null if no round has a value.</summary>
    internal static double? OfKnown(IEnumerable<double?> values)
    {
        double[] known = [.. values.OfType<double>()];
        return known.Length > 0 ? Of(known) : null;
    }

    /// <summary>
    /// The median of the ratios of adjacent rounds, rather than the ratio of two medians: a slow phase of the machine affects
    /// both sides of a pair.
    /// </summary>
    internal static double OfRatios(IEnumerable<double> numerators, IEnumerable<double> denominators) =>
        Of(numerators.Zip(denominators, (numerator, denominator) => numerator / denominator));
}
