using System.Diagnostics;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>The build where something is missing that it can do without.</summary>
public sealed class BuildTests : IDisposable
{
    private const int TimeoutMs = 120_000;

    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-build-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    // On a machine without Node, where no earlier build has fetched the library. Only the dashboard is built, into a folder of the test.
    [Fact]
    [Long]
    public async Task Dashboard_is_built_without_its_chart_library_and_says_so()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "the path of this machine's programs is not replaced there");
        string programs = Path.Combine(_folder, "programs");
        Directory.CreateDirectory(programs);
        File.CreateSymbolicLink(Path.Combine(programs, "sh"), "/bin/sh");
        string output = Path.Combine(_folder, "output.props");
        File.WriteAllText(output, $"""
            <Project>
              <PropertyGroup Condition="'$(MSBuildProjectName)' == 'RedKite.Dashboard'">
                <IntermediateOutputPath>{_folder}/obj/</IntermediateOutputPath>
                <OutDir>{_folder}/bin/</OutDir>
              </PropertyGroup>
            </Project>
            """);
        string configuration = RepositoryRoot.Configuration;
        ProcessStartInfo start = new(DotNet(),
        [
            "build", Path.Combine(RepositoryRoot.Path, "src", "RedKite.Dashboard"), "-c", configuration, "-nologo", "--no-restore", "--no-dependencies", "-p:UseSharedCompilation=false", "-p:RunAnalyzers=false",
            $"-p:ChartLibrary={_folder}/missing/", $"-p:CustomBeforeMicrosoftCommonProps={output}",
        ])
        {
            RedirectStandardOutput = true,
            Environment = { ["PATH"] = programs, ["MSBUILDDISABLENODEREUSE"] = "1" },
        };
        using Process build = Process.Start(start)!;
        Task<string> text = build.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
        using CancellationTokenSource time = CancellationTokenSource.CreateLinkedTokenSource(TestContext.Current.CancellationToken);
        time.CancelAfter(TimeoutMs);
        try
        {
            await build.WaitForExitAsync(time.Token);
        }
        catch (OperationCanceledException)
        {
            build.Kill(entireProcessTree: true);
            throw;
        }

        Assert.True(build.ExitCode == 0, await text);
        Assert.Contains("RedKite.Dashboard: no chart library, because npm ci did not succeed; the page will show tables.", await text, StringComparison.Ordinal);
        string[] resources = ResourcesOf(Path.Combine(_folder, "bin", "RedKite.Dashboard.dll"));
        Assert.Contains("index.html", resources);
        Assert.DoesNotContain(resources, name => name.StartsWith("vendor/", StringComparison.Ordinal));
    }

    // As a full path: the build itself finds no program but the shell.
    private static string DotNet() => Environment.GetEnvironmentVariable("PATH")!.Split(Path.PathSeparator).Select(folder => Path.Combine(folder, "dotnet")).First(File.Exists);

    private static string[] ResourcesOf(string assembly)
    {
        using var reader = new PEReader(File.OpenRead(assembly));
        MetadataReader metadata = reader.GetMetadataReader();
        return [.. metadata.ManifestResources.Select(handle => metadata.GetString(metadata.GetManifestResource(handle).Name))];
    }
}
