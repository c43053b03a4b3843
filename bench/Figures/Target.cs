using System.Globalization;
using System.Text.Json.Nodes;

namespace RedKite.Figures;

/// <summary>A figure and the bound that it has to keep.</summary>
internal sealed record Target(string Figure, double Value, double Bound, bool IsLeast)
{
    /// <summary>The figure is good from <paramref name="bound"/> upwards.</summary>
    internal static Target AtLeast(double bound, string figure, double value) => new(figure, value, bound, IsLeast: true);

    /// <summary>The figure is good up to <paramref name="bound"/>.</summary>
    internal static Target AtMost(double bound, string figure, double value) => new(figure, value, bound, IsLeast: false);

    internal bool IsMet => IsLeast ? Value >= Bound : Value <= Bound;

    internal static Table ToTable(IEnumerable<Target> targets)
    {
        var table = new Table("targets", new("figure"), new("measured", "0.##"), new("target"), new("met"));
        foreach (Target target in targets)
        {
            string bound = target.Bound.ToString("0.##", CultureInfo.InvariantCulture);
            table.Add(target.Figure, target.Value, $"at {(target.IsLeast ? "least" : "most")} {bound}", target.IsMet ? "yes" : "NO");
        }

        return table;
    }

    internal JsonObject ToJson() => new()
    {
        ["figure"] = Figure,
        ["measured"] = Value,
        [IsLeast ? "atLeast" : "atMost"] = Bound,
        ["met"] = IsMet,
    };
}
