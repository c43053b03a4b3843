using System.Text;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>What a replica receives byte by byte, and how a server treats replicas that are slow, silent or gone.</summary>
public class StreamTests
{
    // A link that follows a primary is the only one that appends to its stream: anything else shifts its offsets for ever.
    [Fact]
    public void Nothing_of_a_primary_is_appended_behind_a_change_to_a_replica()
    {
        var state = new ReplicationState();
        var stream = new ReplicationStream(static () => 1 << 20);
        stream.Begin();
        var changes = new ChangesRole(state);
        stream.Tell(changes);
        Assert.Equal(3, state.AppendAsPrimary(() => stream.Append("abc"u8)));
        Assert.True(changes.Thread!.Join(60_000));
        stream.Tell(null);
        Assert.Null(state.AppendAsPrimary(() => stream.Append("abc"u8)));
        Assert.Equal(3, stream.Offset);
    }

    private sealed class ChangesRole(ReplicationState state) : IStreamReaders
    {
        internal Thread? Thread { get; private set; }

        public void Appended()
        {
            Thread = new Thread(() => state.FollowNew("127.0.0.1", 1)); // asked for between the test of the role and the end of appending
            Thread.Start();
            SpinWait.SpinUntil(() => Thread.ThreadState == ThreadState.WaitSleepJoin);
            Assert.False(state.IsReplica);
        }

        public void Abandoned(ReplicaPosition position)
        {
        }
    }

