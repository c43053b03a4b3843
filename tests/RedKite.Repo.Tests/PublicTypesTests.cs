using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// The public types of the libraries are those of public-types.txt. A public type is a promise to hosts: a new one is added to the list
/// on purpose, and what no host needs is internal.
/// </summary>
public partial class PublicTypesTests
{
    private const string List = "tests/RedKite.Repo.Tests/public-types.txt";

    [Fact]
    public void Public_types_are_those_of_the_list()
    {
        string[] found = [.. Repository.Files("src", ".cs").SelectMany(path => TypesOf(Repository.Read(path))).Order(StringComparer.Ordinal)];
        Assert.Equal(Repository.Read(List).Split('\n', StringSplitOptions.RemoveEmptyEntries), found);
    }

    [Theory]
    [InlineData("namespace A.B;\n\npublic sealed class C\n{\n    public int D;\n}\n", "A.B.C")]
    [InlineData("namespace A;\npublic readonly record struct C(int D);\ninternal enum E;\npublic enum F\n", "A.C A.F")]
    [InlineData("namespace A;\npublic delegate void C(int d);\npublic interface IC<T>\n", "A.C A.IC")]
    public void Types_are_found(string source, string types) => Assert.Equal(types, string.Join(' ', TypesOf(source)));

    private static IEnumerable<string> TypesOf(string source)
    {
        string space = Namespace().Match(source).Groups[1].Value;
        return PublicType().Matches(source).Select(match => $"{space}.{match.Groups[1].Value}");
    }

    [GeneratedRegex(@"^namespace ([\w.]+);", RegexOptions.Multiline)]
    private static partial Regex Namespace();

    [GeneratedRegex(@"^public (?:(?:static|sealed|abstract|readonly|ref|partial|unsafe) )*(?:record struct|record|class|struct|interface|enum|delegate [\w<>?\[\]]+) (\w+)", RegexOptions.Multiline)]
    private static partial Regex PublicType();
}
