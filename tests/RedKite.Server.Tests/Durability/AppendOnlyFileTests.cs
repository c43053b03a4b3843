using System.Globalization;
using System.Text;
using RedKite.Persistence.Files;
using RedKite.Persistence.Log;
using RedKite.Server.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Durability;

public class AppendOnlyFileTests
{
    // All types, expiries, several databases, transactions, scripts, functions, effects that differ from the request.
    private static readonly string[] Requests =
    [
        "SET s 1", "INCRBYFLOAT s 0.5", "APPEND t abc", "SET e v EX 10000", "GETEX e PX 500000", "SETBIT b 7 1", "PFADD hll a b c",
        "RPUSH l a b c", "LPOP l", "SADD set a b c d", "SPOP set 2", "ZADD z 1 a 2 b", "ZINCRBY z 1.5 a", "HSET h f 1 g 2",
        "HEXPIRE h 1000 FIELDS 1 f", "XADD x * f v", "XGROUP CREATE x g 0", "XREADGROUP GROUP g c STREAMS x >", "GEOADD geo 1 2 p",
        "ARSET ar 5 a 7 text-of-a-block", "ARINSERT ar b c", "ARDELRANGE ar 6 9", "ARRING ring 3 a b c d", "ARSEEK ar 18446744073709551614", "COPY l l2", "RENAME t t2", "MSET m1 1 m2 2", "DEL m2", "SORT l STORE sorted ALPHA",
    ];

