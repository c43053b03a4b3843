namespace RedKite.Compare.Tests;

/// <summary>The program as a gate: its exit status and its output.</summary>
public class ProgramTests
{
    [Theory]
    [InlineData("same", 0, "0 slower, 0 faster, 2 same, 0 inconclusive")]
    [InlineData("base", 0, "0 slower, 0 faster, 2 same, 0 inconclusive")]
    [InlineData("faster", 0, "0 slower, 1 faster, 1 same, 0 inconclusive")]
    [InlineData("slower", 1, "1 slower, 0 faster, 1 same, 0 inconclusive")]
    [InlineData("allocating", 1, "1 slower, 0 faster, 1 same, 0 inconclusive")]
    [InlineData("few", 3, "0 slower, 0 faster, 0 same, 2 inconclusive")]
    [InlineData("other", 2, "nothing to compare")]
    public void Result_folders_decide_the_exit_status(string diff, int status, string summary)
    {
        (int exitStatus, string output, string errors) = Run("--base", Fixtures.Folder("base"), "--diff", Fixtures.Folder(diff), "--threshold", "2%");
        Assert.Equal("", errors);
        Assert.Contains(summary, output, StringComparison.Ordinal);
        Assert.Equal(status, exitStatus);
    }

    // The canary: if the verdicts did not reach the exit status, this one would pass as well.
    [Fact]
    public void Slowdown_fails_and_speedup_passes()
    {
        Assert.Equal(1, Run("--base", Fixtures.Folder("base"), "--diff", Fixtures.Folder("slower"), "--threshold", "2%").Status);
        Assert.Equal(0, Run("--base", Fixtures.Folder("slower"), "--diff", Fixtures.Folder("base"), "--threshold", "2%").Status);
    }

    [Fact]
    public void Larger_threshold_passes()
    {
        Assert.Equal(0, Run("--base", Fixtures.Folder("base"), "--diff", Fixtures.Folder("slower"), "--threshold", "8%").Status);
    }

    [Fact]
    public void Table_shows_changes_and_reasons()
    {
        string[] lines = Run("--base", Fixtures.Folder("base"), "--diff", Fixtures.Folder("allocating")).Output.Split('\n');
        string set = Assert.Single(lines, line => line.Contains("SampleBenchmarks.Set", StringComparison.Ordinal));
        Assert.Matches(@"Set +1[12]\d\.\d\d +10\d\.\d\d +-\d+\.\d% +- +- +3 +24 +32 +SLOWER +allocates 8 bytes more$", set.TrimEnd());
    }

    [Fact]
    public void Benchmarks_of_one_side_only_are_listed()
    {
        string output = Run("--base", Fixtures.Folder("base"), "--diff", Fixtures.Folder("other")).Output;
        Assert.Contains("only in the base: SampleBenchmarks.Get", output, StringComparison.Ordinal);
        Assert.Contains("not in the base: SampleBenchmarks.Append", output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("the base revision is missing")]
    [InlineData("the base revision is missing", "--filter", "*")]
    [InlineData("--filter or --scenario is required", "HEAD")]
    [InlineData("--base and --diff go together", "--base", "a")]
    [InlineData("--base and --diff measure nothing: they take no revision, --filter or --scenario", "HEAD", "--base", "a", "--diff", "b")]
    [InlineData("HEAD~1: the base is already HEAD", "HEAD", "HEAD~1")]
    [InlineData("--threshold: two is not between 0% and 100%", "HEAD", "--threshold", "two")]
    [InlineData("--threshold: 0% is not between 0% and 100%", "HEAD", "--threshold", "0%")]
    [InlineData("--scenario: memory is not cpu-p followed by a pipeline depth", "HEAD", "--scenario", "memory")]
    [InlineData("--scenario: x is not a positive integer", "HEAD", "--scenario", "cpu-p1,cpu-px")]
    [InlineData("--rounds needs a value", "HEAD", "--rounds")]
    [InlineData("--launches: 0 is not a positive integer", "HEAD", "--launches", "0")]
    [InlineData("--fast is not an option", "HEAD", "--fast")]
    public void Invalid_arguments_are_an_error(string message, params string[] arguments)
    {
        (int status, string output, string errors) = Run(arguments);
        Assert.Equal((2, ""), (status, output));
        Assert.StartsWith(message + Environment.NewLine, errors, StringComparison.Ordinal);
        Assert.Contains("usage: ./dev bench compare", errors, StringComparison.Ordinal);
    }

    [Fact]
    public void Missing_folder_is_an_error()
    {
        (int status, _, string errors) = Run("--base", Fixtures.Folder("base"), "--diff", Fixtures.Folder("gone"));
        Assert.Equal(2, status);
        Assert.Contains("gone is not a folder", errors, StringComparison.Ordinal);
    }

    [Fact]
    public void Unknown_revision_is_an_error()
    {
        (int status, _, string errors) = Run("no-such-revision", "--filter", "*");
        Assert.Equal(2, status);
        Assert.Contains("no-such-revision", errors, StringComparison.Ordinal);
    }

    [Fact]
    public void Options_are_parsed()
    {
        CompareOptions options = CompareOptions.Parse(
            ["HEAD~1", "--filter", "*A*", "--filter", "*B*", "--scenario", "cpu-p1,cpu-p16", "--threshold", "2.5%", "--rounds", "7"]);
        Assert.Equal("HEAD~1", options.Revision);
        Assert.Equal(["*A*", "*B*"], options.Filters);
        Assert.Equal([1, 16], options.Pipelines);
        Assert.Equal((2.5, 7), (options.ThresholdPercent, options.Rounds));
    }

    private static (int Status, string Output, string Errors) Run(params string[] arguments)
    {
        using StringWriter output = new(), errors = new();
        int status = Program.Run(arguments, output, errors);
        return (status, output.ToString(), errors.ToString());
    }
}
