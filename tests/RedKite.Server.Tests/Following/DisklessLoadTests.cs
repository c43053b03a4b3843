using System.Globalization;
using RedKite.Persistence.Files;
using RedKite.Server.Durability;
using RedKite.Server.Following;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>
/// repl-diskless-load: what a replica's clients see while it loads, and what is left when the link breaks in the middle. Facts about redis-server 8.0.2 were observed
/// with a redis-server of that version as the replica.
/// </summary>
public class DisklessLoadTests
{
    private const string OldLibrary = "#!lua name=l\nredis.register_function{function_name='f', callback=function() return 'old' end, flags={'no-writes'}}";
    private const string NewLibrary = "#!lua name=l\nredis.register_function{function_name='f', callback=function() return 'new' end, flags={'no-writes'}}";

    [Fact]
    public async Task With_swapdb_clients_use_the_old_data_until_the_new_one_is_whole()
    {
        byte[] first = await DataAsync(OldLibrary, "SET key old", "SET gone 1");
        byte[] second = await DataAsync(NewLibrary, "SET key new", "SET fresh 1", "XADD stream 1-1 field value");
        using var primary = new ScriptedPrimary { Data = first };
        await using DiskServer replica = await FollowAsync(primary, "swapdb");
        replica.WaitFor(() => Link(replica) == "up", "the first data");
        (primary.Data, primary.HoldsAt) = (second, second.Length - 20);

        using RespConnection watcher = RespConnection.Connect(replica.Server.Port), blocked = RespConnection.Connect(replica.Server.Port);
        watcher.Run("WATCH fresh").IsOk();
        watcher.Run("MULTI").IsOk();
        watcher.Run("GET fresh");
        blocked.SendCommand("XREAD BLOCK 0 STREAMS stream 0-0");
        primary.Break();
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Info("async_loading") == "1", "loading");
        Assert.Equal("0", replica.Info("loading"));
        Assert.NotEqual("", replica.Info("loading_start_time"));
        Assert.Equal("down", Link(replica));
        Assert.Equal(("old", 2L), (replica.Run("GET key").Text, replica.Run("DBSIZE").Integer));
        Assert.Equal("old", replica.Run("FCALL f 0").Text);
        Assert.StartsWith("READONLY ", replica.Run("SET key value").Text, StringComparison.Ordinal);
        foreach (string refused in (string[])["BGSAVE", "SAVE", "BGREWRITEAOF", "CONFIG SET appendonly yes", "CONFIG SET hz 20 repl-diskless-load disabled", "PSYNC ? -1", "REPLICAOF NO ONE"])
        {
            if (refused.StartsWith("PSYNC", StringComparison.Ordinal)) Assert.Equal("-LOADING Redis is loading the dataset in memory", Text(replica, refused));
            else Assert.Equal("LOADING Redis is loading the dataset in memory", replica.Run(refused).Text);
        }

        Assert.Equal("10", replica.Run("CONFIG GET hz").Items[1].Text);
        Assert.Equal("OK", replica.Run("CONFIG SET hz 10").Text);
        Assert.DoesNotContain(replica.Files.List(replica.Folder), static name => name.StartsWith("temp-sync", StringComparison.Ordinal));

