using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>The documentation, the two entry scripts and CI agree on the verbs.</summary>
public class EntryPointTests
{
    private static readonly Regex NamedVerb = new(@"\./dev (?<verb>[a-z]+)");
    private static readonly Regex BashVerb = new(@"^ +(?<verb>[a-z]+)(?: \| [^)]*)?\) +\w+.*;;", RegexOptions.Multiline);
    private static readonly Regex BatchVerb = new(@"^if /i ""%verb%""==""(?<verb>[a-z]+)""", RegexOptions.Multiline);

    [Fact]
    public void Documented_verbs_exist()
    {
        string[] verbs = VerbsOf(Repository.Read("dev"), BashVerb);
        Repository.AssertNone(Repository.Files("", ".md").SelectMany(path => VerbViolations(path, Repository.Read(path), verbs)));
    }

    [Fact]
    public void Unknown_verb_in_a_page_is_reported()
    {
        Assert.Equal(["README.md: ./dev gone"], VerbViolations("README.md", "`./dev run`, `./dev gone`", ["run"]));
    }

    [Fact]
    public void Readme_shows_how_to_run_and_test()
    {
        string readme = Repository.Read("README.md");
        Assert.Contains("./dev run", readme, StringComparison.Ordinal);
        Assert.Contains("./dev test", readme, StringComparison.Ordinal);
    }

    [Fact]
    public void Both_scripts_define_the_same_verbs()
    {
        Assert.Equal(["bench", "fmt", "fuzz", "help", "pack", "run", "test"], VerbsOf(Repository.Read("dev"), BashVerb));
        Assert.Equal(["bench", "fmt", "fuzz", "help", "pack", "run", "test"], VerbsOf(Repository.Read("dev.cmd"), BatchVerb));
    }

    [Theory]
    [InlineData("dev", @"^  fuzz (?<verb>[a-z]+) ", @"^    if \[ ""\$\{1:-\}"" = (?<verb>[a-z]+) \]")]
    [InlineData("dev.cmd", @"^echo   fuzz (?<verb>[a-z]+) ", @"^if /i ""%kind%""==""(?<verb>[a-z]+)"" goto \k<verb>\s*$")]
    public void Both_scripts_fuzz_the_same(string script, string described, string run)
    {
        string[] expected = ["attack", "cluster", "crash", "hosts"];
        Assert.Equal(expected, VerbsOf(Repository.Read(script), new Regex(described, RegexOptions.Multiline)));
        Assert.Equal(expected, VerbsOf(Repository.Read(script), new Regex(run, RegexOptions.Multiline)));
    }

    [Fact]
    public void Ci_calls_the_dev_script()
    {
        Assert.Contains("/../dev\" test", Repository.Read(".ci/run"), StringComparison.Ordinal);
    }

    [Fact]
    public void Figures_page_has_one_generated_section()
    {
        string page = Repository.Read("docs/reference/figures.md");
        Assert.Single(Regex.Matches(page, "^<!-- figures:begin -->$", RegexOptions.Multiline));
        Assert.Single(Regex.Matches(page, "^<!-- figures:end -->$", RegexOptions.Multiline));
    }

    private static string[] VerbsOf(string script, Regex verb)
    {
        return [.. verb.Matches(script).Select(match => match.Groups["verb"].Value).Order(StringComparer.Ordinal)];
    }

    private static IEnumerable<string> VerbViolations(string path, string page, string[] verbs)
    {
        return NamedVerb.Matches(page)
            .Where(match => !verbs.Contains(match.Groups["verb"].Value))
            .Select(match => $"{path}: {match.Value}");
    }
}
