using System.Diagnostics;
using System.Reflection.Metadata;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using RedKite.TestSupport;

namespace RedKite.Hosting.Tests;

/// <summary>How the packages' assemblies are built. Where a repository of another kind is needed, a library is built in a copy of its folder.</summary>
public sealed class PackageBuildTests : IDisposable
{
    private const string Library = "RedKite.Protocol"; // refers to no other project
    private const string NeverTrimmed = "RedKite.Aspire.Hosting"; // Aspire's libraries are not made for it

    private static readonly Guid SourceLink = new("CC110556-A091-4D38-9FEC-25AB9A351A6A"); // the kind of debug information
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(10);

    private readonly TemporaryFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    [Long]
    public void Same_sources_give_the_same_assemblies()
    {
        string[] first = BuildAll();
        Assert.Contains(first, static line => line.StartsWith("RedKite.Server.dll ", StringComparison.Ordinal));
        Assert.Contains(first, static line => line.StartsWith("RedKite.Server.pdb ", StringComparison.Ordinal));
        Assert.Equal(first, BuildAll());
    }

    [Theory]
    [Long]
    [InlineData("", false)]
    [InlineData("https://github.com/example/redkite.git", true)]
    public void Symbols_link_to_the_sources_where_the_repository_has_an_address(string address, bool links)
    {
        CopyLibrary();
        Git("init", "-q");
        Git("add", "-A");
        Git("-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "Copy");
        if (address.Length > 0) Git("remote", "add", "origin", address);
        Assert.Equal(0, Build().ExitCode);
        using FileStream file = File.OpenRead(Directory.GetFiles(_folder.File("artifacts/bin"), Library + ".pdb", SearchOption.AllDirectories).Single());
        using MetadataReaderProvider symbols = MetadataReaderProvider.FromPortablePdbStream(file);
        MetadataReader reader = symbols.GetMetadataReader();
        string[] documents =
        [
            .. reader.CustomDebugInformation.Select(reader.GetCustomDebugInformation).Where(item => reader.GetGuid(item.Kind) == SourceLink)
                .Select(item => Encoding.UTF8.GetString(reader.GetBlobBytes(item.Value))),
        ];
        Assert.All(reader.Documents.Select(document => reader.GetString(reader.GetDocument(document).Name)), static name => Assert.StartsWith("/_/", name, StringComparison.Ordinal));
        if (links) Assert.Contains("\"/_/*\":\"https://raw.githubusercontent.com/example/redkite/", Assert.Single(documents), StringComparison.Ordinal);
        else Assert.Empty(documents);
    }

    // Warnings are errors, so a library that builds has none.
    [Theory]
    [Long]
    [InlineData("IL3050", "public static object Made(System.Type type) => System.Array.CreateInstance(type, 1);")]
    [InlineData("IL2070", "public static object? Made(System.Type type) => type.GetMethod(\"Made\");")]
    public void What_cannot_be_trimmed_or_compiled_ahead_of_time_does_not_build(string warning, string method)
    {
        CopyLibrary();
        File.WriteAllText(_folder.File($"src/{Library}/Added.cs"), $"namespace {Library};\n\n/// <summary>Added.</summary>\npublic static class Added\n{{\n    /// <summary>Added.</summary>\n    {method}\n}}\n");
        (int exitCode, string output) = Build();
        Assert.NotEqual(0, exitCode);
        Assert.Contains("error " + warning, output, StringComparison.Ordinal);
    }

    [Fact]
    [Long]
    public void Every_library_is_analyzed_and_built_for_packages()
    {
        foreach (string project in Directory.GetFiles(Path.Combine(RepositoryRoot.Path, "src"), "*.csproj", SearchOption.AllDirectories))
        {
            (int exitCode, string output) = Execute(
                "dotnet",
                RepositoryRoot.Path,
                ["msbuild", project, "-p:Configuration=Release", "-p:CI=true", "-p:RunAnalyzers=true", "-getProperty:TreatWarningsAsErrors,Deterministic,ContinuousIntegrationBuild,EmbedUntrackedSources,PublishRepositoryUrl,NoWarn" + (project.Contains(NeverTrimmed, StringComparison.Ordinal) ? "" : ",IsAotCompatible,EnableAotAnalyzer,EnableTrimAnalyzer,EnableSingleFileAnalyzer")]);
            Assert.True(exitCode == 0, output);
            using JsonDocument json = JsonDocument.Parse(output);
            Dictionary<string, string> properties = json.RootElement.GetProperty("Properties").EnumerateObject().ToDictionary(static property => property.Name, static property => property.Value.GetString()!);
            Assert.DoesNotContain("IL2", properties["NoWarn"].Replace("IL2121", "", StringComparison.Ordinal), StringComparison.Ordinal);
            Assert.DoesNotContain("IL3", properties["NoWarn"], StringComparison.Ordinal);
            properties.Remove("NoWarn");
            Assert.All(properties, property => Assert.True(property.Value.Equals("true", StringComparison.OrdinalIgnoreCase), $"{project}: {property.Key} is '{property.Value}'"));
        }
    }

    private string[] BuildAll()
    {
        string artifacts = _folder.File("artifacts");
        (int exitCode, string output) = Execute("dotnet", RepositoryRoot.Path, ["build", Path.Combine("src", "RedKite.Hosting"), "-c", "Release", "-v", "quiet", "--artifacts-path", artifacts, "-p:CI=true", "-p:UseSharedCompilation=false"]);
        Assert.True(exitCode == 0, output);
        string[] files =
        [
            .. Directory.GetFiles(artifacts, "RedKite.*", SearchOption.AllDirectories)
                .Where(static path => path.Contains($"{Path.DirectorySeparatorChar}bin{Path.DirectorySeparatorChar}", StringComparison.Ordinal) && Path.GetExtension(path) is ".dll" or ".pdb")
                .Select(static path => $"{Path.GetFileName(path)} {Convert.ToHexString(SHA256.HashData(File.ReadAllBytes(path)))}").Distinct().Order(StringComparer.Ordinal),
        ];
        Directory.Delete(artifacts, recursive: true);
        return files;
    }

    private void CopyLibrary()
    {
        foreach (string name in (string[])["Directory.Build.props", "Directory.Build.targets", "Directory.Packages.props", ".editorconfig"])
        {
            File.Copy(Path.Combine(RepositoryRoot.Path, name), _folder.File(name));
        }

        string source = Path.Combine(RepositoryRoot.Path, "src", Library);
        foreach (string path in Directory.GetFiles(source, "*", SearchOption.AllDirectories))
        {
            string copy = _folder.File(Path.Combine("src", Library, Path.GetRelativePath(source, path)));
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(path, copy);
        }
    }

    private (int ExitCode, string Output) Build() =>
        Execute("dotnet", _folder.Path, ["build", Path.Combine("src", Library), "-c", "Release", "-v", "quiet", "-p:RunAnalyzers=true", "-p:UseSharedCompilation=false"]);

    private void Git(params string[] arguments)
    {
        (int exitCode, string output) = Execute("git", _folder.Path, arguments);
        Assert.True(exitCode == 0, output);
    }

    private static (int ExitCode, string Output) Execute(string program, string folder, string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments) { WorkingDirectory = folder, RedirectStandardOutput = true, RedirectStandardError = true };
        start.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        start.Environment["DOTNET_NOLOGO"] = "1";
        start.Environment["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1";
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        if (process.WaitForExit(Patience)) return (process.ExitCode, output.Result + error.Result);
        process.Kill(entireProcessTree: true);
        throw new TimeoutException($"{program} {string.Join(' ', arguments)} does not end.");
    }
}
