using System.Text;
using RedKite.Server.Durability;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

public class SnapshotTests
{
    [Fact]
    public async Task Saved_data_is_loaded_at_the_start()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a 1");
        disk.Run("RPUSH l a b c");
        disk.Run("SET e v PX 1000000");
        Assert.Equal("OK", disk.Run("SAVE").Text);
        Assert.Equal("0", disk.Info("rdb_changes_since_last_save"));
        string digest = disk.Digest();
        disk.Run("SET lost 1");
        Assert.Equal("1", disk.Info("rdb_changes_since_last_save"));
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("3", disk.Info("rdb_last_load_keys_loaded"));
        Assert.Equal("0", disk.Info("rdb_changes_since_last_save"));
    }

    // More than is read of a file at a time. Data of other modules would be passed over.
    [Fact]
    public async Task Large_values_in_a_form_of_RedKite_are_loaded()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Server.Execute(["SADDEX", "set", "EX", "1000", "MEMBERS", "30000", .. Enumerable.Range(0, 30_000).Select(i => $"member:{i}:{new string('x', i % 20)}")]);
        disk.Server.Execute(["ARINSERT", "array", .. Enumerable.Range(0, 30_000).Select(i => $"element:{i}:{new string('x', i % 20)}")]);
        string digest = disk.Digest();
        Assert.Equal("OK", disk.Run("SAVE").Text);
        await disk.RestartAsync();
        Assert.Equal((30_000, 30_000), (disk.Run("SCARD set").Integer, disk.Run("ARCOUNT array").Integer));
        Assert.Equal(digest, disk.Digest());
    }

    [Fact]
    public async Task Bgsave_saves_and_reports_it()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a 1");
        Assert.Equal("Background saving started", disk.Run("BGSAVE").Text);
        disk.WaitFor(() => disk.Info("rdb_saves") == "1", "the save");
        Assert.Equal("ok", disk.Info("rdb_last_bgsave_status"));
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
    }

    [Fact]
    public async Task Stopping_saves_if_there_are_save_points()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET a 1");
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
        disk.Set("save", "");
        await disk.RestartAsync(); // this stop saved, too
        disk.Run("SET b 1");
        await disk.RestartAsync(); // this one did not
        Assert.Equal("1", disk.Run("DBSIZE").ToString());
    }

    [Fact]
    public async Task Shutdown_saves_as_it_says()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a 1");
        disk.Run("SHUTDOWN SAVE");
        await disk.Server.Stopped;
        await disk.StartAsync();
        disk.Run("SET b 1");
        disk.Run("SHUTDOWN NOSAVE");
        await disk.Server.Stopped;
        await disk.StartAsync();
        Assert.Equal("1", disk.Run("DBSIZE").ToString());
        disk.Files.Plan = call => call.Operation == "sync" ? new FileFault(FileFault.InputOutput) : null;
        Assert.Equal("ERR Errors trying to SHUTDOWN. Check logs.", disk.Run("SHUTDOWN SAVE").Text);
        Assert.Equal("1", disk.Run("GET a").Text); // the server goes on
    }

    [Fact]
    public async Task Shutdown_with_force_ends_a_server_that_cannot_save()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        foreach (string refused in (string[])["ABORT NOW", "FORCE ABORT", "SAVE NOSAVE", "NOSAVE ABORT", "foo"]) Assert.Equal("ERR syntax error", disk.Run("SHUTDOWN " + refused).Text);
        Assert.Equal("ERR No shutdown in progress.", disk.Run("SHUTDOWN ABORT").Text);
        disk.Files.Plan = call => call.Operation == "sync" ? new FileFault(FileFault.InputOutput) : null;
        Assert.Equal("ERR Errors trying to SHUTDOWN. Check logs.", disk.Run("SHUTDOWN SAVE NOW").Text);
        Assert.Equal("ERR No shutdown in progress.", disk.Run("SHUTDOWN ABORT").Text);
        disk.Run("SHUTDOWN SAVE NOW FORCE");
        await disk.Server.Stopped.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
    }

    [Theory]
    [InlineData("NOSAVE", false)]
    [InlineData("SAVE", true)]
    public async Task Shutdown_aborts_a_save_in_the_background(string option, bool saves)
    {
        await using DiskServer disk = await DiskServer.StartAsync("rdbcompression", "no");
        using ManualResetEventSlim stalls = await StallBackgroundSaveAsync(disk);
        RedKiteServer server = disk.Server;
        Task shutdown = Task.Run(() => server.Execute("SHUTDOWN", option), TestContext.Current.CancellationToken);
        disk.WaitFor(() => server.Parts.Durability.AbortsSave, "the abort");
        stalls.Set();
        await server.Stopped.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        await shutdown.ContinueWith(_ => { }, TaskScheduler.Default); // its client may have been closed
        Assert.Equal(saves ? ["dump.rdb"] : [], disk.Files.List(disk.Folder));
    }

    // INFO may show the end of a save before its thread has ended.
    [Theory]
    [InlineData("SAVE", "OK")]
    [InlineData("BGSAVE", "Background saving started")]
    [InlineData("BGREWRITEAOF", "Background append only file rewriting started")]
    public async Task Save_follows_at_once_when_INFO_shows_the_end_of_the_last_one(string command, string reply)
    {
        using var goesOn = new ManualResetEventSlim(); // disposed of behind the server, whose saves wait for it
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Server.Engine.Timeline.Added += item =>
        {
            if (item.Kind == TimelineKind.Saved) goesOn.Wait(50, CancellationToken.None);
        };
        disk.Run("BGSAVE");
        disk.WaitFor(() => disk.Info("rdb_bgsave_in_progress") == "0", "the end");
        Assert.Equal(reply, disk.Run(command).Text);
        goesOn.Set();
    }

    // Between the look of a tick and the beginning of its save, another loop begins a synchronization. Later ticks do not find the save due any more.
    [Fact]
    public async Task Save_that_a_synchronization_has_forestalled_begins_behind_it()
    {
        using var goesOn = new ManualResetEventSlim(); // disposed of behind the server
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        DurabilityService durability = disk.Server.Parts.Durability;
        disk.Run("SET a 1");
        bool began = false;
        disk.Logged = line => began |= line.StartsWith("1 changes in 3600 seconds", StringComparison.Ordinal) && durability.TryBeginSynchronization(() => goesOn.Wait(CancellationToken.None));
        durability.Tick(disk.Server.Engine.Clock.NowMs + (7200 * 1000));
        Assert.True(began);
        Assert.Equal(0, durability.Saves.Count);
        goesOn.Set();
        disk.WaitFor(
            () =>
            {
                durability.Tick(disk.Server.Engine.Clock.NowMs);
                return durability.Saves.Count == 1;
            },
            "the save");
    }

    // A loop that waited for the end of what may take long would serve no client meanwhile.
    [Theory]
    [InlineData("BGSAVE", "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible.")]
    [InlineData("BGSAVE SCHEDULE", "Background saving scheduled")]
    [InlineData("BGREWRITEAOF", "Background append only file rewriting scheduled")]
    public async Task Save_does_not_wait_for_what_INFO_does_not_show(string command, string reply)
    {
        using var goesOn = new ManualResetEventSlim(); // disposed of behind the server
        await using DiskServer disk = await DiskServer.StartAsync("save", "");
        Assert.True(disk.Server.Parts.Durability.TryBegin("a backup", () => goesOn.Wait(CancellationToken.None)));
        Task<RedKiteReply> save = Task.Run(() => disk.Run(command), TestContext.Current.CancellationToken);
        disk.WaitFor(() => save.IsCompleted || disk.Server.Parts.Durability.SavingPolls > 0, "the reply, or a poll");
        long polls = disk.Server.Parts.Durability.SavingPolls;
        goesOn.Set(); // whoever waits after all goes on
        Assert.Equal((reply, 0L), ((await save).Text, polls));
    }

    [Theory]
    [InlineData("BGSAVE", "Background saving scheduled")]
    [InlineData("BGREWRITEAOF", "Background append only file rewriting scheduled")]
    public async Task Save_in_a_transaction_begins_behind_it(string command, string reply)
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        using RedKiteSession client = disk.Server.CreateSession();
        client.Execute("MULTI");
        client.Execute(command);
        client.Execute("SET", "k", "v");
        Assert.Equal([reply, "OK"], client.Execute("EXEC").Items.Select(item => item.Text));
        disk.WaitFor(() => disk.Info(command == "BGSAVE" ? "rdb_bgsave_in_progress" : "aof_rewrite_in_progress") == "0", "the end");
        if (command == "BGSAVE") Assert.Contains("dump.rdb", disk.Files.List(disk.Folder));
    }

    [Fact]
    public async Task Bgsave_cancel_ends_the_save_and_counts_no_failure()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1", "rdbcompression", "no");
        Assert.Equal("ERR Background saving is currently not in progress or scheduled", disk.Run("BGSAVE CANCEL").Text);
        using ManualResetEventSlim stalls = await StallBackgroundSaveAsync(disk);
        Assert.Equal("ERR Background save already in progress", disk.Run("SAVE").Text);
        Assert.Equal("Background saving cancelled", disk.Run("BGSAVE CANCEL").Text);
        Assert.Equal("ERR Background save already in progress", disk.Run("BGSAVE").Text);
        stalls.Set();
        disk.WaitFor(() => !disk.Server.Parts.Durability.IsSaving, "the end");
        Assert.Equal("ok", disk.Info("rdb_last_bgsave_status"));
        Assert.Equal("0", disk.Info("rdb_saves"));
        Assert.Equal("OK", disk.Run("SET b 1").Text);
        Assert.Empty(disk.Files.List(disk.Folder));
        Assert.Equal("ERR syntax error", disk.Run("BGSAVE CANCEL x").Text);
    }

    [Fact]
    public async Task Stopping_says_how_long_the_final_save_takes()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET a 1");
        disk.Run("SAVE");
        disk.Run("SET b 1");
        await disk.StopAsync();
        Assert.Contains(disk.LogLines, line => line.Contains("Saving the final RDB snapshot before exiting. 2 keys, about 1 s at the speed of the last save.", StringComparison.Ordinal));
    }

    // The save is within its walk, and goes on when the event is set.
    private static async Task<ManualResetEventSlim> StallBackgroundSaveAsync(DiskServer disk)
    {
        disk.Run("SET large " + new string('x', 4 << 20));
        var stalls = new ManualResetEventSlim();
        var reached = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        disk.Files.Plan = call =>
        {
            if (call.Operation != "write") return null;
            reached.TrySetResult();
            stalls.Wait(CancellationToken.None);
            return null;
        };
        Assert.Equal("Background saving started", disk.Run("BGSAVE").Text);
        await reached.Task.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        return stalls;
    }

    [Fact]
    public async Task Server_stops_without_saving_if_a_script_does_not_end()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1", "busy-reply-threshold", "0", "loops", "2");
        disk.Run("SET a 1");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.SendCommand("EVAL \"redis.call('SET', 'b', '1') while true do end\" 0");
        disk.WaitFor(() => disk.Server.Engine.Script.Current is not null, "the script");
        await disk.Server.StopAsync().WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.True(disk.Server.Stopped.IsCompleted);
    }

    [Theory]
    [InlineData("BGSAVE")]
    [InlineData("SAVE")]
    public async Task Failed_save_of_large_values_ends(string command)
    {
        await using DiskServer disk = await DiskServer.StartAsync("rdbcompression", "no");
        for (int i = 0; i < 20; i++) disk.Run($"SET large:{i} {new string('x', 300_000)}");
        disk.Files.Plan = call => call.Operation == "write" ? new FileFault(FileFault.NoSpace) : null;
        disk.Run(command);
        disk.WaitFor(() => disk.Info("rdb_bgsave_in_progress") == "0" && disk.Server.Parts.Durability.Saves.Failure is not null, "the end of the save");
        disk.Files.Plan = null;
        Assert.Equal("OK", disk.Run("SAVE").Text);
    }

    [Fact]
    public async Task Failed_save_refuses_writes_until_one_succeeds()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET a 1");
        disk.Files.Plan = call => call.Operation == "write" ? new FileFault(FileFault.NoSpace) : null;
        Assert.True(disk.Run("SAVE").IsError);
        Assert.Equal("ok", disk.Info("rdb_last_bgsave_status")); // as in Redis, only a save in the background refuses writes
        Assert.Equal("OK", disk.Run("SET a 1").Text);
        Assert.True(disk.Run("SHUTDOWN SAVE").IsError);
        Assert.Equal("OK", disk.Run("SET a 1").Text);
        disk.Run("BGSAVE");
        disk.WaitFor(() => disk.Info("rdb_last_bgsave_status") == "err", "the failure");
        Assert.StartsWith("MISCONF ", disk.Run("SET b 1").Text, StringComparison.Ordinal);
        Assert.Equal("1", disk.Run("GET a").Text);

        // As Redis, which asks these settings at each command.
        disk.Run("CONFIG SET stop-writes-on-bgsave-error no");
        Assert.Equal("OK", disk.Run("SET b 1").Text);
        disk.Run("CONFIG SET stop-writes-on-bgsave-error yes");
        Assert.StartsWith("MISCONF ", disk.Run("SET b 1").Text, StringComparison.Ordinal);
        disk.Server.Execute("CONFIG", "SET", "save", "");
        Assert.Equal("OK", disk.Run("SET b 1").Text);
        disk.Server.Execute("CONFIG", "SET", "save", "3600 1");
        Assert.StartsWith("MISCONF ", disk.Run("SET b 1").Text, StringComparison.Ordinal);
        disk.Files.Plan = null;
        Assert.Equal("OK", disk.Run("SAVE").Text);
        Assert.Equal("OK", disk.Run("SET b 1").Text);
    }

    [Fact]
    public async Task Damaged_file_stops_the_start_in_one_line()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a 1");
        disk.Run("SAVE");
        await disk.StopAsync();
        using (RedKite.Persistence.Files.IOpenFile file = disk.Files.OpenWrite(Path.Combine(disk.Folder, "dump.rdb"))) file.Write(file.Length - 12, Encoding.ASCII.GetBytes("xxxx"));
        RedKiteConfigException refused = await Assert.ThrowsAsync<RedKiteConfigException>(disk.StartAsync);
        Assert.Contains("dump.rdb: at byte ", refused.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', refused.Message);
    }

    [Fact]
    public async Task Expired_keys_are_left_out()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        disk.Run("SET a 1 PX 1");
        disk.Run("SET b 1");
        disk.Run("SAVE");
        disk.WaitFor(() => disk.Run("EXISTS a").ToString() == "0", "the expiry");
        await disk.RestartAsync();
        Assert.Equal("1", disk.Info("rdb_last_load_keys_loaded"));
        Assert.Equal("1", disk.Info("rdb_last_load_keys_expired"));
    }
}
