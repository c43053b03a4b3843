using System.Buffers;
using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// Hot commands allocate nothing on the managed heap once buffers and code are warm. Each case is one command, or several that
/// undo each other, so that every repetition does the same work; the replies of all repetitions prove it (# is any text).
/// </summary>
public sealed class HotCommandAllocationTests : IAsyncLifetime
{
    private const int Commands = 10_000;
    private const int WarmUpRounds = 3;
    private const int MeasuredRoundsMax = 60;

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData("GET hit", "$value")]
    [InlineData("GET miss", "$(null)")]
    [InlineData("SET hit other", "+OK")]
    [InlineData("SET hit other EX 100", "+OK")]
    [InlineData("SET hit value XX GET", "$value")]
    [InlineData("SET fresh value NX GET ; DEL fresh", "$(null) :1")]
    [InlineData("SETEX hit 100 other", "+OK")]
    [InlineData("SETNX fresh other ; DEL fresh", ":1 :1")]
    [InlineData("GETEX hit PX 100000", "$value")]
    [InlineData("GETDEL hit ; SET hit value", "$value +OK")]
    [InlineData("GETSET hit value", "$value")]
    [InlineData("SET count 10 ; INCR count ; DECRBY count 3", "+OK :11 :8")]
    [InlineData("SET float 1.5 ; INCRBYFLOAT float 0.25", "+OK $1.75")]
    [InlineData("MGET hit miss count", "*[$value $(null) $1000000]")]
    [InlineData("MSET hit one count 2", "+OK")]
    [InlineData("MSETNX fresh one other 2 ; DEL fresh other", ":1 :2")]
    [InlineData("SET grows x ; APPEND grows yz", "+OK :3")]
    [InlineData("STRLEN hit", ":5")]
    [InlineData("SETRANGE hit 2 x", ":5")]
    [InlineData("GETRANGE hit 1 2", "$al")]
    [InlineData("SETBIT hit 30 1 ; SETBIT hit 30 0", ":0 :1")]
    [InlineData("GETBIT hit 30", ":0")]
    [InlineData("BITCOUNT hit 0 -1 BIT", ":21")]
    [InlineData("BITPOS hit 1 0 -1 BIT", ":1")]
    [InlineData("BITOP XOR result grows hit", ":5")]
    [InlineData("BITOP AND result hit grows miss", ":5")]
    [InlineData("BITFIELD hit SET i13 5 7 OVERFLOW SAT INCRBY i13 5 7 GET u9 #1 ; SETRANGE hit 0 value", "*[:-1659 :14 :14] :5")]
    [InlineData("PFADD fresh a b c ; DEL fresh", ":1 :1")]
    [InlineData("PFCOUNT distinct", ":3")]
    [InlineData("SADD members c ; SREM members c", ":1 :1")]
    [InlineData("SISMEMBER members a", ":1")]
    [InlineData("SMEMBERS members", "*[$a $b $3]")]
    [InlineData("SRANDMEMBER members 2", "*[$# $#]")]
    [InlineData("SRANDMEMBER members -5", "*[$# $# $# $# $#]")]
    [InlineData("SPOP single ; SADD single a", "$a :1")]
    [InlineData("SMOVE members others b ; SMOVE others members b", ":1 :1")]
    [InlineData("SINTER members others", "*[$a $3]")]
    [InlineData("SUNION members others", "*[$a $c $1 $2 $3 $b]")]
    [InlineData("SINTERSTORE result members others", ":2")]
    [InlineData("SUNIONSTORE result members others", ":6")]
    [InlineData("RPUSH list x ; RPOP list ; LPUSH list x ; LPOP list", ":4 $x :4 $x")]
    [InlineData("RPUSH list x y ; RPOP list 2", ":5 *[$y $x]")]
    [InlineData("LRANGE list 0 2", "*[$a $b $c]")]
    [InlineData("LINDEX list -1", "$c")]
    [InlineData("LSET list 1 other ; LSET list 1 b", "+OK +OK")]
    [InlineData("LPOS list b", ":1")]
    [InlineData("LMOVE list list LEFT RIGHT ; LMOVE list list RIGHT LEFT", "$a $a")]
    [InlineData("EXPIRE hit 100 ; TTL hit", ":1 :100")]
    [InlineData("EXISTS hit miss", ":1")]
    [InlineData("ZADD sorted CH 2.5 b 1 a ; ZADD sorted CH 3 b 1 a", ":1 :1")]
    [InlineData("ZADD tree CH 2.5 m7 1 m8 ; ZADD tree CH 7 m7 8 m8", ":2 :2")]
    [InlineData("ZINCRBY tree 1.5 m9 ; ZINCRBY tree -1.5 m9", "$10.5 $9")]
    [InlineData("ZADD sorted 5 c ; ZREM sorted c", ":1 :1")]
    [InlineData("ZSCORE tree m3", "$3")]
    [InlineData("ZRANK tree m3", ":3")]
    [InlineData("ZRANGE tree 3 5 WITHSCORES", "*[$m3 $3 $m4 $4 $m5 $5]")]
    [InlineData("ZRANGE sorted 0 -1", "*[$a $b]")]
    [InlineData("ZRANGEBYSCORE tree (2 5 LIMIT 1 1", "*[$m4]")]
    [InlineData("ZCOUNT tree 1 3", ":3")]
    [InlineData("ZUNION 2 sorted sorted", "*[$a $b]")]
    [InlineData("ZINTERSTORE stored 2 tree tree", ":11")]
    [InlineData("ZRANDMEMBER tree 2", "*[$# $#]")]
    [InlineData("GEOADD geo CH 13 38 palermo ; GEOADD geo CH 13.361389 38.115556 palermo", ":1 :1")]
    [InlineData("GEOSEARCH geo FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST", "*[*[$catania $56.4413] *[$palermo $190.4424]]")]
    [InlineData("XADD stream * field1 value field2 42", "$#-#")]
    [InlineData("XADD stream MAXLEN ~ 100 * field1 value other 42", "$#-#")]
    [InlineData("XLEN stream", ":5")]
    [InlineData("XRANGE stream - + COUNT 1", "*[*[$1-1 *[$field1 $value $field2 $12.5]]]")]
    [InlineData("XREVRANGE stream 3 - COUNT 1", "*[*[$3-1 *[$field1 $value $field2 $12.5]]]")]
    [InlineData("XREAD COUNT 1 STREAMS stream 0", "*[*[$stream *[*[$1-1 *[$field1 $value $field2 $12.5]]]]]")]
    [InlineData("XREADGROUP GROUP group consumer COUNT 1 STREAMS stream 0", "*[*[$stream *[*[$1-1 *[$field1 $value $field2 $12.5]]]]]")]
    [InlineData("XADD stream * field1 value field2 12.5 ; XREADGROUP GROUP group consumer COUNT 1 STREAMS stream >", "$#-# *[*[$stream *[*[$#-# *[$field1 $value $field2 $12.5]]]]]")]
    [InlineData("XPENDING stream group - + 1", "*[*[$1-1 $consumer :# :1]]")]
    [InlineData("XCLAIM stream group consumer 0 1-1 FORCE ; XACK stream group 1-1", "*[*[$1-1 *[$field1 $value $field2 $12.5]]] :1")]
    [InlineData("HSET hash field other", ":0")]
    [InlineData("HSET table f7 other", ":0")]
    [InlineData("HSET hash fresh other ; HDEL hash fresh", ":1 :1")]
    [InlineData("HSET table fresh other ; HDEL table fresh", ":1 :1")]
    [InlineData("HGET hash field", "$value")]
    [InlineData("HGET table f7", "$value")]
    [InlineData("HMGET table f7 f8 nosuch", "*[$value $value $(null)]")]
    [InlineData("HEXISTS table f7", ":1")]
    [InlineData("HINCRBY table count 1 ; HINCRBY table count -1", ":11 :10")]
    [InlineData("HINCRBYFLOAT hash float 0.25 ; HINCRBYFLOAT hash float -0.25", "$1.75 $1.5")]
    [InlineData("HGETALL hash", "*[$field $value $float $1.5]")]
    [InlineData("HRANDFIELD table 2", "*[$# $#]")]
    [InlineData("HSCAN hash 0", "*[$0 *[$field $value $float $1.5]]")]
    [InlineData("HEXPIRE table 100 FIELDS 1 f9 ; HTTL table FIELDS 1 f9 ; HPERSIST table FIELDS 1 f9", "*[:1] *[:100] *[:1]")]
    [InlineData("SEXPIRE members 100 MEMBERS 1 a ; STTL members MEMBERS 1 a ; SPERSIST members MEMBERS 1 a", "*[:1] *[:100] *[:1]")]
    [InlineData("SADDEX members EX 100 MEMBERS 2 a d ; SREM members d ; SADDEX members MEMBERS 1 a", ":1 :1 :1")]
    [InlineData("ARSET array 5 x 12 a-text-of-a-block ; ARDELRANGE array 7 5", ":3 :3")]
    [InlineData("ARMSET array 70000 x 3 y ; ARDEL array 70000 3", ":2 :2")]
    [InlineData("ARGET array 1", "$element")]
    [InlineData("ARMGET array 0 1 2", "*[$12 $element $(null)]")]
    [InlineData("ARGETRANGE array 2 0", "*[$(null) $element $12]")]
    [InlineData("ARSCAN array 0 100 LIMIT 1", "*[*[:0 $12]]")]
    [InlineData("ARSEEK array 8 ; ARINSERT array x ; ARDEL array 8", ":1 :8 :1")]
    [InlineData("ARRING ring 3 a b c", ":2")]
    [InlineData("ARLASTITEMS ring 2", "*[$# $#]")]
    [InlineData("AROP array 0 100 SUM", "$12")]
    [InlineData("VADD vectors VALUES 3 1 2 3 new ; VREM vectors new", ":1 :1")]
    [InlineData("VADD vectors FP32 abcdabcdabcd new ; VREM vectors new", ":1 :1")]
    [InlineData("VADD vectors VALUES 3 1 2 3 a", ":0")]
    [InlineData("VSIM vectors ELE a COUNT 2", "*[$# $#]")]
    [InlineData("VSIM vectors VALUES 3 1 2 3 COUNT 2", "*[$# $#]")]
    [InlineData("VCARD vectors", ":20")]
    [InlineData("DUMP array", "$#element#")]
    [InlineData("DUMP hit", "$#value#")]
    [InlineData("DUMP list", "$#a#b#c#")]
    [InlineData("DUMP sorted", "$#a#b#")]
    [InlineData("DUMP hash", "$#field#value#")]
    [InlineData("RESTORE restored 0 \"\\x00\\xc0\\xf9\\x0a\\x00\\x5e\\x26\\xd1\\x30\\xd7\\xa2\\x42\\xab\" REPLACE", "+OK")]
    [InlineData("RESTORE restored 0 \"\\x10\\x15\\x15\\x00\\x00\\x00\\x06\\x00\\x81\\x66\\x02\\x81\\x76\\x02\\x11\\x01\\x03\\x01\\x80\\x01\\x80\\x01\\xff\\x0a\\x00\\xfd\\xa5\\x55\\x47\\x9d\\x01\\xc3\\xbb\" REPLACE", "+OK")]
    [InlineData("RESTORE restored 0 \"\\x11\\x2a\\x2a\\x00\\x00\\x00\\x08\\x00\\x81\\x63\\x02\\x84\\x2d\\x32\\x2e\\x35\\x05\\x81\\x61\\x02\\x01\\x01\\x81\\x64\\x02\\xf4\\x00\\x00\\x8a\\x5d\\x78\\x45\\x63\\x01\\x09\\x81\\x62\\x02\\x83\\x69\\x6e\\x66\\x04\\xff\\x0a\\x00\\x55\\x2e\\x25\\x8e\\xab\\x8e\\x51\\xe1\" REPLACE", "+OK")]
    public void Ten_thousand_pipelined_commands_allocate_nothing(string lines, string replies)
    {
        Prepare();
        byte[][] commands = [.. lines.Split(" ; ").Select(line => CommandLine.Encode(CommandLine.Split(line)))];
        int repetitions = Commands / commands.Length;
        byte[] pipeline = [.. Enumerable.Repeat(commands.SelectMany(bytes => bytes).ToArray(), repetitions).SelectMany(bytes => bytes)];
        var output = new ArrayBufferWriter<byte>(4 * 1024 * 1024);

        // Until one round allocates nothing: a collection caused by another test discards the rest of this thread's allocation
        // buffer, which counts as allocated. Allocations of the command itself occur in every round.
        long allocated = long.MaxValue;
        for (int round = 0; allocated > 0 && round < WarmUpRounds + MeasuredRoundsMax; round++)
        {
            output.ResetWrittenCount();
            long before = GC.GetAllocatedBytesForCurrentThread();
            int executed = _transcript.Client.Execute(pipeline, output);
            long inRound = GC.GetAllocatedBytesForCurrentThread() - before;
            Assert.Equal(pipeline.Length, executed);
            if (round >= WarmUpRounds) allocated = Math.Min(allocated, inRound);
        }

        AssertReplies(output.WrittenSpan.ToArray(), commands.Length, repetitions, replies);
        Assert.Equal(0, allocated);
    }

    private void Prepare()
    {
        _transcript.Run("CONFIG SET slowlog-log-slower-than -1").IsOk(); // on a busy machine any command is slow, and its entry allocates
        _transcript.Run("MSET hit value count 1000000 float 1.5 grows x").IsOk();
        _transcript.Run("SADD members a b 3").IsInteger(3);
        _transcript.Run("SADD others a c 1 2 3").IsInteger(5);
        _transcript.Run("SADD single a").IsInteger(1);
        _transcript.Run("PFADD distinct a b c").IsInteger(1);
        _transcript.Run("ZADD sorted 1 a 3 b").IsInteger(2);
        _transcript.Run("ZADD tree " + string.Join(' ', Enumerable.Range(0, 10).Select(i => $"{i} m{i}")) + " 5 " + new string('x', 65)).IsInteger(11);
        _transcript.Run("RPUSH list a b c").IsInteger(3);
        _transcript.Run("GEOADD geo 13.361389 38.115556 palermo 15.087269 37.502669 catania").IsInteger(2);
        for (int i = 1; i <= 5; i++) _transcript.Run($"XADD stream {i}-1 field1 value field2 12.5");
        _transcript.Run("XGROUP CREATE stream group 0").IsOk();
        _transcript.Run("XREADGROUP GROUP group consumer COUNT 3 STREAMS stream >");
        _transcript.Run("HSET hash field value float 1.5").IsInteger(2);
        _transcript.Run("ARSET array 0 12 element").IsInteger(2);
        _transcript.Run("ARRING ring 3 a b c").IsInteger(2);
        for (int i = 0; i < 20; i++) _transcript.Run($"VADD vectors VALUES 3 {i + 1} {i % 7} 5 {(char)('a' + i)}").IsInteger(1);
        for (int i = 0; i < 600; i++) _transcript.Run($"HSET table f{i} value").IsInteger(1);
        _transcript.Run("HSET table count 10").IsInteger(1);
    }

    private static void AssertReplies(byte[] output, int commands, int repetitions, string expected)
    {
        int at = 0;
        var reader = new RespReader((buffer, offset) =>
        {
            int count = Math.Min(buffer.Length - offset, output.Length - at);
            output.AsSpan(at, count).CopyTo(buffer.AsSpan(offset));
            at += count;
            return count;
        });
        string pattern = "^" + Regex.Escape(expected).Replace("\\#", ".+", StringComparison.Ordinal) + "$";
        for (int i = 0; i < repetitions; i++)
        {
            string actual = string.Join(' ', Enumerable.Range(0, commands).Select(_ => reader.Read()));
            Assert.Matches(pattern, actual);
        }

        Assert.True(reader.Read().IsClosed);
    }
}
