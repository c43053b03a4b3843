using RedKite.Server.Replication;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>Keys that expire on a writable replica (replica-read-only no): those of its own clients are removed, those of its primary are not.</summary>
public class LocalExpiryTests
{
    private static readonly string[] Script =
    [
        "SET own:1 a PX 50", "SET own:2 a EX 1000", "SET own:3 a", "PEXPIRE own:3 50", "SET own:4 a PX 50", "PERSIST own:4", "EVAL \"return redis.call('SET', KEYS[1], 'a', 'PX', 50)\" 1 own:5",
        "SET own:6 a PX 1000000", "DEL own:6", "PEXPIRE of:primary 50",
    ];

    [Fact]
    public async Task Keys_of_a_replica_s_clients_are_removed_and_counted_as_in_redis()
    {
        using var primary = Oracle.Of(OracleProgram.Redis8, ["--repl-diskless-sync-delay", "0", "--save", "", "--repl-ping-replica-period", "3600"]);
        primary.Run("SET", "of:primary", "value");
        using var redis = Oracle.Of(OracleProgram.Redis8, ["--save", "", "--replica-read-only", "no", "--replicaof", "127.0.0.1", $"{primary.Port}"]);
        await using DiskServer replica = await DiskServer.StartAsync("replica-read-only", "no", "save", "", "appendonly", "yes", "replicaof", $"127.0.0.1 {primary.Port}");
        using RespConnection here = RespConnection.Connect(replica.Server.Port), there = RespConnection.Connect(redis.Port);
        foreach (RespConnection client in (RespConnection[])[here, there])
        {
            replica.WaitFor(() => client.Run("GET of:primary").Text == "value", "the data");
            foreach (string command in Script) Assert.False(client.Run(command).IsError);
        }

        // What is left: own:2 and own:4.
        foreach (RespConnection client in (RespConnection[])[here, there])
        {
            replica.WaitFor(() => client.Run("DBSIZE").Number == 2 && Tracked(client) == 1, "the expiry");
            Assert.Equal(1, client.Run("EXISTS own:2").Number);
            Assert.Equal(1, client.Run("EXISTS own:4").Number);
        }

        // What the primary has given an expiry is only hidden.
        primary.Run("SET", "of:primary", "value", "PX", "50");
        replica.WaitFor(() => here.Run("EXISTS of:primary").Number == 0 && there.Run("EXISTS of:primary").Number == 0, "the expiry");

        // The log has the removals: after a restart the keys are not there.
        long tracked = Tracked(here);
        replica.Server.Follower.Change(null);
        Assert.Equal((1L, 0L), (tracked, Tracked(here)));
        await replica.RestartAsync();
        replica.WaitFor(() => !replica.Run("EXISTS own:1").IsError, "the end of a synchronization that may have begun");
        Assert.Equal(0, replica.Run("EXISTS own:1 own:3 own:5").Integer);
    }

    // DEBUG SET-ACTIVE-EXPIRE 0 on the primary: it removes nothing, so neither may the replica.
    [Fact]
    public async Task Keys_of_the_primary_stay_until_it_removes_them()
    {
        using var primary = Oracle.Of(OracleProgram.Redis8, ["--repl-diskless-sync-delay", "0", "--save", "", "--enable-debug-command", "yes"]);
        primary.Run("DEBUG", "SET-ACTIVE-EXPIRE", "0");
        primary.Run("SET", "key", "value", "PX", "1");
        await using DiskServer replica = await DiskServer.StartAsync("replica-read-only", "no", "save", "", "replicaof", $"127.0.0.1 {primary.Port}");
        replica.WaitFor(() => replica.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected }, "the data");
        Assert.Equal("OK", replica.Run("SET own value PX 1").Text);

        // A sweep forgets a key while it looks at it: only without the key it is over.
        replica.WaitFor(() => replica.Server.Engine.Keyspace.Databases[0].Count == 1 && replica.Server.Engine.LocalExpiries.Count == 0, "the expiry of the local key");
        Assert.Equal(0, replica.Run("EXISTS key").Integer);
        primary.Run("GET", "key");
        replica.WaitFor(() => replica.Server.Engine.Keyspace.Databases[0].Count == 0, "the primary's DEL");
    }

    private static long Tracked(RespConnection client)
    {
        const string Field = "slave_expires_tracked_keys:";
        string text = client.Run("INFO stats").Text;
        int start = text.IndexOf(Field, StringComparison.Ordinal) + Field.Length;
        return long.Parse(text.AsSpan(start, text.IndexOf('\r', start) - start), System.Globalization.CultureInfo.InvariantCulture);
    }
}
