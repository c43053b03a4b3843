using System.Buffers;
using RedKite.Testing;

namespace RedKite.Server.Tests.Commands;

/// <summary>Hot commands allocate nothing on the managed heap once buffers and code are warm.</summary>
public sealed class HotCommandAllocationTests : IAsyncLifetime
{
    private const int Commands = 10_000;
    private const int WarmUpRounds = 3;
    private const int MeasuredRounds = 5;

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData("GET hit")]
    [InlineData("GET miss")]
    [InlineData("SET hit other")]
    [InlineData("SET hit other EX 100")]
    [InlineData("SET hit other NX GET")]
    [InlineData("SETEX hit 100 other")]
    [InlineData("SETNX hit other")]
    [InlineData("GETEX hit PX 100000")]
    [InlineData("GETDEL miss")]
    [InlineData("GETSET hit other")]
    [InlineData("INCR count")]
    [InlineData("DECRBY count 3")]
    [InlineData("INCRBYFLOAT float 0.25")]
    [InlineData("MGET hit miss count")]
    [InlineData("MSET hit one count 2")]
    [InlineData("MSETNX hit one count 2")]
    [InlineData("APPEND grows x")]
    [InlineData("STRLEN hit")]
    [InlineData("SETRANGE hit 2 x")]
    [InlineData("GETRANGE hit 1 2")]
    [InlineData("SETBIT hit 30 1")]
    [InlineData("GETBIT hit 30")]
    [InlineData("BITCOUNT hit 0 -1 BIT")]
    [InlineData("BITPOS hit 1 0 -1 BIT")]
    [InlineData("BITOP XOR grows grows hit")]
    [InlineData("BITOP AND other hit grows miss")]
    [InlineData("BITFIELD hit OVERFLOW SAT INCRBY i13 5 7 GET u9 #1")]
    [InlineData("PFADD distinct a b c")]
    [InlineData("PFCOUNT distinct")]
    [InlineData("SADD members a b 3")]
    [InlineData("SREM members nothing")]
    [InlineData("SISMEMBER members a")]
    [InlineData("SMEMBERS members")]
    [InlineData("SRANDMEMBER members 2")]
    [InlineData("SRANDMEMBER members -5")]
    [InlineData("SMOVE members others b")]
    [InlineData("SINTER members others")]
    [InlineData("SUNION members others")]
    [InlineData("SINTERSTORE result members others")]
    [InlineData("SUNIONSTORE result members others")]
    [InlineData("RPUSH list member")]
    [InlineData("LPUSH list member")]
    [InlineData("LPOP list")]
    [InlineData("RPOP list 2")]
    [InlineData("LRANGE list 0 2")]
    [InlineData("LINDEX list -1")]
    [InlineData("LSET list 1 other")]
    [InlineData("LPOS list b")]
    [InlineData("LMOVE list list LEFT RIGHT")]
    [InlineData("EXPIRE hit 100")]
    [InlineData("TTL hit")]
    [InlineData("EXISTS hit miss")]
    [InlineData("ZADD sorted 2.5 b 1 a")]
    [InlineData("ZADD tree 2.5 m7 1 m8")]
    [InlineData("ZINCRBY tree 1.5 m9")]
    [InlineData("ZREM sorted nosuch")]
    [InlineData("ZSCORE tree m3")]
    [InlineData("ZRANK tree m3")]
    [InlineData("ZRANGE tree 3 5 WITHSCORES")]
    [InlineData("ZRANGE sorted 0 -1")]
    [InlineData("ZRANGEBYSCORE tree (2 5 LIMIT 1 1")]
    [InlineData("ZCOUNT tree 1 3")]
    [InlineData("ZUNION 2 sorted sorted")]
    [InlineData("ZINTERSTORE stored 2 tree tree")]
    [InlineData("ZRANDMEMBER tree 2")]
    [InlineData("GEOADD geo 13.361389 38.115556 palermo")]
    [InlineData("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST")]
    [InlineData("XADD stream * field1 value field2 42")]
    [InlineData("XADD stream MAXLEN ~ 100 * field1 value other 42")]
    [InlineData("XLEN stream")]
    [InlineData("XRANGE stream - + COUNT 1")]
    [InlineData("XREVRANGE stream 3 - COUNT 1")]
    [InlineData("XREAD COUNT 1 STREAMS stream 0")]
    [InlineData("XREADGROUP GROUP group consumer COUNT 1 STREAMS stream 0")]
    [InlineData("XREADGROUP GROUP group consumer COUNT 1 STREAMS stream >")]
    [InlineData("XPENDING stream group - + 1")]
    [InlineData("XACK stream group 1-1 3-1")]
    [InlineData("XCLAIM stream group consumer 0 1-1 FORCE")]
    [InlineData("HSET hash field other")]
    [InlineData("HSET table f7 other")]
    [InlineData("HGET hash field")]
    [InlineData("HGET table f7")]
    [InlineData("HMGET table f7 f8 nosuch")]
    [InlineData("HEXISTS table f7")]
    [InlineData("HINCRBY table count 1")]
    [InlineData("HINCRBYFLOAT hash float 0.25")]
    [InlineData("HDEL table nosuch")]
    [InlineData("HGETALL hash")]
    [InlineData("HRANDFIELD table 2")]
    [InlineData("HSCAN hash 0")]
    [InlineData("HEXPIRE table 100 FIELDS 1 f9")]
    [InlineData("HTTL table FIELDS 1 f9")]
    [InlineData("DUMP hit")]
    [InlineData("DUMP list")]
    [InlineData("DUMP sorted")]
    [InlineData("DUMP hash")]
    [InlineData("RESTORE restored 0 \"\\x00\\xc0\\xf9\\x0a\\x00\\x5e\\x26\\xd1\\x30\\xd7\\xa2\\x42\\xab\" REPLACE")]
    [InlineData("RESTORE restored 0 \"\\x10\\x15\\x15\\x00\\x00\\x00\\x06\\x00\\x81\\x66\\x02\\x81\\x76\\x02\\x11\\x01\\x03\\x01\\x80\\x01\\x80\\x01\\xff\\x0a\\x00\\xfd\\xa5\\x55\\x47\\x9d\\x01\\xc3\\xbb\" REPLACE")]
    [InlineData("RESTORE restored 0 \"\\x11\\x2a\\x2a\\x00\\x00\\x00\\x08\\x00\\x81\\x63\\x02\\x84\\x2d\\x32\\x2e\\x35\\x05\\x81\\x61\\x02\\x01\\x01\\x81\\x64\\x02\\xf4\\x00\\x00\\x8a\\x5d\\x78\\x45\\x63\\x01\\x09\\x81\\x62\\x02\\x83\\x69\\x6e\\x66\\x04\\xff\\x0a\\x00\\x55\\x2e\\x25\\x8e\\xab\\x8e\\x51\\xe1\" REPLACE")]
    public void Ten_thousand_pipelined_commands_allocate_nothing(string line)
    {
        _transcript.Run("MSET hit value count 1000000 float 1.5 grows x").IsOk();
        _transcript.Run("SADD others a b c 1 2 3").IsInteger(6);
        _transcript.Run("ZADD sorted 1 a 2 b").IsInteger(2);
        _transcript.Run("ZADD tree " + string.Join(' ', Enumerable.Range(0, 10).Select(i => $"{i} m{i}")) + " 5 " + new string('x', 65)).IsInteger(11);
        _transcript.Run("DEL list");
        _transcript.Run("RPUSH list a b c").IsInteger(3);
        for (int i = 1; i <= 5; i++) _transcript.Run($"XADD stream {i}-1 field1 value field2 12.5");
        _transcript.Run("XGROUP CREATE stream group 0").IsOk();
        _transcript.Run("XREADGROUP GROUP group consumer COUNT 3 STREAMS stream >");
        _transcript.Run("HSET hash field value count 1").IsInteger(2);
        for (int i = 0; i < 600; i++) _transcript.Run($"HSET table f{i} value").IsInteger(1);
        byte[] one = CommandLine.Encode(CommandLine.Split(line));
        byte[] pipeline = new byte[one.Length * Commands];
        for (int i = 0; i < Commands; i++) one.CopyTo(pipeline, i * one.Length);
        var replies = new ArrayBufferWriter<byte>(4 * 1024 * 1024);

        // The minimum of several rounds: a collection caused by another test discards the rest of this thread's allocation
        // buffer, which counts as allocated. Allocations of the command itself occur in every round.
        long allocated = long.MaxValue;
        for (int round = 0; round < WarmUpRounds + MeasuredRounds; round++)
        {
            replies.ResetWrittenCount();
            long before = GC.GetAllocatedBytesForCurrentThread();
            int executed = _transcript.Client.Execute(pipeline, replies);
            long inRound = GC.GetAllocatedBytesForCurrentThread() - before;
            Assert.Equal(pipeline.Length, executed);
            if (round >= WarmUpRounds) allocated = Math.Min(allocated, inRound);
        }

        Assert.Equal(0, allocated);
    }
}
