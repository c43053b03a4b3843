using RedKite.Server.Execution;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>What a primary's stream may have, and what a pause of the replica's clients means for it.</summary>
public class StreamCommandTests
{
    // The link would have to end itself, and no later change of the role, nor a stop of the server, would end.
    [Theory]
    [InlineData("REPLICAOF NO ONE")]
    [InlineData("REPLICAOF 127.0.0.1 1")]
    [InlineData("SLAVEOF NO ONE")]
    [InlineData("FAILOVER")]
    [InlineData("FAILOVER ABORT")]
    [InlineData("SHUTDOWN NOSAVE")]
    [InlineData("SHUTDOWN ABORT")]
    [InlineData("SYNC")]
    [InlineData("PSYNC ? -1")]
    [InlineData("PSYNC aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1000 FAILOVER")]
    public async Task A_stream_changes_no_role(string command)
    {
        using ScriptedPrimary primary = await PrimaryAsync();
        await using DiskServer replica = await FollowAsync(primary);
        string word = command.Split(' ')[0];
        primary.Stream("SET a 1", command, "MULTI", "SET b 2", command, "SET c 3", "EXEC", "SET d 4");
        replica.WaitFor(() => replica.Run("GET d").Text == "4", "the stream");
        Assert.Equal(["1", "2", "3"], new[] { "a", "b", "c" }.Select(key => replica.Run("GET " + key).Text!));
        Assert.True(replica.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected });
        lock (replica.LogLines) Assert.Equal(2, replica.LogLines.Count(line => line.Contains("CRITICAL", StringComparison.Ordinal) && line.Contains($"'{word.ToLowerInvariant()}'", StringComparison.Ordinal) && line.Contains("refused", StringComparison.Ordinal)));
        Assert.Equal("OK", replica.Run("REPLICAOF NO ONE").Text);
        Assert.Equal("OK", replica.Run("SET e 5").Text);
    }

    [Theory]
    [InlineData("EVAL \"return redis.pcall('replicaof', 'no', 'one')\" 0")]
    [InlineData("EVAL \"return redis.call('shutdown')\" 0")]
    [InlineData("FCALL f 0")]
    public async Task A_script_of_a_stream_changes_no_role(string command)
    {
        using ScriptedPrimary primary = await PrimaryAsync();
        await using DiskServer replica = await FollowAsync(primary);
        primary.Stream("FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function() return redis.call('failover') end)\"", command, "MULTI", command, "EXEC", "SET d 4");
        replica.WaitFor(() => replica.Run("GET d").Text == "4", "the stream");
        Assert.True(replica.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected });
        Assert.Equal("OK", replica.Run("REPLICAOF NO ONE").Text);
    }

    // As redis-server 8.0.2: a pause of all holds everything, one of writes what writes; and offsets stand still.
    [Fact]
    public async Task A_pause_holds_the_stream()
    {
        using ScriptedPrimary primary = await PrimaryAsync();
        await using DiskServer replica = await FollowAsync(primary);
        using RespConnection client = RespConnection.Connect(replica.Server.Port);
        long start = Offset();
        client.Run("CLIENT PAUSE 1000000 WRITE").IsOk();
        primary.Stream("PING");
        replica.WaitFor(() => Offset() == start + 14, "PING, which a pause of writes lets pass");
        primary.Stream("MULTI", "SET a 1", "EXEC", "PING");
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkStatus is { } link && link.ReadOffset >= start + 14 + 15 + 27 + 14 + 14, "the receipt");
        Assert.Equal(start + 14, Offset());
        client.Run("GET a").IsNull();
        client.Run("CLIENT UNPAUSE").IsOk();
        replica.WaitFor(() => Offset() == start + 14 + 15 + 27 + 14 + 14, "the rest");
        Assert.Equal("1", client.Run("GET a").Text);

        client.Run("CLIENT PAUSE 1000000 ALL").IsOk();
        long held = Offset();
        primary.Stream("PING", "SET a 2");
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkStatus is { } link && link.ReadOffset == held + 14 + 27, "the receipt");
        Assert.Equal(held, Offset());
        Assert.Equal("1", replica.Run("GET a").Text);
        Assert.Equal("OK", replica.Run("SAVE").Text); // the stream that waits holds nothing that a snapshot needs
        Assert.Equal("OK", replica.Run("REPLICAOF NO ONE").Text); // nor a change of the role
        Assert.Equal("1", replica.Run("GET a").Text);

        long Offset() => replica.Server.Parts.ReplicaStream.Offset;
    }

    // What is written behind EXEC would be lost with the old data.
    [Fact]
    public async Task A_primary_is_a_replica_when_the_transaction_with_REPLICAOF_ends()
    {
        using ScriptedPrimary primary = await PrimaryAsync();
        await using DiskServer server = await DiskServer.StartAsync();
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        Send(client, "MULTI", "SET x 1", $"REPLICAOF 127.0.0.1 {primary.Port}", "INFO replication", "SET y 1", "EXEC", "SET z 1");
        for (int i = 0; i < 5; i++) client.Read();
        RespValue replies = client.Read();
        Assert.Equal("OK", replies.Items[1].Text);
        Assert.Contains("role:slave", replies.Items[2].Text, StringComparison.Ordinal);
        Assert.Equal("OK", replies.Items[3].Text); // as in Redis
        Assert.StartsWith("READONLY ", client.Read().Text, StringComparison.Ordinal);
        server.WaitFor(() => server.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the link");

        // The last change counts, also if an earlier one is still under way.
        Send(client, "REPLICAOF NO ONE", "MULTI", "SET x 1", $"REPLICAOF 127.0.0.1 {primary.Port}", "EXEC", "REPLICAOF NO ONE", "SET z 1");
        for (int i = 0; i < 6; i++) client.Read();
        client.Read().IsOk();
        Assert.False(server.Server.Engine.Replication.IsReplica);
    }

    // As queued commands and as it came: what is received is counted, in no array that doubles, and released.
    [Fact]
    public async Task A_large_transaction_of_the_stream_is_counted_and_released()
    {
        const int Commands = 64;
        const int ValueBytes = 256 * 1024;
        using ScriptedPrimary primary = await PrimaryAsync();
        await using DiskServer replica = await FollowAsync(primary);
        long before = Used();
        string value = new('x', ValueBytes);
        primary.Stream("MULTI");
        for (int i = 0; i < Commands; i++) primary.Stream($"SET key{i % 2} {value}");
        replica.WaitFor(() => Used() - before > 2 * Commands * ValueBytes, "the memory of what waits");
        Assert.InRange(Used() - before, 2 * Commands * ValueBytes, (2 * Commands * ValueBytes) + (3 * 1024 * 1024));
        primary.Stream("EXEC");
        replica.WaitFor(() => replica.Run("GET key1").Text?.Length == ValueBytes, "the transaction");
        replica.WaitFor(() => Used() - before < 4 * 1024 * 1024, "the release");

        long Used() => replica.Server.Engine.Metrics.Server.PrimaryBytes;
    }

    private static void Send(RespConnection client, params string[] commands)
    {
        foreach (string command in commands) client.SendCommand(command);
    }

    // What the log or a snapshot holds up is done later: the primary's data would otherwise be loaded beside the old one.
    [Fact]
    public async Task What_a_link_executes_to_load_data_waits_for_the_write_gate()
    {
        using ScriptedPrimary primary = await PrimaryAsync();
        await using DiskServer replica = await DiskServer.StartAsync("save", "");
        Engine engine = replica.Server.Engine;
        replica.Run("SET old 1");
        engine.WriteGate.Close(WriteHold.Log);
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Port}");
        replica.WaitFor(() => engine.WriteGate.Retries > 0 || engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the flush that waits");
        engine.WriteGate.Open(WriteHold.Log);
        replica.WaitFor(() => engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the link");
        Assert.Equal(0, replica.Run("DBSIZE").Integer);
    }

    // The last save begins when the link has ended, which waits for what it executes.
    [Fact]
    public async Task Slices_of_the_stream_go_on_while_the_data_is_saved_for_the_last_time()
    {
        await using DiskServer source = await DiskServer.StartAsync("save", "");
        source.Server.Execute(["SADD", "a", .. Enumerable.Range(0, 20_000).Select(static i => $"member:{i}")]);
        using var primary = new ScriptedPrimary { Data = DisklessLoadTests.SavedBy(source) };
        await using DiskServer replica = await FollowAsync(primary);
        Engine engine = replica.Server.Engine;
        engine.Pause.Hold(PauseReason.LastSave);
        try
        {
            primary.Stream("COPY a b", "SET behind 1");
            replica.WaitFor(() => replica.Run("EXISTS behind").Integer == 1, "the copy");
            Assert.Equal(20_000, replica.Run("SCARD b").Integer);
        }
        finally
        {
            engine.Pause.Release(PauseReason.LastSave); // the replica's end waits for its link, and that for the copy
        }
    }

    internal static async Task<ScriptedPrimary> PrimaryAsync()
    {
        await using DiskServer source = await DiskServer.StartAsync("save", "");
        Assert.Equal("OK", source.Run("SAVE").Text);
        return new ScriptedPrimary { Data = DisklessLoadTests.SavedBy(source) };
    }

    internal static async Task<DiskServer> FollowAsync(ScriptedPrimary primary)
    {
        DiskServer replica = await DiskServer.StartAsync("save", "");
        replica.Run($"REPLICAOF 127.0.0.1 {primary.Port}");
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the link");
        return replica;
    }
}
