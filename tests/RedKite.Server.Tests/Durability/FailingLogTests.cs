using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Durability;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>
/// A disk that fails the append-only file, its rewrites, or both: what is asked of the log completes or fails, nothing is called certain before a base
/// has it, and reads go on.
/// </summary>
public sealed class FailingLogTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task Rewrites_on_a_full_disk_fail_one_after_the_other_and_the_server_stops()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "save", "3600 1");
        await FillDiskAsync(disk, static _ => true);
        for (int failures = 1; failures <= 2; failures++)
        {
            disk.Run("BGREWRITEAOF");
            disk.WaitFor(() => disk.Server.Parts.Durability is { IsSaving: false } durability && durability.Rewrites.Failures == failures, "the failure");
        }

        Assert.Equal("1", disk.Run("GET a").Text);
        await disk.StopAsync().WaitAsync(TimeSpan.FromSeconds(60), Token);
    }

    [Fact]
    public async Task Rewrite_frees_a_disk_that_takes_no_more_of_the_log()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        await FillDiskAsync(disk, static call => call.Path.EndsWith(".1.incr.aof", StringComparison.Ordinal));
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_rewrites") == "1", "the rewrite");
        disk.WaitFor(() => !disk.Run("SET c 1").IsError, "a write");
        string digest = disk.Digest();
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("1", disk.Run("GET b").Text);
    }

    // The loops have closed their clients that waited for the log, and wait for nothing any more, when the host's thread hands over the client that it has served.
    [Fact]
    public async Task A_client_that_a_host_serves_when_the_log_fails_gets_no_reply()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.SendCommand("BLPOP k 0");
        disk.WaitFor(() => disk.Server.Engine.Blocked.Count == 1, "the client");
        using var executed = new ManualResetEventSlim();
        using var goesOn = new ManualResetEventSlim();
        using IDisposable watch = disk.Server.Engine.Monitors.Watch(command =>
        {
            if (command.Name != "rpush") return;
            executed.Set(); // before the served client is handed over
            goesOn.Wait(CancellationToken.None);
        });
        Task push = Task.Run(() => Assert.Throws<IOException>(() => disk.Run("RPUSH k v")), Token);
        try
        {
            executed.Wait(Token);
            disk.Files.Plan = static call => call.Operation == "sync" && call.Path.EndsWith(".aof", StringComparison.Ordinal) ? new FileFault(FileFault.InputOutput) : null;
            Assert.Throws<IOException>(() => disk.Run("SET other 1"));
            disk.WaitFor(() => disk.Server.Parts.Durability.Log.Log!.Refusing != 0, "the failure");
            disk.WaitFor(
                () =>
                {
                    using RespConnection reader = RespConnection.Connect(disk.Server.Port);
                    reader.SendCommand("GET other"); // whose reply waits for the log no longer when the loop has closed those that waited
                    return !reader.Read().IsClosed;
                },
                "a loop that has closed its clients");
        }
        finally
        {
            goesOn.Set();
        }

        await push.WaitAsync(TimeSpan.FromSeconds(60), Token);
        Assert.True(client.Read().IsClosed);
    }

    // It was refused: the exception would say that it was executed.
    [Fact]
    public async Task A_task_of_the_host_says_what_a_failing_log_has_refused_and_reads()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        RedKiteClient client = disk.Server.CreateClient();
        disk.Run("SET a 1");
        disk.Files.Plan = static call => call.Operation == "sync" && call.Path.EndsWith(".aof", StringComparison.Ordinal) ? new FileFault(FileFault.InputOutput) : null;
        await Assert.ThrowsAsync<IOException>(async () => await client.ExecuteAsync(["SET", "a", "2"], Token));
        disk.WaitFor(() => disk.Run("SET b 1").IsError, "the refusal");
        Assert.StartsWith("MISCONF ", (await client.ExecuteAsync(["SET", "a", "3"], Token)).Text, StringComparison.Ordinal);
        Assert.Equal("2", (await client.ExecuteAsync(["GET", "a"], Token)).Text);
        await Assert.ThrowsAsync<IOException>(async () => await client.WaitForLogAsync(Token)); // which speaks of what others have executed, too
    }

    // Before the base is in force, a power loss leaves the old files, of which the last may end damaged.
    [Theory]
    [InlineData("sync")]
    [InlineData("rename")]
    public async Task After_a_failed_sync_writes_are_refused_until_a_base_is_in_force(string failing)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        disk.Run("SET a 1");
        bool failsLog = true, failsBase = true;
        disk.Files.Plan = call =>
            (Volatile.Read(ref failsLog) && call.Operation == "sync" && call.Path.EndsWith(".incr.aof", StringComparison.Ordinal))
            || (Volatile.Read(ref failsBase) && call.Operation == failing && call.Path.EndsWith(".rdb", StringComparison.Ordinal))
                ? new FileFault(FileFault.InputOutput)
                : null;
        Assert.Throws<IOException>(() => disk.Run("SET b 1"));
        Volatile.Write(ref failsLog, false);
        DurabilityService durability = disk.Server.Parts.Durability;
        for (int failures = 1; failures <= 2; failures++)
        {
            durability.Tick(disk.Server.Engine.Clock.NowMs + 3_600_000); // the repair
            disk.WaitFor(() => durability.Rewrites.Failures >= failures && !durability.IsSaving, "a base that fails");
            Assert.StartsWith("MISCONF ", disk.Run("SET c 1").Text, StringComparison.Ordinal);
            Assert.Equal("err", disk.Info("aof_last_write_status"));
        }

        AppendOnlyLog log = durability.Log.Log!;
        Assert.True(durability.Log.CertainPosition(log) < log.Chain.Reserved);
        await AssertLoadsAsync(disk);
        Volatile.Write(ref failsBase, false);
        durability.Tick(disk.Server.Engine.Clock.NowMs + 3_600_000);
        disk.WaitFor(() => !disk.Run("SET d 1").IsError, "the repair");
        string digest = disk.Digest();
        await disk.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal(digest, disk.Digest());
    }

    [Fact]
    public async Task Base_of_other_data_is_written_again_until_it_succeeds()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET a 1");
        DurabilityService durability = disk.Server.Parts.Durability;
        bool fails = true;
        disk.Files.Plan = call => Volatile.Read(ref fails) && call.Operation == "rename" && call.Path.EndsWith(".rdb", StringComparison.Ordinal) ? new FileFault(FileFault.InputOutput) : null;
        durability.NoteOtherData();
        for (int failures = 1; failures <= 2; failures++)
        {
            durability.Tick(disk.Server.Engine.Clock.NowMs + 3_600_000);
            disk.WaitFor(() => durability.Rewrites.Failures >= failures && !durability.IsSaving, "a base that fails");
            Assert.True(durability.Log.LacksData);
        }

        Volatile.Write(ref fails, false);
        durability.Tick(disk.Server.Engine.Clock.NowMs + 3_600_000);
        disk.WaitFor(() => !durability.Log.LacksData, "the base");
    }

    // redis-server 8.0.2 waits for the first rewrite, too.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Nothing_is_synced_before_the_base_is_in_force(bool isOtherData)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", isOtherData ? "yes" : "no", "appendfsync", "always");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        using var goesOn = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != "rename" || !call.Path.EndsWith(".rdb", StringComparison.Ordinal) || reached.IsSet) return null;
            reached.Set();
            goesOn.Wait(CancellationToken.None);
            return null;
        };
        if (isOtherData) disk.Server.Parts.Durability.NoteOtherData();
        disk.Run(isOtherData ? "BGREWRITEAOF" : "CONFIG SET appendonly yes");
        Assert.True(reached.Wait(60_000, Token));
        client.Run("SET a 1").IsOk();
        client.Run("WAITAOF 1 0 1").IsIntegers(0, 0);
        client.SendCommand("WAITAOF 1 0 0");
        disk.WaitFor(() => disk.Server.Engine.Blocked.Count == 1, "the client");
        goesOn.Set();
        client.Read().IsIntegers(1, 0);
    }

    [Fact]
    public async Task Reads_go_on_when_keys_expire_while_the_log_fails()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        disk.Run("SET a 1");
        for (int i = 0; i < 10; i++) disk.Run($"SET expires{i} 1 PX 1");
        disk.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        for (int i = 10; i < 20; i++) disk.Run($"SET expires{i} 1 PX 1");
        disk.Files.Plan = static call => call.Operation == "sync" ? new FileFault(FileFault.InputOutput) : null;
        Assert.Throws<IOException>(() => disk.Run("SET b 1"));
        AppendOnlyLog log = disk.Server.Parts.Durability.Log.Log!;
        disk.WaitFor(() => log.Refusing != 0, "the refusal");
        await log.Writer.Flush(); // it has reported its failure to the loops
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        long before = log.Chain.Reserved;
        for (int i = 10; i < 15; i++) client.Run($"GET expires{i}").IsNull();
        disk.WaitFor(() => log.Chain.Reserved > before, "removals in the log");
        client.Run("GET a").IsBulk("1");
        client.Run("INFO server");
        for (int i = 15; i < 20; i++) Assert.True(disk.Run($"GET expires{i}").IsNull);
        Assert.StartsWith("MISCONF ", disk.Run("SET c 1").Text, StringComparison.Ordinal);
        await Assert.ThrowsAsync<IOException>(async () => await disk.Server.CreateClient().WaitForLogAsync(Token));
    }

    // Its turn may serve a client of another loop, whose reply must be held there.
    [Fact]
    public async Task Output_is_held_until_every_loop_has_ended_the_turn_in_which_the_log_failed()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always", "loops", "2");
        using RespConnection busy = RespConnection.Connect(disk.Server.Port);
        busy.Run("CLIENT SETNAME busy").IsOk();
        Session session = Named(disk, "busy");
        using var goesOn = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        RespConnection writer;
        int count = 0;
        do
        {
            writer = RespConnection.Connect(disk.Server.Port);
            writer.Run("CLIENT SETNAME writer" + ++count).IsOk();
        }
        while (Named(disk, "writer" + count).Connection!.Loop == session.Connection!.Loop);
        session.Connection.Loop.Post(() =>
        {
            reached.Set();
            goesOn.Wait(CancellationToken.None);
        });
        Assert.True(reached.Wait(60_000, Token));
        disk.Files.Plan = static call => call.Operation == "sync" ? new FileFault(FileFault.InputOutput) : null;
        writer.SendCommand("SET a 1");
        AppendOnlyLog log = disk.Server.Parts.Durability.Log.Log!;
        disk.WaitFor(() => log.Refusing != 0, "the failure");
        await log.Writer.Flush(); // it has reported its failure to the loops
        using var turned = new ManualResetEventSlim();
        Named(disk, "writer" + count).Connection!.Loop.Post(turned.Set);
        Assert.True(turned.Wait(60_000, Token));
        Assert.True(disk.Server.HasGatedOutput);
        goesOn.Set();
        Assert.Equal(RespValue.Closed, writer.Read());
        writer.Dispose();
    }

    [Fact]
    public async Task Rewrite_whose_log_ends_before_its_cut_fails()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        DurabilityService durability = disk.Server.Parts.Durability;
        FileFailure failure = Assert.Throws<FileFailure>(() => durability.Log.Rewrite((_, atSnapshotPoint) =>
        {
            durability.Log.Stop();
            atSnapshotPoint();
        }));
        Assert.Equal(FileFailure.Canceled, failure.Error);
    }

    [Fact]
    public async Task Increment_that_no_manifest_names_is_not_continued()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a 1");
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_rewrites") == "1", "the base");
        await disk.StopAsync();
        string stray = Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.1.incr.aof");
        disk.Files.Create(stray).Write(0, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\n2\r\n"u8);
        disk.Set("appendonly", "yes");
        await disk.StartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
        disk.Run("SET b 1");
        await disk.RestartAsync();
        Assert.Contains(disk.Files.History, call => call.Path == stray && call.Operation == "read");
        Assert.Equal(("1", "1"), (disk.Run("GET a").Text, disk.Run("GET b").Text));
    }

    [Fact]
    public async Task Dump_of_flushall_belongs_to_no_place_of_the_stream()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "3600 1");
        disk.Server.Parts.ReplicaStream.Begin();
        disk.Run("SET a 1");
        disk.Run("SAVE");
        Assert.NotNull(PlaceOf(disk));
        disk.Run("FLUSHALL");
        Assert.Null(PlaceOf(disk));
    }

    [Fact]
    public async Task Reload_loads_what_it_has_saved_although_an_older_save_ends_in_between()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a old");
        using var goesOn = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        string dump = disk.Server.Parts.Durability.DumpPath;
        disk.Files.Plan = call =>
        {
            if (call.Operation == "sync" && !reached.IsSet)
            {
                reached.Set();
                goesOn.Wait(CancellationToken.None);
            }
            else if (call.Operation == "open" && call.Path == dump)
            {
                goesOn.Set();
                disk.WaitFor(() => !disk.Server.Parts.Durability.IsSaving, "the older save");
            }

            return null;
        };
        disk.Run("BGSAVE");
        Assert.True(reached.Wait(60_000, Token));
        disk.Run("SET a new");
        Assert.Equal("OK", disk.Run("DEBUG RELOAD").Text);
        Assert.Equal("new", disk.Run("GET a").Text);
    }

    private static RdbReplication? PlaceOf(DiskServer disk)
    {
        using IOpenFile file = disk.Files.OpenRead(disk.Server.Parts.Durability.DumpPath);
        return RdbReplication.In(file);
    }

    private static Session Named(DiskServer disk, string name) => disk.Server.Engine.Clients.All.Single(session => session.Name == name);

    // Until the log has failed and writes are refused.
    private static async Task FillDiskAsync(DiskServer disk, Predicate<FileCall> isFull)
    {
        disk.Run("SET a 1");
        await disk.Server.Parts.Durability.Log.Log!.Writer.Flush();
        disk.Files.Plan = call => call.Operation == "write" && isFull(call) ? new FileFault(FileFault.NoSpace) : null;
        disk.Run("SET b 1");
        disk.WaitFor(() => disk.Server.Engine.WriteGate.Refusal is not null, "a refusal");
    }

    // What a power loss of now leaves can be loaded.
    private static async Task AssertLoadsAsync(DiskServer disk)
    {
        var options = new RedKiteOptions { Port = 0, Files = disk.Files.After(PowerLoss.DropsAll, new Random(1)) };
        options.Settings["dir"] = disk.Folder;
        options.Settings["appendonly"] = "yes";
        await using RedKiteServer server = await RedKiteServer.StartAsync(options);
        Assert.Equal("1", server.Execute("GET", "a").Text);
    }
}
