using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// Pages that lead somewhere: links to files that exist, and code that is where a page says. A page names code as
/// `File.cs` or `folder/File.cs`, and methods of that file as code spans right after it: `File.cs` `Method`, `Other`.
/// Decision records are history and may name what has gone.
/// </summary>
public class DocumentationTests
{
    private static readonly Regex Link = new(@"\[[^\]]*\]\((?<target>[^)\s]+)\)");
    private static readonly Regex Fence = new(@"^```.*?^```", RegexOptions.Multiline | RegexOptions.Singleline);

    private static readonly Regex NamedCode = new(
        @"`(?<file>[\w./-]+\.cs)`(?:(?:\s|:|,|\band\b)+`(?<method>[A-Z]\w*)(?:\(\))?`)*");

    [Fact]
    public void Every_link_leads_to_a_file()
    {
        Repository.AssertNone(Repository.Files("", ".md").SelectMany(path => LinkViolations(path, Repository.Read(path), Repository.Exists)));
    }

    [Theory]
    [InlineData("[a](gone.md)", 1)]
    [InlineData("[a](../gone.md#part) and [b](here.md#part)", 1)]
    [InlineData("![a](gone.png)", 1)]
    [InlineData("[a](https://example.org/gone.md) [b](#part)", 0)]
    [InlineData("```\n[a](gone.md)\n```", 0)]
    public void A_dead_link_is_found(string page, int violations)
    {
        Assert.Equal(violations, LinkViolations("docs/page.md", page, path => path == "docs/here.md").Count());
    }

    [Fact]
    public void Every_file_and_method_that_a_page_names_exists()
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
    public void Code_that_is_not_where_a_page_says_is_found(string page, int violations)
    {
        const string source = "void Execute() { }\nbool Parse<T>(T a) => true;\n// Mentioned()";
        Assert.Equal(violations, CodeViolations("docs/page.md", page, ["src/Sessions/Session.cs"], _ => source).Count());
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

    // A link is relative to its page; the answer is relative to the root.
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
