using System.Text;
using System.Text.Json;
using RedKite.Server.Diagnostics.Reports;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>The reports of the dashboard and the debug package.</summary>
public class ReportTests
{
    public static TheoryData<string> Names => [.. ReportTable.Rows.Select(report => report.Name)];

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Report_is_json(string name)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["slowlog-log-slower-than"] = "0" } }, TestContext.Current.CancellationToken);
        server.Execute("SET", "key", "value");
        server.Execute("LPUSH", "key", "value"); // an error
        using JsonDocument json = JsonDocument.Parse(server.Reports!.Read(name, TestContext.Current.CancellationToken)!);
        Assert.NotEqual(JsonValueKind.Undefined, json.RootElement.ValueKind);
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Redacted_report_has_no_keys_values_or_secrets(string name)
    {
        string[] planted = ["planted-password", "planted-key", "planted-value", "planted-client", "planted_library", "planted_function"];
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["slowlog-log-slower-than"] = "0", ["requirepass"] = planted[0] } }, TestContext.Current.CancellationToken);
        server.Execute("SET", planted[1], planted[2]);
        server.Execute("LPUSH", planted[1], planted[2]);
        server.Execute("AUTH", planted[0]);
        server.Execute("CLIENT", "SETNAME", planted[3]);
        server.Execute("EVAL", $"return redis.call('GET', KEYS[1]) or '{planted[2]}'", "1", planted[1]);
        server.Execute("FUNCTION", "LOAD", $"#!lua name={planted[4]}\nredis.register_function('{planted[5]}', function() return '{planted[2]}' end)");
        server.Execute("FCALL", planted[5], "1", planted[1]);
        string text = Encoding.UTF8.GetString(server.Reports!.Write(ReportTable.Find(name)!, redactionKey: new byte[32], TestContext.Current.CancellationToken));
        Assert.All(planted, secret => Assert.DoesNotContain(secret, text, StringComparison.Ordinal));
    }

    // A server in another program counts what it has allocated itself; the program's heap is not its own.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Memory_in_use_is_the_sum_of_its_parts(bool ownsProcess)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, OwnsProcess = ownsProcess }, TestContext.Current.CancellationToken);
        server.Execute("EVAL", "return 1", "0");
        for (int i = 0; i < 10_000; i++) server.Execute("SET", $"key:{i}", new string('x', 100));
        using JsonDocument json = JsonDocument.Parse(server.Reports!.Read("memory", TestContext.Current.CancellationToken)!);
        JsonElement memory = json.RootElement;
        Assert.Equal(memory.GetProperty("used").GetInt64(), memory.GetProperty("used_by").EnumerateObject().Sum(part => part.Value.GetInt64()));
        Assert.InRange(memory.GetProperty("used_by").GetProperty("keys_and_values").GetInt64(), 1_000_000, 3_000_000);
        Assert.InRange(memory.GetProperty("used_by").GetProperty("scripts").GetInt64(), 10_000, 10_000_000);
        Assert.Equal(ownsProcess, memory.GetProperty("used_by").TryGetProperty("managed_heap", out JsonElement heap));
        if (ownsProcess) Assert.InRange(heap.GetInt64(), 10_000, memory.GetProperty("used").GetInt64());
    }

    [Fact]
    public async Task Tls_report_describes_the_certificate()
    {
        using var certificates = new TestCertificates();
        certificates.Issue("server", lastDay: 5).Dispose();
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions
        {
            Port = 0,
            Settings = { ["admin-tls"] = "yes", ["tls-cert-file"] = certificates.PathOf("server.crt"), ["tls-key-file"] = certificates.PathOf("server.key") },
        }, TestContext.Current.CancellationToken);
        using JsonDocument json = JsonDocument.Parse(server.Reports!.Read("tls", TestContext.Current.CancellationToken)!);
        JsonElement certificate = json.RootElement.GetProperty("certificate");
        Assert.Equal("CN=server", certificate.GetProperty("subject").GetString());
        Assert.StartsWith("CN=authority ", certificate.GetProperty("issuer").GetString(), StringComparison.Ordinal);
        double days = (DateTimeOffset.FromUnixTimeMilliseconds(certificate.GetProperty("not_after_unix_ms").GetInt64()) - DateTimeOffset.UtcNow).TotalDays;
        Assert.InRange(days, 4.5, 5.5);
        Assert.Equal("yes", json.RootElement.GetProperty("client_certificates").GetString());
    }

    [Fact]
    public async Task Scripts_have_their_calls_errors_and_times()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        for (int i = 0; i < 3; i++) server.Execute("EVAL", "for i = 1, 100000 do end return redis.call('GET', KEYS[1], ARGV[1])", "1", "key", i == 0 ? "" : "x");
        server.Execute("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('fun', function() return 1 end)");
        server.Execute("FCALL", "fun", "0");
        JsonElement[] uses = Uses();
        Assert.Equal(2, uses.Length);
        JsonElement script = uses.Single(use => use.GetProperty("kind").GetString() == "script"), function = uses.Single(use => use.GetProperty("kind").GetString() == "function");
        Assert.Equal((40, 3, 3), (script.GetProperty("name").GetString()!.Length, script.GetProperty("calls").GetInt32(), script.GetProperty("failed").GetInt32()));
        Assert.InRange(script.GetProperty("max_microseconds").GetInt64(), 1, script.GetProperty("total_microseconds").GetInt64());
        Assert.StartsWith("for i = 1", script.GetProperty("text_start").GetString(), StringComparison.Ordinal);
        Assert.Equal(("fun", "lib", 1, 0), (function.GetProperty("name").GetString(), function.GetProperty("library").GetString(), function.GetProperty("calls").GetInt32(), function.GetProperty("failed").GetInt32()));
        Assert.InRange(function.GetProperty("last_use_unix_ms").GetInt64(), DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() - 600_000, DateTimeOffset.UtcNow.ToUnixTimeMilliseconds() + 1_000);
        server.Execute("SCRIPT", "FLUSH");
        server.Execute("FUNCTION", "DELETE", "lib");
        Assert.Empty(Uses());

        JsonElement[] Uses()
        {
            using JsonDocument json = JsonDocument.Parse(server.Reports!.Read("scripts", TestContext.Current.CancellationToken)!);
            return [.. json.RootElement.Clone().GetProperty("by_total_time").EnumerateArray()];
        }
    }

    [Fact]
    public async Task Histograms_have_every_call_of_every_command()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        for (int i = 0; i < 25; i++) server.Execute("SET", "key", "value");
        server.Execute("PING");
        JsonElement[] commands = [.. Read(server, "latency-histograms").EnumerateArray()];
        Assert.Equal(25, CountOf("set"));
        Assert.Equal(1, CountOf("ping"));

        long CountOf(string name) => commands.Single(command => command.GetProperty("name").GetString() == name).GetProperty("executing").EnumerateArray().Sum(bucket => bucket[1].GetInt64());
    }

    [Fact]
    public async Task Clients_have_their_libraries_ages_and_buffers()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        using var client = RespConnection.Connect(server.Port);
        client.Run("CLIENT SETNAME worker-7");
        client.Run("CLIENT SETINFO LIB-NAME some-lib");
        client.Run("CLIENT SETINFO LIB-VER 1.2.3");
        client.Run("SELECT 3");
        client.Send("*2\r\n$3\r\nGET\r\n$100000\r\nunfinished"u8);
        Assert.True(SpinWait.SpinUntil(() => Client().GetProperty("input_bytes").GetInt64() > 0, 60_000), "the unfinished request waits");
        JsonElement found = Client();
        Assert.Equal(("some-lib", "1.2.3", "default", 3, "select"), (Text("library"), Text("library_version"), Text("user"), found.GetProperty("database").GetInt32(), Text("last_command")));
        Assert.Equal(4, found.GetProperty("commands").GetInt64());
        Assert.InRange(found.GetProperty("age_seconds").GetInt64(), 0, 60);
        Assert.InRange(found.GetProperty("memory_bytes").GetInt64(), found.GetProperty("input_bytes").GetInt64(), 10_000_000);
        Assert.InRange(found.GetProperty("bytes_received").GetInt64(), 100, 1_000);

        JsonElement Client() => Read(server, "clients").EnumerateArray().Single(one => one.GetProperty("name").GetString() == "worker-7");
        string? Text(string property) => found.GetProperty(property).GetString();
    }

    [Fact]
    public async Task Loops_have_their_connections_and_their_work()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1", ["enable-debug-command"] = "yes" } }, TestContext.Current.CancellationToken);
        using var client = RespConnection.Connect(server.Port);
        for (int i = 0; i < 20; i++) client.Run("DEBUG SLEEP 0.01");
        JsonElement loop = Loop();
        Assert.Equal(1, loop.GetProperty("connections").GetInt32());
        Assert.InRange(loop.GetProperty("turns").GetInt64(), 20, 100_000);
        Assert.InRange(loop.GetProperty("work_microseconds").GetInt64(), 200_000, 60_000_000);
        Assert.Equal(0, loop.GetProperty("messages_waiting").GetInt64());
        Assert.InRange(loop.GetProperty("receives").GetInt64(), 20, 1_000);
        Assert.True(SpinWait.SpinUntil(LastSecondIsShown, 60_000), "of the last second, it shows the busy share and the longest turn");

        JsonElement Loop() => Assert.Single(Read(server, "loops").EnumerateArray());

        bool LastSecondIsShown()
        {
            client.Run("DEBUG SLEEP 0.02");
            JsonElement shown = Loop();
            return shown.GetProperty("longest_turn_microseconds").GetDouble() >= 20_000 && shown.GetProperty("utilization_percent").GetDouble() is >= 10 and <= 100;
        }
    }

    [Fact]
    public async Task Headroom_is_the_rest_up_to_maxmemory()
    {
        const long MaxMemory = 200_000_000;
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["maxmemory"] = $"{MaxMemory}" } }, TestContext.Current.CancellationToken);
        double headroom = 0;
        Assert.True(SpinWait.SpinUntil(() => Read(server, "memory").TryGetProperty("headroom", out JsonElement read) && read.TryGetDouble(out headroom), 60_000), "it was observed");
        Assert.InRange(headroom, 1, MaxMemory);
    }

    [Fact]
    public async Task Report_that_does_not_exist_is_null()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        Assert.Null(server.Reports!.Read("no-such-report", TestContext.Current.CancellationToken));
    }

    [Fact]
    public void Names_are_unique_and_fit_addresses()
    {
        Assert.Equal(ReportTable.Rows.Count, ReportTable.Rows.Select(report => report.Name).Distinct().Count());
        Assert.All(ReportTable.Rows, report => Assert.Matches("^[a-z]+(-[a-z]+)*$", report.Name));
    }

    private static JsonElement Read(RedKiteServer server, string report)
    {
        using JsonDocument json = JsonDocument.Parse(server.Reports!.Read(report, TestContext.Current.CancellationToken)!);
        return json.RootElement.Clone();
    }
}
