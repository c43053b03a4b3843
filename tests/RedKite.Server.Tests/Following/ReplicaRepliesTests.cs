using System.Globalization;
using System.Text;
using RedKite.Server.Replication;
using RedKite.Server.Tests.Durability;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Following;

/// <summary>The replies of a replica are those of a redis-server that follows the same primary: of what has expired, of writes, of stale data.</summary>
public class ReplicaRepliesTests
{
    // What has expired and what has not, of every type. The primary removes nothing.
    private static readonly string[] Data =
    [
        "SET s value PX 1", "SET live value", "SET later value EX 1000", "RPUSH l a b c", "SADD t a b c", "SADD i 1 2 3", "HSET h a 1 b 2", "ZADD z 1 a 2 b", "XADD x 1-1 a 1",
        "PFADD p a b c", "SETBIT b 7 1", "GEOADD g 13 38 a", "PEXPIRE l 1", "PEXPIRE t 1", "PEXPIRE i 1", "PEXPIRE h 1", "PEXPIRE z 1", "PEXPIRE x 1", "PEXPIRE p 1", "PEXPIRE b 1", "PEXPIRE g 1",
        "HSET fields a 1 b 2 c 3", "HPEXPIRE fields 1 FIELDS 2 a b", "HEXPIRE fields 1000 FIELDS 1 c", "HSET allfields a 1 b 2", "HPEXPIRE allfields 1 FIELDS 2 a b",
        "SADD live.set a b c", "SADD single a", "ZADD live.zset 1 a 2 b", "RPUSH live.list a b", "XADD live.stream 1-1 a 1", "XGROUP CREATE live.stream g 0", "PFADD live.hll a b c", "PFCOUNT live.hll", "PFADD uncounted.hll a b c",
        "FUNCTION LOAD \"#!lua name=l\\nredis.register_function('w', function(keys) return redis.call('SET', keys[1], 'x') end)\\nredis.register_function{function_name='r', callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes'}}\"",
    ];

    // Not those that show of Redis what has expired: HLEN, HRANDFIELD, DUMP and MEMORY USAGE.
    private static readonly string[] Reads =
    [
        "GET s", "GET live", "EXISTS s l t h z x live", "TTL s", "PTTL s", "EXPIRETIME s", "PEXPIRETIME s", "TYPE s", "TYPE l", "STRLEN s", "GETRANGE s 0 -1", "MGET s live s", "TOUCH s live", "DBSIZE",
        "OBJECT ENCODING s", "OBJECT ENCODING l", "OBJECT REFCOUNT s", "OBJECT FREQ s", "DUMP s", "DUMP l", "LLEN l", "LRANGE l 0 -1", "LINDEX l 0", "LPOS l a", "SCARD t", "SMEMBERS t", "SISMEMBER t a", "SMISMEMBER t a x",
        "SRANDMEMBER t", "SINTER t live.set", "SINTERCARD 2 t live.set", "SSCAN t 0", "HGETALL h", "HLEN h", "HGET h a", "HKEYS h", "HSCAN h 0", "HRANDFIELD h", "HEXISTS h a",
        "ZRANGE z 0 -1", "ZSCORE z a", "ZCARD z", "ZRANGEBYSCORE z 0 10 WITHSCORES", "ZUNION 2 z live.zset WITHSCORES", "ZINTER 2 z live.zset", "ZDIFF 2 live.zset z", "ZRANDMEMBER z", "ZSCAN z 0", "ZRANK z a", "ZLEXCOUNT z - +",
        "XLEN x", "XRANGE x - +", "XREAD STREAMS x 0", "XINFO STREAM x", "XPENDING x g", "PFCOUNT p", "PFCOUNT p live.hll", "PFCOUNT live.hll", "BITCOUNT b", "GETBIT b 7", "BITPOS b 1", "GEOPOS g a", "GEODIST g a a", "GEOSEARCH g FROMLONLAT 13 38 BYRADIUS 1 km",
        "SORT_RO l ALPHA", "SORT_RO live.list ALPHA BY s", "LCS s live", "BITFIELD_RO b GET u8 0", "SUBSTR s 0 -1",
        "HGETALL fields", "HKEYS fields", "HVALS fields", "HGET fields a", "HGET fields c", "HMGET fields a b c d", "HEXISTS fields a", "HSTRLEN fields a", "HTTL fields FIELDS 3 a b x", "HPEXPIRETIME fields FIELDS 1 a", "HSCAN fields 0", "HSCAN fields 0 NOVALUES",
        "HGETALL allfields", "EXISTS allfields", "TYPE allfields", "HGET allfields a", "HSCAN allfields 0", "HTTL allfields FIELDS 1 a", "OBJECT ENCODING allfields",
        "SCAN 0 MATCH live COUNT 1000", "SCAN 0 COUNT 1000 TYPE list", "KEYS s", "KEYS live", "SELECT 1", "RANDOMKEY", "DBSIZE", "SELECT 0",
        "WATCH s", "MULTI", "GET s", "EXISTS s", "DBSIZE", "EXEC", "DBSIZE", "UNWATCH",
        "EVAL \"return {redis.call('GET', KEYS[1]), redis.call('EXISTS', KEYS[1]), redis.call('DBSIZE')}\" 1 s", "EVAL_RO \"return redis.call('TTL', KEYS[1])\" 1 s", "FCALL_RO r 1 s", "FCALL r 1 live",
    ];

