using System.Diagnostics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public class MemoryCommandsTests
{
    [Fact]
    public async Task Usage_counts_a_key_with_its_value()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SET small x").IsOk();
        server.Run("SET large " + new string('x', 10_000)).IsOk();
        Assert.InRange(server.Run("MEMORY USAGE small").Number, 16, 64);
        Assert.InRange(server.Run("MEMORY USAGE large SAMPLES 0").Number, 10_000, 13_000);
        server.Run("MEMORY USAGE nope").IsNull();
    }

    [Theory]
    [InlineData("MEMORY USAGE a SAMPLES", "ERR syntax error")]
    [InlineData("MEMORY USAGE a SAMPLES -1", "ERR syntax error")]
    [InlineData("MEMORY USAGE a foo 1", "ERR syntax error")]
    [InlineData("MEMORY USAGE nope SAMPLES x", "ERR value is not an integer or out of range")]
    [InlineData("MEMORY USAGE", "ERR wrong number of arguments for 'memory|usage' command")]
    public async Task Usage_checks_its_options_before_the_key(string line, string error)
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run(line).IsError(error);
    }

    [Fact]
    public async Task Stats_is_a_map_of_its_declared_length()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SET a 1").IsOk();
        server.UseResp3();
        RespValue stats = server.Run("MEMORY STATS");
        Assert.Equal('%', stats.Marker);
        Assert.Equal(1, stats["keys.count"]!.Number);
        Assert.Equal(',', stats["fragmentation"]!.Marker);
        Assert.InRange(stats["db.0"]!["overhead.hashtable.main"]!.Number, 1, 100_000);
        Assert.Equal("fragmentation.bytes", stats.Items[^2].Text);
        server.Run("DBSIZE").IsInteger(1); // no other keys are left
    }

    [Fact]
    public async Task Stats_count_scripts_and_functions_as_info_does()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.UseResp3();
        foreach (string field in (string[])["lua.caches", "functions.caches", "script.VMs"]) Assert.Equal(0, server.Run("MEMORY STATS")[field]!.Number);
        server.Run("EVAL \"return 1\" 0").IsInteger(1);
        server.Run("FUNCTION LOAD \"#!lua name=l\nredis.register_function('f', function() end)\"").IsBulk("l");
        RespValue stats = server.Run("MEMORY STATS");
        Assert.Equal("return 1".Length + 600, stats["lua.caches"]!.Number); // with what is kept of each script beside its text
        Assert.Equal(server.Number("memory", "used_memory_scripts_eval"), stats["lua.caches"]!.Number);
        Assert.Equal(server.Number("memory", "used_memory_functions"), stats["functions.caches"]!.Number);
        Assert.InRange(stats["functions.caches"]!.Number, 50 + 320, 100 + 320);
        Assert.InRange(stats["script.VMs"]!.Number, 20_000, 10_000_000);
        server.Run("SCRIPT FLUSH").IsOk();
        server.Run("FUNCTION FLUSH").IsOk();
        foreach (string field in (string[])["lua.caches", "functions.caches", "script.VMs"]) Assert.Equal(0, server.Run("MEMORY STATS")[field]!.Number);
    }

    [Fact]
    public async Task Purge_releases_unused_memory()
    {
        await using LiveServer server = await LiveServer.StartAsync("loops", "1", "stripes", "1"); // one stripe: few slabs stay open
        for (int i = 0; i < 2000; i++) server.Run($"SET key{i} {new string('x', 2000)}").IsOk();
        server.Run("FLUSHALL").IsOk();
        long held = server.Number("memory", "allocator_active");
        for (int i = 0; i < 6_000 && server.Number("memory", "allocator_allocated") > 100_000; i++) await Task.Delay(10, TestContext.Current.CancellationToken);
        server.Run("MEMORY PURGE").IsOk();
        Assert.InRange(server.Number("memory", "allocator_active"), 0, held / 2);
        Assert.Contains("held from the system", server.Run("MEMORY MALLOC-STATS").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Doctor_waits_for_data_and_then_reports_the_peak()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes", "diagnostics", "no");
        Assert.StartsWith("Hi Sam, this server holds too little data", server.Run("MEMORY DOCTOR").Text);
        server.Run("DEBUG POPULATE 28 key 1000000").IsOk();
        Assert.StartsWith("Hi Sam, the memory of this server shows no issue", server.Run("MEMORY DOCTOR").Text);
        for (int i = 0; i < 20; i++) server.Run($"DEL key:{i}").IsInteger(1);
        Assert.Contains(" * Peak: ", server.Run("MEMORY DOCTOR").Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Doctor_reports_fragmentation_until_defragmentation_has_removed_it()
    {
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes", "loops", "1", "stripes", "1", "activedefrag", "no", "active-defrag-ignore-bytes", "1mb", "active-defrag-threshold-lower", "5", "active-defrag-cycle-min", "50", "active-defrag-cycle-max", "75");
        server.Run("DEBUG POPULATE 100000 key 1000").IsOk();
        Assert.DoesNotContain("Fragmentation", server.Run("MEMORY DOCTOR").Text, StringComparison.Ordinal);
        server.Run("EVAL \"for i = 0, 99999 do if i % 8 > 0 then redis.call('del', 'key:' .. i) end end\" 0");
        Assert.Contains(" * Fragmentation: ", server.Run("MEMORY DOCTOR").Text, StringComparison.Ordinal);
        server.Run("CONFIG SET activedefrag yes").IsOk();
        NetworkTests.WaitFor(() => !server.Run("MEMORY DOCTOR").Text.Contains("Fragmentation", StringComparison.Ordinal), "the blocks to be moved");
        Assert.InRange(server.Number("stats", "active_defrag_hits"), 1000, long.MaxValue);
        server.Run("MEMORY PURGE").IsOk();
        Assert.InRange(server.Number("memory", "allocator_active"), 0, 20_000_000);
        server.Run("DBSIZE").IsInteger(12_500);
        server.Run("GET key:8");
        server.Run("STRLEN key:99992").IsInteger(1000);
    }

    // As long as there is work, a loop spends no larger part of its time on it.
    [Fact]
    [Alone]
    public Task Defragmentation_keeps_to_its_share_of_a_loop() => QuietMachine.TryAsync(async () =>
    {
        const double ShareMax = 0.1;
        await using LiveServer server = await LiveServer.StartAsync("enable-debug-command", "yes", "loops", "1", "stripes", "1", "activedefrag", "no", "active-defrag-ignore-bytes", "1mb", "active-defrag-threshold-lower", "5", "active-defrag-threshold-upper", "10", "active-defrag-cycle-min", "5", "active-defrag-cycle-max", "10");
        server.Run("DEBUG POPULATE 100000 key 1000").IsOk();
        server.Run("EVAL \"for i = 0, 99999 do if i % 8 > 0 then redis.call('del', 'key:' .. i) end end\" 0");
        Assert.Equal(0, server.Number("stats", "total_active_defrag_time"));
        long start = Stopwatch.GetTimestamp();
        server.Run("CONFIG SET activedefrag yes").IsOk();
        long workMs = 0;
        double elapsedMs = 0;
        while (elapsedMs < 300)
        {
            await Task.Delay(20, TestContext.Current.CancellationToken);
            Assert.InRange(server.Number("memory", "active_defrag_running"), 0, 10);
            workMs = server.Number("stats", "total_active_defrag_time");
            elapsedMs = Stopwatch.GetElapsedTime(start).TotalMilliseconds;
            Assert.InRange(workMs, 0, (ShareMax * elapsedMs) + 5);
        }

        Assert.InRange(workMs, 5, long.MaxValue);
        Assert.InRange(server.Number("stats", "active_defrag_hits"), 100, long.MaxValue);
    });
}
