using System.Globalization;
using RedKite.Persistence.Rdb;
using RedKite.Server.Tests.Durability;
using RedKite.Server.Tests.Following;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Changes;

/// <summary>Observers of values are told of every change, once for each key and command.</summary>
public class ValueObserverTests
{
    [Fact]
    public async Task Each_command_tells_its_keys_in_order_with_their_old_and_new_values()
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "");
        var mirror = new ValueMirror(server.Server.Engine.Keyspace) { Keeps = true };
        server.Server.Engine.Changes.ObserveValues(mirror);
        Check("SET a 1", "+a:1");
        Check("APPEND a 2", "-a:1", "+a:12");
        Check("GET a");
        Check("MSET x 1 y 2", "+x:1", "+y:2");
        Check("RENAME a b", "-a:12", "+b:12", "+a:none");
        Check("RENAME b x", "-x:1", "-b:12", "+x:12", "+b:none");
        Check("COPY x c", "+c:12");
        Check("MOVE c 1", "-c:12", "+c:none", "+1/c:12");
        Check("SADD s 1 2", "+s:Set");
        Check("SREM s 1 2", "-s:Set", "+s:none");
        Check("EXPIRE x 1000", "-x:12", "+x:12");
        Check("EVAL redis.call('SET',KEYS[1],1);redis.call('INCR',KEYS[1]) 1 m", "+m:1", "-m:1", "+m:2");
        using (var payload = new RdbOutput())
        {
            payload.Byte(0);
            payload.String("restored"u8);
            DumpPayload.End(payload);
            using RespConnection connection = RespConnection.Connect(server.Server.Port);
            connection.Run(["RESTORE"u8.ToArray(), "r"u8.ToArray(), "0"u8.ToArray(), payload.Written.ToArray()]).IsOk();
            Assert.Equal(["+r:restored"], mirror.Take());
            connection.Run(["RESTORE"u8.ToArray(), "r"u8.ToArray(), "0"u8.ToArray(), payload.Written.ToArray(), "REPLACE"u8.ToArray()]).IsOk();
            Assert.Equal(["-r:restored", "+r:restored"], mirror.Take());
            connection.Run("MULTI").IsOk();
            connection.Run("SET r 1");
            connection.Run("DEL r");
            connection.Run("EXEC");
            Assert.Equal(["-r:restored", "+r:1", "-r:1", "+r:none"], mirror.Take());
            connection.SendCommand("BLPOP list 0");
            server.WaitFor(() => server.Server.Engine.Blocked.Count == 1, "the blocked client");
            Check("RPUSH list x", "+list:List", "-list:List", "+list:none");
            connection.Read();
        }

        server.Run("DEBUG SET-ACTIVE-EXPIRE 0");
        Check("SET e 1 PX 1", "+e:1");
        Check("HSET h f 1 g 2", "+h:Hash");
        Check("HPEXPIRE h 1 FIELDS 1 f", "-h:Hash", "+h:Hash");
        server.WaitFor(() => server.Run("GET e").IsNull && server.Run("HSTRLEN h f").Integer == 0, "the expiries");
        server.Run("HSET h i 1"); // removes what has expired
        string[] told = mirror.Take();
        Assert.Equal(["-e:1", "+e:none"], told.Where(static line => line[1] == 'e'));
        Assert.Contains("+h:Hash", told);
        Assert.DoesNotContain(told, static line => line[1] is not ('e' or 'h'));
        Check("SET e 2 PX 1", "+e:2");
        server.Run("DEBUG SET-ACTIVE-EXPIRE 1");
        told = [];
        server.WaitFor(() => (told = [.. told, .. mirror.Take()]).Length >= 2, "active expiry");
        Assert.Equal(["-e:2", "+e:none"], told);

        Check("SWAPDB 0 1", "swapped 0 1");
        Check("GET c");
        Check("FLUSHDB", "flushed 0");
        Check("SWAPDB 0 1", "swapped 0 1");
        Check("SAVE");
        Check("DEBUG RELOAD", "flushed 0", "replaced 0");
        mirror.AssertEqualsData();

        server.Run("CONFIG SET maxmemory-policy allkeys-random maxmemory 1");
        told = [];
        server.WaitFor(
            () =>
            {
                server.Run("SET z 1"); // evicts first, once the stripes have reported what they use
                told = [.. told, .. mirror.Take()];
                return told.Contains("+x:none");
            },
            "eviction");
        Assert.Contains("-x:12", told);
        server.Run("CONFIG SET maxmemory 0");
        mirror.AssertEqualsData();

        server.Server.Engine.Changes.EndObservingValues(mirror);
        mirror.Take(); // what was evicted behind the last look
        Check("SET a 1");

        void Check(string command, params string[] expected)
        {
            RedKiteReply reply = server.Run(command);
            Assert.False(reply.IsError, reply.Text);
            Assert.Equal(expected, mirror.Take());
        }
    }

    [Theory]
    [InlineData("disabled")]
    [InlineData("swapdb")]
    public async Task A_replica_s_observer_is_told_of_the_exchange_and_of_the_stream(string mode)
    {
        await using DiskServer primary = await DiskServer.StartAsync("save", "", "repl-diskless-sync-delay", "0");
        await using DiskServer replica = await DiskServer.StartAsync("save", "", "repl-diskless-load", mode);
        var mirror = new ValueMirror(replica.Server.Engine.Keyspace) { Keeps = true };
        replica.Server.Engine.Changes.ObserveValues(mirror);
        replica.Run("SET old 1");
        primary.Run("MSET a 1 b 2");
        Assert.Equal("OK", replica.Run($"REPLICAOF 127.0.0.1 {primary.Server.Port.ToString(CultureInfo.InvariantCulture)}").Text);
        replica.WaitFor(() => replica.Run("INFO replication").Text!.Contains("master_link_status:up", StringComparison.Ordinal), "the link");
        Assert.Equal(mode == "swapdb" ? ["+old:1", "replaced 0"] : ["+old:1", "flushed 0", "replaced 0"], mirror.Take());
        mirror.AssertEqualsData();
        primary.Run("INCR a");
        replica.WaitFor(() => replica.Run("GET a").Text == "2", "the stream");
        Assert.Equal(["-a:1", "+a:2"], mirror.Take());
    }

    [Theory]
    [InlineData("no", "yes")]
    [InlineData("yes", "yes")]
    [InlineData("yes", "no")]
    public async Task A_mirror_equals_the_data_after_random_commands_expiry_and_eviction(string appendOnly, string observesFromStart)
    {
        await using DiskServer server = await DiskServer.StartAsync("save", "", "appendonly", appendOnly, "loops", "2", "maxmemory-policy", "allkeys-random");
        var mirror = new ValueMirror(server.Server.Engine.Keyspace);
        if (observesFromStart == "yes") server.Server.Engine.Changes.ObserveValues(mirror);
        using var session = server.Server.CreateSession();
        session.Execute("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function(keys, args) redis.call('INCR', keys[1]) return redis.call('SET', keys[2], args[1]) end)");
        var writes = new RandomWrites(20261128, words => session.Execute(words));
        for (int round = 0; round < 20; round++)
        {
            writes.Run(1000);
            session.Execute("SELECT", "0");
            if (round == 4 && observesFromStart != "yes")
            {
                server.Server.Engine.Changes.ObserveValues(mirror);
                server.Server.Engine.Changes.NoteReplaced();
            }

            switch (round % 5)
            {
                case 0:
                    session.Execute("SWAPDB", "0", "3");
                    break;
                case 1:
                    session.Execute("MOVE", "counter", "5");
                    session.Execute("VADD", "v", "VALUES", "2", "1", "2", "element");
                    session.Execute("ARSET", "array", "1", "value");
                    break;
                case 2:
                    long used = server.Server.Engine.Keyspace.UsedBytes;
                    session.Execute("CONFIG", "SET", "maxmemory", (used * 3 / 4).ToString(CultureInfo.InvariantCulture));
                    session.Execute("SET", "n0", "1");
                    break;
                case 3:
                    session.Execute("CONFIG", "SET", "maxmemory", "0");
                    session.Execute(round == 8 ? "FLUSHALL" : "DBSIZE");
                    break;
                default:
                    Assert.Equal("OK", session.Execute("DEBUG", "RELOAD").Text);
                    break;
            }

            if (round >= 4) mirror.AssertEqualsData();
        }

        Assert.True(mirror.Calls > 5000, $"{mirror.Calls} calls");
        Assert.Contains("evicted_keys:", server.Run("INFO stats").Text!, StringComparison.Ordinal);
        Assert.DoesNotContain("evicted_keys:0\r", server.Run("INFO stats").Text!, StringComparison.Ordinal);
        Assert.DoesNotContain("expired_keys:0\r", server.Run("INFO stats").Text!, StringComparison.Ordinal);
    }
}
