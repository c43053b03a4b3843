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
        var report = new Report("cpu", "Method.");

        FiguresPage.Write(_page, [report], Options.Parse(["cpu", "--write-figures"], ["cpu"]));

        string page = File.ReadAllText(_page);
        Assert.StartsWith("before\n<!-- figures:begin -->\nMeasured on ", page, StringComparison.Ordinal);
        Assert.Contains("with `./dev bench cpu --write-figures`.\n\n## cpu\n\nMethod.\n", page, StringComparison.Ordinal);
        Assert.EndsWith("<!-- figures:end -->\nafter\n", page, StringComparison.Ordinal);
        Assert.DoesNotContain("old", page, StringComparison.Ordinal);
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
}
