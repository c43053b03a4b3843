using RedKite.Persistence.Files;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

/// <summary>DEBUG RELOAD and DEBUG LOADAOF. The expected replies are those of redis-server 8.0.2.</summary>
public class ReloadTests
{
    private const string DumpError = "ERR Error trying to load the RDB dump, check server logs.";
    private const string LogError = "ERR Error trying to load the AOF files, check server logs.";

    private static readonly byte[] Library = "#!lua name=l\nredis.register_function{function_name='f', callback=function() return 7 end, flags={'no-writes'}}"u8.ToArray();

    [Theory]
    [InlineData("no")]
    [InlineData("yes")]
    public async Task Reload_replaces_the_data_by_the_same(string appendOnly)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", appendOnly);
        Fill(disk);
        string digest = disk.Digest();
        Assert.Equal("OK", disk.Run("DEBUG RELOAD").Text);
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("7", disk.Run("FCALL f 0").ToString());
        Assert.Equal("0", disk.Info("rdb_changes_since_last_save"));
        Assert.Equal("0", disk.Info("rdb_saves")); // it is none
        Assert.Equal("5", disk.Info("rdb_last_load_keys_loaded"));
        disk.Run("SET after reload");
        digest = disk.Digest();
        if (appendOnly == "no") disk.Run("SAVE");
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    // Without save points, too, where SAVE replaces the file of a flush.
    [Fact]
    public async Task An_older_save_does_not_replace_the_file_of_a_reload()
    {
        await using DiskServer disk = await DiskServer.StartAsync("save", "");
        disk.Run("SET key 1");
        using var stalls = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != "sync" || !call.Path.Contains("temp-" + Environment.ProcessId, StringComparison.Ordinal)) return null;
            reached.Set();
            stalls.Wait(CancellationToken.None);
            return null;
        };
        Task<RedKiteReply> save = Task.Factory.StartNew(() => disk.Run("SAVE"), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        Assert.True(reached.Wait(60_000, TestContext.Current.CancellationToken), "nothing is saved");
        disk.Run("SET key 2");
        Assert.Equal("OK", disk.Run("DEBUG RELOAD").Text);
        stalls.Set();
        Assert.Equal("OK", (await save).Text);
        Assert.Equal("OK", disk.Run("DEBUG RELOAD NOSAVE").Text);
        Assert.Equal("2", disk.Run("GET key").Text);
    }

    [Fact]
    public async Task A_log_that_lacks_data_is_not_loaded()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET key 1");
        using var stalls = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation == "write" && call.Path.Contains("temp-", StringComparison.Ordinal)) stalls.Wait(CancellationToken.None);
            return null;
        };
        disk.Server.Parts.Durability.NoteOtherData();
        Assert.Equal(LogError, disk.Run("DEBUG LOADAOF").Text);
        Assert.Equal("1", disk.Run("GET key").Text);
        stalls.Set();
    }

    [Fact]
    public async Task Reload_obeys_its_options()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET old 1");
        Assert.Equal(DumpError, disk.Run("DEBUG RELOAD NOSAVE").Text);
        Assert.Equal("1", disk.Run("GET old").Text); // unlike in Redis, there was nothing to remove it for
        disk.Run("SAVE");
        disk.Run("SET old 2");
        disk.Run("SET new 2");
        Assert.Equal("OK", disk.Run("DEBUG RELOAD NOSAVE NOFLUSH MERGE").Text);
        Assert.Equal("1", disk.Run("GET old").Text);
        Assert.Equal("2", disk.Run("GET new").Text);
        Assert.Equal(DumpError, disk.Run("DEBUG RELOAD NOSAVE NOFLUSH").Text);
        Assert.Contains(disk.LogLines, line => line.Contains("the key exists already", StringComparison.Ordinal));
        Assert.Equal("OK", disk.Run("DEBUG RELOAD nosave").Text);
        Assert.Equal("1", disk.Run("DBSIZE").ToString());
        disk.Files.Plan = call => call.Operation == "write" ? new FileFault(FileFault.NoSpace) : null;
        Assert.Equal("ERR", disk.Run("DEBUG RELOAD").Text);
        Assert.Equal("1", disk.Run("GET old").Text);
    }

    [Fact]
    public async Task Reload_in_a_transaction_and_beside_a_snapshot_works()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "rdbcompression", "no");
        Fill(disk);
        disk.Run("SET large " + new string('x', 4 << 20)); // the walk waits for the disk with it
        using RedKiteSession client = disk.Server.CreateSession();
        using var stalls = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != "write" || !call.Path.Contains("temp-" + Environment.ProcessId, StringComparison.Ordinal)) return null;
            reached.Set();
            stalls.Wait(CancellationToken.None);
            return null;
        };
        disk.Run("BGREWRITEAOF");
        Assert.True(reached.Wait(60_000, TestContext.Current.CancellationToken), "no snapshot is written");
        client.Execute("MULTI");
        client.Execute("SET", "before", "1");
        client.Execute("DEBUG", "RELOAD");
        client.Execute("SET", "after", "1");
        RedKiteReply replies = client.Execute("EXEC");
        stalls.Set();
        string loaded = client.Execute("DEBUG", "LOADAOF").ToString(); // while the rewrite ends
        Assert.Equal("OK OK OK OK", string.Join(' ', replies.Items.Select(reply => reply.ToString())) + " " + loaded);
        disk.WaitFor(() => disk.Info("aof_rewrites") == "1", "the rewrite");
        string digest = disk.Digest();
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("1", disk.Run("GET after").Text);
    }

    [Fact]
    public async Task Clients_notice_a_reload_as_in_redis()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "loops", "2");
        using RespConnection watcher = RespConnection.Connect(disk.Server.Port), blocked = RespConnection.Connect(disk.Server.Port);
        disk.Run("SET a 1");
        watcher.Run("WATCH missing").IsOk();
        blocked.SendCommand("BLPOP l 0");
        disk.WaitFor(() => disk.Server.Engine.Blocked.Count == 1, "the client");
        disk.Run("DEBUG RELOAD");
        watcher.Run("MULTI").IsOk();
        watcher.Run("PING").IsSimple("QUEUED");
        Assert.Single(watcher.Run("EXEC").Items); // what is missing before and after has not changed
        watcher.Run("WATCH a").IsOk();
        disk.Run("DEBUG LOADAOF");
        watcher.Run("MULTI").IsOk();
        watcher.Run("PING").IsSimple("QUEUED");
        watcher.Run("EXEC").IsNull();
        disk.Run("RPUSH l v");
        blocked.Read().IsArray("l", "v");
    }

    [Fact]
    public async Task Loadaof_loads_what_was_logged_and_logs_nothing_of_it()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "no");
        Fill(disk);
        string digest = disk.Digest();
        disk.Run("SET gone 1 PX 1");
        Assert.Equal("OK", disk.Run("DEBUG LOADAOF").Text);
        long length = disk.Server.Parts.Durability.Log.TotalBytes;
        Assert.Equal("OK", disk.Run("DEBUG LOADAOF").Text);
        Assert.Equal(length, disk.Server.Parts.Durability.Log.TotalBytes);
        disk.WaitFor(() => disk.Run("EXISTS gone").ToString() == "0", "the expiry");
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("7", disk.Run("FCALL f 0").ToString());
        Assert.Equal("0", disk.Info("rdb_changes_since_last_save"));
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    [Fact]
    public async Task Loadaof_without_a_file_is_an_error()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a 1");
        Assert.Equal(LogError, disk.Run("DEBUG LOADAOF").Text);
        Assert.Equal("1", disk.Run("GET a").Text); // unlike in Redis
        disk.Run("CONFIG SET appendonly yes");
        disk.WaitFor(() => disk.Info("aof_rewrites") == "1", "the base");
        disk.Run("SET b 1");
        Assert.Equal("OK", disk.Run("DEBUG LOADAOF").Text);
        Assert.Equal("2", disk.Run("DBSIZE").ToString());
        Assert.Equal(LogError, Damaged(disk).Run("DEBUG LOADAOF").Text);
        Assert.Equal("PONG", disk.Run("PING").Text);
    }

    private static DiskServer Damaged(DiskServer disk)
    {
        using IOpenFile file = disk.Files.OpenWrite(Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.1.incr.aof"));
        file.Write(file.Length, "garbage"u8);
        return disk;
    }

    private static void Fill(DiskServer disk)
    {
        using RedKiteSession client = disk.Server.CreateSession();
        client.Execute("FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), Library);
        disk.Run("SET a 1");
        disk.Run("RPUSH l a b c");
        disk.Run("SET e v PX 10000000");
        disk.Run("HSET h f 1 g 2");
        client.Execute("SELECT", "3");
        client.Execute("MULTI");
        client.Execute("ZADD", "z", "1", "a", "-0", "b");
        client.Execute("ZINCRBY", "z", "2", "a");
        client.Execute("EXEC");
    }
}
