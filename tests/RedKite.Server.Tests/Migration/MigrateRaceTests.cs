using System.Globalization;
using RedKite.Server.Commands.Keys;
using RedKite.Server.Tests.Commands;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Migration;

/// <summary>
/// What becomes of writes to keys that are on their way to another server: each is either there or here, at every step of the transfer.
/// </summary>
public class MigrateRaceTests : HeldMigration
{
    private static readonly string[] Setup = ["SELECT 0", "SET k one", "SET other two", "SADD set a b", "SELECT 1", "SET elsewhere three", "SELECT 0"];

    private static readonly string[] Changes =
    [
        "SET k new", "APPEND k more", "SETRANGE k 0 O", "DEL k", "UNLINK k", "GETDEL k", "RENAME k moved", "RENAME other k", "COPY other k REPLACE", "MOVE k 1", "SWAPDB 0 1",
        "FLUSHALL", "FLUSHDB ASYNC", "PEXPIREAT k 4000000000000", "PEXPIREAT k 1", "EVAL \"redis.call('APPEND', 'k', 'more')\" 0", "EVAL \"redis.call('DEL', KEYS[1])\" 1 k",
        "SUNIONSTORE k set", "SINTERSTORE k set nosuch", "SORT set ALPHA STORE k", "GETEX k PXAT 4000000000000", "BITOP NOT k k",
    ];

    // The first change comes at the first step, so the later steps are those of a transfer that is repeated.
    [Theory]
    [InlineData("SELECT", 1)] // nothing of the key has been sent
    [InlineData("RESTORE", 1)] // the target has it
    [InlineData("RESTORE", 2)] // it has it again
    [InlineData("RESTORE", 4)] // for the last time without a hold
    public async Task Acknowledged_write_is_there_or_here(string heldName, int heldAt)
    {
        await using LiveServer expected = await LiveServer.StartAsync("enable-debug-command", "yes");
        foreach (string change in Changes)
        {
            foreach (LiveServer server in (LiveServer[])[Source, Target, expected]) server.Run("FLUSHALL").IsOk();
            foreach (string line in Setup) Both(Source, expected, line);
            using var held = new HeldTarget(Target.Server.Port) { Holds = true, HeldName = heldName };
            Mover.SendCommand($"MIGRATE 127.0.0.1 {held.Port} k 0 60000");
            for (int i = 1; i < heldAt; i++)
            {
                held.WaitUntilHeld();
                Both(Source, expected, $"SET k {i}");
                held.GoOn();
            }

            held.WaitUntilHeld();
            Both(Source, expected, change);
            held.Holds = false;
            held.GoOn();
            Mover.Read().IsOk();
            AssertSplit(Source, Target, expected, $"{change} at {heldName} {heldAt}");
        }
    }

    // All keys but the one that moves are here, as if it had never been asked to move; that one, if it is there at the end, is at the target alone.
    private static void AssertSplit(LiveServer source, LiveServer target, LiveServer expected, string what)
    {
        string all = State(expected);
        string moved = string.Join('\n', all.Split('\n').Where(static line => line.StartsWith("0 k ", StringComparison.Ordinal)));
        Assert.True(State(target) == moved, $"{what}: the target has\n{State(target)}\nand not\n{moved}");
        string rest = string.Join('\n', all.Split('\n').Where(line => line != moved));
        Assert.True(State(source) == rest, $"{what}: the source has\n{State(source)}\nand not\n{rest}");
    }

    private static string State(LiveServer server)
    {
        var lines = new List<string>();
        for (int database = 0; database < 2; database++)
        {
            server.Run($"SELECT {database}").IsOk();
            foreach (RespValue key in server.Run("KEYS *").Items) lines.Add($"{database} {key.Text} {server.Run("DEBUG DIGEST-VALUE " + key.Text).Items[0].Text} {(server.Run("PTTL " + key.Text).Number > 0 ? "expires" : "stays")}");
        }

        server.Run("SELECT 0").IsOk();
        return string.Join('\n', lines.Order(StringComparer.Ordinal));
    }

    private static void Both(LiveServer source, LiveServer expected, string line)
    {
        Assert.False(source.Run(line).IsError, line);
        expected.Run(line);
    }

    // A key that changes each time could never be removed, so in the end those who write wait.
    [Fact]
    public void Hot_key_moves_while_writes_wait()
    {
        using RespConnection writer = RespConnection.Connect(Source.Server.Port);
        Source.Run("MSET hot 0 other 0").IsOk();
        BeginHeld("\"\" 0 60000 KEYS hot other");
        for (int i = 0; i <= MigrateCommands.FreeRestartsMax; i++)
        {
            if (i == 0)
            {
                Held.GoOn();
                Held.WaitUntilHeld();
            }

            writer.Run("INCR hot");
            Held.GoOn();
            Held.WaitUntilHeld();
        }

        writer.SendCommand("INCR hot");
        NetworkTests.WaitFor(() => Source.Server.Engine.Clients.InOrder.Any(static client => client.IsPaused), "the writer to wait");
        Assert.Equal("4", Source.Run("GET hot").Text);
        Held.GoOn();
        Mover.Read().IsOk();
        Assert.Equal(1, writer.Read().Number); // the key is gone, so it is a new one
        Assert.Equal("4", Target.Run("GET hot").Text);
        Assert.False(Source.Server.Engine.WriteGate.Waits);
        Assert.Equal(TimeSpan.Zero, Source.Server.Engine.WriteGate.PausedTime); // that is of the disk
    }

