using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// Native memory and pointers are confined to the store and the interop of the network, of files and of Lua, which expose spans and ref structs;
/// only the store's own tests and microbenchmarks see its pointers, and types of values that a project adds have their structures in its folder Store. The compiler's switch applies to a whole project, hence
/// this rule for folders.
/// </summary>
public class UnsafeCodeTests
{
    private static readonly string[] AllowedFolders = ["src/RedKite.Store/", "src/RedKite.Net/Interop/", "src/RedKite.Persistence/Interop/", "src/RedKite.Scripting/Interop/", "src/RedKite.Json/Store/", "src/RedKite.Sketches/Store/", "src/RedKite.TimeSeries/Store/", "tests/RedKite.Store.Tests/", "tests/RedKite.Types.Tests/CounterVectors/", "bench/Microbenchmarks/Store/"];
    private static readonly string[] AllowedProjects =
    [
        "src/RedKite.Store/RedKite.Store.csproj", "src/RedKite.Net/RedKite.Net.csproj", "src/RedKite.Persistence/RedKite.Persistence.csproj", "src/RedKite.Scripting/RedKite.Scripting.csproj", "src/RedKite.Json/RedKite.Json.csproj", "src/RedKite.Sketches/RedKite.Sketches.csproj", "src/RedKite.TimeSeries/RedKite.TimeSeries.csproj", "tests/RedKite.Store.Tests/RedKite.Store.Tests.csproj",
        "tests/RedKite.Types.Tests/RedKite.Types.Tests.csproj", "bench/Microbenchmarks/RedKite.Microbenchmarks.csproj",
    ];

    // A keyword type followed by an asterisk is a pointer, because types are not multiplied.
    private static readonly Regex UnsafeCode = new(
        @"\bunsafe\b|\bdelegate\s*\*|\bfixed\s*\(|\bNativeMemory\s*\.|\bMarshal\s*\.\s*Alloc\w+"
        + @"|\b(void|bool|byte|sbyte|char|short|ushort|int|uint|long|ulong|nint|nuint|float|double)\s*\*");

    private static readonly Regex UnsafeSwitch = new(@"<AllowUnsafeBlocks>\s*true\s*</AllowUnsafeBlocks>", RegexOptions.IgnoreCase);

    [Fact]
    public void Unsafe_code_stays_in_its_two_projects()
    {
        Repository.AssertNone(Repository.CSharpFiles.SelectMany(path => CodeViolations(path, Repository.Read(path))));
    }

    [Fact]
    public void Unsafe_switch_is_on_where_allowed()
    {
        Repository.AssertNone(Repository.Files("", ".csproj", ".props", ".targets")
            .SelectMany(path => SwitchViolations(path, Repository.Read(path))));
    }

    [Theory]
    [InlineData("src/RedKite.Server/A.cs", "internal unsafe class A;", 1)]
    [InlineData("src/RedKite.Net/A.cs", "byte* at = start;", 1)]
    [InlineData("src/RedKite.Net/A.cs", "delegate* <int> call;", 1)]
    [InlineData("src/RedKite.Server/A.cs", "void * a = NativeMemory.Alloc(8);", 1)]
    [InlineData("src/RedKite.Server/A.cs", "// unsafe, byte*\nstring a = \"unsafe\"; int b = c * d;", 0)]
    [InlineData("src/RedKite.Store/Memory/A.cs", "internal unsafe class A { byte* _at; }", 0)]
    [InlineData("src/RedKite.Net/Interop/A.cs", "internal unsafe class A { byte* _at; }", 0)]
    public void Unsafe_code_elsewhere_is_reported(string path, string source, int violations)
    {
        Assert.Equal(violations, CodeViolations(path, source).Count());
    }

    [Theory]
    [InlineData("src/RedKite.Server/RedKite.Server.csproj", 1)]
    [InlineData("Directory.Build.props", 1)]
    [InlineData("src/RedKite.Store/RedKite.Store.csproj", 0)]
    public void Unsafe_switch_elsewhere_is_reported(string path, int violations)
    {
        Assert.Equal(violations, SwitchViolations(path, "<AllowUnsafeBlocks>True</AllowUnsafeBlocks>").Count());
    }

    private static IEnumerable<string> CodeViolations(string path, string source)
    {
        if (AllowedFolders.Any(folder => path.StartsWith(folder, StringComparison.Ordinal))) yield break;

        string[] lines = CSharpText.CodeOnly(source).Split('\n');
        for (int index = 0; index < lines.Length; index++)
        {
            Match match = UnsafeCode.Match(lines[index]);
            if (match.Success) yield return $"{path}:{index + 1}: {match.Value} outside the store and the interop";
        }
    }

    private static IEnumerable<string> SwitchViolations(string path, string project)
    {
        if (UnsafeSwitch.IsMatch(project) && !AllowedProjects.Contains(path)) yield return $"{path}: AllowUnsafeBlocks";
    }
}
