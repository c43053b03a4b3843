namespace RedKite.Figures;

/// <summary>Measurements of one figure, one per round, with what the tables show of them.</summary>
internal sealed record Spread(IReadOnlyList<double> Values)
{
    internal double Median { get; } = Figures.Median.Of(Values);

    internal ValueRange Range { get; } = new(Values.Min(), Values.Max());

    /// <summary>The ratios of adjacent rounds, so that a slow phase of the machine affects both sides of each.</summary>
    internal static Spread OfRatios(IEnumerable<double> numerators, IEnumerable<double> denominators) =>
        new([.. numerators.Zip(denominators, (numerator, denominator) => numerator / denominator)]);

    internal static Spread Of(IEnumerable<double> values) => new([.. values]);
}
