using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public class ServerCommandsTests
{
    [Fact]
    public async Task Flush_clears_one_or_all_databases()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SET a 1").IsOk();
        server.Run("SET b 2").IsOk();
        server.Run("SWAPDB 0 1").IsOk();
        server.Run("SET c 3").IsOk();
        server.Run("DBSIZE").IsInteger(1);
        server.Run("FLUSHDB").IsOk();
        server.Run("DBSIZE").IsInteger(0);
        server.Run("SWAPDB 0 1").IsOk();
        server.Run("DBSIZE").IsInteger(2);
        server.Run("FLUSHALL ASYNC").IsOk();
        server.Run("DBSIZE").IsInteger(0);
        Assert.Equal(6, server.Number("persistence", "rdb_changes_since_last_save") - 2); // three SETs, three keys gone, two swaps
    }

    [Theory]
    [InlineData("FLUSHDB soon")]
    [InlineData("FLUSHALL ASYNC SYNC")]
    [InlineData("SHUTDOWN foo")]
    [InlineData("SHUTDOWN SAVE NOSAVE")]
    [InlineData("SHUTDOWN ABORT NOW")]
    public async Task Invalid_argument_combinations_are_a_syntax_error(string line)
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run(line).IsError("ERR syntax error");
    }

    [Theory]
    [InlineData("SWAPDB a 1", "ERR invalid first DB index")]
    [InlineData("SWAPDB 0 b", "ERR invalid second DB index")]
    [InlineData("SWAPDB 0 3333333333333333333", "ERR invalid second DB index")]
    [InlineData("SWAPDB 0 99", "ERR DB index is out of range")]
    [InlineData("SWAPDB -1 0", "ERR DB index is out of range")]
    public async Task Swapdb_names_the_invalid_index(string line, string error)
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run(line).IsError(error);
    }

    [Fact]
    public async Task Reported_version_is_that_of_the_setting()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Assert.Equal("8.12.0", server.Info("server", "redis_version"));
        server.Run("CONFIG SET reported-redis-version 8.4.0").IsOk();
        Assert.Equal("8.4.0", server.Info("server", "redis_version"));
        server.Run("HELLO")["version"]!.IsBulk("8.4.0");
        Assert.EndsWith("Redis ver. 8.4.0\n", server.Run("LOLWUT").Text, StringComparison.Ordinal);
        Assert.True(server.Run("CONFIG SET reported-redis-version 8").IsError);
    }

    [Fact]
    public async Task Time_replies_seconds_and_microseconds_of_the_clock()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        long before = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        RespValue time = server.Run("TIME");
        Assert.InRange(long.Parse(time.Items[0].Text), before - 1, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
        Assert.InRange(long.Parse(time.Items[1].Text), 0, 999_999);
    }

    [Fact]
    public async Task Lolwut_ends_with_the_version_and_respects_the_requested_size()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Assert.EndsWith("Redis ver. 8.12.0\n", server.Run("LOLWUT").Text);
        server.Run("LOLWUT VERSION 1").IsBulk("Redis ver. 8.12.0\n");
        server.Run("LOLWUT VERSION x").IsError("ERR value is not an integer or out of range");
        string[] lines = server.Run("LOLWUT VERSION 5 1000000 1000000").Text.Split('\n');
        Assert.InRange(lines.Length, 60, 70);
        Assert.All(lines, line => Assert.InRange(line.Length, 0, 160));
    }

    [Fact]
    public async Task Shutdown_closes_without_a_reply_and_stops_the_server()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SHUTDOWN ABORT").IsError("ERR No shutdown in progress.");
        server.Run("SHUTDOWN NOSAVE").IsClosed();
        await server.Server.Stopped.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
    }

    [Fact]
    public async Task Info_has_requested_sections_in_order()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Assert.Equal("Server Clients Memory Persistence Threads Stats Replication CPU Modules Errorstats Cluster Keyspace Keysizes Findings", Sections("INFO"));
        Assert.Equal("Server Clients Memory Persistence Threads Stats Replication CPU Modules Commandstats Errorstats Latencystats Cluster Keyspace Keysizes Findings", Sections("INFO everything"));
        Assert.Equal("Cluster Keyspace", Sections("INFO keyspace nonsense CLUSTER"));
        server.Run("INFO nonsense").IsBulk("");

        string Sections(string line) => string.Join(' ', server.Run(line).Text.Split("\r\n").Where(text => text.StartsWith('#')).Select(text => text[2..]));
    }

    [Theory]
    [InlineData("epoll")]
    [InlineData("sockets")]
    public async Task Info_has_the_loops_busy_time(string transport)
    {
        await using LiveServer server = await LiveServer.StartAsync("transport", transport, "enable-debug-command", "yes");
        server.Run("DEBUG SLEEP 0.2").IsOk();
        server.Run("DEBUG SLEEP 0.2").IsOk();
        // In one reply, because the time between two replies is unbounded.
        Dictionary<string, string> stats = server.Run("INFO stats").Text.Split("\r\n").Where(line => line.Contains(':', StringComparison.Ordinal)).ToDictionary(line => line.Split(':')[0], line => line.Split(':')[1]);
        long sum = long.Parse(stats["eventloop_duration_sum"]);
        Assert.InRange(long.Parse(stats["eventloop_cycles"]), 2, 10_000);
        Assert.InRange(sum, 400_000, 60_000_000);
        Assert.True(sum >= long.Parse(stats["eventloop_duration_cmd_sum"]) - 100_000, "a cycle lasts at least as long as its commands");

        // A sample every tenth of a second: the mean of a cycle includes the sleeps.
        Assert.True(SpinWait.SpinUntil(() => server.Number("stats", "instantaneous_eventloop_duration_usec") > 0, NetworkTests.PatienceMs));
        // On a busy machine the cycles after the reset may be as long as those before it, but not always.
        NetworkTests.WaitFor(
            () =>
            {
                server.Run("CONFIG RESETSTAT").IsOk();
                return server.Number("stats", "eventloop_duration_sum") <= sum - 200_000;
            },
            "the sum begins again");
    }

    [Fact]
    public async Task Info_counts_commands_keys_errors_and_connections()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SET a 1").IsOk();
        server.Run("GET a").IsBulk("1");
        server.Run("GET nope").IsNull();
        server.Run("SET b 1 EX 1000").IsOk();
        server.Run("GET").IsError("ERR wrong number of arguments for 'get' command");
        server.Run("EXPIRE a x").IsError("ERR value is not an integer or out of range");

        Assert.Equal(5, server.Number("stats", "total_commands_processed"));
        Assert.Equal(1, server.Number("stats", "keyspace_hits"));
        Assert.Equal(1, server.Number("stats", "keyspace_misses"));
        Assert.Equal(2, server.Number("stats", "total_error_replies"));
        Assert.Equal(1, server.Number("stats", "total_connections_received"));
        Assert.Equal("count=2", server.Info("errorstats", "errorstat_ERR"));
        Assert.StartsWith("calls=2,usec=", server.Info("commandstats", "cmdstat_get"));
        Assert.EndsWith("rejected_calls=1,failed_calls=0", server.Info("commandstats", "cmdstat_get"));
        Assert.EndsWith("rejected_calls=0,failed_calls=1", server.Info("commandstats", "cmdstat_expire"));
        Assert.Matches(@"^p50=\d+\.\d{3},p99=\d+\.\d{3},p99\.9=\d+\.\d{3}$", server.Info("latencystats", "latency_percentiles_usec_get"));
        Assert.StartsWith("keys=2,expires=1,avg_ttl=", server.Info("keyspace", "db0"));
        Assert.Equal(server.Server.Port, server.Number("server", "tcp_port"));
        Assert.Equal($"name=tcp,bind=127.0.0.1,port={server.Server.Port}", server.Info("server", "listener0"));
        Assert.Equal("1", server.Info("clients", "connected_clients"));
    }

    [Fact]
    public async Task Info_estimates_the_average_ttl()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        for (int i = 0; i < 100; i++) server.Run($"SET key{i} x EX 100000").IsOk();
        var clock = Stopwatch.StartNew();
        long averageMs = 0;
        while (averageMs == 0 && clock.Elapsed < TimeSpan.FromSeconds(60))
        {
            await Task.Delay(20, TestContext.Current.CancellationToken);
            averageMs = long.Parse(server.Info("keyspace", "db0").Split("avg_ttl=")[1].Split(',')[0]);
        }

        Assert.InRange(averageMs, 99_900_000, 100_000_000);
    }

    [Fact]
    public async Task Info_memory_follows_the_data()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        long before = server.Number("memory", "used_memory");
        server.Run("SET big " + new string('x', 1_000_000)).IsOk();
        long full = server.Number("memory", "used_memory");
        Assert.InRange(full - before, 1_000_000, 1_100_000);
        Assert.InRange(server.Number("memory", "used_memory_rss"), 1_000_000, long.MaxValue);
        server.Run("DEL big").IsInteger(1);
        Assert.InRange(full - server.Number("memory", "used_memory"), 1_000_000, 1_100_000);
        Assert.InRange(server.Number("memory", "used_memory_peak"), full, full + 1_000_000);
    }

    [Fact]
    public async Task Resp3_info_is_verbatim_text()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.UseResp3();
        RespValue info = server.Run("INFO cluster");
        Assert.Equal('=', info.Marker);
        Assert.EndsWith("# Cluster\r\ncluster_enabled:0\r\n", info.Text);
    }
}