    [Theory]
    [InlineData("always")]
    [InlineData("everysec")]
    [InlineData("no")]
    public async Task Data_survives_a_restart(string policy)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", policy);
        Fill(disk);
        string digest = disk.Digest();
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("7", disk.Run("FCALL f 0").ToString());
        await disk.RestartAsync(); // replayed twice
        Assert.Equal(digest, disk.Digest());
    }

    [Fact]
    public async Task Rewritten_file_holds_the_same_data_and_the_writes_since()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        Fill(disk);
        Assert.Equal("Background append only file rewriting started", disk.Run("BGREWRITEAOF").Text);
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the rewrite");
        disk.Run("SET after rewrite");
        string digest = disk.Digest();
        Assert.Equal(["appendonly.aof.2.base.rdb", "appendonly.aof.2.incr.aof", "appendonly.aof.manifest"], disk.Files.List(Path.Combine(disk.Folder, "appendonlydir")));
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("7", disk.Run("FCALL f 0").ToString());
    }

    [Theory]
    [InlineData("no")]
    [InlineData("yes")]
    public async Task Rewritten_base_of_commands_holds_the_same_data(string timestamps)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "aof-use-rdb-preamble", "no", "aof-timestamp-enabled", timestamps);
        Fill(disk);
        foreach (string request in (string[])
        [
            "RPUSH long " + string.Join(' ', Enumerable.Range(0, 200)), "SADD ints " + string.Join(' ', Enumerable.Range(0, 129)), "ZADD scores inf a -inf b 1e300 c 0.1 d 123456789012345678 e",
            "HSET wide " + string.Join(' ', Enumerable.Range(0, 130)), "HPEXPIREAT wide 4000000000000 FIELDS 2 0 64", "SADD timed a b c", "SPEXPIREAT timed 4000000000000 MEMBERS 1 b",
            "XGROUP CREATE empty g $ MKSTREAM", "XADD trimmed 1-1 a b", "XADD trimmed 1-2 a c", "XDEL trimmed 1-1 1-2",
            "XADD read 1-1 a b c d", "XADD read 1-2 a e", "XADD read 2-1 a f", "XGROUP CREATE read g 0", "XGROUP CREATECONSUMER read g idle", "XREADGROUP GROUP g c COUNT 2 STREAMS read >",
            "XADD gone 1-1 a b", "XGROUP CREATE gone g 0", "XREADGROUP GROUP g c STREAMS gone >", "XDEL gone 1-1", "XADD once IDMP p 1 * a b", "VADD vectors VALUES 3 1 2 3 v SETATTR {\"a\":1}",
            "ARSET many 5 " + string.Join(' ', Enumerable.Range(0, 130)), "ARSEEK many 18446744073709551615", "ARRING turned 3 a b c d", "ARRING one 7 a", "ARRING moved 7 a b", "ARSEEK moved 9",
            "SET large " + new string('x', 100_000), "PEXPIREAT large 4000000000000",
        ])
        {
            Assert.False(disk.Run(request).IsError, request);
        }

        string groups = GroupsOf(disk, "read"), arrays = ArraysOf(disk);
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the rewrite");
        disk.Run("SET after rewrite");
        string digest = disk.Digest();
        string folder = Path.Combine(disk.Folder, "appendonlydir");
        Assert.Equal(["appendonly.aof.2.base.aof", "appendonly.aof.2.incr.aof", "appendonly.aof.manifest"], disk.Files.List(folder));
        using (IOpenFile file = disk.Files.OpenRead(Path.Combine(folder, "appendonly.aof.2.base.aof")))
        {
            var head = new byte[4];
            file.Read(0, head);
            Assert.Equal(timestamps == "yes" ? "#TS:" : "*3\r\n", Encoding.ASCII.GetString(head));
            Assert.Equal(file.Length.ToString(CultureInfo.InvariantCulture), disk.Info("aof_base_size"));
        }

        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("7", disk.Run("FCALL f 0").ToString());
        Assert.Equal(groups, GroupsOf(disk, "read"));
        Assert.Equal(("a, b", "9"), (disk.Run("ARGETRANGE moved 0 1").Text, disk.Run("ARNEXT moved").Text));
        Assert.True(disk.Run("ARNEXT many").IsNull);
        Assert.Equal(arrays, ArraysOf(disk));
        Assert.Equal("1", disk.Run("XLEN once").ToString());
        Assert.Equal("1", Assert.Single(disk.Run("XPENDING gone g - + 10").Items).Items[3].ToString());
        Assert.Equal("1-2", disk.Run("XINFO STREAM trimmed").Items[7].Text); // last-generated-id

        // The first base of a new log is one of commands as well, and the setting applies at once.
        disk.Run("CONFIG SET aof-use-rdb-preamble yes");
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the rewrite");
        disk.WaitFor(() => !disk.Server.Parts.Durability.IsSaving, "the end");
        Assert.Contains("appendonly.aof.3.base.rdb", disk.Files.List(folder));
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    // As they are, with what follows the last insertion.
    private static string ArraysOf(DiskServer disk) =>
        string.Join(' ', ((string[])["many", "turned", "one", "moved", "ring"]).Select(key => Convert.ToHexString(disk.Run($"DUMP {key}").Bytes.Span)));

    // Groups with their pending entries, without times.
    private static string GroupsOf(DiskServer disk, string key)
    {
        IEnumerable<RedKiteReply> pending = disk.Run($"XPENDING {key} g - + 10").Items.SelectMany(entry => (RedKiteReply[])[entry.Items[0], entry.Items[1], entry.Items[3]]);
        IEnumerable<RedKiteReply> consumers = disk.Run($"XINFO CONSUMERS {key} g").Items.SelectMany(consumer => consumer.Items.Take(4));
        return string.Join(' ', disk.Run($"XINFO GROUPS {key}").Items[0].Items.Concat(pending).Concat(consumers));
    }

    [Fact]
    public async Task First_base_is_one_of_commands_without_a_preamble()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "aof-use-rdb-preamble", "no");
        disk.Run("SET a 1");
        Assert.Equal(["appendonly.aof.1.base.aof", "appendonly.aof.1.incr.aof", "appendonly.aof.manifest"], disk.Files.List(Path.Combine(disk.Folder, "appendonlydir")));
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
    }

    [Fact]
    public async Task Disk_that_does_not_return_what_was_written_fails_the_rewrite_with_the_reason()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "aof-use-rdb-preamble", "no");
        disk.Run("SET key value");
        disk.Files.Plan = call =>
        {
            if (call.Operation != "open" || !call.Path.EndsWith(".rdb", StringComparison.Ordinal)) return null;
            disk.Files.Plan = null;
            using IOpenFile file = disk.Files.OpenWrite(call.Path);
            file.Write(0, "X"u8);
            return null;
        };
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_last_bgrewrite_status") == "err", "the failure");
        disk.WaitFor(HasReason, "the line with the reason, which follows");
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_last_bgrewrite_status") == "ok", "the next rewrite");
        await disk.RestartAsync();
        Assert.Equal("value", disk.Run("GET key").Text);

        bool HasReason()
        {
            lock (disk.LogLines) return disk.LogLines.Any(static line => line.Contains("at byte 0: ", StringComparison.Ordinal));
        }
    }

    [Fact]
    public async Task File_that_begins_at_run_time_holds_what_was_there()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        Fill(disk);
        disk.Run("CONFIG SET appendonly yes");
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the first base");
        disk.Run("SET after begin");
        string digest = disk.Digest();
        disk.Set("appendonly", "yes");
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    [Fact]
    public async Task Rewriting_without_a_log_writes_a_base_alone()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a 1");
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the base");
        disk.WaitFor(() => !disk.Server.Parts.Durability.IsSaving, "the end");
        Assert.Null(disk.Server.Parts.Durability.Log.Log);
        Assert.Equal(["appendonly.aof.1.base.rdb", "appendonly.aof.manifest"], disk.Files.List(Path.Combine(disk.Folder, "appendonlydir")));
        disk.Set("appendonly", "yes");
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
    }

    [Fact]
    public async Task File_that_could_not_begin_is_begun_when_there_is_room()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Run("SET a 1");
        disk.Files.Plan = call => call.Operation == "write" ? new FileFault(FileFault.NoSpace) : null;
        disk.Run("CONFIG SET appendonly yes");
        disk.WaitFor(() => disk.Info("aof_last_bgrewrite_status") == "err", "the failure");
        disk.Files.Plan = null;
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the base");
        disk.WaitFor(() => !disk.Run("SET b 1").IsError, "a write");
        string digest = disk.Digest();
        disk.Set("appendonly", "yes");
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    [Fact]
    public async Task File_that_ends_and_begins_again_is_not_mixed_with_the_old_one()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET a 1");
        disk.Run("CONFIG SET appendonly no");
        disk.WaitFor(() => disk.Server.Parts.Durability.Log.Log is null, "the log's end");
        disk.Run("SET a 2");
        disk.Run("SET b 2");
        disk.Run("CONFIG SET appendonly yes");
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the new base");
        disk.Run("INCR b");
        await disk.RestartAsync();
        Assert.Equal("2", disk.Run("GET a").Text);
        Assert.Equal("3", disk.Run("GET b").Text);
    }

    // What the manifest on the disk names stays as it is until a new base is in force, also if the server has not read it at its start.
    [Theory]
    [InlineData("CONFIG SET appendonly yes")]
    [InlineData("BGREWRITEAOF")]
    public async Task Files_of_an_earlier_run_stay_in_force_until_a_new_base_is(string begin)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "save", "");
        disk.Run("SET a 1");
        await disk.StopAsync();
        disk.Set("appendonly", "no");
        await disk.StartAsync();
        disk.Run("SET b 2");
        disk.Files.Plan = static call => call.Operation == "write" && call.Path.Contains("temp-", StringComparison.Ordinal) ? new FileFault(FileFault.InputOutput) : null;
        disk.Run(begin);
        disk.WaitFor(() => disk.Info("aof_last_bgrewrite_status") == "err", "the failure");
        disk.Files.Plan = null;
        await disk.StopAsync();
        disk.Set("appendonly", "yes");
        await disk.StartAsync();
        Assert.Equal(("1", null), (disk.Run("GET a").Text, disk.Run("GET b").Text));

        disk.Run("SET c 3");
        await disk.StopAsync();
        disk.Set("appendonly", "no");
        await disk.StartAsync();
        disk.Run("SET b 2");
        disk.Run(begin);
        disk.WaitFor(() => disk.Info("aof_last_bgrewrite_status") == "ok" && disk.Info("aof_rewrites") != "0", "the base");
        await disk.StopAsync();
        disk.Set("appendonly", "yes");
        await disk.StartAsync();
        Assert.Equal((null, "2"), (disk.Run("GET a").Text, disk.Run("GET b").Text));
    }

    // The rename has happened, and is not known to have: the next attempt uses no name that the disk may name.
    [Fact]
    public async Task A_manifest_whose_commit_fails_behind_its_rename_is_put_back()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always", "save", "");
        disk.Run("SET a 1");
        string manifest = Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.manifest");
        byte[] before = disk.Files.Content(manifest);
        int faults = 0;
        disk.Files.Plan = call => call.Operation == "sync folder" && Interlocked.Increment(ref faults) == 1 ? new FileFault(FileFault.InputOutput) : null;
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_last_bgrewrite_status") == "err", "the failure");
        disk.Files.Plan = null;
        Assert.Equal(before, disk.Files.Content(manifest));
        disk.Run("SET b 2");
        disk.Run("BGREWRITEAOF");
        disk.WaitFor(() => disk.Info("aof_last_bgrewrite_status") == "ok", "the next");
        disk.Run("SET c 3");
        await disk.RestartAsync();
        Assert.Equal(["1", "2", "3"], new[] { "a", "b", "c" }.Select(key => disk.Run("GET " + key).Text));
    }

    [Fact]
    public async Task File_that_is_switched_on_while_it_ends_begins_again()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "no");
        disk.Run("SET a 1");
        int syncs = 0;
        disk.Files.Plan = call =>
        {
            // With this policy the first sync is that of the end.
            if (call.Operation == "sync" && Interlocked.Increment(ref syncs) == 1) disk.Run("CONFIG SET appendonly yes");
            return null;
        };
        disk.Run("CONFIG SET appendonly no");
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0", "the new base");
        disk.Run("SET b 2");
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
        Assert.Equal("2", disk.Run("GET b").Text);
    }

    [Fact]
    public async Task Truncated_command_and_unit_are_cut_off()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET whole 1");
        await disk.StopAsync();
        Append(disk, "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$1\r\n1\r\n");
        await disk.StartAsync();
        Assert.Equal("1", disk.Run("GET whole").Text);
        Assert.True(disk.Run("GET half").IsNull);
        disk.Run("SET next 1");
        await disk.StopAsync();
        Append(disk, "*3\r\n$3\r\nSET\r\n$4\r\nte");
        await disk.StartAsync();
        Assert.Equal("2", disk.Run("DBSIZE").ToString());
        await disk.StopAsync();
        Append(disk, "*2\r\n");
        disk.Set("aof-load-truncated", "no");
        RedKiteConfigException refused = await Assert.ThrowsAsync<RedKiteConfigException>(disk.StartAsync);
        Assert.Contains("appendonly.aof.1.incr.aof", refused.Message, StringComparison.Ordinal);
        Assert.Contains("redkite check --fix", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Damaged_file_stops_the_start_in_one_line()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET a 1");
        await disk.StopAsync();
        Append(disk, "nonsense\r\n*1\r\n$4\r\nPING\r\n");
        RedKiteConfigException refused = await Assert.ThrowsAsync<RedKiteConfigException>(disk.StartAsync);
        Assert.DoesNotContain('\n', refused.Message);
        Assert.Contains("appendonly.aof.1.incr.aof: at byte ", refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Reply_waits_until_the_write_is_on_the_disk()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        using RespConnection writer = RespConnection.Connect(disk.Server.Port), reader = RespConnection.Connect(disk.Server.Port);
        reader.Run("PING");
        writer.Run("PING");
        using var stalls = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != "sync") return null;
            reached.Set();
            stalls.Wait(CancellationToken.None);
            return null;
        };
        writer.SendCommand("SET k v");
        Assert.True(reached.Wait(60_000, TestContext.Current.CancellationToken), "no sync began");
        reader.SendCommand("GET k"); // executed, but what it shows is not on the disk yet
        disk.WaitFor(() => disk.Server.HasGatedOutput, "held output");
        Assert.False(!writer.IsSilent);
        Assert.False(!reader.IsSilent);
        stalls.Set();
        writer.Read().IsOk();
        reader.Read().IsBulk("v");
    }

    [Theory]
    [InlineData("BGSAVE", "create")]
    [InlineData("BGSAVE", "rename")]
    [InlineData("BGREWRITEAOF", "sync")]
    [InlineData("BGREWRITEAOF", "rename")]
    public async Task Log_is_not_synced_while_a_snapshot_is_written_if_the_settings_say_so(string command, string stalledCall)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always", "no-appendfsync-on-rewrite", "yes");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        disk.Run("SET a 1");
        using var stalls = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        string log = command == "BGSAVE" ? ".1.incr.aof" : ".2.incr.aof"; // a rewrite syncs the old one at its end, at some time
        int logSyncs = 0;
        disk.Files.Plan = call =>
        {
            string name = Path.GetFileName(call.Path);
            if (name.EndsWith(log, StringComparison.Ordinal) && call.Operation == "sync") Interlocked.Increment(ref logSyncs);
            if (!name.StartsWith("temp-", StringComparison.Ordinal) || !name.EndsWith(".rdb", StringComparison.Ordinal) || call.Operation != stalledCall) return null;
            reached.Set();
            stalls.Wait(CancellationToken.None);
            return null;
        };
        disk.Run(command);
        try
        {
            Assert.True(reached.Wait(60_000, TestContext.Current.CancellationToken), "the snapshot does not get there");
            Interlocked.Exchange(ref logSyncs, 0);
            disk.Run("SET b 1");
            client.Run("SET c 1").IsOk();
            Assert.Equal(0, Volatile.Read(ref logSyncs));
        }
        finally
        {
            stalls.Set(); // otherwise the server does not stop
        }

        disk.WaitFor(() => !disk.Server.Parts.Durability.IsSaving, "the snapshot's end");
        client.Run("SET d 1").IsOk();
        Assert.True(Volatile.Read(ref logSyncs) > 0);
    }

    [Fact]
    public async Task Save_works_while_the_log_is_rewritten()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        Fill(disk);
        using var stalls = new ManualResetEventSlim();
        using var reached = new ManualResetEventSlim();
        disk.Files.Plan = call =>
        {
            if (call.Operation != "write" || !call.Path.Contains("appendonlydir", StringComparison.Ordinal) || !call.Path.EndsWith(".rdb", StringComparison.Ordinal)) return null;
            reached.Set();
            stalls.Wait(CancellationToken.None);
            return null;
        };
        disk.Run("BGREWRITEAOF");
        Assert.True(reached.Wait(60_000, TestContext.Current.CancellationToken), "the rewrite does not get there");
        disk.Run("SET during rewrite");
        Assert.StartsWith("ERR Another child process is active (AOF?)", disk.Run("BGSAVE").Text, StringComparison.Ordinal);
        Assert.Equal("OK", disk.Run("SAVE").Text);
        Assert.Equal("1", disk.Info("aof_rewrite_in_progress"));
        Assert.Equal("0", disk.Info("rdb_changes_since_last_save"));
        stalls.Set();
        disk.WaitFor(() => disk.Info("aof_rewrites") != "0" && !disk.Server.Parts.Durability.IsSaving, "the rewrite");
        Assert.Equal("ok", disk.Info("aof_last_bgrewrite_status"));
        string digest = disk.Digest();
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        disk.Set("appendonly", "no");
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    [Fact]
    public async Task Full_disk_refuses_writes_and_they_go_on_when_there_is_room()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "everysec");
        disk.Run("SET a 1");
        disk.Files.Plan = call => call.Operation == "write" ? new FileFault(FileFault.NoSpace) : null;
        disk.Run("SET b 1");
        disk.WaitFor(() => disk.Run("SET c 1").IsError, "a refusal");
        Assert.StartsWith("MISCONF Errors writing to the AOF file: ", disk.Run("SET c 1").Text, StringComparison.Ordinal);
        Assert.Equal("1", disk.Run("GET a").Text);
        Assert.Equal("err", disk.Info("aof_last_write_status"));
        disk.Files.Plan = null;
        disk.WaitFor(() => !disk.Run("SET d 1").IsError, "the recovery");
        Assert.Equal("ok", disk.Info("aof_last_write_status"));
        string digest = disk.Digest();
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
        Assert.Equal("1", disk.Run("GET b").Text);
    }

    [Fact]
    public async Task Full_disk_and_a_torn_end_do_not_stop_the_start()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET a 1");
        await disk.StopAsync();
        Append(disk, "*3\r\n$3\r\nSET\r\n$1\r\nb");
        disk.Files.Plan = call => call.Operation is "write" or "create" ? new FileFault(FileFault.NoSpace) : null;
        await disk.StartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
        disk.Run("SET b 1");
        disk.WaitFor(() => disk.Run("SET c 1").Text == "MISCONF Errors writing to the AOF file: No space left on device", "a refusal");
        disk.Files.Plan = null;
        disk.WaitFor(() => !disk.Run("SET d 1").IsError, "the recovery");
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET b").Text);
        Assert.Equal("1", disk.Run("GET d").Text);
    }

    [Fact]
    public async Task Full_disk_on_which_no_log_can_begin_serves_reads_and_refuses_writes()
    {
        await using DiskServer disk = await DiskServer.StartAsync();
        disk.Files.Plan = call => call.Operation is "write" or "create" ? new FileFault(FileFault.NoSpace) : null;
        await disk.StopAsync();
        disk.Set("appendonly", "yes");
        await disk.StartAsync();
        Assert.Equal("MISCONF Errors writing to the AOF file: No space left on device", disk.Run("SET a 1").Text);
        Assert.False(disk.Run("GET a").IsError);
        disk.Files.Plan = null;
        disk.WaitFor(() => !disk.Run("SET a 1").IsError, "the recovery");
        await disk.RestartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
    }

    // What redis-server 8.0.2 does with each: it ignores what has no other around it.
    [Theory]
    [InlineData("EXEC|SET b 2", "2 - -")]
    [InlineData("MULTI|SET b 2|MULTI|SET c 3|EXEC|SET d 4", "2 3 4")]
    [InlineData("MULTI|SET b 2|MULTI|SET c 3|EXEC|EXEC|SET d 4", "2 3 4")]
    [InlineData("MULTI|SET b 2", "- - -")]
    [InlineData("MULTI|SET b 2|MULTI|SET c 3", "- - -")]
    public async Task Transactions_of_a_log_that_have_no_begin_or_no_end(string commands, string data)
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET a 1");
        await disk.StopAsync();
        Append(disk, string.Concat(commands.Split('|').Select(command => $"*{command.Split(' ').Length}\r\n" + string.Concat(command.Split(' ').Select(word => $"${word.Length}\r\n{word}\r\n")))));
        await disk.StartAsync();
        Assert.Equal("1", disk.Run("GET a").Text);
        Assert.Equal(data, string.Join(' ', ((string[])["b", "c", "d"]).Select(key => disk.Run("GET " + key).Text ?? "-")));
    }

    [Fact]
    public async Task Damaged_log_says_what_to_do_and_what_is_lost()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes");
        disk.Run("SET a 1");
        await disk.StopAsync();
        Append(disk, "rubbish");
        RedKiteConfigException refused = await Assert.ThrowsAsync<RedKiteConfigException>(disk.StartAsync);
        Assert.Matches(@"appendonly\.aof\.1\.incr\.aof: at byte (\d+): .*redkite check .*--fix.* read it up to byte \1 of \d+: what follows would be lost", refused.Message);
    }

    [Fact]
    public async Task After_a_failed_sync_a_rewrite_makes_the_file_whole()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        disk.Run("SET a 1");
        using RespConnection client = RespConnection.Connect(disk.Server.Port);
        bool fails = true;
        disk.Files.Plan = call => Volatile.Read(ref fails) && call.Operation == "sync" ? new FileFault(FileFault.InputOutput) : null;
        client.SendCommand("SET b 1");
        Assert.Equal(RespValue.Closed, client.Read()); // it must not take the write for granted
        disk.WaitFor(() => disk.Server.Engine.WriteGate.Refusal is not null, "a refusal");
        Assert.StartsWith("MISCONF ", disk.Run("SET c 1").Text, StringComparison.Ordinal);
        Assert.Equal("1", disk.Run("GET a").Text); // reads go on
        Volatile.Write(ref fails, false);
        disk.WaitFor(() => !disk.Run("SET d 1").IsError, "the rewrite");
        string digest = disk.Digest();
        await disk.RestartAsync();
        Assert.Equal(digest, disk.Digest());
    }

    [Theory]
    [InlineData("DropsAll")]
    [InlineData("KeepsAll")]
    [InlineData("Random")]
    public async Task Nothing_acknowledged_is_lost_with_the_power(string lossName)
    {
        int seed = TestScale.GivenSeed ?? Random.Shared.Next();
        var random = new Random(seed);
        PowerLoss loss = Enum.Parse<PowerLoss>(lossName);
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        var acknowledged = new Dictionary<string, string>();
        int rounds = TestScale.Of(gate: 6, full: 200);
        for (int round = 0; round < rounds; round++)
        {
            for (int i = 0; i < 20; i++)
            {
                string key = "k" + random.Next(30).ToString(CultureInfo.InvariantCulture), value = $"{round}.{i}";
                disk.Run($"SET {key} {value}");
                acknowledged[key] = value;
            }

            if (random.Next(2) == 0) disk.Run("BGREWRITEAOF"); // the loss is within it, or behind
            await disk.RestartAfterAsync(loss, random);
            foreach ((string key, string value) in acknowledged)
            {
                Assert.True(value == disk.Run("GET " + key).Text, $"{key} is lost in round {round}, seed {seed}");
            }
        }
    }

    // A thread that begins a log reads the setting, and CONFIG SET changes and applies it before that thread writes what it has read.
    [Fact]
    public async Task What_was_read_of_appendfsync_earlier_is_not_applied_later()
    {
        await using DiskServer disk = await DiskServer.StartAsync("appendonly", "yes", "appendfsync", "everysec");
        LogKeeper log = disk.Server.Parts.Durability.Log;
        Thread? later = null;
        log.ApplySettings(() =>
        {
            later = new Thread(log.ApplySettings);
            disk.Server.Engine.Configuration.Settings.AppendFsync = FsyncPolicy.Always;
            later.Start();
            disk.WaitFor(() => !later.IsAlive || later.ThreadState.HasFlag(ThreadState.WaitSleepJoin), "the other thread");
        });
        Assert.True(later!.Join(60_000));
        Assert.Equal(FsyncPolicy.Always, log.Log!.Writer.Policy);
    }

    private static void Fill(DiskServer disk)
    {
        foreach (string request in Requests) Assert.False(disk.Run(request).IsError, request);
        using RedKiteSession client = disk.Server.CreateSession();
        client.Execute("SELECT", "3");
        client.Execute("HSET", "h3", "f", "v");
        client.Execute("MULTI");
        client.Execute("SET", "u1", "1");
        client.Execute("INCR", "u1");
        client.Execute("EXEC");
        Assert.False(client.Execute("EVAL", "redis.call('set', 'e1', '1'); redis.call('lpush', 'e2', 'a', 'b'); return 1", "0").IsError);
        Assert.False(client.Execute("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 7 end)").IsError);
    }

    private static void Append(DiskServer disk, string text)
    {
        using RedKite.Persistence.Files.IOpenFile file = disk.Files.OpenWrite(Path.Combine(disk.Folder, "appendonlydir", "appendonly.aof.1.incr.aof"));
        file.Write(file.Length, Encoding.ASCII.GetBytes(text));
        file.SyncData();
    }
}
