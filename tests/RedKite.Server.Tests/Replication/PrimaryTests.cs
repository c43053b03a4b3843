using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>A server as the primary of redis-server 8.0.2: what it copies, streams, and reports.</summary>
public class PrimaryTests
{
    private static readonly string[] Writes =
    [
        "SET s:1 value", "SET n:1 41", "INCR n:1", "INCRBYFLOAT f:1 1.5", "APPEND s:1 more", "SETRANGE s:1 2 xyz", "SETBIT bits 77 1", "BITFIELD bits SET u8 0 200", "PFADD hll a b c d",
        "GETDEL s:none", "SET x:1 v EX 10000", "GETEX x:1 PX 9000000", "SETEX x:2 9000 v", "MSET m:1 a m:2 b m:3 c", "MSETNX m:4 a m:5 b", "SET cond v NX", "SET cond w XX GET",
        "RPUSH l:1 a b c d e", "LPOP l:1 2", "LINSERT l:1 BEFORE d x", "LMOVE l:1 l:2 LEFT RIGHT", "LMPOP 2 l:1 l:2 LEFT COUNT 1", "LTRIM l:1 0 5", "RPUSH l:3 1 3 2", "SORT l:3 STORE l:4",
        "HSET h:1 a 1 b 2 c 3", "HINCRBY h:1 a 5", "HINCRBYFLOAT h:1 b 0.5", "HDEL h:1 c", "HEXPIRE h:1 5000 FIELDS 1 a", "HPERSIST h:1 FIELDS 1 a", "HSETEX h:2 EX 9000 FIELDS 1 f v", "HGETDEL h:1 FIELDS 1 b",
        "SADD st:1 a b c d e f", "SPOP st:1", "SPOP st:1 2", "SMOVE st:1 st:2 a", "SADD st:3 1 2 3 4", "SINTERSTORE st:4 st:3 st:3", "SUNIONSTORE st:5 st:1 st:3",
        "ZADD z:1 1 a 2.5 b 3 c 4 d", "ZINCRBY z:1 2 a", "ZPOPMIN z:1", "ZADD z:2 GT CH 5 b", "ZUNIONSTORE z:3 2 z:1 z:2 WEIGHTS 2 3", "ZRANGESTORE z:4 z:1 0 1", "ZMPOP 1 z:3 MAX", "GEOADD geo 13.361389 38.115556 Palermo 15.087269 37.502669 Catania", "GEOSEARCHSTORE geo:2 geo FROMLONLAT 15 37 BYRADIUS 200 km",
        "XADD str:1 * a 1 b 2", "XADD str:1 MAXLEN ~ 1000 * c 3", "XADD str:1 NOMKSTREAM 9999999999999-1 a 5", "XGROUP CREATE str:1 g 0", "XREADGROUP GROUP g one COUNT 2 STREAMS str:1 >", "XGROUP CREATECONSUMER str:1 g two", "XTRIM str:1 MAXLEN 2", "XDEL str:1 9999999999999-1", "XSETID str:1 9999999999999-5",
        "COPY l:1 l:copy", "RENAME l:4 l:renamed", "EXPIRE l:renamed 8000", "PERSIST x:2", "MOVE cond 5", "SELECT 7", "SET other database", "SWAPDB 7 8", "SELECT 0", "DEL m:2 m:3", "UNLINK m:4",
        "EVAL \"redis.call('SET', KEYS[1], 'by script') redis.call('INCR', 'n:script') return redis.call('SPOP', 'st:3')\" 1 scripted",
        "FUNCTION LOAD \"#!lua name=lib\\nredis.register_function('f', function(keys) return redis.call('INCR', keys[1]) end)\"", "FCALL f 1 n:function",
        "MULTI", "INCR n:1", "SELECT 3", "LPUSH in:3 a", "SELECT 0", "EXEC", "RESTORE restored 0 \"\\x00\\x01a\\x0b\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\" REPLACE",
    ];

