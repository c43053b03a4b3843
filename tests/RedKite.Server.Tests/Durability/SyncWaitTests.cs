using RedKite.Server.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>WAITAOF with an append-only file. The expected replies are those of redis-server 8.0.2.</summary>
public class SyncWaitTests
{
    private const string NoLog = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";

    [Theory]
    [InlineData("everysec")]
    [InlineData("always")]
    public async Task Wait_ends_when_the_clients_writes_are_synced(string policy)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", policy);
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.Run("WAITAOF 1 0 0").IsIntegers(1, 0); // it has written nothing
        client.Run("SET a 1").IsOk();
        client.Run("WAITAOF 1 0 0").IsIntegers(1, 0);
        Assert.True(disk.Server.Parts.Durability.Log.Log!.Writer.SyncedPosition > 0);
        client.Run("WAITAOF 0 0 0").IsIntegers(1, 0);
        client.Run("WAITAOF 1 1 1").IsIntegers(1, 0); // there are no replicas to wait for
        using RedKiteSession inProcess = disk.Server.CreateSession();
        inProcess.Execute("SET", "c", "1");
        Assert.Equal("1 0", string.Join(' ', inProcess.Execute("WAITAOF", "1", "0", "0").Items.Select(item => item.ToString())));
    }

    [Fact]
    public async Task Wait_for_what_is_not_synced_ends_at_its_deadline_or_with_the_log()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "no");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.Run("SET a 1").IsOk();
        client.Run("WAITAOF 1 0 1").IsIntegers(0, 0);
        client.Run("MULTI").IsOk();
        client.Run("WAITAOF 1 0 0").IsSimple("QUEUED");
        Assert.Equal([0, 0], client.Run("EXEC").Items[0].Items.Select(item => item.Number));
        client.Run("EVAL \"return redis.call('WAITAOF', '1', '0', '0')\" 0").IsIntegers(1, 0); // it has written nothing either
        client.SendCommand("WAITAOF 1 0 0");
        disk.WaitFor(() => disk.Server.Engine.Blocked.Count == 1, "the client");
        disk.Run("BGREWRITEAOF"); // the increment that ends is synced
        client.Read().IsIntegers(1, 0);
        disk.WaitFor(() => !disk.Server.Parts.Durability.IsSaving, "the rewrite");
        client.Run("SET a 2").IsOk();
        client.SendCommand("WAITAOF 1 0 0");
        disk.WaitFor(() => disk.Server.Engine.Blocked.Count == 1, "the client");
        disk.Run("CONFIG SET appendonly no");
        client.Read().IsError(NoLog);
        disk.WaitFor(() => disk.Server.Parts.Durability.Log.Log is null, "the log's end");
        client.Run("WAITAOF 1 0 0").IsError(NoLog);
        client.Run("WAITAOF 0 0 0").IsIntegers(0, 0);
    }

    // As in Redis, which waits for its first rewrite: what is synced before that cannot be loaded.
    [Fact]
    public async Task What_a_log_that_begins_has_synced_counts_when_its_base_has_its_name()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "no", "appendfsync", "always", "save", "");
        using RespConnection client = RespConnection.Connect(disk.Server.Port), second = RespConnection.Connect(disk.Server.Port);
        client.Run("SET before 1").IsOk();
        using var goesOn = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != "rename" || reached.IsSet) return null;
            reached.Set();
            goesOn.Wait(CancellationToken.None);
            return null;
        };
        disk.Run("CONFIG SET appendonly yes");
        client.SendCommand("WAITAOF 1 0 0"); // sent while there is none yet, or none that counts
        Assert.True(reached.Wait(60_000, TestContext.Current.CancellationToken));
        second.Run("SET behind 1").IsOk();
        AppendOnlyLog log = disk.Server.Parts.Durability.Log.Log!;
        disk.WaitFor(() => log.Writer.SyncedPosition == log.Chain.Reserved, "the sync");
        second.Run("WAITAOF 1 0 1").IsIntegers(0, 0);
        Assert.Equal(1, disk.Server.Engine.Blocked.Count);
        goesOn.Set();
        client.Read().IsIntegers(1, 0);
        second.Run("WAITAOF 1 0 0").IsIntegers(1, 0);
        disk.Set("appendonly", "yes");
        await disk.RestartAfterAsync(PowerLoss.DropsAll, new Random(1));
        Assert.Equal(("1", ""), (disk.Run("GET before").Text, disk.Run("GET behind").IsNull ? "lost" : ""));
    }

    // What a replica tells its primary (FACK): after a full synchronization its log says nothing until a rewrite has written the new data.
    [Fact]
    public async Task A_replica_reports_no_offset_as_synced_before_its_base_is()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        Func<long, long?> synced = disk.Server.Follower.Services.SyncedOffset;
        disk.Run("SET a 1");
        Assert.Equal(100, synced(100));
        disk.Server.Parts.Durability.Log.NoteOtherData();
        Assert.Equal(100, synced(200));
        disk.Run("SET a 2");
        Assert.Equal(100, synced(300));
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => !disk.Server.Parts.Durability.IsSaving, "the rewrite");
        Assert.InRange(synced(300) ?? 0, 200, 300);
        disk.Server.Engine.Replication.ChangeId();
        disk.Server.Parts.Durability.Log.NoteOtherData();
        Assert.Equal(0, synced(50));
    }

    [Fact]
    public async Task Waits_are_refused_from_the_moment_at_which_the_log_is_switched_off()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "no");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.Run("SET a 1").IsOk();
        using var goesOn = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation == "sync") goesOn.Wait(CancellationToken.None);
            return null;
        };
        disk.Run("CONFIG SET appendonly no");
        client.Run("WAITAOF 1 0 0").IsError(NoLog); // the log still ends
        client.Run("WAITAOF 0 0 0").IsIntegers(0, 0);
        goesOn.Set();
        disk.WaitFor(() => disk.Server.Parts.Durability.Log.Log is null, "the log's end");
    }

    [Fact]
    public async Task Waits_that_have_ended_are_forgotten()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "no");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        client.Run("SET a 1").IsOk();
        byte[] request = CommandLine.Encode(CommandLine.Split("WAITAOF 1 0 1"));
        for (int i = 0; i < 300; i++) client.Send(request);
        for (int i = 0; i < 300; i++) client.Read().IsIntegers(0, 0);
        Assert.Equal(1, disk.Server.Parts.Durability.Log.Waits.Count);
    }
}
