using RedKite.Server.Replication;
using RedKite.Server.Tests.Durability;
using RedKite.Server.Tests.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>
/// A replica that was restarted goes on from the position in the stream that its files name: the dump file of any save, as with redis-server, and the append-only
/// file of a server that was stopped, with which a redis-server copies everything again.
/// </summary>
public class RestartTests
{
    [Fact]
    public async Task Dump_of_a_background_save_keeps_the_place()
    {
        using Oracle primary = Primary();
        var random = new RandomWrites(seed: 11, primary);
        random.Run(100);
        await using DiskServer replica = await DiskServer.StartAsync("replicaof", $"127.0.0.1 {primary.Port}", "save", "");
        WaitForSame(primary, replica);
        primary.Run("SELECT", "3");
        primary.Run("SET", "in", "3");
        WaitForSame(primary, replica);
        replica.Run("BGSAVE");
        replica.WaitFor(() => replica.Server.Parts.Durability.Saves.LastKeys > 0 && !replica.Server.Parts.Durability.IsSaving, "the save");
        primary.Run("INCR", "after"); // in the database that the stream had selected before
        random.Run(50);
        WaitForSame(primary, replica);
        await replica.RestartAsync(); // without a save
        WaitForSame(primary, replica);
        Assert.Equal(("1", "1"), (Stat(primary, "sync_full"), Stat(primary, "sync_partial_ok")));
    }

    [Fact]
    public async Task Dump_of_SAVE_keeps_the_place()
    {
        using Oracle primary = Primary();
        var random = new RandomWrites(seed: 12, primary);
        await using DiskServer replica = await DiskServer.StartAsync("replicaof", $"127.0.0.1 {primary.Port}", "save", "");
        random.Run(50);
        WaitForSame(primary, replica);
        Assert.Equal("OK", replica.Run("SAVE").Text);
        random.Run(50);
        await replica.RestartAsync();
        WaitForSame(primary, replica);
        Assert.Equal(("1", "1"), (Stat(primary, "sync_full"), Stat(primary, "sync_partial_ok")));
    }

    [Fact]
    public async Task Append_only_file_of_a_stopped_replica_keeps_the_place()
    {
        using Oracle primary = Primary();
        var random = new RandomWrites(seed: 13, primary);
        random.Run(100);
        await using DiskServer replica = await DiskServer.StartAsync("replicaof", $"127.0.0.1 {primary.Port}", "save", "", "appendonly", "yes");
        for (int i = 1; i <= 2; i++)
        {
            WaitForSame(primary, replica);
            replica.WaitFor(() => !replica.Server.Parts.Durability.Log.LacksData && !replica.Server.Parts.Durability.IsSaving, "the base");
            random.Run(50);
            WaitForSame(primary, replica);
            await replica.RestartAsync();
            random.Run(50);
            WaitForSame(primary, replica);
            Assert.Equal(("1", $"{i}"), (Stat(primary, "sync_full"), Stat(primary, "sync_partial_ok")));
        }
    }

    private static void Fail() => throw new RedKite.Persistence.Files.FileFailure("write", "base", 28);

