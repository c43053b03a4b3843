using RedKite.Persistence.Files;
using RedKite.Server.Durability;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>
/// Threads that end the log, save or begin a snapshot may come when the server has stopped: then the keys' memory is gone, and they do nothing.
/// </summary>
public sealed class EndOfDurabilityTests
{
    [Fact]
    public async Task A_thread_that_comes_after_the_end_saves_nothing()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        DurabilityService durability = disk.Server.Parts.Durability;
        await disk.Server.StopAsync();
        string[] files = Directory.GetFiles(disk.Folder);
        Assert.Null(durability.SaveAtStop(out _)); // of a SHUTDOWN that has waited for replicas
        Assert.False(durability.TrySave(static () => false, out _));
        Assert.NotEqual(BackgroundStart.Started, durability.BeginSave(schedules: false));
        Assert.NotEqual(BackgroundStart.Started, durability.BeginRewrite());
        Assert.False(durability.TryBegin("late", () => Assert.Fail("It begins.")));
        Assert.False(durability.TryBeginSynchronization(() => Assert.Fail("It begins.")));
        Assert.Equal(files, Directory.GetFiles(disk.Folder));
        Assert.False(durability.IsSaving); // and none waits for ever
    }

    [Fact]
    public async Task The_thread_that_ends_the_log_ends_itself_when_the_server_has_stopped()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        DurabilityService durability = disk.Server.Parts.Durability;
        await disk.Server.StopAsync();
        Thread thread = durability.ApplyAppendOnly()!; // CONFIG SET appendonly no, whose thread begins late
        Assert.True(thread.Join(60_000));
    }

    [Fact]
    public async Task Two_threads_may_end_the_log()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        LogKeeper log = disk.Server.Parts.Durability.Log;
        var ends = Enumerable.Range(0, 4).Select(_ => new Thread(() => log.Stop())).ToList();
        ends.ForEach(thread => thread.Start());
        Assert.All(ends, thread => Assert.True(thread.Join(60_000)));
        Assert.Null(log.Log);
    }

    // Otherwise all that was acknowledged since the last snapshot would be lost. The script ends with its loop, and nothing else executes then.
    [Fact]
    public async Task A_stop_saves_behind_a_script_that_does_not_end()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Server.Parts.Durability.ScriptAtStopMs = 20;
        disk.Run("SET a 1");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.SendCommand("EVAL \"while true do end\" 0");
        disk.WaitFor(() => disk.Server.Engine.Script.Current is not null, "the script");
        Assert.True(await Task.Run(() => disk.Server.TryStop(StopSaving.BySavePoints), TestContext.Current.CancellationToken));
        Assert.True(LogHas(disk, "A script does not end: the server saves when it has stopped it."));
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
    }

    // By a bug, or memory that is short: clients would wait for ever.
    [Fact]
    public async Task A_last_save_that_ends_by_an_exception_lets_the_server_go_on()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Run("SET a 1");
        disk.Files.Plan = static call => call.Path.EndsWith(".rdb", StringComparison.Ordinal) ? throw new InvalidOperationException("planned") : null;
        Assert.False(await Task.Run(() => disk.Server.TryStop(StopSaving.BySavePoints), TestContext.Current.CancellationToken));
        disk.Files.Plan = null;
        Assert.True(LogHas(disk, "planned"));
        Assert.Equal("OK", disk.Run("SET a 2").Text);
        await disk.RestartAsync();
        Assert.Equal("2", disk.Run("GET a").Text);
    }

    // The log's thread reports a failure with all stripes locked, before it answers: until then the last save would wait for the script.
    [Fact]
    public async Task The_last_save_does_not_wait_for_a_log_that_fails_behind_a_script()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "no", "save", "3600 1", "busy-reply-threshold", "0");
        disk.Run("SET a 1");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.SendCommand("EVAL \"while true do end\" 1 a");
        disk.WaitFor(() => disk.Server.Engine.Script.Current is not null, "the script");
        disk.Files.Plan = static call => call.Operation == "sync" && call.Path.EndsWith(".aof", StringComparison.Ordinal) ? new FileFault(FileFault.InputOutput) : null;
        Task<FileFailure?> save = Task.Run(() => disk.Server.Parts.Durability.SaveAtStop(out _), TestContext.Current.CancellationToken);
        disk.WaitFor(() => LogHas(disk, "Saving the final RDB snapshot"), "the save behind the log");
        Assert.Equal("OK", disk.Run("SCRIPT KILL").Text);
        Assert.Null(await save.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        Assert.True(disk.Files.FileExists(Path.Combine(disk.Folder, "dump.rdb")));
    }

    // What ends the log waits for the stripes of a script, and excludes saves.
    [Fact]
    public async Task The_last_save_does_not_wait_for_what_waits_for_a_script()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "save", "3600 1");
        DurabilityService durability = disk.Server.Parts.Durability;
        Keyspace keyspace = disk.Server.Engine.Keyspace;
        disk.Run("SET a 1");
        FileFailure? failure = null;
        bool saved = true;
        var saver = new Thread(() => failure = durability.SaveAtStop(out saved));
        Thread ends;
        Assert.True(keyspace.Scripts.TryEnter());
        try
        {
            using (keyspace.LockForScript(keyspace.AllStripes))
            {
                disk.Server.Engine.Configuration.Settings.AppendOnly = false;
                ends = durability.ApplyAppendOnly()!;
                disk.WaitFor(() => durability.IsSaving, "the end of the log");
                saver.Start();
                Assert.True(saver.Join(60_000));
            }
        }
        finally
        {
            keyspace.Scripts.Exit();
        }

        Assert.Equal((null, false), (failure, saved));
        Assert.True(ends.Join(60_000));
        Assert.False(durability.IsSaving);
    }

    // A snapshot that waits for a script excludes the last save.
    [Fact]
    public async Task A_snapshot_that_waits_for_a_script_gives_up_at_a_stop()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        DurabilityService durability = disk.Server.Parts.Durability;
        disk.Run("SET a 1");
        FileFailure? failure = null;
        var saver = new Thread(() => failure = durability.SaveAtStop(out _));
        ScriptMutex scripts = disk.Server.Engine.Keyspace.Scripts;
        Assert.True(scripts.TryEnter());
        scripts.NoteBusy();
        try
        {
            Assert.Equal("Background saving started", disk.Run("BGSAVE").Text);
            saver.Start();
            disk.WaitFor(() => LogHas(disk, "Background saving was aborted") || !saver.IsAlive, "the end of the snapshot");
            Assert.True(LogHas(disk, "Background saving was aborted"));
        }
        finally
        {
            scripts.NoteBusyEnded();
            scripts.Exit();
        }

        Assert.True(saver.Join(60_000));
        Assert.Null(failure);
        Assert.True(disk.Files.FileExists(Path.Combine(disk.Folder, "dump.rdb")));
    }

    private static bool LogHas(DiskServer disk, string text)
    {
        lock (disk.LogLines) return disk.LogLines.Exists(line => line.Contains(text, StringComparison.Ordinal));
    }
}
