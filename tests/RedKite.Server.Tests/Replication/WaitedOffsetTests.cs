using System.Globalization;
using RedKite.Server.Durability;
using RedKite.Server.Replication;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>
/// Which commands WAIT and WAITAOF wait for: those that replicas receive something of, messages included. A replica that acknowledges only what it is told to makes that
/// visible without a race, here and in redis-server.
/// </summary>
public class WaitedOffsetTests
{
    // Between the question and the note of where it stands, another thread has executed something: that was not asked for.
    [Fact]
    public async Task Offsets_are_asked_for_behind_what_was_executed_beside_the_question()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.BecomeOnline(primary, offset);
        ReplicaService replicas = primary.Server.Parts.Replicas;
        replicas.Stream.Tell(new OneMore(replicas.Stream));
        replicas.AskForOffsets();
        long before = replicas.Stream.Offset;
        replicas.AskForOffsets();
        Assert.True(replicas.Stream.Offset > before);
        before = replicas.Stream.Offset;
        replicas.AskForOffsets(); // and not again
        Assert.Equal(before, replicas.Stream.Offset);
    }

    // Appends once more, behind what was appended.
    private sealed class OneMore(ReplicationStream stream) : IStreamReaders
    {
        private readonly IStreamReaders _readers = stream.Readers!;

        public void Appended()
        {
            stream.Tell(_readers);
            stream.Append("*1\r\n$4\r\nPING\r\n"u8);
        }

        public void Abandoned(ReplicaPosition position) => _readers.Abandoned(position);
    }

    // The one that is aborted ends, and the one that begins right behind it waits on.
    [Fact]
    public async Task A_shutdown_that_begins_behind_an_abort_does_not_undo_it()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("shutdown-timeout", "1000");
        using var replica = new RawReplica(primary.Server.Port);
        (long offset, _) = replica.Synchronize();
        replica.BecomeOnline(primary, offset);
        primary.Client.Run("SET a 1").IsOk(); // which it does not acknowledge
        ShutdownWait shutdown = primary.Server.Parts.Replicas.Shutdown;
        Task<bool> first = Begin();
        primary.WaitFor(() => primary.Server.Engine.Pause.HoldsForServer, "the first");
        Assert.True(shutdown.Abort());
        Task<bool> second = Begin();
        Assert.False(await first.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        primary.WaitFor(() => primary.Server.Engine.Pause.HoldsForServer, "the second");
        Assert.True(shutdown.Abort());
        Assert.False(await second.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken));
        Assert.False(primary.Server.Engine.Pause.HoldsForServer);
        primary.Client.Run("SET a 2").IsOk();

        Task<bool> Begin() => Task.Factory.StartNew(() => shutdown.TryStop(static _ => true, StopSaving.Never, forces: false), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
    }

    private const int WaitMs = 20; // the replica never acknowledges meanwhile

    private static readonly string[] Commands =
    [
        "PUBLISH channel message", "SPUBLISH channel message", "SET key value", "SET key value NX", "GET key", "DEL missing", "SCRIPT LOAD 'return 1'", "SCRIPT FLUSH",
        "EVAL \"return redis.call('PUBLISH', 'channel', 'message')\" 0", "EVAL \"return redis.call('SET', KEYS[1], '1')\" 1 key", "EVAL 'return 1' 0",
        "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('f', function() return 1 end)\"", "FUNCTION FLUSH", "PFADD log a", "PFCOUNT log", "PFCOUNT log", "PFCOUNT missing",
        "FLUSHALL", "SWAPDB 0 1", "EXPIRE key -1", "CONFIG SET hz 10", "PING", "XADD stream 1-1 field value", "XREADGROUP GROUP group consumer STREAMS stream >",
        "XGROUP CREATE stream group 0", "XREADGROUP GROUP group consumer STREAMS stream >", "XREADGROUP GROUP group consumer STREAMS stream >", "SUBSCRIBE channel",
    ];

    [Fact]
    public async Task Messages_and_changes_are_waited_for_as_in_redis()
    {
        using var redis = new Oracle("--save", "", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600");
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        string[] expected = Waits(redis.Port), actual = Waits(primary.Server.Port);
        Assert.Equal(expected, actual);
        Assert.Contains("PUBLISH channel message: :0, :0", actual);
        Assert.Contains("GET key: :1, :1", actual);
    }

    [Fact]
    public async Task Units_are_waited_for_as_in_redis()
    {
        using var redis = new Oracle("--save", "", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600");
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        string[][] units = [["PUBLISH channel message"], ["GET key"], ["SET key value", "GET key"], []];
        foreach (string[] unit in units) Assert.Equal(WaitsOfUnit(redis.Port, unit), WaitsOfUnit(primary.Server.Port, unit));
    }

    // A key that has expired is removed by the command that finds it, and replicas are told.
    [Fact]
    public async Task A_read_that_removes_an_expired_key_is_waited_for_as_in_redis()
    {
        using var redis = new Oracle("--save", "", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "3600", "--enable-debug-command", "yes");
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        string[] waits = [.. new[] { redis.Port, primary.Server.Port }.Select(static port =>
        {
            using var replica = new RawReplica(port);
            replica.Synchronize();
            using RespConnection observer = RespConnection.Connect(port), client = RespConnection.Connect(port);
            observer.Run("DEBUG SET-ACTIVE-EXPIRE 0").IsOk();
            observer.Run("SET key value PX 1").IsOk();
            long end = Environment.TickCount64 + 20;
            SpinWait.SpinUntil(() => Environment.TickCount64 > end); // it has expired, and nothing has looked for it
            Acknowledge(replica, observer);
            Assert.True(client.Run("GET key").IsNull);
            return client.Run($"WAIT 1 {WaitMs}").ToString();
        })];
        Assert.Equal([":0", ":0"], waits);
    }

    private static string[] Waits(int port)
    {
        using var replica = new RawReplica(port);
        replica.Synchronize();
        using RespConnection observer = RespConnection.Connect(port);
        return [.. Commands.Select(command =>
        {
            Acknowledge(replica, observer);
            using RespConnection client = RespConnection.Connect(port);
            client.Run(command);
            if (command.StartsWith("SUBSCRIBE", StringComparison.Ordinal)) client.Run("UNSUBSCRIBE channel");
            return $"{command}: {client.Run($"WAIT 1 {WaitMs}")}, {client.Run($"WAITAOF 0 1 {WaitMs}").Items[1]}";
        })];
    }

    private static string WaitsOfUnit(int port, string[] unit)
    {
        using var replica = new RawReplica(port);
        replica.Synchronize();
        using RespConnection observer = RespConnection.Connect(port);
        Acknowledge(replica, observer);
        using RespConnection client = RespConnection.Connect(port);
        client.Run("MULTI").IsOk();
        foreach (string command in unit) client.Run(command);
        client.Run("EXEC");
        return $"{string.Join(';', unit)}: {client.Run($"WAIT 1 {WaitMs}")}";
    }

    // Everything so far.
    private static void Acknowledge(RawReplica replica, RespConnection observer)
    {
        string offset = ReplicatedServer.Field(observer.Run("INFO replication").Text, "master_repl_offset");
        replica.Send($"REPLCONF ACK {offset} FACK {offset}");
        Assert.True(SpinWait.SpinUntil(() => observer.Run("INFO replication").Text.Contains($"state=online,offset={offset.ToString(CultureInfo.InvariantCulture)},", StringComparison.Ordinal), 60_000));
    }
}
