using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Server;

/// <summary>HOTKEYS: what it adds up between its start and its stop.</summary>
public class HotKeysCommandsTests
{
    [Fact]
    public async Task Keys_are_ranked_by_time_and_bytes_of_their_commands()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("HOTKEYS GET").IsNull();
        server.Run("HOTKEYS START METRICS 2 CPU NET COUNT 2").IsOk();
        server.Run("SET large " + new string('x', 10_000));
        server.Run("SET small x");
        server.Run("GET small");
        server.Run("GET other");
        server.Run("PING"); // without a key
        Dictionary<string, RespValue> report = Report(server);
        Assert.Equal(
            [
                "tracking-active", "sample-ratio", "selected-slots", "all-commands-all-slots-us", "net-bytes-all-commands-all-slots", "collection-start-time-unix-ms", "collection-duration-ms",
                "total-cpu-time-user-ms", "total-cpu-time-sys-ms", "total-net-bytes", "by-cpu-time-us", "by-net-bytes",
            ],
            report.Keys);
        Assert.Equal((1, 1), (report["tracking-active"].Number, report["sample-ratio"].Number));
        Assert.Equal([0, 16383], Assert.Single(report["selected-slots"].Items).Items.Select(slot => slot.Number));
        RespValue[] byBytes = [.. report["by-net-bytes"].Items];
        int setLarge = "*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n$10000\r\n\r\n".Length + 10_000 + "+OK\r\n".Length;
        int ofSmall = "*3\r\n$3\r\nSET\r\n$5\r\nsmall\r\n$1\r\nx\r\n+OK\r\n".Length + "*2\r\n$3\r\nGET\r\n$5\r\nsmall\r\n$1\r\nx\r\n".Length;
        Assert.Equal(["large", "small"], byBytes.Where((_, i) => i % 2 == 0).Select(key => key.Text));
        Assert.Equal([setLarge, ofSmall], byBytes.Where((_, i) => i % 2 == 1).Select(bytes => bytes.Number));
        Assert.Equal(4, report["by-cpu-time-us"].Items.Count);
        int getOther = "*2\r\n$3\r\nGET\r\n$5\r\nother\r\n$-1\r\n".Length;
        Assert.Equal(setLarge + ofSmall + getOther, report["net-bytes-all-commands-all-slots"].Number); // as in Redis, without PING
    }

    [Fact]
    public async Task Sums_stay_after_the_stop_and_until_the_reset()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("HOTKEYS STOP").IsNull();
        server.Run("HOTKEYS START METRICS 1 NET").IsOk();
        server.Run("HOTKEYS START METRICS 1 NET").IsError("ERR hotkey tracking session already in progress");
        server.Run("HOTKEYS RESET").IsError("ERR hotkey tracking session in progress, stop tracking first");
        server.Run("GET before");
        server.Run("HOTKEYS STOP").IsOk();
        server.Run("GET behind");
        Dictionary<string, RespValue> report = Report(server);
        Assert.Equal(0, report["tracking-active"].Number);
        Assert.Equal("before", report["by-net-bytes"].Items[0].Text);
        Assert.Equal(2, report["by-net-bytes"].Items.Count);
        Assert.False(report.ContainsKey("by-cpu-time-us"), "only NET was asked for");
        server.Run("HOTKEYS RESET").IsOk();
        server.Run("HOTKEYS GET").IsNull();
        server.Run("HOTKEYS RESET").IsOk();
        server.Run("HOTKEYS START METRICS 1 CPU").IsOk();
        Assert.Empty(Report(server)["by-cpu-time-us"].Items);
    }

    [Fact]
    public async Task Commands_of_scripts_transactions_and_waits_count_once()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("HOTKEYS START METRICS 1 NET").IsOk();
        server.Run("EVAL \"redis.call('SET', 'undeclared', 'x') return redis.call('SET', KEYS[1], 'x')\" 1 scripted").IsOk();
        server.Run("MULTI");
        server.Run("SET queued x");
        server.Run("EXEC");
        server.Run("MSET a 1 b 2");
        server.Run("BLPOP waited 0.01");
        RespValue[] byBytes = [.. Report(server)["by-net-bytes"].Items];
        var bytes = byBytes.Chunk(2).ToDictionary(pair => pair[0].Text, pair => pair[1].Number);
        Assert.Equal(["a", "b", "queued", "scripted", "waited"], bytes.Keys.Order(StringComparer.Ordinal));
        Assert.InRange(bytes["queued"], "SETqueuedx+OK\r\n".Length, "*3\r\n$3\r\nSET\r\n$6\r\nqueued\r\n$1\r\nx\r\n+OK\r\n".Length); // it is kept without its framing
        Assert.Equal(bytes["a"], bytes["b"]);
        Assert.Equal("*5\r\n$4\r\nMSET\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n+OK\r\n".Length / 2, bytes["a"]);
    }

    [Fact]
    public async Task Tracking_ends_after_its_duration()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("HOTKEYS START METRICS 1 NET DURATION 1").IsOk();
        Assert.True(SpinWait.SpinUntil(() => Report(server)["tracking-active"].Number == 0, TimeSpan.FromSeconds(60)), "it ends by itself");
        Assert.Equal(1000, Report(server)["collection-duration-ms"].Number);
        server.Run("HOTKEYS STOP").IsNull();
        server.Run("HOTKEYS START METRICS 1 NET").IsOk();
    }

    [Fact]
    public async Task Sample_adds_up_a_part_of_the_uses()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("HOTKEYS START METRICS 1 NET SAMPLE 10").IsOk();
        for (int i = 0; i < 1000; i++) server.Run("GET key");
        Dictionary<string, RespValue> report = Report(server);
        long uses = report["by-net-bytes"].Items[1].Number / "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n$-1\r\n".Length;
        Assert.Equal(10, report["sample-ratio"].Number);
        Assert.InRange(uses, 50, 200);
    }

    [Fact]
    public async Task Metric_that_is_not_known_is_passed_over_beside_one_that_is()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("HOTKEYS START METRICS 2 other NET COUNT 3").IsOk();
        Assert.False(Report(server).ContainsKey("by-cpu-time-us"));
    }

    [Theory]
    [InlineData("HOTKEYS", "ERR wrong number of arguments for 'hotkeys' command")]
    [InlineData("HOTKEYS START", "ERR METRICS parameter is required")]
    [InlineData("HOTKEYS START COUNT 10", "ERR METRICS parameter is required")]
    [InlineData("HOTKEYS START METRICS", "ERR METRICS parameter is required")]
    [InlineData("HOTKEYS START METRICS 0 CPU", "ERR METRICS count must be > 0 and <= 2")]
    [InlineData("HOTKEYS START METRICS 3 CPU NET CPU", "ERR METRICS count must be > 0 and <= 2")]
    [InlineData("HOTKEYS START METRICS 2 CPU", "ERR METRICS count does not match number of metric types provided")]
    [InlineData("HOTKEYS START METRICS 2 CPU CPU", "ERR METRICS CPU defined more than once!")]
    [InlineData("HOTKEYS START METRICS 2 NET NET", "ERR METRICS NET defined more than once!")]
    [InlineData("HOTKEYS START METRICS 2 A B", "ERR METRICS no valid metrics passed. Supported: CPU|NET")]
    [InlineData("HOTKEYS START METRICS 2 CPU COUNT 3", "ERR syntax error")]
    [InlineData("HOTKEYS START METRICS 1 CPU NET", "ERR syntax error")]
    [InlineData("HOTKEYS START METRICS 1 CPU METRICS 1 NET", "ERR syntax error")]
    [InlineData("HOTKEYS START METRICS 1 CPU COUNT 65", "ERR COUNT must be between 1 and 64")]
    [InlineData("HOTKEYS START METRICS 1 CPU DURATION 0", "ERR DURATION must be between 1 and 1000000")]
    [InlineData("HOTKEYS START METRICS 1 CPU DURATION 1000001", "ERR DURATION must be between 1 and 1000000")]
    [InlineData("HOTKEYS START METRICS 1 CPU SAMPLE 0", "ERR SAMPLE ratio must be positive")]
    [InlineData("HOTKEYS START METRICS 1 CPU SLOTS 1 5", "ERR SLOTS parameter cannot be used in non-cluster mode")]
    public async Task Invalid_request_has_an_error(string request, string error)
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run(request).IsError(error);
        server.Run("HOTKEYS GET").IsNull();
    }

    // The only element of the reply, a map, which RESP2 writes as a list.
    private static Dictionary<string, RespValue> Report(LiveServer server)
    {
        RespValue[] fields = [.. Assert.Single(server.Run("HOTKEYS GET").Items).Items];
        return fields.Chunk(2).ToDictionary(pair => pair[0].Text, pair => pair[1]);
    }
}