        // It breaks off: nothing of it is left, and the replica still has its place.
        primary.BreakOff();
        replica.WaitFor(() => replica.Info("async_loading") == "0", "the end of loading");
        Assert.Equal(("old", 2L), (replica.Run("GET key").Text, replica.Run("DBSIZE").Integer));
        primary.WaitUntilHeld();
        Assert.Equal([$"? -1", $"{primary.Id} 1001", $"{primary.Id} 1001"], primary.Requests);
        replica.WaitFor(() => replica.Info("async_loading") == "1", "loading again");
        primary.GoOn();
        replica.WaitFor(() => Link(replica) == "up", "the second data");
        Assert.Equal(("new", 3L, "0"), (replica.Run("GET key").Text, replica.Run("DBSIZE").Integer, replica.Info("async_loading")));
        Assert.Equal("new", replica.Run("FCALL f 0").Text);
        Assert.True(watcher.Run("EXEC").IsNull);
        Assert.Contains("1-1", blocked.Read().ToString(), StringComparison.Ordinal);
        replica.WaitFor(() => replica.Server.Engine.Keyspace.ObjectsWaiting == 0, "the old data to be freed");
    }

    [Fact]
    public async Task With_swapdb_the_old_data_of_another_history_is_hidden_while_the_new_one_is_loaded()
    {
        byte[] first = await DataAsync(OldLibrary, "SET key old");
        using var primary = new ScriptedPrimary { Data = first };
        await using DiskServer replica = await FollowAsync(primary, "swapdb");
        replica.WaitFor(() => Link(replica) == "up", "the first data");
        (primary.Data, primary.HoldsAt, primary.Id) = (await DataAsync(NewLibrary, "SET key new"), 30, new string('b', 40));
        primary.Break();
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Info("loading") == "1", "loading");
        Assert.Equal("0", replica.Info("async_loading"));
        Assert.Equal("LOADING Redis is loading the dataset in memory", replica.Run("GET key").Text);
        primary.HoldsBeforeData = true; // the replica comes again at once: nothing is loaded until the test has looked
        primary.BreakOff();
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Info("loading") == "0", "the end of loading");
        Assert.Equal("old", replica.Run("GET key").Text);
        primary.GoOn();
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Info("loading") == "1", "loading again");
        primary.GoOn();
        replica.WaitFor(() => Link(replica) == "up", "the second data");
        Assert.Equal("new", replica.Run("GET key").Text);
    }

    [Theory]
    [InlineData("disabled", "old")]
    [InlineData("on-empty-db", "old")]
    [InlineData("swapdb", "old")]
    [InlineData("flush-before-load", null)]
    public async Task What_is_left_of_old_data_when_a_transfer_breaks_off(string mode, string? left)
    {
        using var primary = new ScriptedPrimary { Data = await DataAsync(OldLibrary, "SET key old") };
        await using DiskServer replica = await FollowAsync(primary, mode);
        replica.WaitFor(() => Link(replica) == "up", "the first data");
        bool usesFile = mode is "disabled" or "on-empty-db";
        (primary.Data, primary.HoldsAt) = (await DataAsync(NewLibrary, "SET key new"), 30);
        primary.Break();
        primary.WaitUntilHeld();
        replica.WaitFor(() => Info(replica, "master_sync_total_bytes") == "0", "the beginning of the data");
        if (usesFile) replica.WaitFor(() => replica.Files.List(replica.Folder).Any(static name => name.StartsWith("temp-sync", StringComparison.Ordinal)), "the file");
        else Assert.DoesNotContain(replica.Files.List(replica.Folder), static name => name.StartsWith("temp-sync", StringComparison.Ordinal));
        primary.BreakOff();
        primary.HoldsAt = 0;
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Info("loading") == (mode == "flush-before-load" ? "1" : "0"), "the state of loading");
        primary.BreakOff();
        primary.HoldsAt = -1;
        if (left is not null) Assert.True(replica.Run("GET key").Text is "old" or "new");
        replica.WaitFor(() => Link(replica) == "up", "the second data");
        Assert.Equal("new", replica.Run("GET key").Text);
    }

    // A checksum may end with any character. A scripted primary's mark must not be found early, or one of some hundred runs fails.
    [Fact]
    public void Data_may_end_with_the_first_characters_of_the_mark()
    {
        using var primary = new ScriptedPrimary { Data = "data that ends with mmm"u8.ToArray() };
        using PrimaryConnection connection = PrimaryConnection.Open("127.0.0.1", primary.Port, "", null, TestContext.Current.CancellationToken);
        connection.Send("PSYNC", "?", "-1");
        connection.ReceiveLine();
        List<byte> received = [];
        var receiver = new SyncReceiver(connection);
        receiver.HandTo(bytes => received.AddRange(bytes));
        receiver.Begin();
        while (receiver.ReceiveSome())
        {
        }

        Assert.Equal(primary.Data, received);
    }

    // The dump file is still the only whole copy of anything.
    [Fact]
    public async Task A_load_in_place_that_breaks_off_leaves_the_dump_file()
    {
        using var primary = new ScriptedPrimary { Data = await DataAsync(OldLibrary, "SET key old") };
        await using DiskServer replica = await FollowAsync(primary, "flush-before-load", "save", "3600 1000000");
        replica.WaitFor(() => Link(replica) == "up", "the first data");
        replica.WaitFor(() => replica.Run("SAVE").Text == "OK", "the dump file");
        byte[] dump = SavedBy(replica);
        (primary.Data, primary.HoldsAt) = (await DataAsync(NewLibrary, "SET key new"), 30);
        primary.Break();
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Info("loading") == "1", "loading");
        replica.Server.Follower.Services.RetryAfter(60_000, 60_000);
        primary.BreakOff();
        replica.WaitFor(() => replica.Info("loading") == "0", "the end of loading");
        Assert.Equal(0, replica.Run("DBSIZE").Integer);
        using IOpenFile file = replica.Files.OpenRead(Path.Combine(replica.Folder, "dump.rdb"));
        byte[] left = new byte[file.Length];
        file.Read(0, left);
        Assert.Equal(dump, left);
    }

    // Its append-only file has the old data, and is not loaded as if it had the data of now.
    [Theory]
    [InlineData("flush-before-load")]
    [InlineData("disabled")]
    public async Task After_a_load_that_fails_the_log_is_written_anew(string mode)
    {
        byte[] damaged = await DataAsync(NewLibrary, "SET key new");
        damaged[^1] ^= 1;
        using var primary = new ScriptedPrimary { Data = damaged };
        await using DiskServer replica = await DiskServer.StartAsync("repl-diskless-load", mode, "save", "", "appendonly", "yes");
        replica.Server.Follower.Services.RetryAfter(60_000, 60_000);
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Port.ToString(CultureInfo.InvariantCulture)}");
        DurabilityService durability = replica.Server.Parts.Durability;
        replica.WaitFor(() => durability.Log.LacksData || durability.Rewrites.Count > 0, "the need of a new base");
    }

    [Theory]
    [InlineData("on-empty-db")]
    [InlineData("flush-before-load")]
    public async Task An_empty_replica_loads_without_a_file_and_is_empty_again_when_that_breaks_off(string mode)
    {
        byte[] data = await DataAsync(NewLibrary, [.. Enumerable.Range(0, 2000).Select(static i => $"SET key:{i} {new string('x', 400)}")]);
        using var primary = new ScriptedPrimary { Data = data, HoldsAt = data.Length - 10 };
        await using DiskServer replica = await FollowAsync(primary, mode);
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Info("loading") == "1" && replica.Server.Engine.Keyspace.Databases[0].Count > 0, "keys");
        Assert.DoesNotContain(replica.Files.List(replica.Folder), static name => name.StartsWith("temp-sync", StringComparison.Ordinal));
        replica.Server.Follower.Services.RetryAfter(60_000, 60_000);
        primary.BreakOff();
        replica.WaitFor(() => replica.Info("loading") == "0", "the end of loading");
        Assert.Equal(0, replica.Run("DBSIZE").Integer);
    }

    [Theory]
    [InlineData("swapdb", false)]
    [InlineData("swapdb", true)]
    [InlineData("on-empty-db", false)]
    [InlineData("on-empty-db", true)]
    [InlineData("flush-before-load", true)]
    public async Task Large_values_of_all_types_arrive(string mode, bool sendsLength)
    {
        await using DiskServer source = await DiskServer.StartAsync("rdbcompression", "no", "save", "");
        source.Run("DEBUG POPULATE 5000 small 100");
        source.Run($"SET long {new string('s', 3_000_000)}");
        for (int i = 0; i < 20; i++)
        {
            source.Run($"HSET hash:{i % 2} {string.Join(' ', Enumerable.Range(i * 1000, 1000).Select(static n => $"field:{n} value:{n}"))}");
            source.Run($"ZADD sorted {string.Join(' ', Enumerable.Range(i * 1000, 1000).Select(static n => $"{n} member:{n}"))}");
            source.Run($"RPUSH list {string.Join(' ', Enumerable.Range(i * 1000, 1000).Select(static n => $"element:{n}"))}");
            source.Run($"SADD set {string.Join(' ', Enumerable.Range(i * 1000, 1000).Select(static n => $"element:{n}"))}");
        }

        using var primary = new ScriptedPrimary { Data = SavedBy(source), SendsLength = sendsLength };
        await using DiskServer replica = await FollowAsync(primary, mode);
        replica.WaitFor(() => Link(replica) == "up", "the data");
        Assert.Equal(source.Digest(), replica.Digest());

        // And once more in place of itself.
        primary.Break();
        replica.WaitFor(() => primary.Requests.Length > 1 && Link(replica) == "up", "the data again");
        Assert.Equal(source.Digest(), replica.Digest());
    }

    // It is read again at once and then deleted: nothing is gained by syncing it, and small writes would cost more than what they write.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_file_is_written_in_large_pieces_and_never_synced(bool sendsLength)
    {
        const int PieceBytes = 256 * 1024;
        await using DiskServer source = await DiskServer.StartAsync("rdbcompression", "no", "save", "");
        source.Run("DEBUG POPULATE 20000 key 100");
        using var primary = new ScriptedPrimary { Data = SavedBy(source), SendsLength = sendsLength };
        await using DiskServer replica = await FollowAsync(primary, "disabled");
        replica.WaitFor(() => Link(replica) == "up", "the data");
        Assert.Equal(source.Digest(), replica.Digest());
        FileCall[] calls = [.. replica.Files.History.Where(static call => Path.GetFileName(call.Path).StartsWith("temp-sync", StringComparison.Ordinal))];
        int[] written = [.. calls.Where(static call => call.Bytes > 0 && call.Operation == "write").Select(static call => call.Bytes)];
        Assert.Equal(primary.Data.Length, written.Sum());
        Assert.Equal((primary.Data.Length + PieceBytes - 1) / PieceBytes, written.Length);
        Assert.DoesNotContain(calls, static call => call.Operation.StartsWith("sync", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Damaged_data_and_functions_that_cannot_be_loaded_leave_the_old_ones()
    {
        using var primary = new ScriptedPrimary { Data = await DataAsync(OldLibrary, "SET key old") };
        await using DiskServer replica = await FollowAsync(primary, "swapdb");
        replica.WaitFor(() => Link(replica) == "up", "the first data");
        byte[] good = await DataAsync(NewLibrary, "SET key new"), damaged = [.. good];
        damaged[^3] ^= 1; // of the checksum
        primary.Data = damaged;
        primary.Break();
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkCounts.FailedSyncs > 0, "the failure");
        Assert.Equal(("old", "old"), (replica.Run("GET key").Text, replica.Run("FCALL f 0").Text));

        byte[] foreign = await DataAsync(NewLibrary, "SET key new");
        int at = foreign.AsSpan().IndexOf("return 'new'"u8);
        Assert.True(at > 0);
        "return = 'n'"u8.CopyTo(foreign.AsSpan(at));
        foreign.AsSpan(foreign.Length - 8).Clear(); // no checksum
        long failed = replica.Server.Engine.Replication.LinkCounts.FailedSyncs;
        primary.Data = foreign;
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkCounts.FailedSyncs > failed + 1, "the failure");
        Assert.Equal(("old", "old"), (replica.Run("GET key").Text, replica.Run("FCALL f 0").Text));
        primary.Data = good;
        replica.WaitFor(() => Link(replica) == "up", "the new data");
        Assert.Equal(("new", "new"), (replica.Run("GET key").Text, replica.Run("FCALL f 0").Text));
    }

    [Theory]
    [InlineData("swapdb")]
    [InlineData("flush-before-load")]
    public async Task A_replica_is_promoted_or_stopped_while_it_loads(string mode)
    {
        using var primary = new ScriptedPrimary { Data = await DataAsync(OldLibrary, "SET key old") };
        await using DiskServer replica = await FollowAsync(primary, mode, "save", "3600 1");
        replica.WaitFor(() => Link(replica) == "up", "the first data");
        (primary.Data, primary.HoldsAt) = (await DataAsync(NewLibrary, "SET key new"), 30);
        primary.Break();
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Info("loading") == "1" || replica.Info("async_loading") == "1", "loading");
        if (mode != "swapdb") replica.WaitFor(() => replica.Server.Engine.Keyspace.Databases[0].Count == 0, "the end of the old data");
        replica.Server.Follower.Change(null);
        Assert.Equal(mode == "swapdb" ? "old" : null, replica.Run("GET key").Text);
        Assert.Equal("OK", replica.Run("SET mine 1").Text);
    }

    [Fact]
    public async Task A_primary_that_falls_silent_in_the_middle_is_given_up()
    {
        byte[] data = await DataAsync(NewLibrary, "SET key new");
        using var primary = new ScriptedPrimary { Data = data, HoldsAt = 30 };
        await using DiskServer replica = await FollowAsync(primary, "flush-before-load", "repl-timeout", "1");
        primary.WaitUntilHeld();
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkCounts.FailedSyncs > 0, "the timeout");
        primary.HoldsAt = -1;
        primary.GoOn();
        replica.WaitFor(() => Link(replica) == "up", "the data");
    }

    [Fact]
    public async Task A_real_primary_s_data_arrives_in_every_mode()
    {
        using var primary = Oracle.Of(OracleProgram.Redis8, ["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes", "--save", ""]);
        primary.Run("DEBUG", "POPULATE", "3000", "key", "500");
        foreach (string mode in (string[])["on-empty-db", "swapdb", "flush-before-load", "disabled"])
        {
            await using DiskServer replica = await DiskServer.StartAsync("repl-diskless-load", mode, "replicaof", $"127.0.0.1 {primary.Port}", "save", "");
            replica.WaitFor(() => Link(replica) == "up" && replica.Run("DBSIZE").Integer == 3000, "the data");
            Assert.Equal(primary.Run("DEBUG", "DIGEST"), replica.Digest());
        }
    }

    private static async Task<DiskServer> FollowAsync(ScriptedPrimary primary, string mode, params string[] settings)
    {
        DiskServer replica = await DiskServer.StartAsync(["repl-diskless-load", mode, "replicaof", $"127.0.0.1 {primary.Port.ToString(CultureInfo.InvariantCulture)}", "save", "", .. settings]);
        replica.Server.Follower.Services.RetryAfter(1, 20);
        return replica;
    }

    private static async Task<byte[]> DataAsync(string library, params string[] commands)
    {
        await using DiskServer source = await DiskServer.StartAsync("save", "", "rdbcompression", "no");
        Assert.Equal("l", source.Server.Execute("FUNCTION", "LOAD", library).Text);
        foreach (string command in commands) source.Run(command);
        return SavedBy(source);
    }

    internal static byte[] SavedBy(DiskServer source)
    {
        Assert.Equal("OK", source.Run("SAVE").Text);
        using IOpenFile file = source.Files.OpenRead(Path.Combine(source.Folder, "dump.rdb"));
        byte[] data = new byte[file.Length];
        Assert.Equal(data.Length, file.Read(0, data));
        return data;
    }

    private static string Link(DiskServer replica) => Info(replica, "master_link_status");

    private static string Info(DiskServer replica, string field)
    {
        string text = replica.Run("INFO replication").Text!;
        int start = text.IndexOf("\n" + field + ":", StringComparison.Ordinal);
        if (start < 0) return "";
        start += field.Length + 2;
        return text[start..text.IndexOf('\r', start)];
    }

    private static string Text(DiskServer replica, string request)
    {
        using RespConnection connection = RespConnection.Connect(replica.Server.Port);
        return "-" + connection.Run(request).Text;
    }
}
