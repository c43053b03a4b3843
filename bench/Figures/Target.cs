using System.Globalization;
using System.Text.Json.Nodes;

namespace RedKite.Figures;

/// <summary>A figure and the bound that its median must meet.</summary>
/// <param name="Measured">A value per round, or the only one.</param>
internal sealed record Target(string Figure, Spread Measured, double Bound, bool IsMinimum)
{
    /// <summary>The figure must be <paramref name="bound"/> or more.</summary>
    internal static Target AtLeast(double bound, string figure, Spread measured) => new(figure, measured, bound, IsMinimum: true);

    /// <summary>The figure must be <paramref name="bound"/> or less.</summary>
    internal static Target AtMost(double bound, string figure, Spread measured) => new(figure, measured, bound, IsMinimum: false);

    internal static Target AtMost(double bound, string figure, double value) => AtMost(bound, figure, new Spread([value]));

    internal bool IsMet => IsMinimum ? Measured.Median >= Bound : Measured.Median <= Bound;

    internal static Table ToTable(IEnumerable<Target> targets)
    {
        var table = new Table("targets", new("figure"), new("measured", "0.00"), new("range", "0.00"), new("target"), new("met"));
        foreach (Target target in targets)
        {
            string bound = target.Bound.ToString("0.##", CultureInfo.InvariantCulture);
            ValueRange? range = target.Measured.Values.Count > 1 ? target.Measured.Range : null;
            table.Add(target.Figure, target.Measured.Median, range, $"at {(target.IsMinimum ? "least" : "most")} {bound}", target.IsMet ? "yes" : "NO");
        }

        return table;
    }

    internal JsonObject ToJson() => new()
    {
        ["figure"] = Figure,
        ["measured"] = Measured.Median,
        ["range"] = new JsonArray(Measured.Range.Lowest, Measured.Range.Highest),
        [IsMinimum ? "atLeast" : "atMost"] = Bound,
        ["met"] = IsMet,
    };
}
