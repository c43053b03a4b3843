using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>Rules for every source file: size, name, header, and no unfinished code.</summary>
public class SourceFileTests
{
    private const int LinesMax = 700;

    private static readonly Regex VagueName = new("(Utils?|Utilities|Helpers?|Common|Manager|Misc)$");

    // A numbered second file hides its purpose. The field's own terms may end in numbers.
    private static readonly Regex Numbered = new(@"\d$");
    private static readonly Regex NumberedTerm =
        new("(Base64|Crc16|Crc64|Crc32|Int16|Int32|Int64|Resp2|Resp3|Sha1|Sha256|SipHash13|Utf8|X64)$", RegexOptions.IgnoreCase);

    // In two halves, so that this file passes its own rule.
    private static readonly Regex Unfinished = new(@"\b(TO" + @"DO|FIX" + @"ME|HA" + @"CK)\b|NotImplemented" + "Exception");

    private static readonly Regex BeforeTheHeader = new(@"^\s*($|(global )?using [^(]*;|namespace [\w.]+;|#|\[assembly:)");

    [Fact]
    public void Files_are_short()
    {
        Repository.AssertNone(Repository.CSharpFiles.SelectMany(path => SizeViolations(path, Repository.Read(path))));
    }

    [Fact]
    public void Long_file_is_reported()
    {
        Assert.Empty(SizeViolations("A.cs", string.Concat(Enumerable.Repeat("line\n", LinesMax))));
        Assert.Single(SizeViolations("A.cs", string.Concat(Enumerable.Repeat("line\n", LinesMax + 1))));
    }

    [Fact]
    public void Names_describe_the_content()
    {
        Repository.AssertNone(Repository.CSharpFiles.SelectMany(NameViolations));
    }

    [Theory]
    [InlineData("src/RedKite.Server/StringUtils.cs", 1)]
    [InlineData("src/RedKite.Server/Helpers.cs", 1)]
    [InlineData("src/RedKite.Server/Common/Key.cs", 1)]
    [InlineData("src/RedKite.Server/SessionManager.cs", 1)]
    [InlineData("src/RedKite.Server/Session2.cs", 1)]
    [InlineData("src/RedKite.Server/Session.cs", 0)]
    [InlineData("src/RedKite.Store/Crc64.cs", 0)]
    [InlineData("src/RedKite.Server/Commands/CommonPrefix.cs", 0)]
    public void Meaningless_name_is_reported(string path, int violations)
    {
        Assert.Equal(violations, NameViolations(path).Count());
    }

    [Fact]
    public void Sources_are_finished()
    {
        string[] extensions = [".cs", ".csproj", ".props", ".targets", ".js", ".py", ".sh", ".cmd", ".html", ".css"];
        IEnumerable<string> files = Repository.Files("", extensions).Append("dev").Append(".ci/run");
        Repository.AssertNone(files.SelectMany(path => UnfinishedViolations(path, Repository.Read(path))));
    }

    [Theory]
    [InlineData("// TO" + "DO: later", 1)]
    [InlineData("a();\n/* FIX" + "ME */", 1)]
    [InlineData("throw new NotImplemented" + "Exception();", 1)]
    [InlineData("// Todos are a list's members here, and hacking is a verb.", 0)]
    public void Unfinished_source_is_reported(string source, int violations)
    {
        Assert.Equal(violations, UnfinishedViolations("A.cs", source).Count());
    }

    [Fact]
    public void Product_files_begin_with_their_role()
    {
        Repository.AssertNone(Repository.Files("src", ".cs").SelectMany(path => HeaderViolations(path, Repository.Read(path))));
    }

    [Theory]
    [InlineData("namespace A;\n\ninternal sealed class B;\n", 1)]
    [InlineData("using System.Text;\n\n[Flags]\ninternal enum B { }\n", 1)]
    [InlineData("return 0;\n", 1)]
    [InlineData("", 1)]
    [InlineData("using System.Text;\n\nnamespace A;\n\n/// <summary>The role.</summary>\ninternal sealed class B;\n", 0)]
    [InlineData("// The role.\nusing System.Text;\n\nnamespace A;\n\ninternal sealed class B;\n", 0)]
    public void File_without_a_role_is_reported(string source, int violations)
    {
        Assert.Equal(violations, HeaderViolations("A.cs", source).Count());
    }

    private static IEnumerable<string> SizeViolations(string path, string source)
    {
        int lines = source.Count(character => character == '\n');
        if (lines > LinesMax) yield return $"{path}: {lines} lines; split it by concept (at most {LinesMax})";
    }

    private static IEnumerable<string> NameViolations(string path)
    {
        string stem = Path.GetFileNameWithoutExtension(path);
        string[] folders = Path.GetDirectoryName(path)?.Split('/', '\\') ?? [];
        if (VagueName.IsMatch(stem) || folders.Any(VagueName.IsMatch)) yield return $"{path}: the name does not say what is inside";
        if (Numbered.IsMatch(stem) && !NumberedTerm.IsMatch(stem)) yield return $"{path}: a numbered file";
    }

    private static IEnumerable<string> UnfinishedViolations(string path, string source)
    {
        return source.Split('\n')
            .Select((line, index) => (Line: line, Number: index + 1))
            .Where(at => Unfinished.IsMatch(at.Line))
            .Select(at => $"{path}:{at.Number}: {at.Line.Trim()}");
    }

    private static IEnumerable<string> HeaderViolations(string path, string source)
    {
        string? first = source.Split('\n').FirstOrDefault(line => !BeforeTheHeader.IsMatch(line));
        if (first is null || !(first.TrimStart().StartsWith("//", StringComparison.Ordinal) || first.TrimStart().StartsWith("/*", StringComparison.Ordinal)))
        {
            yield return $"{path}: no comment says the file's role before its first type";
        }
    }
}
