using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text.Json;
using RedKite.TestSupport;

namespace RedKite.Bench.Tests;

/// <summary>Whole runs: against a server in this process, against Redis itself, and against one that stalls.</summary>
public class BenchRunTests
{
    public static TheoryData<string> Transports => Net.EventLoop.EpollIsSupported ? ["epoll", "sockets"] : ["sockets"];

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task Request_hit_and_miss_counts_are_exact(string transport)
    {
        await using RedKiteServer server = await StartAsync();
        string[] common = ["-p", $"{server.Port}", "-t", "2", "-c", "3", "--pipeline", "7", "--key-maximum", "99", "--transport", transport];

        BenchResult loaded = Run([.. common, "--ratio", "1:0", "-n", "allkeys", "--key-pattern", "S:S"]);
        Assert.Equal((600, 0), (loaded.Totals.Count, loaded.Totals.Errors));
        Assert.Equal("100", server.Execute("DBSIZE").ToString());

        // A range twice as large: half of the keys exist.
        BenchResult read = Run([.. common, "--key-maximum", "199", "--ratio", "0:1", "-n", "200", "--key-pattern", "S:S"]);
        Assert.Equal((1200, 600, 600), (read.Totals.Count, read.Totals.Hits, read.Totals.Misses));
    }

    [Fact]
    public void Hits_and_misses_match_redis_info()
    {
        using ServerProcess redis = ServerProcess.Start(ServerProgram.Oracle);
        BenchResult result = Run("-p", $"{redis.Port}", "-t", "2", "-c", "4", "-n", "3000", "--pipeline", "10", "--ratio", "1:3", "--key-maximum", "2000", "--protocol", "3", "--select-db", "2");
        Assert.Equal((24_000, 6_000, 18_000), (result.Totals.Count, result.Rows[0].Count, result.Rows[1].Count));

        using RespConnection connection = redis.Connect();
        string statistics = connection.Run("INFO stats").Text;
        Assert.Contains($"keyspace_hits:{result.Totals.Hits}\r\n", statistics, StringComparison.Ordinal);
        Assert.Contains($"keyspace_misses:{result.Totals.Misses}\r\n", statistics, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Large_values_arrive_whole()
    {
        await using RedKiteServer server = await StartAsync();
        BenchResult result = Run("-p", $"{server.Port}", "-t", "1", "-c", "2", "-n", "100", "--pipeline", "20", "-d", "300000", "--ratio", "1:1", "--key-maximum", "3");
        Assert.Equal((200, 0), (result.Totals.Count, result.Totals.Errors));
        Assert.True(result.Rows[1].BytesReceived >= result.Totals.Hits * 300_000);
    }

    [Fact]
    public async Task Arbitrary_commands_follow_their_ratios()
    {
        await using RedKiteServer server = await StartAsync();
        BenchResult result = Run("-p", $"{server.Port}", "-t", "1", "-c", "1", "-n", "100", "--command", "APPEND __key__ __data__", "--command-ratio", "3", "--command", "PING", "--command", "PING again");
        Assert.Equal([("APPEND", 60), ("PING", 40)], result.Rows.Select(row => (row.Name, row.Count)));
    }

    [Fact]
    public async Task Error_replies_are_counted_and_the_first_reported()
    {
        await using RedKiteServer server = await StartAsync();
        BenchResult result = Run("-p", $"{server.Port}", "-t", "1", "-c", "1", "-n", "5", "--command", "GET");
        Assert.Equal(5, result.Totals.Errors);
        Assert.Equal("ERR wrong number of arguments for 'get' command", result.FirstError);
    }

    [Fact]
    [Alone]
    public async Task Rate_limit_applies_per_connection()
    {
        await using RedKiteServer server = await StartAsync();
        QuietMachine.Try(() =>
        {
            BenchResult result = Run("-p", $"{server.Port}", "-t", "1", "-c", "4", "--rate-limiting", "100", "--test-time", "2");
            Assert.InRange(result.Totals.Count, 400, 808);
        });
    }

    [Theory]
    [InlineData("even")]
    [InlineData("poisson")]
    [Alone]
    public async Task Open_loop_sends_at_the_target_rate(string arrival)
    {
        await using RedKiteServer server = await StartAsync();
        QuietMachine.Try(() =>
        {
            BenchResult result = Run("-p", $"{server.Port}", "-t", "2", "-c", "4", "--target-rate", "2000", "--arrival", arrival, "--test-time", "2");
            Assert.InRange(result.Totals.Count + result.Unsent, 3700, 4300);
        });
    }

    [Fact]
    [Alone]
    public void Stall_appears_only_in_corrected_percentiles() => QuietMachine.Try(() =>
    {
        using var server = new StallingServer(stallAfterMs: 500, stallMs: 200);
        BenchResult result = Run("-p", $"{server.Port}", "-s", "127.0.0.1", "-t", "1", "-c", "1", "--target-rate", "500", "--test-time", "2");

        // Of 1,000 requests a hundred were due during the stall: one was in flight, the others were sent after it.
        const double ms = 1e6;
        Assert.InRange(result.Totals.Latency.PercentileNs(99) / ms, 120, 2000);
        Assert.InRange(result.Totals.Uncorrected!.PercentileNs(99) / ms, 0, 100);
        Assert.InRange(result.Totals.Uncorrected.MaxNs / ms, 190, 2000);
    });

    [Fact]
    [Alone]
    public void Unsent_due_requests_are_reported() => QuietMachine.Try(() =>
    {
        using var server = new StallingServer(stallAfterMs: 500, stallMs: 1500);
        BenchResult result = Run("-p", $"{server.Port}", "-s", "127.0.0.1", "-t", "1", "-c", "1", "--target-rate", "500", "--test-time", "1");
        Assert.InRange(result.Unsent, 150, 400);
        Assert.Equal(500, result.Totals.Count + result.Unsent);
    });

    [Fact]
    public async Task Table_and_json_have_memtier_form()
    {
        await using RedKiteServer server = await StartAsync();
        string file = Path.GetTempFileName();
        try
        {
            var output = new StringWriter();
            Assert.Equal(0, BenchProgram.Run(["-p", $"{server.Port}", "-t", "1", "-c", "2", "-n", "110", "--key-maximum", "10", "--json-out-file", file], output, TextWriter.Null));
            string[] lines = output.ToString().Split(Environment.NewLine);
            Assert.Equal(
                ["Type", "Ops/sec", "Hits/sec", "Misses/sec", "Avg.", "Latency", "p50", "Latency", "p99", "Latency", "p99.9", "Latency", "KB/sec"],
                Array.Find(lines, line => line.StartsWith("Type ", StringComparison.Ordinal))!.Split(' ', StringSplitOptions.RemoveEmptyEntries));
            foreach (string row in (string[])["ALL STATS", "Sets ", "Gets ", "Waits ", "Totals ", "Request Latency Distribution"])
            {
                Assert.Contains(lines, line => line.StartsWith(row, StringComparison.Ordinal));
            }

            using JsonDocument document = JsonDocument.Parse(await File.ReadAllTextAsync(file, TestContext.Current.CancellationToken));
            JsonElement all = document.RootElement.GetProperty("ALL STATS");
            Assert.True(all.GetProperty("Runtime").GetProperty("Total duration").GetDouble() > 0);
            Assert.Equal((20, 200, 220), (Count("Sets"), Count("Gets"), Count("Totals")));
            JsonElement totals = all.GetProperty("Totals");
            foreach (string name in (string[])["Ops/sec", "Hits/sec", "Misses/sec", "Latency", "Average Latency", "Min Latency", "Max Latency", "KB/sec"])
            {
                Assert.Equal(JsonValueKind.Number, totals.GetProperty(name).ValueKind);
            }

            Assert.Equal(["p50.00", "p99.00", "p99.90"], totals.GetProperty("Percentile Latencies").EnumerateObject().Select(entry => entry.Name));
            Assert.Equal(100, all.GetProperty("GET").EnumerateArray().Last().GetProperty("percent").GetDouble());

            long Count(string row) => all.GetProperty(row).GetProperty("Count").GetInt64();
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Fact]
    public async Task Several_runs_report_best_worst_and_aggregate()
    {
        await using RedKiteServer server = await StartAsync();
        BenchOptions options = BenchArguments.Parse(["-p", $"{server.Port}", "-t", "1", "-c", "1", "-n", "50", "-x", "3"]);
        IReadOnlyList<(string Title, BenchResult Result)> results = BenchProgram.Measure(options, TextWriter.Null);
        Assert.Equal(["BEST RUN RESULTS", "WORST RUN RESULTS", "AGGREGATED AVERAGE RESULTS (3 runs)"], results.Select(result => result.Title));
        Assert.Equal([50, 50, 150], results.Select(result => result.Result.Totals.Count));
    }

    [Fact]
    public void Password_is_sent_and_a_wrong_one_reported()
    {
        using ServerProcess redis = ServerProcess.Start(ServerProgram.Oracle, "--requirepass", "kite");
        Assert.Equal(10, Run("-p", $"{redis.Port}", "-t", "1", "-c", "1", "-n", "10", "-a", "kite").Totals.Count);

        var errors = new StringWriter();
        Assert.Equal(1, BenchProgram.Run(["-p", $"{redis.Port}", "-t", "1", "-c", "1", "-n", "10", "-a", "crow"], TextWriter.Null, errors));
        Assert.Equal($"redkite bench: the server refused the connection: WRONGPASS invalid username-password pair or user is disabled.{Environment.NewLine}", errors.ToString());
    }

    [Fact]
    public void Tls_connection_carries_the_same_load()
    {
        string folder = Directory.CreateTempSubdirectory("redkite-test-").FullName;
        try
        {
            string certificate = Path.Combine(folder, "certificate.pem"), key = Path.Combine(folder, "key.pem");
            WriteCertificate(certificate, key);
            int port = LoopbackPort.Next();
            using ServerProcess redis = ServerProcess.Start(
                ServerProgram.Oracle, "--tls-port", $"{port}", "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no");
            string[] load = ["-s", "localhost", "-p", $"{port}", "--tls", "-t", "2", "-c", "2", "-n", "500", "--pipeline", "5", "-d", "5000", "--key-maximum", "9"];
            BenchResult result = Run([.. load, "--cacert", certificate]);
            Assert.Equal((2000, 0), (result.Totals.Count, result.Totals.Errors));
            Assert.Equal(2000, Run([.. load, "--tls-skip-verify"]).Totals.Count);

            var errors = new StringWriter();
            Assert.Equal(1, BenchProgram.Run(load, TextWriter.Null, errors)); // the certificate is self-signed
            Assert.StartsWith($"redkite bench: cannot connect to localhost:{port}: ", errors.ToString(), StringComparison.Ordinal);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public void Unreachable_server_is_one_line_of_error()
    {
        var errors = new StringWriter();
        int port = LoopbackPort.Next();
        Assert.Equal(1, BenchProgram.Run(["-s", "127.0.0.1", "-p", $"{port}", "-n", "1"], TextWriter.Null, errors));
        Assert.Equal($"redkite bench: cannot connect to 127.0.0.1:{port}: Connection refused{Environment.NewLine}", errors.ToString());
    }

    private static void WriteCertificate(string certificatePath, string keyPath)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        request.CertificateExtensions.Add(names.Build());
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(certificateAuthority: true, hasPathLengthConstraint: false, 0, critical: true));
        using X509Certificate2 certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        File.WriteAllText(certificatePath, certificate.ExportCertificatePem());
        File.WriteAllText(keyPath, key.ExportPkcs8PrivateKeyPem());
    }

    private static BenchResult Run(params string[] arguments) =>
        BenchProgram.Measure(BenchArguments.Parse([.. arguments]), TextWriter.Null)[0].Result;

    private static Task<RedKiteServer> StartAsync()
    {
        var options = new RedKiteOptions { Port = 0 };
        options.Settings["loops"] = "1";
        return RedKiteServer.StartAsync(options);
    }
}
