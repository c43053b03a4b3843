using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>The README, the two entry scripts and CI speak of the same verbs.</summary>
public class EntryPointTests
{
    private static readonly Regex NamedVerb = new(@"\./dev (?<verb>[a-z]+)");
    private static readonly Regex BashVerb = new(@"^ +(?<verb>[a-z]+)(?: \| [^)]*)?\) +\w+.*;;", RegexOptions.Multiline);
    private static readonly Regex BatchVerb = new(@"^if /i ""%verb%""==""(?<verb>[a-z]+)""", RegexOptions.Multiline);

    [Fact]
    public void Every_verb_that_a_page_names_exists()
    {
        string[] verbs = VerbsOf(Repository.Read("dev"), BashVerb);
        Repository.AssertNone(Repository.Files("", ".md").SelectMany(path => VerbViolations(path, Repository.Read(path), verbs)));
    }

    [Fact]
    public void A_verb_that_does_not_exist_is_found()
    {
        Assert.Equal(["README.md: ./dev gone"], VerbViolations("README.md", "`./dev run`, `./dev gone`", ["run"]));
    }

    [Fact]
    public void The_readme_begins_with_the_two_commands()
    {
        string readme = Repository.Read("README.md");
        Assert.Contains("./dev run", readme, StringComparison.Ordinal);
        Assert.Contains("./dev test", readme, StringComparison.Ordinal);
    }

    [Fact]
    public void Both_scripts_have_the_same_verbs()
    {
        Assert.Equal(["bench", "fmt", "fuzz", "help", "run", "test"], VerbsOf(Repository.Read("dev"), BashVerb));
        Assert.Equal(["bench", "fmt", "fuzz", "help", "run", "test"], VerbsOf(Repository.Read("dev.cmd"), BatchVerb));
    }

    [Fact]
    public void Ci_runs_what_people_run()
    {
        Assert.Contains("/../dev\" test", Repository.Read(".ci/run"), StringComparison.Ordinal);
    }

    [Fact]
    public void The_readme_has_one_place_for_measured_figures()
    {
        string readme = Repository.Read("README.md");
        Assert.Single(Regex.Matches(readme, "^<!-- figures:begin -->$", RegexOptions.Multiline));
        Assert.Single(Regex.Matches(readme, "^<!-- figures:end -->$", RegexOptions.Multiline));
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
