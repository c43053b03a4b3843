namespace RedKite.Figures.Tests;

/// <summary>The page's generated section, between its markers.</summary>
public sealed class FiguresPageTests : IDisposable
{
    private readonly string _page = Path.GetTempFileName();

    public void Dispose() => File.Delete(_page);

    [Fact]
    public void Figures_replace_the_text_between_the_markers()
    {
        File.WriteAllText(_page, "before\n<!-- figures:begin -->\nold\n<!-- figures:end -->\nafter\n");

        Write("cpu", 1.5);

        string page = File.ReadAllText(_page);
        Assert.StartsWith("before\n<!-- figures:begin -->\n## targets\n", page, StringComparison.Ordinal);
        Assert.Contains("\n## cpu\n\nMethod.\n", page, StringComparison.Ordinal);
        Assert.Contains("with `./dev bench cpu --write-figures`; ", page, StringComparison.Ordinal);
        Assert.EndsWith("<!-- figures:end -->\nafter\n", page, StringComparison.Ordinal);
        Assert.DoesNotContain("old", page, StringComparison.Ordinal);
    }

    [Fact]
    public void Sections_of_other_scenarios_stay()
    {
        File.WriteAllText(_page, "<!-- figures:begin -->\n<!-- figures:end -->\n");
        Write("tail", 1.5);
        Write("cpu", 2.5);
        string once = File.ReadAllText(_page);
        Assert.Equal(["## targets", "## cpu", "## tail"], once.Split('\n').Where(line => line.StartsWith("## ", StringComparison.Ordinal)));

        Write("cpu", 2.5);
        Assert.Equal(once, File.ReadAllText(_page));
    }

    [Fact]
    public void All_targets_are_listed_first_with_missed_ones()
    {
        File.WriteAllText(_page, "<!-- figures:begin -->\n<!-- figures:end -->\n");
        Write("tail", 1.5);
        Write("cpu", 2.5);
        string[] summary = File.ReadAllText(_page).Split("## cpu")[0].Split('\n');
        Assert.Contains("| cpu | figure of cpu | 2.50 | 2.00 to 3.00 | at most 2 | NO |", summary);
        Assert.Contains("| tail | figure of tail | 1.50 | 1.00 to 2.00 | at most 2 | yes |", summary);
    }

    [Theory]
    [InlineData("")]
    [InlineData("<!-- figures:begin -->")]
    [InlineData("<!-- figures:end --> <!-- figures:begin -->")]
    public void Missing_marker_is_reported_before_measuring(string text)
    {
        File.WriteAllText(_page, text);
        Assert.Contains("lacks <!-- figures:begin -->", Assert.Throws<CannotMeasureException>(() => FiguresPage.EnsureWritable(_page)).Message, StringComparison.Ordinal);
    }

    private void Write(string scenario, double median)
    {
        var report = new Report(scenario, "Method.");
        report.Targets.Add(Target.AtMost(2, $"figure of {scenario}", new Spread([median, median - 0.5, median + 0.5])));
        string[] known = ["cpu", "tail"];
        FiguresPage.Write(_page, [report], Options.Parse([scenario, "--write-figures"], known), known);
    }
}