    [Fact]
    public async Task Replica_gets_all_data_and_then_the_stream()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        RandomData.Fill(primary.Client, new Random(1), keys: 60, hasFieldExpiry: true);
        primary.Client.Run("SELECT 0").IsOk();
        foreach (string write in Writes) primary.Client.Run(write);
        Oracle replica = primary.Follow();
        primary.WaitForOnline(1);
        primary.AssertEqual(replica);
        foreach (string write in Writes) primary.Client.Run(write);
        primary.AssertEqual(replica);
        Assert.Equal(primary.Client.Run("FUNCTION LIST").Items.Count, replica.Run("FUNCTION", "LIST") is List<object?> libraries ? libraries.Count : 0);
        primary.Client.Run("FLUSHDB").IsOk();
        primary.AssertEqual(replica);
        primary.Client.Run("FUNCTION FLUSH").IsOk();
        primary.Client.Run("FLUSHALL").IsOk();
        primary.AssertEqual(replica);
        Assert.Empty((List<object?>)replica.Run("FUNCTION", "LIST")!);
    }

    [Fact]
    public async Task Replicas_that_lose_their_connection_go_on_where_they_were()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        Oracle replica = primary.Follow();
        primary.WaitForOnline(1);
        for (int i = 1; i <= 2; i++)
        {
            primary.Client.Run("SET key " + i).IsOk();
            Assert.Equal(1, primary.Client.Run("CLIENT KILL TYPE replica").Number);
            primary.Client.Run("SELECT 9").IsOk();
            primary.Client.Run("SET while " + i).IsOk();
            primary.Client.Run("SELECT 0").IsOk();
            int expected = i;
            primary.WaitFor(() => primary.Server.Parts.Replicas.Counts.Partial == expected, "the replica's return");
            primary.AssertEqual(replica);
        }

        Assert.Equal("1", primary.Info("sync_full", "stats"));
        Assert.Equal("2", primary.Info("sync_partial_ok", "stats"));
        Assert.Equal("0", primary.Info("sync_partial_err", "stats"));
    }

    [Fact]
    public async Task Replica_whose_offset_is_not_kept_gets_all_data_again()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("repl-backlog-size", "16384");
        Oracle replica = primary.Follow();
        primary.WaitForOnline(1);
        primary.Client.Run("SET a 1").IsOk();
        primary.WaitForAll();
        replica.Run("REPLICAOF", "127.0.0.1", LoopbackPort.Next().ToString(System.Globalization.CultureInfo.InvariantCulture));
        primary.WaitFor(() => primary.Server.Parts.Replicas.Replicas.Count == 0, "the end of the connection");
        string value = new('x', 10_000);
        for (int i = 0; i < 60; i++) primary.Client.Run($"SET large:{i} {value}").IsOk();
        replica.Run("REPLICAOF", "127.0.0.1", primary.Server.Port.ToString(System.Globalization.CultureInfo.InvariantCulture));
        primary.WaitFor(() => primary.Server.Parts.Replicas.Counts.Full == 2, "the second synchronization");
        primary.WaitForOnline(1);
        primary.AssertEqual(replica);
        Assert.Equal("1", primary.Info("sync_partial_err", "stats"));
        Assert.Equal("16384", primary.Info("repl_backlog_histlen"));
    }

    [Fact]
    public async Task Replicas_that_wait_share_one_synchronization()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("repl-diskless-sync-delay", "3600", "repl-diskless-sync-max-replicas", "3");
        RandomData.Fill(primary.Client, new Random(2), keys: 20, hasFieldExpiry: true);
        Oracle[] replicas = [primary.Follow(), primary.Follow(), primary.Follow()];
        primary.WaitForOnline(3);
        Assert.Equal(1, primary.Server.Parts.Durability.SnapshotPoints);
        foreach (Oracle replica in replicas) primary.AssertEqual(replica);
    }

    [Fact]
    public async Task Wait_counts_replicas_that_have_the_clients_writes()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        primary.Client.Run("WAIT 1 1").IsInteger(0);
        Oracle one = primary.Follow("--appendonly", "yes", "--appendfsync", "always"), two = primary.Follow();
        primary.WaitForOnline(2);
        primary.Client.Run("SET a 1").IsOk();
        primary.Client.Run("WAIT 2 0").IsInteger(2);
        primary.Client.Run("WAIT 0 0").IsInteger(2);
        two.Run("CLIENT", "PAUSE", "0");
        primary.Client.Run("WAIT 3 1").IsInteger(2);
        primary.Client.Run("SET a 2").IsOk();
        primary.Client.Run("WAITAOF 0 1 0").IsIntegers(0, 1);
        primary.Client.Run("WAITAOF 1 0 0").IsError("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
        primary.Client.Run("MULTI").IsOk();
        primary.Client.Run("WAIT 2 0");
        Assert.Equal('*', primary.Client.Run("EXEC").Marker);
        using RedKiteSession inProcess = primary.Server.CreateSession();
        inProcess.Execute("SET", "b", "1");
        Assert.Equal(2, inProcess.Execute("WAIT", "2", "0").Integer);
        GC.KeepAlive(one);
    }

    [Fact]
    public async Task Stream_is_held_with_other_output_until_the_log_is_synced()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("appendonly", "yes", "appendfsync", "always");
        Oracle replica = primary.Follow();
        primary.WaitForOnline(1);
        foreach (string write in Writes) primary.Client.Run(write);
        primary.AssertEqual(replica);
        using RedKiteSession inProcess = primary.Server.CreateSession();
        for (int i = 0; i < 100; i++) inProcess.Execute("SET", "by the host", i.ToString(System.Globalization.CultureInfo.InvariantCulture));
        primary.AssertEqual(replica);
        primary.Client.Run("SET a 1").IsOk();
        primary.Client.Run("WAITAOF 1 0 0").IsIntegers(1, 0);
    }

    [Fact]
    public async Task Writes_need_min_replicas()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync("min-replicas-to-write", "1");
        const string Refused = "NOREPLICAS Not enough good replicas to write.";
        primary.Client.Run("SET a 1").IsError(Refused);
        primary.Client.Run("GET a").IsNull();
        primary.Client.Run("PING").IsSimple("PONG");
        primary.Client.Run("EVAL \"return redis.pcall('SET', 'a', '1')\" 0").IsError(Refused);
        Oracle replica = primary.Follow();
        primary.WaitForOnline(1);
        primary.WaitFor(() => !primary.Client.Run("SET a 1").IsError, "the replica");
        Assert.Equal("1", primary.Info("min_slaves_good_slaves"));
        primary.AssertEqual(replica);
        primary.Client.Run("CONFIG SET min-slaves-to-write 2").IsOk();
        primary.Client.Run("SET a 1").IsError(Refused);
        primary.Client.Run("CONFIG SET min-replicas-to-write 0").IsOk();
        primary.Client.Run("SET a 1").IsOk();
    }

    [Fact]
    public async Task Messages_reach_subscribers_of_replicas()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        Oracle replica = primary.Follow();
        primary.WaitForOnline(1);
        RespConnection subscriber = primary.ConnectTo(replica);
        subscriber.Run("SUBSCRIBE news");
        primary.Client.Run("PUBLISH news hello").IsInteger(0);
        Assert.Equal("hello", subscriber.ReadAny().Items[2].Text);
        primary.Client.Run("MULTI").IsOk();
        primary.Client.Run("PUBLISH news again");
        primary.Client.Run("SET a 1");
        primary.Client.Run("EXEC");
        Assert.Equal("again", subscriber.ReadAny().Items[2].Text);
        primary.AssertEqual(replica);
    }

    [Fact]
    public async Task Reports_are_those_of_a_redis_primary()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var redis = new Oracle("--save", "", "--repl-diskless-sync-delay", "0");
        using var follower = new Oracle("--save", "", "--replicaof", "127.0.0.1", redis.Port.ToString(System.Globalization.CultureInfo.InvariantCulture));
        primary.Follow();
        primary.WaitForOnline(1);
        primary.WaitFor(() => redis.RunText("INFO", "replication").Contains("state=online", StringComparison.Ordinal), "the other replica");
        Assert.Equal(Names(redis.RunText("INFO", "replication")), Names(primary.Client.Run("INFO replication").Text));
        RespValue role = primary.Client.Run("ROLE");
        primary.Client.Run("SET a 1").IsOk();
        Assert.Equal(["master", "127.0.0.1"], [role.Items[0].Text, role.Items[2].Items[0].Items[0].Text]);
        Assert.Equal(3, role.Items[2].Items[0].Items.Count);
        string line = primary.Client.Run("CLIENT LIST TYPE replica").Text;
        Assert.Contains(" flags=S ", line, StringComparison.Ordinal);
        Assert.Contains(" cmd=", line, StringComparison.Ordinal);
        Assert.Equal(1, line.Count(static c => c == '\n'));
        Assert.NotEqual("0", primary.Info("mem_replication_backlog", "memory"));

        static List<string> Names(string info) => [.. info.Split("\r\n").Select(static line => line.Split(':')[0])];
    }

    [Fact]
    public async Task Replies_are_those_of_redis()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        using var redis = new Oracle("--save", "");
        foreach (string request in (string[])
        [
            "REPLCONF",
            "REPLCONF a",
            "REPLCONF foo bar",
            "REPLCONF listening-port abc",
            "REPLCONF listening-port 6380 ip-address 1.2.3.4 capa eof capa psync2 capa other",
            "REPLCONF rdb-only 2",
            "REPLCONF rdb-only x",
            "REPLCONF rdb-only 1",
            "REPLCONF rdb-filter-only xx",
            "REPLCONF rdb-filter-only functions",
            "PSYNC a",
            "PSYNC ? b",
            "PSYNC ? -1 FAILOVER",
            "ROLE",
        ])
        {
            using RespConnection client = primary.Connect(), oracle = primary.ConnectTo(redis);
            Assert.Equal((request, oracle.Run(request).ToString()), (request, client.Run(request).ToString()));
        }
    }

    [Fact]
    public async Task Pending_output_and_transactions_refuse_to_become_a_replica()
    {
        await using ReplicatedServer primary = await ReplicatedServer.StartAsync();
        primary.Client.Send("PING\r\nPSYNC ? -1\r\n");
        primary.Client.Read().IsSimple("PONG");
        primary.Client.Read().IsError("ERR SYNC and PSYNC are invalid with pending output");
        primary.Client.Run("MULTI").IsOk();
        primary.Client.Run("PSYNC ? -1").IsError("ERR Command not allowed inside a transaction");
        primary.Client.Run("DISCARD");
        primary.Client.Send("REPLCONF ACK 5\r\nREPLCONF GETACK *\r\nPING\r\n"); // neither has a reply
        primary.Client.Read().IsSimple("PONG");
    }
}
