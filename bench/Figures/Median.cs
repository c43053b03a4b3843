namespace RedKite.Figures;

/// <summary>The middle of several rounds: one round that the machine disturbed does not move it.</summary>
internal static class Median
{
    internal static double Of(IEnumerable<double> values)
    {
        double[] sorted = [.. values.Order()];
        int middle = sorted.Length / 2;
        return sorted.Length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /// <summary>Null where no round was able to tell.</summary>
    internal static double? OfKnown(IEnumerable<double?> values)
    {
        double[] known = [.. values.OfType<double>()];
        return known.Length > 0 ? Of(known) : null;
    }

    /// <summary>
    /// The median of the ratios of rounds that stood next to each other, rather than the ratio of two medians: what slowed
    /// the machine for a while slowed both sides of a pair.
    /// </summary>
    internal static double OfRatios(IEnumerable<double> numerators, IEnumerable<double> denominators) =>
        Of(numerators.Zip(denominators, (numerator, denominator) => numerator / denominator));
}
