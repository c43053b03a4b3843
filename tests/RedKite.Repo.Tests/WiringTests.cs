using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// How parts are connected: by constructor arguments and by interfaces that are named for what they ask. A delegate that is set later hides who calls whom, and a setter
/// who changes what, so both are counted, and the numbers may only fall. When yours is lower, lower the bound.
/// </summary>
public sealed partial class WiringTests
{
    private const int DelegatesMax = 13;
    private const int SettersMax = 142;
    private const int PublicSettersMax = 4; // in types that are internal

    // Settings are what CONFIG SET changes, options what a host sets.
    private static readonly string[] Values = ["Settings.cs", "RedKiteOptions.cs", "RedKiteClusterOptions.cs", "BenchOptions.cs"];

    [Fact]
    public void Delegates_that_are_set_later_become_fewer()
    {
        string[] delegates = [.. Lines("delegate ").Select(line => DeclaredDelegate().Match(line.Text)).Where(match => match.Success).Select(match => match.Groups["name"].Value), "Action", "Func", "Predicate"];
        string[] found = [.. Setters().Where(setter => delegates.Contains(setter.Type)).Select(setter => setter.Name)];
        Assert.True(found.Length <= DelegatesMax, $"{found.Length} delegate properties:\n{string.Join('\n', found)}");
    }

    [Fact]
    public void Setters_become_fewer()
    {
        int count = Setters().Count();
        Assert.True(count <= SettersMax, $"{count} properties that others may set");
    }

    [Fact]
    public void Public_setters_of_internal_types_become_fewer()
    {
        string[] found = [.. Repository.Files("src", ".cs").Where(path => !Values.Contains(Path.GetFileName(path))).SelectMany(path => PublicSettersOfInternalTypes(Repository.Read(path)).Select(name => $"{path}: {name}"))];
        Assert.True(found.Length <= PublicSettersMax, $"{found.Length} public setters of internal types:\n{string.Join('\n', found)}");
    }

    [Theory]
    [InlineData("internal sealed class A\n{\n    public int B { get; set; }\n    internal int C { get; set; }\n}", "B")]
    [InlineData("public sealed class A\n{\n    public int B { get; set; }\n}\n\ninternal sealed class C\n{\n    public int D { get; set; }\n}", "D")]
    [InlineData("internal sealed class A\n{\n    public int B { get; internal set; }\n    public int C { get; private set; }\n}", null)]
    public void Public_setters_are_found(string source, string? name) => Assert.Equal(name is null ? [] : [name], PublicSettersOfInternalTypes(source));

    [Theory]
    [InlineData("internal Action? Ended { get; set; }", "Action")]
    [InlineData("public Func<int, string> Reply { get; set; } = static _ => null;", "Func")]
    [InlineData("internal required KeyRule Rule { get; set; }", "KeyRule")]
    [InlineData("internal Dictionary<string, List<int>>? Names { get; set; }", "Dictionary")]
    [InlineData("internal long Count { get; private set; }", null)]
    [InlineData("internal Action Begun { get; init; }", null)]
    public void Setters_are_found(string source, string? type) => Assert.Equal(type, Settable().Match(source) is { Success: true } match ? match.Groups["type"].Value : null);

    private static IEnumerable<(string Type, string Name)> Setters() =>
        from line in Lines("set;")
        where !Values.Contains(Path.GetFileName(line.Path))
        let match = Settable().Match(line.Text)
        where match.Success
        select (match.Groups["type"].Value, $"{line.Path}: {match.Groups["name"].Value}");

    // A property belongs to the last type that is declared above it.
    private static IEnumerable<string> PublicSettersOfInternalTypes(string source)
    {
        bool isPublic = false;
        foreach (string line in source.Split('\n'))
        {
            if (line.TrimStart().StartsWith("//", StringComparison.Ordinal)) continue;
            if (DeclaredType().Match(line) is { Success: true } type) isPublic = type.Groups["access"].Value == "public";
            if (!isPublic && PublicSetter().Match(line) is { Success: true } setter) yield return setter.Groups["name"].Value;
        }
    }

    private static IEnumerable<(string Path, string Text)> Lines(string with) =>
        from path in Repository.Files("src", ".cs")
        from line in Repository.Read(path).Split('\n')
        where line.Contains(with, StringComparison.Ordinal) && !line.TrimStart().StartsWith("//", StringComparison.Ordinal)
        select (path, line);

    [GeneratedRegex(@"\b(?:internal|public)(?: (?:required|static|virtual|override|new))* (?<type>\w+)(?:<[^{;=]*>)?\??(?:\[\])? (?<name>\w+)\s*\{\s*get;\s*(?:internal )?set;")]
    private static partial Regex Settable();

    [GeneratedRegex(@"^\s*(?<access>public|internal|private|protected)(?: \w+)* (?:class|struct|record|interface) ")]
    private static partial Regex DeclaredType();

    [GeneratedRegex(@"\bpublic(?: (?:required|static|virtual|override|new))* \w+(?:<[^{;=]*>)?\??(?:\[\])? (?<name>\w+)\s*\{\s*get;\s*set;")]
    private static partial Regex PublicSetter();

    [GeneratedRegex(@"\bdelegate [\w<>?\[\], ]+? (?<name>\w+)(?:<[^(]*>)?\(")]
    private static partial Regex DeclaredDelegate();
}
