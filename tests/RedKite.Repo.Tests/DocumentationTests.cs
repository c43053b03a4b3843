using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// References of the documentation: links lead to existing files, named code exists, and rounds that comments cite are in
/// the performance log. A page names code as `File.cs` or `folder/File.cs`, and methods of that file as code spans right
/// after it: `File.cs` `Method`, `Other`. Decision records are history and may name code that no longer exists.
/// </summary>
public class DocumentationTests
{
    private static readonly Regex Link = new(@"\[[^\]]*\]\((?<target>[^)\s]+)\)");
    private static readonly Regex Fence = new(@"^```.*?^```", RegexOptions.Multiline | RegexOptions.Singleline);

    private static readonly Regex NamedPage = new(@"docs/[\w/-]+\.md");

    private static readonly Regex CitedRound = new(@"performance-log\.md,[\s/]*round (?<round>\d+)");

    private static readonly Regex NamedCode = new(
        @"`(?<file>[\w./-]+\.cs)`(?:(?:\s|:|,|\band\b)+`(?<method>[A-Z]\w*)(?:\(\))?`)*");

    [Fact]
    public void Links_lead_to_existing_files()
    {
        Repository.AssertNone(Repository.Files("", ".md").SelectMany(path => LinkViolations(path, Repository.Read(path), Repository.Exists)));
    }

    [Theory]
    [InlineData("[a](gone.md)", 1)]
    [InlineData("[a](../gone.md#part) and [b](here.md#part)", 1)]
    [InlineData("![a](gone.png)", 1)]
    [InlineData("[a](https://example.org/gone.md) [b](#part)", 0)]
    [InlineData("```\n[a](gone.md)\n```", 0)]
    public void Dead_link_is_reported(string page, int violations)
    {
        Assert.Equal(violations, LinkViolations("docs/page.md", page, path => path == "docs/here.md").Count());
    }

    // A package is read far from the repository: its README says which pages to look for, by their paths.
    [Fact]
    public void Readmes_of_packages_name_pages_that_exist()
    {
        string[] pages = [.. Repository.Files("src", ".md").Where(path => path.EndsWith("/README.md", StringComparison.Ordinal) && path.Count(c => c == '/') == 2)];
        Assert.True(pages.Length >= 5, $"only {pages.Length} packages have a README");
        Repository.AssertNone(pages.SelectMany(path => PageViolations(path, Repository.Read(path), Repository.Exists)));
    }

    [Theory]
    [InlineData("Read on.", 1)]
    [InlineData("`docs/here.md`", 0)]
    [InlineData("`docs/here.md` and `docs/gone.md`", 1)]
    public void Missing_page_of_a_package_is_reported(string page, int violations)
    {
        Assert.Equal(violations, PageViolations("src/A/README.md", page, path => path == "docs/here.md").Count());
    }

    [Fact]
    public void Documented_files_and_methods_exist()
    {
        string[] sources = [.. Repository.CSharpFiles];
        Repository.AssertNone(Repository.Files("docs", ".md")
            .Where(path => !path.StartsWith("docs/adr/", StringComparison.Ordinal))
            .SelectMany(path => CodeViolations(path, Repository.Read(path), sources, Repository.Read)));
    }

    [Theory]
    [InlineData("`Session.cs` `Execute`", 0)]
    [InlineData("`Sessions/Session.cs` `Execute`, `Parse`", 0)]
    [InlineData("`Gone.cs`", 1)]
    [InlineData("`Elsewhere/Session.cs`", 1)]
    [InlineData("`Session.cs` `Gone`", 1)]
    [InlineData("`Session.cs` `Execute` and `Gone()`", 1)]
    [InlineData("`Session.cs`: `Mentioned`", 1)]
    public void Missing_file_or_method_is_reported(string page, int violations)
    {
        const string source = "void Execute() { }\nbool Parse<T>(T a) => true;\n// Mentioned()";
        Assert.Equal(violations, CodeViolations("docs/page.md", page, ["src/Sessions/Session.cs"], _ => source).Count());
    }

    [Fact]
    public void Cited_rounds_are_in_the_performance_log()
    {
        string log = Repository.Read("docs/performance-log.md");
        Repository.AssertNone(Repository.CSharpFiles.SelectMany(path => RoundViolations(path, Repository.Read(path), log)));
    }

    [Theory]
    [InlineData("// (docs/performance-log.md, round 7)", 0)]
    [InlineData("// (docs/performance-log.md,\n    // round 70)", 1)]
    public void Missing_round_is_reported(string source, int violations)
    {
        Assert.Equal(violations, RoundViolations("src/A.cs", source, "| 7 | Fewer stripes |").Count());
    }

    private static IEnumerable<string> RoundViolations(string path, string source, string log)
    {
        return CitedRound.Matches(source)
            .Select(match => match.Groups["round"].Value)
            .Where(round => !log.Contains($"| {round} |", StringComparison.Ordinal))
            .Select(round => $"{path}: docs/performance-log.md has no round {round}");
    }

    private static IEnumerable<string> PageViolations(string path, string page, Func<string, bool> exists)
    {
        string[] named = [.. NamedPage.Matches(page).Select(match => match.Value)];
        return named.Length == 0 ? [$"{path} names no page of docs"] : named.Where(name => !exists(name)).Select(name => $"{path}: {name} does not exist");
    }

    private static IEnumerable<string> LinkViolations(string path, string page, Func<string, bool> exists)
    {
        foreach (Match match in Link.Matches(Fence.Replace(page, "")))
        {
            string target = match.Groups["target"].Value.Split('#')[0];
            if (target.Length == 0 || target.Contains(':', StringComparison.Ordinal)) continue;
            if (!exists(Resolve(path, target))) yield return $"{path}: {target} does not exist";
        }
    }

    // Links are relative to their page; the result is relative to the root.
    private static string Resolve(string page, string target)
    {
        string folder = Path.GetDirectoryName(page) ?? "";
        string full = Path.GetFullPath(Path.Combine(Repository.Root, folder, Uri.UnescapeDataString(target)));
        return Path.GetRelativePath(Repository.Root, full).Replace('\\', '/');
    }

    private static IEnumerable<string> CodeViolations(string path, string page, string[] sources, Func<string, string> read)
    {
        foreach (Match match in NamedCode.Matches(Fence.Replace(page, "")))
        {
            string file = match.Groups["file"].Value;
            string[] found = [.. sources.Where(source => $"/{source}".EndsWith($"/{file}", StringComparison.Ordinal))];
            if (found.Length == 0) yield return $"{path}: {file} does not exist";

            foreach (Capture method in match.Groups["method"].Captures)
            {
                Regex called = new($@"\b{method.Value}\s*(<[^()]*>)?\s*\(");
                if (found.Length > 0 && !found.Any(source => called.IsMatch(CSharpText.CodeOnly(read(source)))))
                {
                    yield return $"{path}: {file} has no method {method.Value}";
                }
            }
        }
    }
}
