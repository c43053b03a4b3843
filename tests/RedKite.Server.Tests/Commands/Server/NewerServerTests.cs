using RedKite.Server.Config;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.Server;

/// <summary>What servers newer than Redis 8.0.2 have beside commands on data: settings, fields of INFO, and replies by which clients go on without a feature.</summary>
public class NewerServerTests
{
    // Clients that ask for notifications about maintenance go on without them after an error that begins with "ERR unknown subcommand".
    [Theory]
    [InlineData("CLIENT MAINT_NOTIFICATIONS ON", "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.")]
    [InlineData("CLIENT MAINT_NOTIFICATIONS ON moving-endpoint-type internal-ip", "ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.")]
    [InlineData("CLUSTER SLOT-STATS SLOTSRANGE 0 1", "ERR This instance has cluster support disabled")]
    [InlineData("CLUSTER MIGRATION STATUS ALL", "ERR This instance has cluster support disabled")]
    [InlineData("TRIMSLOTS RANGES 1 0 1", "ERR This instance has cluster support disabled")]
    [InlineData("TRIMSLOTS", "ERR wrong number of arguments for 'trimslots' command")]
    public async Task What_is_not_there_says_so(string request, string error)
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run(request).IsError(error);
        server.Run("HELLO 3");
        server.Run(request).IsError(error);
        Assert.Equal("PONG", server.Run("PING").Text);
    }

    [Fact]
    public async Task Keysizes_have_the_memory_of_values_with_the_setting()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        server.Run("SET string value");
        server.Run("RPUSH list a b c");
        server.Run("SADD set a");
        server.Run("ZADD zset 1 a");
        server.Run("HSET hash a 1");
        for (int i = 0; i < 1000; i++) server.Run($"HSET large field{i} value");
        Assert.DoesNotContain("hashes_sizes", server.Run("INFO keysizes").Text, StringComparison.Ordinal);
        server.Run("CONFIG SET key-memory-histograms yes").IsOk();
        foreach (string field in (string[])["db0_distrib_lists_sizes", "db0_distrib_sets_sizes", "db0_distrib_zsets_sizes"]) Assert.EndsWith("=1", server.Info("keysizes", field));
        Assert.Equal(2, server.Info("keysizes", "db0_distrib_hashes_sizes").Split(',').Length);
        Assert.Equal("1=1,512=1", server.Info("keysizes", "db0_distrib_hashes_items"));
        Assert.Equal("4=1", server.Info("keysizes", "db0_distrib_strings_sizes")); // of its length
    }

    [Fact]
    public async Task Memory_has_the_time_of_its_peak()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        long peak = server.Number("memory", "used_memory_peak_time");
        Assert.InRange(peak, DateTimeOffset.UtcNow.ToUnixTimeSeconds() - 600, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
        Assert.Equal(0, server.Number("stats", "acl_access_denied_tls_cert"));
    }

    [Theory]
    [InlineData("lookahead", "16", "32")]
    [InlineData("aof-load-corrupt-tail-max-size", "0", "1024")]
    [InlineData("hash-min-template-entries", "0", "4")]
    [InlineData("hash-max-template-entries", "0", "4")]
    [InlineData("hash-rdb-load-min-template-entries", "0", "4")]
    [InlineData("hash-rdb-load-max-template-entries", "0", "4")]
    [InlineData("hash-rdb-load-template-disassembly-threshold", "0", "4")]
    [InlineData("bitmap-default-roaring", "no", "yes")]
    [InlineData("cluster-blacklist-ttl", "60", "30")]
    [InlineData("cluster-config-save-behavior", "sync", "best-effort")]
    [InlineData("cluster-announce-client-port", "0", "7000")]
    public async Task Setting_without_effect_says_so_in_the_log(string name, string byDefault, string other)
    {
        await using LiveServer server = await LiveServer.StartAsync();
        Assert.Equal([name, byDefault], server.Run("CONFIG GET " + name).Items.Select(item => item.Text));
        server.Run($"CONFIG SET {name} {other}").IsOk();
        Assert.Equal(other, server.Run("CONFIG GET " + name).Items[1].Text);
        lock (server.LogLines) Assert.Contains(server.LogLines, line => line.Contains(name, StringComparison.Ordinal) && line.Contains("no effect", StringComparison.Ordinal));
    }

    [Fact]
    public void Users_of_certificates_are_refused()
    {
        var configuration = new Configuration(new Settings());
        Assert.Contains("tls-auth-clients-user", configuration.Set([new("tls-auth-clients-user", "CN")]) ?? "", StringComparison.Ordinal);
        Assert.Null(configuration.Set([new("tls-auth-clients-user", "off")]));
    }

    [Fact]
    public async Task A_replica_says_how_long_its_link_is_up_and_was_down()
    {
        await using LiveServer primary = await LiveServer.StartAsync();
        await using LiveServer replica = await LiveServer.StartAsync("save", "");
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Server.Port}");
        Assert.True(SpinWait.SpinUntil(() => replica.Info("replication", "master_link_status") == "up", TimeSpan.FromSeconds(60)), "the link is up");
        Assert.InRange(replica.Number("replication", "master_link_up_since_seconds"), 0, 60);
        Assert.Equal(0, replica.Number("replication", "total_disconnect_time_sec"));
        long attempts = replica.Number("replication", "master_total_sync_attempts");
        Assert.True(attempts >= 1, "it has asked for the stream");
        Assert.Equal(attempts, replica.Number("replication", "master_current_sync_attempts"));
        await primary.Server.DisposeAsync();
        Assert.True(SpinWait.SpinUntil(() => replica.Info("replication", "master_link_status") == "down", TimeSpan.FromSeconds(60)), "the link is down");
        Assert.DoesNotContain("master_link_up_since_seconds", replica.Run("INFO replication").Text, StringComparison.Ordinal);
        Assert.True(SpinWait.SpinUntil(() => replica.Number("replication", "total_disconnect_time_sec") >= 1, TimeSpan.FromSeconds(60)), "the time counts");
    }

    // Measured with redis-server 8.6.3.
    [Fact]
    public void The_time_as_a_primary_counts_as_disconnected_only_behind_a_link_that_was_up()
    {
        var counts = new LinkCounts();
        counts.NoteAttempt();
        counts.NoteUp(1000);
        counts.NoteDown(2000); // REPLICAOF NO ONE
        counts.NoteChange(becomesPrimary: true, wasUp: true);
        Assert.Equal(0, counts.Attempts);
        counts.NoteChange(becomesPrimary: false, wasUp: false);
        counts.NoteUp(5000);
        Assert.Equal(3000, counts.DisconnectedMs(9000));
        Assert.Equal(-1, counts.DownMs(9000));
        counts.NoteDown(10_000); // to a primary that is not there
        counts.NoteChange(becomesPrimary: false, wasUp: true);
        for (int i = 0; i < 3; i++) counts.NoteAttempt();
        Assert.Equal(3, counts.Attempts);
        Assert.Equal(2000, counts.DownMs(12_000));
        Assert.Equal(5000, counts.DisconnectedMs(12_000));
        counts.NoteChange(becomesPrimary: true, wasUp: false);
        counts.NoteChange(becomesPrimary: false, wasUp: false);
        Assert.Equal(-1, counts.DownMs(20_000));
        Assert.Equal(3000, counts.DisconnectedMs(20_000));
    }
}
