using System.Text;
using RedKite.Server.Changes;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public class DiagnosticsCommandsTests
{
    [Fact]
    public async Task Slow_log_keeps_slow_commands_and_can_be_reset()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("CONFIG SET slowlog-log-slower-than 0").IsOk();
        server.Run("SLOWLOG RESET").IsOk();
        server.Run("SET key value").IsOk();
        server.Run("CONFIG SET slowlog-log-slower-than -1").IsOk();
        RespValue entries = server.Run("SLOWLOG GET");
        RespValue set = entries.Items.Single(entry => entry.Items[3].Items[0].Text == "SET");
        set.Items[3].IsArray("SET", "key", "value");
        Assert.Equal(7, set.Items.Count);
        set.Items[6].IsInteger(3);
        Assert.Equal(server.Client.LocalEndPoint.ToString(), set.Items[4].Text);
        server.Run("SLOWLOG LEN").IsInteger(entries.Items.Count);
        Assert.Single(server.Run("SLOWLOG GET 1").Items);
        server.Run("SLOWLOG RESET").IsOk();
        server.Run("SLOWLOG GET -1").IsArray();
        server.Run("SLOWLOG GET -2").IsError("ERR count should be greater than or equal to -1");
        server.Run("SLOWLOG GET 1 2").IsError("ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.");
    }

    // As in Redis 8.10: the entry may have fewer.
    [Fact]
    public async Task Slow_log_says_how_many_arguments_a_request_had()
    {
        await using LiveServer server = await LiveServer.StartAsync("slowlog-log-slower-than", "0", "slowlog-entry-max-argc", "4");
        server.Run("RPUSH list " + string.Join(' ', Enumerable.Range(0, 60)));
        RespValue push = server.Run("SLOWLOG GET -1").Items.Single(entry => entry.Items[3].Items[0].Text == "RPUSH");
        push.Items[3].IsArray("RPUSH", "list", "0", "... (59 more arguments)");
        push.Items[6].IsInteger(62);
        Assert.All(server.Run("COMMANDLOG GET -1 slow").Items, entry => Assert.Equal(6, entry.Items.Count));
    }

    [Theory]
    [InlineData("requirepass")]
    [InlineData("masterauth")]
    [InlineData("MASTERUSER")]
    [InlineData("tls-key-file-pass")]
    public async Task Slow_log_shows_no_secret_settings(string setting)
    {
        await using LiveServer server = await LiveServer.StartAsync("slowlog-log-slower-than", "0");
        server.Run($"CONFIG SET hz 20 {setting} secret");
        server.Run("CONFIG SET slowlog-log-slower-than -1").IsOk();
        RespValue set = server.Run("SLOWLOG GET -1").Items.Single(entry => entry.Items[3].Items.Any(argument => argument.Text == setting));
        set.Items[3].IsArray("CONFIG", "SET", "hz", "20", setting, "(redacted)");
    }

    [Fact]
    public async Task Slow_log_without_capacity_numbers_no_commands()
    {
        await using LiveServer server = await LiveServer.StartAsync("slowlog-max-len", "0", "slowlog-log-slower-than", "0");
        for (int i = 0; i < 10; i++) server.Run("SET key value").IsOk();
        server.Run("SLOWLOG LEN").IsInteger(0);
        server.Run("CONFIG SET slowlog-log-slower-than -1").IsOk();
        server.Run("CONFIG SET slowlog-max-len 10 slowlog-log-slower-than 0").IsOk();
        server.Run("SET key value").IsOk();
        server.Run("CONFIG SET slowlog-log-slower-than -1").IsOk();
        RespValue set = server.Run("SLOWLOG GET").Items.Single(entry => entry.Items[3].Items[0].Text == "SET");
        Assert.InRange(set.Items[0].Number, 0, 1); // 1 behind the CONFIG SET that began to log

        server.Run("CONFIG SET slowlog-max-len 0 slowlog-log-slower-than 0").IsOk();
        server.Run("PING").IsSimple("PONG");
        Assert.InRange(server.Run("SLOWLOG LEN").Number, 1, 2); // what it has stays until it logs again
    }

    [Fact]
    [Alone]
    public Task Slow_log_finds_the_slow_command_of_a_pipeline_and_of_the_next() => QuietMachine.TryAsync(async () =>
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "stripes", "1", "slowlog-log-slower-than", "100000", "latency-monitor-threshold", "100");
        server.Server.Engine.Run.ExpiresActively = false; // otherwise the sweep would wait for the keys instead of the commands
        foreach (string prefix in new[] { "first", "second" })
        {
            RunWhileKeysAreLocked(server, prefix, 64);
            RespValue slow = Assert.Single(Entries(server, prefix));
            slow.Items[3].IsArray("SET", prefix + ":0", "value");
            Assert.InRange(slow.Items[2].Number, 100_000, 10_000_000);
        }

        Assert.Contains(server.Run("LATENCY LATEST").Items, item => item.Items[0].Text == "command");

        static void RunWhileKeysAreLocked(LiveServer server, string prefix, int commands)
        {
            Stripe stripe = server.Server.Engine.Keyspace.Stripes[0];
            stripe.Enter();
            server.Client.Send(string.Concat(Enumerable.Range(0, commands).Select(i => Encoding.Latin1.GetString(CommandLine.Encode(CommandLine.Split($"SET {prefix}:{i} value"))))));
            Thread.Sleep(400);
            stripe.Exit();
            for (int i = 0; i < commands; i++) server.Client.Read().IsOk();
        }

        static RespValue[] Entries(LiveServer server, string prefix) =>
            [.. server.Run("SLOWLOG GET -1").Items.Where(entry => entry.Items[3].Items.Any(argument => argument.Text.StartsWith(prefix, StringComparison.Ordinal)))];
    });

    [Fact]
    public async Task Histograms_count_calls_by_powers_of_two()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run("DEBUG SLEEP 0.003").IsOk();
        server.Run("DEBUG SLEEP 0.003").IsOk();
        server.Run("CONFIG GET hz");
        RespValue debug = server.Run("LATENCY HISTOGRAM debug nosuch")["debug"]!;
        Assert.Equal(2, debug["calls"]!.Number);
        IReadOnlyList<RespValue> steps = debug["histogram_usec"]!.Items;
        Assert.InRange(steps[0].Number, 4227, 60_000_000);
        Assert.Equal(2, steps[^1].Number);
        Assert.Equal("config|get", server.Run("LATENCY HISTOGRAM config").Items[0].Text);
        server.Run("LATENCY HISTOGRAM nosuch").IsArray();
    }

    // Of short commands that a script calls, one in eight is timed; all are counted.
    [Fact]
    public async Task Commands_of_scripts_are_all_counted()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        CallInScript(server);
        Assert.True(MicrosecondsInScripts(server) > 0);
        server.Run("LATENCY HISTOGRAM get")["get"]!["calls"]!.IsInteger(CallsInScript);
    }

    [Fact]
    [Alone]
    public async Task Time_of_commands_in_scripts_is_about_what_timing_all_gives()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1");
        CallInScript(server);
        double estimated = MicrosecondsInScripts(server);
        server.Run("CONFIG RESETSTAT").IsOk();
        server.Run("CONFIG SET slowlog-log-slower-than 0").IsOk(); // times every command
        CallInScript(server);
        double timed = MicrosecondsInScripts(server);
        Assert.InRange(estimated, timed / 10, timed * 10);
    }

    private const int CallsInScript = 20_000;

    private static void CallInScript(LiveServer server)
    {
        server.Run("SET k v").IsOk();
        server.Run($"EVAL \"for i = 1, {CallsInScript} do redis.call('GET', KEYS[1]) redis.call('STRLEN', KEYS[1]) end\" 1 k").IsNull();
    }

    private static double MicrosecondsInScripts(LiveServer server)
    {
        string line = server.Run("INFO commandstats").Text!.Split("\r\n").Single(text => text.StartsWith("cmdstat_get:", StringComparison.Ordinal));
        Assert.StartsWith($"cmdstat_get:calls={CallsInScript},usec=", line, StringComparison.Ordinal);
        return double.Parse(line.Split("usec=")[1].Split(',')[0], System.Globalization.CultureInfo.InvariantCulture);
    }

    [Fact]
    public async Task Latency_monitor_records_a_slow_expire_cycle()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "stripes", "1", "latency-monitor-threshold", "50");
        server.Run("LATENCY HISTORY expire-cycle").IsArray();

        // What the sweep finds expired is published to a consumer that takes its time.
        server.Server.Engine.Changes.Subscribe(new SlowConsumer());
        server.Run("SET k v PX 1").IsOk();
        RespValue? latest = null;
        SpinWait.SpinUntil(() => (latest = server.Run("LATENCY LATEST").Items.SingleOrDefault(item => item.Items[0].Text == "expire-cycle")) is not null, 60_000);
        Assert.NotNull(latest);
        Assert.InRange(latest.Items[2].Number, 50, 60_000);
        Assert.NotEmpty(server.Run("LATENCY HISTORY expire-cycle").Items);
        Assert.StartsWith("expire-cycle - high ", server.Run("LATENCY GRAPH expire-cycle").Text);
        Assert.Contains("Removing expired keys took long", server.Run("LATENCY DOCTOR").Text, StringComparison.Ordinal);
        server.Run("LATENCY RESET expire-cycle").IsInteger(1);
        server.Run("LATENCY HISTORY expire-cycle").IsArray();
    }

    [Fact]
    public async Task Latency_monitor_records_cycles_of_defragmentation()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes", "loops", "1", "stripes", "1", "activedefrag", "no", "active-defrag-ignore-bytes", "1mb");
        server.Server.Engine.LatencyMonitor.SetThreshold(-1); // a cycle takes 100 microseconds, and every one is recorded
        server.Run("DEBUG POPULATE 20000 key 1000").IsOk();
        server.Run("EVAL \"for i = 0, 19999 do if i % 8 > 0 then redis.call('del', 'key:' .. i) end end\" 0");
        server.Run("LATENCY HISTORY active-defrag-cycle").IsArray();
        server.Run("CONFIG SET activedefrag yes").IsOk();
        NetworkTests.WaitFor(() => server.Run("LATENCY HISTORY active-defrag-cycle").Items.Count > 0, "blocks are moved");
        Assert.Contains(server.Run("LATENCY LATEST").Items, item => item.Items[0].Text == "active-defrag-cycle");
        server.Run("LATENCY RESET active-defrag-cycle").IsInteger(1);
    }

    [Fact]
    [Alone]
    public Task Latency_monitor_records_slow_commands_while_enabled() => QuietMachine.TryAsync(async () =>
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        server.Run("DEBUG SLEEP 0.003").IsOk();
        server.Run("LATENCY LATEST").IsArray();
        server.Run("CONFIG SET latency-monitor-threshold 200").IsOk();
        server.Run("DEBUG SLEEP 0.3").IsOk();
        server.Run("CONFIG SET latency-monitor-threshold 0").IsOk();
        RespValue latest = server.Run("LATENCY LATEST").Items.Single(item => item.Items[0].Text == "command");
        Assert.InRange(latest.Items[2].Number, 300, 5000);
        Assert.Equal(latest.Items[2].Number, latest.Items[3].Number);
        Assert.Equal(latest.Items[2].Number, server.Run("LATENCY HISTORY command").Items[^1].Items[1].Number);
        Assert.StartsWith("command - high ", server.Run("LATENCY GRAPH command").Text);
        Assert.Contains("1. command: 1 latency spikes", server.Run("LATENCY DOCTOR").Text, StringComparison.Ordinal);
        server.Run("LATENCY RESET nosuch command").IsInteger(1);
        server.Run("LATENCY HISTORY command").IsArray();
        server.Run("LATENCY GRAPH command").IsError("ERR No samples available for event 'command'");
    });

    [Fact]
    public async Task Every_container_has_help()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes");
        foreach (string container in new[] { "CONFIG", "SLOWLOG", "LATENCY", "MEMORY", "DEBUG" })
        {
            RespValue help = server.Run(container + " HELP");
            help.Items[0].IsSimple(container + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
            help.Items[^2].IsSimple("HELP");
        }
    }

    private sealed class SlowConsumer : IChangeConsumer
    {
        public void Published(ChangeList changes) => Thread.Sleep(60);
    }
}
