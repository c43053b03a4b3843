using System.Globalization;
using System.IO.Compression;
using System.Text.Json;
using RedKite.Testing;

namespace RedKite.EndToEnd.Tests;

/// <summary>redkite debug-package and redkite analyze, as scripts use them.</summary>
public sealed class DebugPackageTests : IDisposable
{
    private const string Manifest = """{"product":"RedKite","format":1,"version":"0.1.0","unix_seconds":1700000000,"parts":[]}""";

    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-package-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task Package_of_a_sick_server_with_a_password_is_fetched_and_analyzed()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no debug package");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--protected-mode", "no");
        string package = Path.Combine(_folder, "package.zip");
        ChildProgram fetched = (await RedKite("debug-package", "--port", Port(server), "--output", package)).Succeeded();
        Assert.Contains(package, fetched.Output, StringComparison.Ordinal);
        ChildProgram analyzed = await RedKite("analyze", package);
        Assert.Equal(2, analyzed.ExitCode);
        Assert.Contains("Verdict: critical.", analyzed.Output, StringComparison.Ordinal);
        Assert.Contains("[critical] The server is open to the network without a password (open-to-network)", analyzed.Output, StringComparison.Ordinal);
        Assert.Equal("", analyzed.Errors);
    }

    [Fact]
    public async Task Stacks_are_printed_and_written_for_speedscope()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no debug package");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        string package = Path.Combine(_folder, "package.zip");
        string speedscope = Path.Combine(_folder, "package.json");
        (await RedKite("debug-package", "--port", Port(server), "--output", package)).Succeeded();
        ChildProgram analyzed = await RedKite("analyze", package, "--stacks", "--speedscope", speedscope);
        Assert.Equal("", analyzed.Errors);
        string[] lines = analyzed.Output.Split('\n');
        int loop = Array.FindIndex(lines, line => line.StartsWith("loop-0 ", StringComparison.Ordinal) && line.Contains(" waiting; ", StringComparison.Ordinal));
        Assert.True(loop > 0, analyzed.Output);
        Assert.Contains(lines[loop..].TakeWhile(line => line.Trim().Length > 0), frame => frame.StartsWith("    RedKite.Net.", StringComparison.Ordinal));
        Assert.Contains(lines, line => line.StartsWith("diagnostics ", StringComparison.Ordinal));
        using JsonDocument json = JsonDocument.Parse(File.ReadAllBytes(speedscope));
        Assert.Contains(json.RootElement.GetProperty("profiles").EnumerateArray(), thread => thread.GetProperty("name").GetString()!.StartsWith("loop-0 ", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Package_without_stacks_says_so()
    {
        ChildProgram analyzed = await RedKite("analyze", Package(Manifest, "[]"), "--stacks");
        Assert.Equal(3, analyzed.ExitCode);
        Assert.EndsWith("it has no stacks.nettrace; manifest.json says why", analyzed.Errors.TrimEnd(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Password_is_required_where_the_server_requires_one()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no debug package");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--slowlog-max-len", "1");
        string package = Path.Combine(_folder, "package.zip");
        (await ChildProgram.Run(OracleProgram.Cli, ["-p", Port(server), "CONFIG", "SET", "requirepass", "secret"])).Succeeded();
        ChildProgram refused = await RedKite("debug-package", "--port", Port(server), "--output", package);
        Assert.Equal(1, refused.ExitCode);
        Assert.Equal("redkite debug-package: the server replied: NOAUTH Authentication required.", refused.Errors.TrimEnd());
        Assert.False(File.Exists(package));
        (await RedKite("debug-package", "--port", Port(server), "--user", "default", "--pass", "secret", "--trace", "1", "--output", package)).Succeeded();
        using ZipArchive zip = ZipFile.OpenRead(package);
        Assert.Contains(zip.Entries, entry => entry.FullName == "trace.nettrace" && entry.Length > 10_000);
    }

    [Theory]
    [InlineData(0, "Verdict: healthy.", "[]")]
    [InlineData(1, "Verdict: warnings.", """[{"name":"process_swap_bytes","value":100000000}]""")]
    [InlineData(2, "Verdict: critical.", """[{"name":"maxmemory","value":1000},{"name":"used_memory","value":1000}]""")]
    public async Task Exit_status_is_the_worst_finding(int status, string verdict, string metrics)
    {
        ChildProgram analyzed = await RedKite("analyze", Package(Manifest, metrics));
        Assert.Contains(verdict, analyzed.Output, StringComparison.Ordinal);
        Assert.Equal(status, analyzed.ExitCode);
    }

    [Fact]
    public async Task File_that_is_no_package_is_one_line_and_status_3()
    {
        string text = Path.Combine(_folder, "text.zip");
        File.WriteAllText(text, "this is no zip file");
        string damaged = Package("{", "[]");
        foreach (string path in new[] { text, damaged, Path.Combine(_folder, "missing.zip") })
        {
            ChildProgram analyzed = await RedKite("analyze", path);
            Assert.Equal(3, analyzed.ExitCode);
            Assert.StartsWith($"redkite analyze: {path}: ", Assert.Single(analyzed.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData("--output FILE is required", "--port", "1")]
    [InlineData("unknown option '--colour'; see --help", "--colour", "red")]
    [InlineData("--output needs a value", "--output")]
    [InlineData("--port must be between 0 and 65535", "--output", "x", "--port", "70000")]
    public async Task Wrong_option_is_one_line(string error, params string[] options)
    {
        ChildProgram program = await RedKite(["debug-package", .. options]);
        Assert.Equal(1, program.ExitCode);
        Assert.Equal("redkite debug-package: " + error, program.Errors.TrimEnd());
    }

    [Theory]
    [InlineData("debug-package", "--output FILE")]
    [InlineData("analyze", "Exit status: 0 healthy (notices at most), 1 warnings, 2 critical findings, 3 the file cannot be used.")]
    public async Task Help_says_what_scripts_need(string program, string line)
    {
        Assert.Contains(line, (await RedKite(program, "--help")).Succeeded().Output, StringComparison.Ordinal);
    }

    private static string Port(ServerProcess server) => server.Port.ToString(CultureInfo.InvariantCulture);

    private static Task<ChildProgram> RedKite(params string[] arguments) =>
        ChildProgram.Run("dotnet", [Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", RepositoryRoot.Configuration, "redkite.dll"), .. arguments]);

    private string Package(string manifest, string metrics)
    {
        string path = Path.Combine(_folder, "made.zip");
        using ZipArchive zip = ZipFile.Open(path, ZipArchiveMode.Create);
        foreach ((string name, string text) in new[] { ("manifest.json", manifest), ("reports/metrics.json", metrics) })
        {
            using StreamWriter entry = new(zip.CreateEntry(name).Open());
            entry.Write(text);
        }

        return path;
    }
}
