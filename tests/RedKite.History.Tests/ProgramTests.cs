using System.Xml.Linq;

namespace RedKite.History.Tests;

/// <summary>The program's verbs, exit status and messages.</summary>
public sealed class ProgramTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-history-tests-").FullName;

    [Fact]
    public void History_writes_the_page()
    {
        string page = Path.Combine(_folder, "new", "page.html");
        (int status, string output, string errors) = Run("history", "--results", Fixtures.Results, "--out", page);
        Assert.Equal((0, ""), (status, errors));
        Assert.Contains("4 records", output, StringComparison.Ordinal);
        Assert.Equal(6, XDocument.Parse(File.ReadAllText(page)).Descendants("circle").Count());
    }

    [Fact]
    public void Malformed_line_is_one_line_of_error_and_no_page()
    {
        string results = Path.Combine(_folder, "results.ndjson");
        string page = Path.Combine(_folder, "page.html");
        File.WriteAllText(results, File.ReadAllText(Fixtures.Results) + "not a record\n");
        (int status, string output, string errors) = Run("history", "--results", results, "--out", page);
        Assert.Equal((2, ""), (status, output));
        Assert.StartsWith($"{results}, line 5: ", errors, StringComparison.Ordinal);
        Assert.Single(errors.TrimEnd().Split('\n'));
        Assert.False(File.Exists(page));
    }

    [Theory]
    [InlineData("the first argument must be record or history")]
    [InlineData("--out is not an option of record", "record", "--out", "a")]
    [InlineData("--scenarios is not an option of history", "history", "--scenarios", "cpu")]
    [InlineData("-- is not an option of history", "history", "--", "--rounds", "3")]
    [InlineData("--results needs a value", "history", "--results")]
    public void Invalid_arguments_are_named(string message, params string[] arguments)
    {
        (int status, string output, string errors) = Run(arguments);
        Assert.Equal((2, ""), (status, output));
        Assert.StartsWith(message + Environment.NewLine, errors, StringComparison.Ordinal);
    }

    [Fact]
    public void Arguments_after_two_dashes_go_to_the_scenarios()
    {
        HistoryOptions options = HistoryOptions.Parse(["record", "--scenarios", "cpu,idle", "--", "--rounds", "3", "--help"]);
        Assert.Equal(["cpu", "idle"], options.Scenarios);
        Assert.Equal(["--rounds", "3", "--help"], options.Settings);
        Assert.Equal(["cpu", "memory"], HistoryOptions.Parse(["record"]).Scenarios);
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private static (int Status, string Output, string Errors) Run(params string[] arguments)
    {
        using StringWriter output = new(), errors = new();
        int status = Program.Run(arguments, output, errors);
        return (status, output.ToString(), errors.ToString());
    }
}
