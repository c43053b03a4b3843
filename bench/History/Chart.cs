using System.Globalization;
using System.Xml.Linq;

namespace RedKite.History;

/// <param name="Position">The revision's index on the chart's x axis.</param>
internal readonly record struct ChartPoint(int Position, double Value, bool IsHollow, string Title);

/// <param name="StyleClass">The CSS class with the series' colour, the same in every chart.</param>
internal sealed record ChartSeries(string StyleClass, IReadOnlyList<ChartPoint> Points);

/// <summary>A line chart as inline SVG, with a line and points per series and the bounds of the values.</summary>
/// <remarks>
/// The axis does not start at zero, because the changes of interest are a few percent. It spans at least a tenth of the
/// value, so that noise stays small.
/// </remarks>
internal static class Chart
{
    private const int Width = 440;
    private const int Height = 150;
    private const int Left = 70;
    private const int Margin = 12;
    private const double SpanShareMin = 0.1;

    internal static XElement Render(int positions, IReadOnlyList<ChartSeries> series)
    {
        (double low, double high) = Bounds(series);
        var svg = new XElement("svg", new XAttribute("viewBox", $"0 0 {Width} {Height}"), new XAttribute("role", "img"));
        foreach ((double value, double y) in new[] { (high, (double)Margin), (low, Height - Margin) })
        {
            svg.Add(Element("line", ("class", "grid"), ("x1", Text(Left)), ("y1", Text(y)), ("x2", Text(Width - Margin)), ("y2", Text(y))));
            svg.Add(Element("text", ("x", Text(Left - 8)), ("y", Text(y + 4)), ("text-anchor", "end")));
            ((XElement)svg.LastNode!).Add(Number(value));
        }

        foreach (ChartSeries one in series)
        {
            string corners = string.Join(' ', one.Points.Select(point => $"{Text(X(point))},{Text(Y(point))}"));
            if (one.Points.Count > 1) svg.Add(Element("polyline", ("class", one.StyleClass), ("points", corners)));
            foreach (ChartPoint point in one.Points)
            {
                XElement circle = Element(
                    "circle", ("class", point.IsHollow ? $"{one.StyleClass} dirty" : one.StyleClass),
                    ("cx", Text(X(point))), ("cy", Text(Y(point))), ("r", "4"));
                circle.Add(new XElement("title", point.Title));
                svg.Add(circle);
            }
        }

        return svg;

        double X(ChartPoint point) => positions > 1
            ? Left + Margin + (double)point.Position / (positions - 1) * (Width - Left - 3 * Margin)
            : (Left + Width - Margin) / 2.0;
        double Y(ChartPoint point) => Margin + (high - point.Value) / (high - low) * (Height - 2 * Margin);
    }

    /// <summary>At most five digits, at most four of them after the decimal point.</summary>
    internal static string Number(double value) => Math.Abs(value) >= 10_000
        ? value.ToString("N0", CultureInfo.InvariantCulture)
        : value.ToString("0.####", CultureInfo.InvariantCulture);

    private static (double Low, double High) Bounds(IReadOnlyList<ChartSeries> series)
    {
        double low = series.SelectMany(one => one.Points).Min(point => point.Value);
        double high = series.SelectMany(one => one.Points).Max(point => point.Value);
        double spanMin = Math.Max(Math.Abs(low), Math.Abs(high)) * SpanShareMin;
        double widened = Math.Max(0, (spanMin - (high - low)) / 2);
        // All values are zero: any different bounds will do.
        return high - low + widened > 0 ? (low - widened, high + widened) : (low - 1, high + 1);
    }

    private static XElement Element(string name, params (string Name, string Value)[] attributes) =>
        new(name, attributes.Select(attribute => new XAttribute(attribute.Name, attribute.Value)));

    private static string Text(double number) => number.ToString("0.#", CultureInfo.InvariantCulture);
}
