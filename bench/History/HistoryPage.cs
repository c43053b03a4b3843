using System.Text;
using System.Xml;
using System.Xml.Linq;

namespace RedKite.History;

/// <summary>
/// The results file as one self-contained page: a chart per figure, a series per machine, a point per record. It is
/// well-formed XML as well as HTML, so the XML writer does the escaping.
/// </summary>
internal static class HistoryPage
{
    // A ninth machine has the first one's colour; the points' titles distinguish them.
    private const int Colours = 8;
    private const int RevisionDigits = 12;

    private const string Style = """

        :root { color-scheme: light dark; --text: #1c2024; --back: #ffffff; --grid: #d5d9de; --note: #5c656f;
          --c0: #b3261e; --c1: #1a66c2; --c2: #26762e; --c3: #8e4ec6; --c4: #a65a00; --c5: #00797a; --c6: #b0307c; --c7: #5b6570; }
        @media (prefers-color-scheme: dark) {
          :root { --text: #e6e9ec; --back: #15181b; --grid: #3a4047; --note: #a1abb5;
            --c0: #ff7b72; --c1: #79b8ff; --c2: #7ee787; --c3: #d2a8ff; --c4: #ffb454; --c5: #5ee0d9; --c6: #ff8ad0; --c7: #b1bac4; } }
        body { margin: 2rem; font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
        .note, figcaption, li { color: var(--note); }
        .charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1rem 2rem; }
        figure { margin: 0; }
        figcaption { font-size: 13px; }
        svg { width: 100%; height: auto; }
        svg text { font-size: 11px; fill: var(--note); }
        .grid { stroke: var(--grid); }
        polyline { fill: none; stroke: var(--c); stroke-width: 1.5; }
        circle { fill: var(--c); stroke: var(--c); stroke-width: 1.5; }
        circle.dirty { fill: var(--back); }
        li::marker { content: "\25CF  "; color: var(--c); }
        .s0 { --c: var(--c0); } .s1 { --c: var(--c1); } .s2 { --c: var(--c2); } .s3 { --c: var(--c3); }
        .s4 { --c: var(--c4); } .s5 { --c: var(--c5); } .s6 { --c: var(--c6); } .s7 { --c: var(--c7); }

        """;

    internal static string Render(IReadOnlyList<HistoryRecord> records)
    {
        string[] machines = [.. records.Select(record => record.Machine).Distinct()];
        var body = new XElement("body",
            new XElement("h1", "RedKite: figures over time"),
            new XElement("p", new XAttribute("class", "note"),
                "Revisions from left to right in the order in which they were first measured, each machine a colour. Axes do not begin at zero. "
                + "A hollow point was measured with changes that were not committed."),
            new XElement("ul", machines.Select((machine, i) => new XElement("li", new XAttribute("class", StyleClass(i)), Clean(machine)))));

        foreach (IGrouping<(string Scenario, string Settings), HistoryRecord> comparable in records.GroupBy(record => (record.Scenario, record.Settings)))
        {
            body.Add(new XElement("h2", Clean(comparable.Key.Scenario)));
            if (comparable.Key.Settings.Length > 0) body.Add(new XElement("p", new XAttribute("class", "note"), Clean(comparable.Key.Settings)));
            body.Add(DrawCharts([.. comparable], machines));
        }

        var page = new XElement("html", new XAttribute("lang", "en"),
            new XElement("head",
                new XElement("meta", new XAttribute("charset", "utf-8")),
                new XElement("meta", new XAttribute("name", "viewport"), new XAttribute("content", "width=device-width, initial-scale=1")),
                new XElement("title", "RedKite: figures over time"),
                new XElement("style", Style)),
            body);
        return Write(page);
    }

    private static XElement DrawCharts(HistoryRecord[] records, string[] machines)
    {
        var charts = new XElement("div", new XAttribute("class", "charts"));
        foreach (string figure in records.SelectMany(record => record.Figures.Keys).Distinct())
        {
            HistoryRecord[] measured = [.. records.Where(record => record.Figures.ContainsKey(figure))];
            string[] revisions = [.. measured.Select(record => record.Revision).Distinct()];
            ChartSeries[] series =
            [
                .. measured.GroupBy(record => record.Machine).Select(machine => new ChartSeries(
                    StyleClass(Array.IndexOf(machines, machine.Key)),
                    [.. machine.Select(record => ToPoint(record, figure, revisions)).OrderBy(point => point.Position)])),
            ];
            charts.Add(new XElement("figure", new XElement("figcaption", Clean(figure)), Chart.Render(revisions.Length, series)));
        }

        return charts;
    }

    private static ChartPoint ToPoint(HistoryRecord record, string figure, string[] revisions)
    {
        double value = record.Figures[figure];
        string revision = record.Revision.Length > RevisionDigits ? record.Revision[..RevisionDigits] : record.Revision;
        string title = $"{Chart.Number(value)}\n{revision}{(record.Dirty ? " and changes" : "")}, {record.Date}\n{record.Machine}";
        return new ChartPoint(Array.IndexOf(revisions, record.Revision), value, record.Dirty, Clean(title));
    }

    private static string StyleClass(int machine) => $"s{machine % Colours}";

    // XML cannot represent most control characters, not even escaped.
    private static string Clean(string text) => string.Create(text.Length, text, static (characters, source) =>
    {
        for (int i = 0; i < characters.Length; i++)
        {
            bool pair = i + 1 < source.Length && XmlConvert.IsXmlSurrogatePair(source[i + 1], source[i]);
            bool pairsEnd = i > 0 && XmlConvert.IsXmlSurrogatePair(source[i], source[i - 1]);
            characters[i] = XmlConvert.IsXmlChar(source[i]) || pair || pairsEnd ? source[i] : '\uFFFD';
        }
    });

    private static string Write(XElement page)
    {
        var text = new StringBuilder("<!DOCTYPE html>\n");
        var settings = new XmlWriterSettings { OmitXmlDeclaration = true, Indent = true, NewLineChars = "\n" };
        using (var writer = XmlWriter.Create(text, settings)) page.Save(writer);
        return text.Append('\n').ToString();
    }
}
