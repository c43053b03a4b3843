using System.Diagnostics;
using System.Globalization;
using System.IO.Compression;
using System.Text;
using System.Text.Json;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>redkite debug-package and redkite analyze, as scripts use them.</summary>
public sealed class DebugPackageTests : IDisposable
{
    private const string Manifest = """{"product":"RedKite","format":1,"version":"0.1.0","unix_seconds":1700000000,"parts":[]}""";

    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-package-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    // It is fetched through the port of the data: the page may be off.
    [Fact]
    public async Task Package_of_a_sick_server_without_a_page_is_fetched_and_analyzed()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no debug package");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--protected-mode", "no", "--admin-port", "0");
        Assert.DoesNotContain(server.Output, line => line.Contains("Dashboard on", StringComparison.Ordinal));
        string package = Path.Combine(_folder, "package.zip");
        ChildProgram fetched = (await RedKite("debug-package", "--port", Port(server), "--log", "0", "--output", package)).Succeeded();
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
        (await RedKite("debug-package", "--port", Port(server), "--log", "0", "--output", package)).Succeeded();
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
        Assert.Equal($"redkite debug-package: 127.0.0.1:{server.Port}: the server needs a password: use --pass (and --user), or the variable REDKITE_PASSWORD", refused.Errors.TrimEnd());
        Assert.False(File.Exists(package));
        (await RedKite("debug-package", "--port", Port(server), "--user", "default", "--pass", "secret", "--trace", "1", "--log", "0", "--output", package)).Succeeded();
        using (ZipArchive zip = ZipFile.OpenRead(package)) Assert.Contains(zip.Entries, entry => entry.FullName == "trace.nettrace" && entry.Length > 10_000);

        // Speedscope's file is made of the trace, for each thread a profile of that second.
        string speedscope = Path.Combine(_folder, "package.json");
        Assert.Equal("", (await RedKite("analyze", package, "--speedscope", speedscope)).Errors);
        using JsonDocument json = JsonDocument.Parse(File.ReadAllBytes(speedscope));
        Assert.Equal("trace.nettrace", json.RootElement.GetProperty("name").GetString());
        JsonElement loop = Assert.Single(json.RootElement.GetProperty("profiles").EnumerateArray(), thread => thread.GetProperty("name").GetString()!.StartsWith("loop-0 ", StringComparison.Ordinal));
        string[] frames = [.. json.RootElement.GetProperty("shared").GetProperty("frames").EnumerateArray().Select(frame => frame.GetProperty("name").GetString()!)];
        int[] used = [.. loop.GetProperty("samples").EnumerateArray().SelectMany(stack => stack.EnumerateArray()).Select(frame => frame.GetInt32())];
        Assert.Contains(used, frame => frames[frame].StartsWith("RedKite.Net.", StringComparison.Ordinal));
    }

    // A server as anybody starts it, with a client at work. The package watches the log for 15 seconds, which is the default.
    [Fact]
    [Alone]
    public async Task Healthy_server_under_a_light_load_has_no_finding()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no debug package");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        string package = Path.Combine(_folder, "package.zip");
        using CancellationTokenSource ended = new();
        Task<int> load = Task.Run(() => Work(server, ended.Token), TestContext.Current.CancellationToken);
        await Task.Delay(5_000, TestContext.Current.CancellationToken); // rules look at several seconds
        long start = Stopwatch.GetTimestamp();
        (await RedKite("debug-package", "--port", Port(server), "--output", package)).Succeeded();
        TimeSpan took = Stopwatch.GetElapsedTime(start);
        await ended.CancelAsync();
        Assert.InRange(await load, 500, int.MaxValue);
        Assert.InRange(took.TotalSeconds, 15, 45); // 30 at most for the package, and some for the start of the program that fetches it
        ChildProgram analyzed = await RedKite("analyze", package);
        Assert.Equal((0, ""), (analyzed.ExitCode, analyzed.Errors));
        Assert.Contains("Verdict: healthy.", analyzed.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("[", analyzed.Output, StringComparison.Ordinal); // nothing was found, and nothing had been before
        Assert.DoesNotContain("Parts that failed", analyzed.Output, StringComparison.Ordinal);
    }

    // The runtime writes the command line into its traces.
    [Fact]
    public async Task Secret_of_the_command_line_is_in_no_part()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no debug package");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--requirepass", "planted-password", "--tls-key-file-pass", "planted word");
        string package = Path.Combine(_folder, "package.zip");
        (await RedKite("debug-package", "--port", Port(server), "--pass", "planted-password", "--trace", "1", "--log", "0", "--output", package)).Succeeded();
        using ZipArchive zip = ZipFile.OpenRead(package);
        foreach (ZipArchiveEntry entry in zip.Entries)
        {
            byte[] bytes = BytesOf(entry);
            foreach (Encoding encoding in (Encoding[])[Encoding.ASCII, Encoding.Unicode])
            {
                Assert.False(bytes.AsSpan().IndexOf(encoding.GetBytes("planted")) >= 0, $"{entry.FullName} has it as {encoding.EncodingName}");
            }
        }

        ChildProgram analyzed = await RedKite("analyze", package, "--stacks");
        Assert.Contains(analyzed.Output.Split('\n'), line => line.StartsWith("loop-0 ", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Package_is_served_as_a_dashboard_with_its_time_range_until_the_program_is_ended()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no debug package");
        string package = Path.Combine(_folder, "package.zip");
        using (ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest, "--slowlog-max-len", "0"))
        {
            await Task.Delay(4_000, TestContext.Current.CancellationToken); // some seconds of history
            (await RedKite("debug-package", "--port", Port(server), "--log", "0", "--output", package)).Succeeded();
        }

        ServerProgram analyze = new("redkite analyze", $"dotnet \"{Program}\" analyze \"{package}\" --serve {{port}}", IsRedKite: true);
        using ServerProcess serving = ServerProcess.StartUnchecked(analyze, LoopbackPort.Next());
        Assert.True(serving.WaitForOutput($"Dashboard on http://127.0.0.1:{serving.Port}/ until Ctrl+C", 60_000), string.Join('\n', serving.Output));
        using var http = new HttpClient { BaseAddress = new Uri($"http://127.0.0.1:{serving.Port}") };
        Assert.Contains("<title>", await http.GetStringAsync(new Uri("/", UriKind.Relative), TestContext.Current.CancellationToken), StringComparison.Ordinal);
        JsonElement source = await Get("/api/source");
        Assert.False(source.GetProperty("live").GetBoolean());
        JsonElement open = (await Get("/api/reports/findings")).GetProperty("open");
        Assert.Contains(open.EnumerateArray(), finding => finding.GetProperty("name").GetString() == "slow-log-off");

        // A range of three seconds that the package has, second by second; before the server's start there is nothing.
        long now = source.GetProperty("now").GetInt64();
        JsonElement range = await Get($"/api/history?metrics=used_memory&from={now - 3}&to={now - 1}&points=3");
        Assert.Equal([now - 3, now - 2, now - 1], range.GetProperty("times").EnumerateArray().Select(time => time.GetInt64()));
        Assert.Contains(Means(range), mean => mean.ValueKind == JsonValueKind.Number && mean.GetDouble() > 100_000);
        Assert.All(Means(await Get($"/api/history?metrics=used_memory&from={now - 3000}&to={now - 2000}&points=10")), mean => Assert.Equal(JsonValueKind.Null, mean.ValueKind));

        serving.Signal("INT");
        // A notice is healthy; on a busy machine the server may have found more.
        string[] verdicts = ["healthy", "warnings", "critical"];
        int status = serving.WaitForExit(60_000) ?? -1;
        Assert.InRange(status, 0, verdicts.Length - 1);
        Assert.Contains(serving.Output, line => line.StartsWith("Verdict: " + verdicts[status], StringComparison.Ordinal));
        if (open.EnumerateArray().All(finding => finding.GetProperty("name").GetString() == "slow-log-off")) Assert.Equal(0, status);

        async Task<JsonElement> Get(string path) => JsonDocument.Parse(await http.GetStringAsync(new Uri(path, UriKind.Relative), TestContext.Current.CancellationToken)).RootElement;

        static JsonElement[] Means(JsonElement history) => [.. history.GetProperty("series").GetProperty("used_memory").GetProperty("mean").EnumerateArray()];
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
        string dump = Path.Combine(_folder, "dump.rdb");
        File.WriteAllText(dump, "REDIS0012");
        string damaged = Package("{", "[]");
        (string Path, string Line)[] files =
        [
            (text, "it is not a debug package; redkite debug-package --output FILE fetches one from a running server"),
            (dump, "it is not a debug package; redkite check verifies dump files and append-only files"),
            (damaged, "the package is damaged: "),
            (Path.Combine(_folder, "missing.zip"), "No such file or directory"),
        ];
        foreach ((string path, string line) in files)
        {
            ChildProgram analyzed = await RedKite("analyze", path);
            Assert.Equal(3, analyzed.ExitCode);
            Assert.StartsWith($"redkite analyze: {path}: {line}", Assert.Single(analyzed.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Damaged_list_of_findings_is_one_line_and_status_3()
    {
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        string path = Path.Combine(_folder, "findings.zip");
        (await RedKite("debug-package", "--port", Port(server), "--log", "0", "--output", path)).Succeeded();
        foreach (string findings in (string[])["nothing that is JSON", "[]", "{}", "{\"ended\":[{}]}"])
        {
            using (ZipArchive zip = ZipFile.Open(path, ZipArchiveMode.Update))
            {
                zip.GetEntry("reports/findings.json")!.Delete();
                await using StreamWriter entry = new(zip.CreateEntry("reports/findings.json").Open());
                await entry.WriteAsync(findings);
            }

            ChildProgram analyzed = await RedKite("analyze", path);
            Assert.Equal(3, analyzed.ExitCode);
            Assert.StartsWith($"redkite analyze: {path}: the part findings is damaged", Assert.Single(analyzed.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
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

    private static string Program { get; } = Path.Combine(RepositoryRoot.Path, "artifacts", "bin", "RedKite.Host", RepositoryRoot.Configuration, "redkite.dll");

    // Some hundred requests a second until the end, of which most find what they look for; returns how many.
    private static int Work(ServerProcess server, CancellationToken ended)
    {
        using RespConnection client = server.Connect();
        int requests = 0;
        for (; !ended.WaitHandle.WaitOne(5); requests += 6)
        {
            int key = requests % 1000;
            client.Run($"SET key:{key} {new string('v', 100)} EX 100").IsOk();
            client.Run($"GET key:{key}").IsBulk(new string('v', 100));
            foreach (string request in (string[])[$"INCR counter:{key}", $"LPUSH list:{key % 10} x", $"LTRIM list:{key % 10} 0 99", $"HSET hash:{key % 10} field{key} value"])
            {
                RespValue reply = client.Run(request);
                Assert.False(reply.IsError, reply.ToString());
            }
        }

        return requests;
    }

    private static byte[] BytesOf(ZipArchiveEntry entry)
    {
        var bytes = new MemoryStream();
        using Stream content = entry.Open();
        content.CopyTo(bytes);
        return bytes.ToArray();
    }

    private static string Port(ServerProcess server) => server.Port.ToString(CultureInfo.InvariantCulture);

    private static Task<ChildProgram> RedKite(params string[] arguments) =>
        ChildProgram.Run("dotnet", [Program, .. arguments]);

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