    [Fact]
    public async Task Stream_has_effects_with_their_databases_units_and_messages()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.BecomeOnline(primary, 0);
        foreach (string command in (string[])["SET a 1", "GET a", "SELECT 3", "INCR n", "MULTI", "SET b 2", "PUBLISH c m", "EXEC", "SPOP missing", "PUBLISH c 2"]) primary.Client.Run(command);
        string expected = Requests("SELECT 0", "SET a 1", "SELECT 3", "INCR n", "MULTI", "SET b 2", "PUBLISH c m", "EXEC", "PUBLISH c 2");
        Assert.Equal(expected, replica.ReadText(expected.Length));
        Assert.Equal(offset + expected.Length, primary.Server.Parts.ReplicaStream.Offset);
        primary.Client.SendCommand("WAIT 1 0");
        string ask = Requests("REPLCONF GETACK *");
        Assert.Equal(ask, replica.ReadText(ask.Length));
        replica.Send($"REPLCONF ACK {offset + expected.Length - 1}");
        replica.Send($"REPLCONF ACK {offset + expected.Length} FACK 5");
        primary.Client.Read().IsInteger(1);
        string acknowledged = $"{offset + expected.Length}"; // the first acknowledgement may be enough for WAIT
        Assert.True(SpinWait.SpinUntil(() => primary.Client.Run("ROLE").Items[2].Items[0].Items[2].Text == acknowledged, TimeSpan.FromSeconds(60)), acknowledged);
    }

    [Fact]
    public async Task Replica_goes_on_at_each_offset_that_is_kept()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var first = new RawReplica(primary.Server.Port);
        (long offset, _) = first.Synchronize();
        primary.Client.Run("SET a 1").IsOk();
        string stream = Requests("SELECT 0", "SET a 1");
        string id = primary.Server.Engine.Replication.Id;
        for (int behind = 0; behind <= stream.Length; behind += 7)
        {
            using var replica = new RawReplica(primary.Server.Port);
            replica.Run("REPLCONF capa psync2");
            Assert.Equal("+CONTINUE " + id, replica.Run($"PSYNC {id} {offset + behind + 1}"));
            Assert.Equal(stream[behind..], replica.ReadText(stream.Length - behind));
        }

        foreach (string request in (string[])[$"PSYNC {id} {offset}", $"PSYNC {id} {offset + stream.Length + 2}", $"PSYNC {new string('0', 40)} 1", $"PSYNC {id[1..]}x {offset + 1}", $"PSYNC {id} 9223372036854775807", $"PSYNC {id} -9223372036854775808"])
        {
            using var replica = new RawReplica(primary.Server.Port);
            replica.Send(request);
            Assert.StartsWith("+FULLRESYNC " + id, replica.ReadLineWithText(), StringComparison.Ordinal);
        }

        Assert.Equal("6", primary.Info("sync_partial_err", "stats"));
    }

    [Fact]
    public async Task Old_replicas_and_filters_get_their_form_of_the_data()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        primary.Client.Run("SET thekey thevalue").IsOk();
        primary.Client.Run("FUNCTION LOAD \"#!lua name=thelibrary\\nredis.register_function('f', function() return 1 end)\"");
        using (var old = new RawReplica(primary.Server.Port))
        {
            old.Send("SYNC");
            string length = old.ReadLineWithText();
            string data = old.ReadText(int.Parse(length[1..], System.Globalization.CultureInfo.InvariantCulture));
            Assert.StartsWith("REDIS0012", data, StringComparison.Ordinal);
            Assert.Contains("thekey", data, StringComparison.Ordinal);
            primary.Client.Run("SET b 1").IsOk();
            string stream = Requests("SELECT 0", "SET b 1");
            Assert.Equal(stream, old.ReadText(stream.Length)); // without an acknowledgement
        }

        primary.WaitFor(() => Directory.GetFiles(primary.Server.Engine.Settings.DirectoryPath).Length == 0, "the removal of the file");
        using var functions = new RawReplica(primary.Server.Port);
        functions.Run("REPLCONF rdb-only 1 rdb-filter-only functions");
        string filtered = Encoding.Latin1.GetString(functions.Synchronize().Data);
        Assert.Contains("thelibrary", filtered, StringComparison.Ordinal);
        Assert.DoesNotContain("thekey", filtered, StringComparison.Ordinal);
        using var nothing = new RawReplica(primary.Server.Port);
        nothing.Send("REPLCONF rdb-filter-only \"\"");
        Assert.Equal("+OK", nothing.ReadLine());
        Assert.DoesNotContain("the", Encoding.Latin1.GetString(nothing.Synchronize().Data), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Replica_uses_no_keys_and_gets_no_replies()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        replica.Synchronize();
        replica.Send("REPLCONF ACK 0");
        foreach (string request in (string[])["SET a replica", "GET a", "PUBLISH c m", "PSYNC ? -1", "SYNC", "nosuch", "MULTI", "SET a 1", "EXEC"]) replica.Send(request);
        primary.WaitForOnline(1);
        primary.Client.Run("SET a 1").IsOk();
        string expected = Requests("SELECT 0", "SET a 1");
        Assert.Equal(expected, replica.ReadText(expected.Length));
        replica.Send("REPLCONF ACK 100000");
        primary.Client.Run("WAIT 1 0").IsInteger(1);
        primary.Client.Run("GET a").IsBulk("1");
    }

    [Fact]
    public async Task Waiting_replicas_are_kept_alive()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("repl-diskless-sync-delay", "3600");
        using var replica = new RawReplica(primary.Server.Port);
        replica.Run("REPLCONF capa eof");
        replica.Send("PSYNC ? -1");
        Assert.Equal("", replica.ReadLine());
        Assert.Contains("state=wait_bgsave,offset=0,lag=0", primary.Client.Run("INFO replication").Text, StringComparison.Ordinal);
        primary.Client.Run("CONFIG SET repl-diskless-sync-delay 0").IsOk();
        replica.ReadAll();
    }

    [Fact]
    public async Task Replica_that_does_not_read_the_stream_is_closed_at_its_limit()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("client-output-buffer-limit", "replica 4mb 0 0", "repl-backlog-size", "100kb");
        using var replica = new RawReplica(primary.Server.Port, receiveBufferBytes: 64 * 1024);
        replica.Synchronize();
        replica.Send("REPLCONF ACK 0");
        primary.WaitForOnline(1);
        WriteUntil(primary, () => primary.Server.Parts.Replicas.Replicas.Count == 0);
        primary.WaitFor(() => primary.Log.Contains("client-output-buffer-limit replica", StringComparison.Ordinal), "its log line");
        Assert.Equal(1, primary.Server.Parts.Replicas.Overflows);
        primary.WaitFor(() => primary.Server.Parts.ReplicaStream.KeptBytes <= 1 << 20, "the release of what it did not read");
    }

    [Fact]
    public async Task Replica_whose_synchronization_takes_too_long_may_fall_further_behind_the_next_time()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("client-output-buffer-limit", "replica 1mb 0 0", "repl-backlog-size", "16kb");
        foreach (int limit in (int[])[1, 2, 4, 8, 8])
        {
            using var replica = new RawReplica(primary.Server.Port);
            replica.Synchronize();
            primary.WaitFor(() => primary.Server.Parts.Replicas.Replicas is [{ State: ReplicaState.Loading }], "the data");
            long start = primary.Server.Parts.ReplicaStream.Offset;
            WriteUntil(primary, () => primary.Server.Parts.ReplicaStream.Offset - start > (limit << 20) - 200_000);
            Assert.Single(primary.Server.Parts.Replicas.Replicas);
            WriteUntil(primary, () => primary.Server.Parts.Replicas.Replicas.Count == 0);
            replica.WaitForEnd();
        }

        primary.WaitFor(() => primary.Log.Contains("may be 8388608 bytes behind, and begins at once", StringComparison.Ordinal), "its log line");

        // The largest limit has failed twice: the next synchronizations wait, longer each time, so that they do not only load both servers.
        primary.WaitFor(() => primary.Log.Contains("may be 8388608 bytes behind, and begins after 2 seconds", StringComparison.Ordinal), "the pause");
        Assert.Equal([("127.0.0.1:1", 5)], primary.Server.Parts.Replicas.TooSlow);
        Assert.Equal((5, 0), (primary.Server.Parts.Replicas.Counts.OverflowsInSync, primary.Server.Parts.Replicas.Counts.OverflowsInStream));
        primary.WaitFor(() => primary.Server.Parts.ReplicaStream.KeptBytes <= 1 << 20, "the release of what they did not read");
        using var last = new RawReplica(primary.Server.Port);
        (long offset, _) = last.Synchronize();
        last.BecomeOnline(primary, offset);
        Assert.Empty(primary.Server.Parts.Replicas.TooSlow);
    }

    [Fact]
    [Long]
    public async Task Replica_that_takes_no_data_delays_no_writes()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("client-output-buffer-limit", "replica 16mb 0 0");
        string value = new('x', 32_000);
        for (int i = 0; i < 4000; i++) primary.Client.SendCommand($"SET key:{i} {value}{i}");
        for (int i = 0; i < 4000; i++) primary.Client.Read().IsOk();
        primary.Client.Run("CONFIG SET rdbcompression no").IsOk();
        using var replica = new RawReplica(primary.Server.Port, receiveBufferBytes: 64 * 1024);
        replica.Run("REPLCONF capa eof");
        replica.Send("PSYNC ? -1");
        primary.WaitFor(() => primary.Server.Parts.Durability.SideBytes == 0 && primary.Server.Parts.Replicas.Replicas is [{ State: ReplicaState.Receiving }], "the walk");
        for (int i = 0; i < 4000; i++) primary.Client.SendCommand($"SET key:{i} changed");
        for (int i = 0; i < 4000; i++) primary.Client.Read().IsOk();
        Assert.Equal("changed", primary.Client.Run("GET key:3999").Text);
    }

    [Fact]
    public async Task Silent_replica_is_closed_and_the_backlog_released_after_their_times()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("repl-timeout", "1", "repl-backlog-ttl", "1");
        string id;
        using (var replica = new RawReplica(primary.Server.Port))
        {
            replica.Synchronize();
            replica.Send("REPLCONF ACK 0");
            primary.WaitForOnline(1);
            id = primary.Server.Engine.Replication.Id;
            primary.Client.Run("SET a 1").IsOk();
            replica.WaitForEnd();
        }

        primary.WaitFor(() => primary.Log.Contains("repl-timeout", StringComparison.Ordinal), "its log line");
        Assert.Equal("1", primary.Info("repl_backlog_active"));
        primary.WaitFor(() => !primary.Server.Parts.ReplicaStream.HasBacklog, "the backlog's end");
        Assert.NotEqual(id, primary.Server.Engine.Replication.Id);
        Assert.Equal("0", primary.Info("repl_backlog_histlen"));
        primary.Client.Run("SET a 2").IsOk(); // is in no stream
        using var next = new RawReplica(primary.Server.Port);
        Assert.Contains("REDIS", Encoding.Latin1.GetString(next.Synchronize().Data), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Shutdown_waits_for_replicas()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("shutdown-timeout", "600");
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.Send("REPLCONF ACK 0");
        primary.WaitForOnline(1);
        primary.Client.Run("SET a 1").IsOk();
        RespConnection stopping = primary.Connect(), writing = primary.Connect();
        stopping.SendCommand("SHUTDOWN NOSAVE");
        primary.WaitFor(() => primary.Server.Parts.Replicas.Shutdown.IsInProgress, "the wait");
        primary.Client.Run("GET a").IsBulk("1");
        writing.SendCommand("SET a 2");
        primary.WaitFor(() => primary.Server.Engine.Pause.Paused(primary.Server.Engine.Clients) == 1, "the write");
        primary.Client.Run("SHUTDOWN ABORT").IsOk();
        stopping.Read().IsError("ERR Errors trying to SHUTDOWN. Check logs.");
        writing.Read().IsOk();
        primary.Client.Run("SHUTDOWN ABORT").IsError("ERR No shutdown in progress.");
        stopping.SendCommand("SHUTDOWN NOSAVE");
        primary.WaitFor(() => primary.Server.Parts.Replicas.Shutdown.IsInProgress, "the wait");
        Assert.False(primary.Server.Stopped.IsCompleted);
        replica.Send($"REPLCONF ACK {offset + 100_000}");
        await primary.Server.Stopped;
    }

    [Fact]
    public Task Synchronizations_may_end_at_any_byte() => EndSynchronizations(10);

    [Fact]
    [Long]
    public Task A_thousand_synchronizations_end_at_any_byte() => EndSynchronizations(1000);

    private static async Task EndSynchronizations(int count)
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        var random = new Random(7);
        RandomData.Fill(primary.Client, random, keys: 30, hasFieldExpiry: true);
        primary.Client.Run("SELECT 0").IsOk();
        for (int i = 0; i < count; i++)
        {
            using var replica = new RawReplica(primary.Server.Port);
            replica.Run("REPLCONF listening-port 1 capa eof capa psync2");
            replica.Send("PSYNC ? -1");
            for (int write = 0; write < 20; write++) primary.Client.Run($"SET k:{random.Next(50)} {random.Next()}").IsOk();
            replica.Skip(random.Next(100_000));
        }

        Oracle follower = primary.Follow();
        primary.WaitForOnline(1);
        primary.AssertEqual(follower);
        Assert.Equal(0, primary.Server.Parts.Durability.SideBytes);
    }

    private static string Requests(params string[] commands) => string.Concat(commands.Select(static command => Encoding.Latin1.GetString(CommandLine.Encode(CommandLine.Split(command)))));

    private static void WriteUntil(ReplicatedServer primary, Func<bool> condition)
    {
        string value = new('v', 50_000);
        primary.WaitFor(
            () =>
            {
                if (condition()) return true;
                primary.Client.Run("SET filler " + value).IsOk();
                return condition();
            },
            "the limit");
    }
}
