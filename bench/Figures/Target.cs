using System.Globalization;
using System.Text.Json.Nodes;

namespace RedKite.Figures;

/// <summary>A figure and the bound that it must meet.</summary>
internal sealed record Target(string Figure, double Value, double Bound, bool IsMinimum)
{
    /// <summary>The figure must be <paramref name="bound"/> or more.</summary>
    internal static Target AtLeast(double bound, string figure, double value) => new(figure, value, bound, IsMinimum: true);

    /// <summary>The figure must be <paramref name="bound"/> or less.</summary>
    internal static Target AtMost(double bound, string figure, double value) => new(figure, value, bound, IsMinimum: false);

    internal bool IsMet => IsMinimum ? Value >= Bound : Value <= Bound;

    internal static Table ToTable(IEnumerable<Target> targets)
    {
        var table = new Table("targets", new("figure"), new("measured", "0.##"), new("target"), new("met"));
        foreach (Target target in targets)
        {
            string bound = target.Bound.ToString("0.##", CultureInfo.InvariantCulture);
            table.Add(target.Figure, target.Value, $"at {(target.IsMinimum ? "least" : "most")} {bound}", target.IsMet ? "yes" : "NO");
        }

        return table;
    }

    internal JsonObject ToJson() => new()
    {
        ["figure"] = Figure,
        ["measured"] = Value,
        [IsMinimum ? "atLeast" : "atMost"] = Bound,
        ["met"] = IsMet,
    };
}
