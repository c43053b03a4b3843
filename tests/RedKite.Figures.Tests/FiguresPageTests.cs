namespace RedKite.Figures.Tests;

/// <summary>The files of the sections, and the page's table between its markers.</summary>
public sealed class FiguresPageTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-figures-").FullName;
    private readonly string _page;

    public FiguresPageTests() => _page = Path.Combine(_folder, "figures.md");

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public void Figures_replace_the_text_between_the_markers()
    {
        File.WriteAllText(_page, "before\n<!-- figures:begin -->\nold\n<!-- figures:end -->\nafter\n");

        Write("cpu", 1.5);

        string page = File.ReadAllText(_page);
        Assert.StartsWith("before\n<!-- figures:begin -->\n## targets\n", page, StringComparison.Ordinal);
        string section = File.ReadAllText(Path.Combine(_folder, "Results", "cpu.md"));
        Assert.StartsWith("# cpu\n\nMethod.\n", section, StringComparison.Ordinal);
        Assert.Contains("with `./dev bench cpu --write-figures`; ", section, StringComparison.Ordinal);
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
        Assert.Equal(["cpu", "tail"], once.Split('\n').Where(line => line.Contains("figure of", StringComparison.Ordinal)).Select(line => line.Split(' ')[1]));
        Assert.Equal(["cpu.md", "tail.md"], Directory.GetFiles(Path.Combine(_folder, "Results")).Select(Path.GetFileName).Order(StringComparer.Ordinal));

        Write("cpu", 2.5);
        Assert.Equal(once, File.ReadAllText(_page));
    }

    [Fact]
    public void All_targets_are_listed_first_with_missed_ones()
    {
        File.WriteAllText(_page, "<!-- figures:begin -->\n<!-- figures:end -->\n");
        Write("tail", 1.5);
        Write("cpu", 2.5);
        string[] summary = File.ReadAllText(_page).Split('\n');
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
        FiguresPage.Write(_page, Path.Combine(_folder, "Results"), [report], Options.Parse([scenario, "--write-figures"], known), known);
    }
}