    [Fact]
    public void Writes_wait_a_second_at_most_for_a_silent_target()
    {
        int restored = 0;
        using var held = new HeldTarget { Holds = true, HeldName = "RESTORE", Script = request => request[0] == "RESTORE" && ++restored > MigrateCommands.FreeRestartsMax + 1 ? "" : "+OK\r\n" };
        Source.Run("SET hot 0").IsOk();
        Mover.SendCommand($"MIGRATE 127.0.0.1 {held.Port} hot 0 60000");
        for (int i = 0; i <= MigrateCommands.FreeRestartsMax; i++)
        {
            held.WaitUntilHeld();
            Source.Run("INCR hot");
            held.GoOn();
        }

        held.WaitUntilHeld();
        held.GoOn();
        Assert.Equal(5, Source.Run("INCR hot").Number); // when the transfer has been given up
        Mover.Read().IsError("IOERR error or timeout reading to target instance");
        Assert.Equal("5", Source.Run("GET hot").Text);
    }

    [Fact]
    public void Reads_let_a_key_go()
    {
        Source.Run("SET k one").IsOk();
        BeginHeld("k 0 60000");
        foreach (string line in (string[])["GET k", "STRLEN k", "OBJECT ENCODING k", "DUMP k", "SET k two NX", "EXISTS k", "TOUCH k", "SCAN 0"]) Source.Run(line);
        Held.GoOn();
        Mover.Read().IsOk();
        Assert.Equal(["SELECT 0", "RESTORE k"], Held.Requests);
    }

    [Fact]
    public void Changed_key_is_sent_again_and_replaces_what_was_sent()
    {
        Source.Run("MSET a 1 b 2 c 3").IsOk();
        BeginHeld("\"\" 0 60000 KEYS a b c");
        Source.Run("INCR b");
        Source.Run("DEL c");
        Held.Holds = false;
        Held.GoOn();
        Mover.Read().IsOk();
        Assert.Equal(["SELECT 0", "RESTORE a", "RESTORE b", "RESTORE c", "RESTORE b REPLACE", "DEL c"], Held.Requests);
        Assert.Equal("3", Target.Run("GET b").Text);
        Assert.Equal(2, Target.Run("DBSIZE").Number);
        Assert.Equal(0, Source.Run("DBSIZE").Number);
    }

    // A copy is of the moment at which it was made.
    [Fact]
    public void Copied_key_is_sent_once()
    {
        Source.Run("SET k 1").IsOk();
        BeginHeld("k 0 60000 COPY");
        Assert.DoesNotContain(Source.Server.Engine.Keyspace.Stripes, static stripe => stripe.HasWatches);
        Source.Run("INCR k");
        Held.GoOn();
        Mover.Read().IsOk();
        Assert.Equal(["SELECT 0", "RESTORE k"], Held.Requests);
        Assert.Equal("1", Target.Run("GET k").Text);
        Assert.Equal("2", Source.Run("GET k").Text);
    }

    [Fact]
    public void Paused_writes_keep_the_key()
    {
        Source.Run("SET k 1").IsOk();
        BeginHeld("k 0 60000");
        Source.Run("CLIENT PAUSE 600000 WRITE").IsOk();
        Held.GoOn();
        NetworkTests.WaitFor(() => Target.Run("EXISTS k").Number == 1, "the key");
        Assert.Equal(1, Source.Run("EXISTS k").Number);

        // The loop rests meanwhile. Without that it makes tens of thousands of turns in this time.
        long cycles = Cycles(Source);
        Thread.Sleep(100);
        Assert.InRange(Cycles(Source) - cycles, 0, 3000);
        Source.Run("CLIENT UNPAUSE").IsOk();
        Mover.Read().IsOk();
        Assert.Equal(0, Source.Run("EXISTS k").Number);
    }

    private static long Cycles(LiveServer server) => server.Server.Engine.Metrics.Loops.Sum(static loop => loop.Cycles);