    // The log of such a server is not that of its data yet.
    [Fact]
    public async Task Replica_that_stops_before_its_append_only_file_has_the_data_copies_everything()
    {
        using Oracle primary = Primary();
        new RandomWrites(seed: 14, primary).Run(100);
        await using DiskServer replica = await DiskServer.StartAsync("save", "", "appendonly", "yes");
        replica.Server.Parts.Durability.SnapshotPointReached += Fail;
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Port}");
        WaitForSame(primary, replica);
        Assert.True(replica.Server.Parts.Durability.Log.LacksData);
        replica.Set("replicaof", $"127.0.0.1 {primary.Port}");
        await replica.RestartAsync();
        WaitForSame(primary, replica);
        Assert.Equal(("2", "0"), (Stat(primary, "sync_full"), Stat(primary, "sync_partial_ok")));
    }

    [Fact]
    public async Task Replica_acknowledges_nothing_on_its_disk_before_the_base_of_what_it_has_loaded()
    {
        using Oracle primary = Primary();
        primary.Run("SET", "a", "1");
        await using DiskServer replica = await DiskServer.StartAsync("save", "", "appendonly", "yes", "appendfsync", "always");
        replica.Server.Parts.Durability.SnapshotPointReached += Fail;
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Port}");
        WaitForSame(primary, replica);
        primary.Run("SET", "b", "1");
        WaitForSame(primary, replica);
        replica.WaitFor(() => replica.Server.Parts.Durability.Log.Log is { } log && log.Writer.SyncedPosition == log.Chain.Reserved, "the sync");
        Assert.Equal("0", primary.RunList("WAITAOF", "0", "1", "300")[1]);
        replica.Server.Parts.Durability.SnapshotPointReached -= Fail;
        replica.WaitFor(() => !replica.Server.Parts.Durability.Log.LacksData, "the base, which is tried again");
        Assert.Equal("1", primary.RunList("WAITAOF", "0", "1", "60000")[1]);
    }

    [Fact]
    public async Task Append_only_file_after_a_power_loss_names_no_place()
    {
        using Oracle primary = Primary();
        var random = new RandomWrites(seed: 15, primary);
        random.Run(50);
        await using DiskServer replica = await DiskServer.StartAsync("replicaof", $"127.0.0.1 {primary.Port}", "save", "", "appendonly", "yes", "appendfsync", "always");
        WaitForSame(primary, replica);
        replica.WaitFor(() => !replica.Server.Parts.Durability.Log.LacksData && !replica.Server.Parts.Durability.IsSaving, "the base");
        random.Run(50);
        WaitForSame(primary, replica);
        await replica.RestartAfterAsync(PowerLoss.KeepsAll, new Random(1));
        WaitForSame(primary, replica);
        Assert.Equal(("2", "0"), (Stat(primary, "sync_full"), Stat(primary, "sync_partial_ok")));
    }

    [Fact]
    public async Task Replicas_of_a_stopped_primary_with_an_append_only_file_go_on()
    {
        using var folder = new TemporaryFolder();
        Directory.CreateDirectory(folder.Path);
        int port = LoopbackPort.Next();
        RedKiteServer primary = await StartAsync();
        using var replica = new Oracle("--replicaof", "127.0.0.1", $"{port}", "--save", "", "--enable-debug-command", "yes");
        primary.Execute("SET", "key", "value");
        WaitForReplica(1);
        primary.Execute("SET", "other", "value");
        await primary.StopAsync();
        Assert.Contains("#REPL:", await File.ReadAllTextAsync(Directory.GetFiles(folder.Path, "*.incr.aof", SearchOption.AllDirectories).Single(), TestContext.Current.CancellationToken), StringComparison.Ordinal);
        primary = await StartAsync();
        try
        {
            WaitForReplica(1);
            primary.Execute("SET", "third", "value");
            Assert.True(SpinWait.SpinUntil(() => replica.RunText("GET", "third") == "value", TimeSpan.FromSeconds(60)));
            Assert.Equal((0, 1), (primary.Parts.Replicas.Counts.Full, primary.Parts.Replicas.Counts.Partial));
        }
        finally
        {
            await primary.StopAsync();
        }

        void WaitForReplica(int count) => Assert.True(SpinWait.SpinUntil(() => primary.Parts.Replicas.CountAcknowledged(primary.Parts.ReplicaStream.Offset, onDisk: false) == count, TimeSpan.FromSeconds(60)), "the replica");

        Task<RedKiteServer> StartAsync()
        {
            var options = new RedKiteOptions { Port = port };
            foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("loops", "1"), ("diagnostics", "no"), ("repl-diskless-sync-delay", "0"), ("repl-ping-replica-period", "3600"), ("save", ""), ("appendonly", "yes"), ("dir", folder.Path)]) options.Settings[name] = value;
            return RedKiteServer.StartAsync(options);
        }
    }

    private static Oracle Primary() => Oracle.Of(OracleProgram.Redis8, ["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes", "--save", "", "--repl-ping-replica-period", "3600"]);

    private static string Stat(Oracle server, string field) => ReplicatedServer.Field(server.RunText("INFO"), field);

    private static void WaitForSame(Oracle primary, DiskServer replica) => replica.WaitFor(
        () =>
        {
            string offset = Stat(primary, "master_repl_offset"), digest = primary.RunText("DEBUG", "DIGEST");
            return replica.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected } link && $"{link.AppliedOffset}" == offset && replica.Digest() == digest && Stat(primary, "master_repl_offset") == offset;
        },
        "the same data");
}