    private static readonly string[] Writes =
    [
        "SET a b", "SET s b", "DEL s", "DEL live", "UNLINK nosuch", "INCR n", "APPEND s x", "GETEX live EX 100", "GETEX live", "GETDEL live", "GETSET live x", "EXPIRE live 10", "PERSIST later", "RENAME live other", "COPY live other", "MOVE live 1",
        "LPUSH l x", "LPOP live.list", "BLPOP live.list 0", "BLPOP nosuch 1", "SADD live.set x", "HSET h a 1", "HDEL fields c", "HEXPIRE fields 1 FIELDS 1 c", "ZADD z 1 a", "ZPOPMIN live.zset", "BZPOPMIN nosuch 1", "XADD x 5-1 a 1", "XREADGROUP GROUP g c STREAMS live.stream >",
        "XREAD BLOCK 1 STREAMS nosuch $", "PFADD live.hll x", "PFMERGE p live.hll", "SETBIT b 1 1", "BITFIELD b SET u8 0 1", "BITFIELD b GET u8 0", "BITOP NOT n b", "SORT live.list STORE n", "SORT live.list ALPHA", "GEORADIUS g 1 1 1 km STORE n", "FLUSHALL", "FLUSHDB", "SWAPDB 0 1",
        "RESTORE n 0 x", "PUBLISH c m", "SPUBLISH c m", "SCRIPT LOAD \"return 1\"", "SCRIPT FLUSH", "FUNCTION LOAD \"#!lua name=m\\nredis.register_function('n', function() end)\"", "FUNCTION DELETE l", "FUNCTION FLUSH", "FUNCTION RESTORE x", "FUNCTION LIST LIBRARYNAME nosuch",
        "EVAL \"return redis.call('SET', KEYS[1], 'x')\" 1 n", "EVAL \"return redis.pcall('SET', KEYS[1], 'x')\" 1 n", "EVAL \"return redis.call('GET', KEYS[1])\" 1 live", "EVAL \"#!lua\\nreturn redis.call('GET', KEYS[1])\" 1 live", "EVAL \"#!lua flags=no-writes\\nreturn redis.call('GET', KEYS[1])\" 1 live",
        "EVAL \"#!lua flags=no-writes\\nreturn redis.call('SET', KEYS[1], 'x')\" 1 live", "EVAL \"return redis.call('PUBLISH', 'c', 'm')\" 0", "FCALL w 1 n", "FCALL r 1 live", "FCALL_RO w 1 n",
        "MULTI", "GET live", "SET a b", "EXEC", "MULTI", "PING", "EXEC", "MULTI", "EVAL \"return redis.call('SET', KEYS[1], 'x')\" 1 n", "EXEC", "WAIT 0 0", "WAITAOF 0 0 0", "REPLICAOF nosuch x", "REPLICAOF nosuch 65536", "REPLICAOF a", "SLAVEOF no two", "EXISTS a n",
    ];

    [Fact]
    public async Task Reads_hide_what_has_expired_and_change_nothing()
    {
        await using Pair pair = await Pair.StartAsync();
        pair.Compare(Reads);
        pair.Compare(Reads);
        Assert.Equal((0, 0), (pair.RedKite.Server.Engine.Keyspace.ExpiredKeys, pair.RedKite.Server.Engine.Keyspace.ExpiredFields));
        pair.AssertSameDigest();
    }

    [Fact]
    public async Task Pfcount_keeps_its_result_in_the_value_and_propagates_nothing()
    {
        await using Pair pair = await Pair.StartAsync();
        string changes = pair.RedKite.Info("rdb_changes_since_last_save");
        pair.Compare(["GET uncounted.hll", "PFCOUNT uncounted.hll", "GET uncounted.hll", "PFCOUNT uncounted.hll", "GET uncounted.hll"]);
        Assert.Equal(changes, pair.RedKite.Info("rdb_changes_since_last_save"));
    }

    [Fact]
    public async Task Writes_of_clients_are_refused()
    {
        await using Pair pair = await Pair.StartAsync();
        pair.Compare(Writes);
        pair.AssertSameDigest();
    }

    [Fact]
    public async Task A_writable_replica_takes_them()
    {
        await using Pair pair = await Pair.StartAsync();
        pair.Both("CONFIG SET replica-read-only no");
        pair.Compare([.. Writes.Where(line => !line.StartsWith("RESTORE", StringComparison.Ordinal))]);
        pair.Compare(["SET own x PX 1000000", "TTL own", "EXISTS own s l h"]);
    }