    [Fact]
    public void Killed_client_leaves_its_keys_and_nothing_else()
    {
        Source.Run("SET k 1").IsOk();
        long id = Mover.Run("CLIENT ID").Number;
        long buffers = Source.Server.Engine.Buffers.UsedBytes;
        BeginHeld("k 0 60000");
        Assert.Equal(1, Source.Server.Parts.Migrations.Running);
        Assert.Equal(0, Source.Run($"CLIENT UNBLOCK {id}").Number);
        Assert.Equal(1, Source.Run($"CLIENT KILL ID {id}").Number);
        NetworkTests.WaitFor(() => Source.Server.Parts.Migrations.Running == 0, "the end of its turn");
        NetworkTests.WaitFor(() => Source.Server.Engine.Keyspace.Stripes.All(static stripe => !stripe.HasWatches), "the end of its watches");
        NetworkTests.WaitFor(() => Source.Server.Engine.Buffers.UsedBytes <= buffers, "the end of its buffers");
        Assert.Equal(0, Source.Server.Engine.Blocked.Count);
        Assert.Equal("1", Source.Run("GET k").Text);
        Assert.Equal(0, Source.Number("stats", "migrate_cached_sockets"));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Server_stops_during_a_transfer(bool inProcess)
    {
        Source.Run("MSET k 1 other 1").IsOk();
        string[] request = ["MIGRATE", "127.0.0.1", Held.Port.ToString(CultureInfo.InvariantCulture), "k", "0", "600000"];
        string[] another = [.. request[..3], "other", .. request[4..]];
        Task call = Task.CompletedTask;
        Task waiting = Task.CompletedTask;
        if (inProcess)
        {
            call = Task.Run(() => Source.Server.Execute(request), TestContext.Current.CancellationToken);
            waiting = Source.Server.CreateClient().ExecuteAsync(another, TestContext.Current.CancellationToken).AsTask();
            Held.WaitUntilHeld();
        }
        else
        {
            Source.Client.SendCommand(string.Join(' ', request));
        }

        Held.WaitUntilHeld();
        await Source.DisposeAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.Null(Source.Server.Failure);
        await EndsAsync(call);
        await EndsAsync(waiting);

        // With a reply that it failed, or because there is no server any more.
        static async Task EndsAsync(Task call)
        {
            try
            {
                await call.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
            }
            catch (ObjectDisposedException)
            {
            }
        }
    }

    [Fact]
    public async Task Canceled_call_leaves_its_key()
    {
        using var held = new HeldTarget { Script = static _ => "" };
        using var cancellation = new CancellationTokenSource();
        Source.Run("SET k 1").IsOk();
        Task<RedKiteReply> call = Source.Server.CreateClient().ExecuteAsync(["MIGRATE", "127.0.0.1", held.Port.ToString(CultureInfo.InvariantCulture), "k", "0", "600000"], cancellation.Token).AsTask();
        NetworkTests.WaitFor(() => held.Requests.Length == 1, "the request");
        await cancellation.CancelAsync();
        await Assert.ThrowsAsync<OperationCanceledException>(() => call);
        NetworkTests.WaitFor(() => Source.Server.Parts.Migrations.Running == 0, "the end of its turn");
        NetworkTests.WaitFor(() => Source.Server.Engine.Keyspace.Stripes.All(static stripe => !stripe.HasWatches), "the end of its watches");
        Assert.Equal("1", Source.Run("GET k").Text);
    }

    [Fact]
    public void Server_that_becomes_a_replica_keeps_its_keys()
    {
        Source.Run("SET k 1").IsOk();
        BeginHeld("k 0 60000");
        Source.Run("REPLICAOF 127.0.0.1 1").IsOk();
        Held.GoOn();
        Assert.StartsWith("UNBLOCKED force unblock", Mover.Read().Text, StringComparison.Ordinal);
        NetworkTests.WaitFor(() => Source.Server.Parts.Migrations.Running == 0, "the end of its turn");
        Assert.Equal("1", Source.Run("GET k").Text);
    }

    // More commands than may send at a time take turns.
    [Fact]
    public async Task Commands_take_turns()
    {
        const int Commands = RedKite.Server.Migration.MigrationService.RunningMax + 6;
        RedKiteClient client = Source.Server.CreateClient();
        using var cancellation = new CancellationTokenSource();
        var calls = new List<Task<RedKiteReply>>();
        for (int i = 0; i < Commands; i++)
        {
            Source.Server.Execute("SET", $"k{i}", "v");
            calls.Add(client.ExecuteAsync(["MIGRATE", "127.0.0.1", Held.Port.ToString(CultureInfo.InvariantCulture), $"k{i}", "0", "600000"], i == Commands - 1 ? cancellation.Token : CancellationToken.None).AsTask());
        }

        for (int i = 0; i < RedKite.Server.Migration.MigrationService.RunningMax; i++) Held.WaitUntilHeld();
        Assert.Equal(RedKite.Server.Migration.MigrationService.RunningMax, Source.Server.Parts.Migrations.Running);
        Assert.Equal(RedKite.Server.Migration.MigrationService.RunningMax, Held.Accepted);
        await cancellation.CancelAsync(); // one that waits for its turn
        await Assert.ThrowsAsync<OperationCanceledException>(() => calls[^1]);
        Held.Holds = false;
        for (int i = 0; i < Commands; i++) Held.GoOn();
        foreach (Task<RedKiteReply> call in calls.SkipLast(1)) Assert.Equal("OK", (await call).Text);
        NetworkTests.WaitFor(() => Source.Server.Parts.Migrations.Running == 0, "the end of all turns");
        Assert.Equal($"k{Commands - 1}", Assert.Single(Source.Run("KEYS *").Items).Text);
        Assert.Equal(Commands - 1, Target.Run("DBSIZE").Number);
        Assert.InRange(Source.Server.Parts.Migrations.IdleConnections, 1, RedKite.Server.Migration.MigrationService.IdleMax);
    }
}
