using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>FLUSHALL with save points: the dump file loses what was flushed before the reply, so that no crash brings it back.</summary>
public sealed class FlushAllTests
{
    private const string Library = "#!lua name=l\nredis.register_function('f', function() return 1 end)";

    [Theory]
    [InlineData("FLUSHALL", 0)]
    [InlineData("FLUSHALL SYNC", 0)]
    [InlineData("FLUSHALL ASYNC", 0)]
    [InlineData("EVAL \"redis.call('set','a',1)redis.call('flushall')redis.call('set','b',1)\" 0", 1)]
    [InlineData("MULTI|SET a 1|FLUSHALL|SET b 1|SET c 1|EXEC", 2)]
    public async Task Flushed_data_does_not_come_back(string requests, int changes)
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET a 1");
        disk.Server.Execute("FUNCTION", "LOAD", Library);
        disk.Run("SAVE");
        using (RespConnection client = RespConnection.Connect(disk.Server.Port))
        {
            foreach (string request in requests.Split('|')) client.Run(request);
        }

        Assert.Equal($"{changes}", disk.Info("rdb_changes_since_last_save"));
        Assert.Equal("1", disk.Info("rdb_saves"));
        await disk.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal(0, disk.Run("DBSIZE").Integer);
        Assert.Single(disk.Run("FUNCTION LIST").Items);
    }

    [Fact]
    public async Task Flushdb_and_servers_without_save_points_leave_the_file()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET a 1");
        disk.Run("SAVE");
        disk.Run("FLUSHDB");
        Assert.Equal("1", disk.Info("rdb_changes_since_last_save"));
        disk.Run("CONFIG SET save ");
        disk.Run("FLUSHALL");
        Assert.Equal("1", disk.Info("rdb_changes_since_last_save"));
        await disk.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal("1", disk.Run("GET a").Text);
    }

    // It is stopped where it writes values, where it syncs the whole file, and right before the file gets its name.
    [Theory]
    [InlineData("write", true)]
    [InlineData("sync", true)]
    [InlineData("rename", false)]
    public async Task Save_in_progress_does_not_bring_it_back(string operation, bool isCanceled)
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1", "rdbcompression", "no");
        disk.Run("SET large " + new string('x', 4 << 20));
        using var goesOn = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != operation || reached.IsSet) return null;
            reached.Set();
            goesOn.Wait(CancellationToken.None);
            return null;
        };
        disk.Run("BGSAVE");
        Assert.True(reached.Wait(60_000, TestContext.Current.CancellationToken));
        Task<RedKiteReply> flush = Task.Run(() => disk.Run("FLUSHALL"), TestContext.Current.CancellationToken);
        if (isCanceled) Assert.Equal("OK", (await flush).Text); // before the save goes on
        goesOn.Set();
        Assert.Equal("OK", (await flush).Text);
        disk.WaitFor(() => !disk.Server.Parts.Durability.IsSaving, "the save's end");
        Assert.Equal(("0", "ok", isCanceled ? "0" : "1"), (disk.Info("rdb_changes_since_last_save"), disk.Info("rdb_last_bgsave_status"), disk.Info("rdb_saves")));
        await disk.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal(0, disk.Run("DBSIZE").Integer);
    }

    // SAVE came first. Without save points FLUSHALL leaves the file that it has promised.
    [Theory]
    [InlineData("3600 1", 0)]
    [InlineData("", 1)]
    public async Task Save_on_another_thread_that_is_flushed_replies_ok(string savePoints, int keys)
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", savePoints);
        disk.Run("SET a 1");
        using var goesOn = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != "sync" || reached.IsSet) return null;
            reached.Set();
            goesOn.Wait(CancellationToken.None);
            return null;
        };
        Task<RedKiteReply> save = Task.Run(() => disk.Run("SAVE"), TestContext.Current.CancellationToken);
        Assert.True(reached.Wait(60_000, TestContext.Current.CancellationToken));
        Assert.Equal("OK", disk.Run("FLUSHALL").Text);
        goesOn.Set();
        Assert.Equal("OK", (await save).Text);
        await disk.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal(keys, disk.Run("DBSIZE").Integer);
    }

    [Fact]
    public async Task Failing_disk_is_logged_and_leaves_the_changes_unsaved()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET a 1");
        disk.Run("SAVE");
        disk.Files.Plan = call => call.Operation == "rename" ? new FileFault(FileFault.InputOutput) : null;
        Assert.Equal("OK", disk.Run("FLUSHALL").Text);
        Assert.Equal("1", disk.Info("rdb_changes_since_last_save"));
        Assert.Contains(disk.LogLines, line => line.StartsWith("The dump file still has the data that FLUSHALL has removed: ", StringComparison.Ordinal));
        Assert.Equal(["dump.rdb"], disk.Files.List(disk.Folder));
        disk.Files.Plan = null;
        Assert.Equal("OK", disk.Run("FLUSHALL").Text);
        Assert.Equal("0", disk.Info("rdb_changes_since_last_save"));
    }

    [Fact]
    public async Task Log_goes_on_and_its_start_leaves_the_dump_file()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1", "appendonly", "yes", "appendfsync", "always");
        disk.Run("SET a 1");
        disk.Run("SAVE");
        disk.Run("FLUSHALL");
        disk.Run("SET b 1");
        disk.Run("SAVE");
        await disk.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal(("1", 1), (disk.Run("GET b").Text, disk.Run("DBSIZE").Integer));
        disk.Set("appendonly", "no");
        await disk.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal(("1", 1), (disk.Run("GET b").Text, disk.Run("DBSIZE").Integer)); // the replayed FLUSHALL has not emptied the file
    }

    [Fact]
    public async Task Replica_that_gets_it_in_the_stream_empties_its_own_file()
    {
        await using DiskServer primary = await DiskServer.StartAsync();
        await using DiskServer replica = await DiskServer.StartAsync("save", "3600 1000000", "repl-diskless-sync-delay", "0");
        primary.Run("CONFIG SET repl-diskless-sync-delay 0");
        primary.Run("SET a 1");
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Server.Port}");
        replica.WaitFor(() => replica.Run("GET a").Text == "1" && replica.Files.FileExists(Path.Combine(replica.Folder, "dump.rdb")) && !replica.Server.Parts.Durability.IsSaving, "the data and its save");
        primary.Run("FLUSHALL");
        primary.Run("SET b 1");
        replica.WaitFor(() => replica.Run("GET b").Text == "1", "the stream");
        replica.Run("REPLICAOF NO ONE");
        replica.Run("CONFIG SET save ");
        await replica.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal(0, replica.Run("DBSIZE").Integer);
    }
}