    [Fact]
    public async Task Stale_data_is_refused_if_the_settings_say_so()
    {
        await using Pair pair = await Pair.StartAsync();
        pair.Both("CONFIG SET replica-serve-stale-data no");
        pair.Compare(["GET live"]);
        pair.Both($"REPLICAOF 127.0.0.1 {LoopbackPort.Next()}");
        pair.Compare(
        [
            "GET live", "SET a b", "PING", "EVAL \"return redis.call('GET', KEYS[1])\" 1 live", "EVAL \"return redis.call('PING')\" 0", "EVAL \"#!lua\\nreturn 1\" 0", "EVAL \"#!lua flags=allow-stale,no-writes\\nreturn 1\" 0", "FCALL r 1 live", "DBSIZE", "MULTI", "PING", "EXEC", "MULTI", "GET live",
            "EXEC", "SUBSCRIBE c", "UNSUBSCRIBE c", "CONFIG GET replica-serve-stale-data", "SELECT 0", "ECHO x", "WATCH live", "KEYS *", "SCRIPT EXISTS x", "CLIENT GETNAME", "PUBLISH a b", "SCAN 0",
        ]);
    }

    // Two replicas of one primary: redis-server and RedKite.
    private sealed class Pair : IAsyncDisposable
    {
        private readonly Oracle _primary;
        private readonly Oracle _redis;
        private RespConnection? _ofRedis;
        private RespConnection? _ofRedKite;

        private Pair()
        {
            string[] arguments = ["--repl-diskless-sync-delay", "0", "--enable-debug-command", "yes", "--save", ""];
            _primary = new Oracle(arguments);
            _redis = new Oracle([.. arguments, "--replicaof", "127.0.0.1", _primary.Port.ToString(CultureInfo.InvariantCulture)]);
        }

        internal DiskServer RedKite { get; private set; } = null!;

        internal static async Task<Pair> StartAsync()
        {
            var pair = new Pair();
            pair._primary.Run("DEBUG", "SET-ACTIVE-EXPIRE", "0");
            pair.RedKite = await DiskServer.StartAsync("replicaof", $"127.0.0.1 {pair._primary.Port}");
            foreach (string line in Data)
            {
                byte[][] words = CommandLine.Split(line);
                Assert.DoesNotContain("ERR", pair._primary.Run([.. words.Select(Encoding.Latin1.GetString)]) as string ?? "", StringComparison.Ordinal);
            }

            pair.RedKite.WaitFor(() => pair.RedKite.Server.Engine.Replication.LinkStatus is { State: ReplicaLinkState.Connected } link && link.AppliedOffset == Offset(pair._primary), "RedKite");
            pair.RedKite.WaitFor(() => Offset(pair._redis) == Offset(pair._primary) && Field(pair._redis, "master_link_status") == "up", "redis-server");
            pair._ofRedis = RespConnection.Connect(pair._redis.Port);
            pair._ofRedKite = RespConnection.Connect(pair.RedKite.Server.Port);
            foreach (RespConnection connection in (RespConnection[])[pair._ofRedis, pair._ofRedKite])
            {
                pair.RedKite.WaitFor(() => connection.Run("EVAL \"return redis.call('EXISTS', 's', 'g') == 0 and #redis.call('HGETALL', 'allfields') == 0 and 'gone'\" 0").Text == "gone", "expiry");
            }

            return pair;
        }

        internal void Both(string line)
        {
            Assert.Equal("OK", _ofRedis!.Run(line).Text);
            Assert.Equal("OK", _ofRedKite!.Run(line).Text);
        }

        internal void Compare(string[] lines)
        {
            var differences = new StringBuilder();
            foreach (string line in lines)
            {
                _ofRedis!.Run(line);
                _ofRedKite!.Run(line);
                string expected = Text(_ofRedis.LastBytes), actual = Text(_ofRedKite.LastBytes);
                if (expected != actual) differences.Append(CultureInfo.InvariantCulture, $"\n{line}\n  redis   {expected}\n  RedKite {actual}");
            }

            Assert.True(differences.Length == 0, differences.ToString());
        }

        // Not that of redis-server as a replica: its PFCOUNT changes the value that it reads.
        internal void AssertSameDigest() => Assert.Equal(_primary.RunText("DEBUG", "DIGEST"), RedKite.Digest());

        public async ValueTask DisposeAsync()
        {
            _ofRedis?.Dispose();
            _ofRedKite?.Dispose();
            if (RedKite is not null) await RedKite.DisposeAsync();
            _redis.Dispose();
            _primary.Dispose();
        }

        private static string Text(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes).Replace("\r\n", "|", StringComparison.Ordinal);

        private static long Offset(Oracle server) => long.Parse(Field(server, "master_repl_offset"), CultureInfo.InvariantCulture);

        private static string Field(Oracle server, string field) => server.RunText("INFO", "replication").Split("\r\n").FirstOrDefault(line => line.StartsWith(field + ":", StringComparison.Ordinal))?[(field.Length + 1)..] ?? "";
    }
}
