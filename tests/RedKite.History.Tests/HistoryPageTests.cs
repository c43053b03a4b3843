using System.Xml.Linq;

namespace RedKite.History.Tests;

/// <summary>The page with the charts.</summary>
public class HistoryPageTests
{
    private static readonly List<HistoryRecord> Records = ResultsFile.Read(Fixtures.Results);

    [Fact]
    public void Page_is_well_formed_and_self_contained()
    {
        string page = HistoryPage.Render(Records);
        Assert.StartsWith("<!DOCTYPE html>\n<html lang=\"en\">", page, StringComparison.Ordinal);
        XElement root = XDocument.Parse(page).Root!;
        Assert.Empty(root.Descendants("script"));
        Assert.Empty(root.Descendants("link"));
        Assert.DoesNotContain("http", page, StringComparison.Ordinal);
        Assert.DoesNotContain("url(", page, StringComparison.Ordinal);
    }

    [Fact]
    public void Both_colour_schemes_are_supported()
    {
        Assert.Contains("@media (prefers-color-scheme: dark)", Parse().Descendants("style").Single().Value, StringComparison.Ordinal);
    }

    [Fact]
    public void Every_figure_of_every_record_is_a_point()
    {
        Assert.Equal(Records.Sum(record => record.Figures.Count), Parse().Descendants("circle").Count());
    }

    [Fact]
    public void Point_title_has_value_revision_and_machine()
    {
        string[] titles = [.. Parse().Descendants("circle").Select(circle => circle.Element("title")!.Value)];
        Assert.Contains("5000.5\n111111111111, 2026-01-01T10:00:00Z\nMachine A, 2 cores", titles);
        Assert.Contains("7000\n222222222222, 2026-01-02T11:00:00Z\nMachine <B> & \"sons\"", titles);
    }

    [Fact]
    public void Chart_has_one_series_per_machine()
    {
        XElement chart = ChartOf("hits, pipeline 1: cpu ns/op");
        Assert.Equal(["s0", "s0", "s1"], chart.Descendants("circle").Select(circle => (string)circle.Attribute("class")!));
        // A single point has no line.
        Assert.Equal(["s0"], chart.Descendants("polyline").Select(line => (string)line.Attribute("class")!));
        Assert.Equal(["Machine A, 2 cores", "Machine <B> & \"sons\""], Parse().Descendants("li").Select(item => item.Value));
    }

    [Fact]
    public void Same_revision_has_the_same_x_and_smaller_values_are_lower()
    {
        XElement[] points = [.. ChartOf("hits, pipeline 1: cpu ns/op").Descendants("circle")];
        Assert.Equal((string)points[1].Attribute("cx")!, (string)points[2].Attribute("cx")!);
        Assert.True((double)points[0].Attribute("cx")! < (double)points[1].Attribute("cx")!);
        Assert.True((double)points[1].Attribute("cy")! > (double)points[2].Attribute("cy")!);
    }

    [Fact]
    public void Dirty_record_is_hollow_and_marked()
    {
        XElement point = Assert.Single(ChartOf("memory <for> each key: RSS bytes/key").Descendants("circle"));
        Assert.Equal("s0 dirty", (string)point.Attribute("class")!);
        Assert.Contains("333333333333 and changes", point.Element("title")!.Value, StringComparison.Ordinal);
    }

    [Fact]
    public void Points_lie_inside_their_chart()
    {
        Assert.All(Parse().Descendants("circle"), circle =>
        {
            Assert.InRange((double)circle.Attribute("cx")!, 70, 440);
            Assert.InRange((double)circle.Attribute("cy")!, 0, 150);
        });
    }

    [Fact]
    public void Text_is_escaped()
    {
        HistoryRecord hostile = Records[0] with
        {
            Machine = "</li><script>alert(1)</script>",
            Scenario = "a\u0001b\uD800c \U0001F426",
            Settings = "&amp;<b>",
            Figures = new Dictionary<string, double> { ["<svg onload=\"x\">"] = 1 },
        };
        string page = HistoryPage.Render([hostile]);
        XElement root = XDocument.Parse(page).Root!;
        Assert.DoesNotContain("<script", page, StringComparison.Ordinal);
        Assert.Equal("</li><script>alert(1)</script>", root.Descendants("li").Single().Value);
        Assert.Equal("a\uFFFDb\uFFFDc \U0001F426", root.Descendants("h2").Single().Value);
        Assert.Equal("<svg onload=\"x\">", root.Descendants("figcaption").Single().Value);
    }

    [Fact]
    public void Different_settings_have_separate_charts()
    {
        string page = HistoryPage.Render([Records[0], Records[0] with { Settings = "--pipelines 64" }]);
        Assert.Equal(2, XDocument.Parse(page).Descendants("h2").Count());
    }

    private static XElement Parse() => XDocument.Parse(HistoryPage.Render(Records)).Root!;

    private static XElement ChartOf(string figure) =>
        Parse().Descendants("figure").Single(element => element.Element("figcaption")!.Value == figure).Element("svg")!;
}
