using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// SUNIONCARD, SDIFFCARD, AGGREGATE COUNT, BITOP's DIFF, DIFF1, ANDOR and ONE, BITRANGEINTARRAY, and ZMOVE with its relatives. Expected replies are those of
/// https://redis.io/commands, where errors have no text.
/// </summary>
public sealed class NewerAlgebraTests : IAsyncLifetime
{
    private const string WrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Cardinalities_of_unions_and_differences()
    {
        Run("SADD key1 a b c").IsInteger(3);
        Run("SADD key2 c d e").IsInteger(3);
        Run("SUNIONCARD 2 key1 key2").IsInteger(5);
        Run("SUNIONCARD 2 key1 key2 LIMIT 3").IsInteger(3);
        Run("SUNIONCARD 2 key1 key2 LIMIT 0 APPROX").IsInteger(5);
        Run("SUNIONCARD 2 key1 key2 APPROX LIMIT 2").IsInteger(2);
        Run("SUNIONCARD 7 key1 key2 key1 key2 key1 key2 nosuch").IsInteger(5);
        Run("SUNIONCARD 7 key1 key2 key1 key2 key1 key2 nosuch LIMIT 4").IsInteger(4);
        Run("SUNIONCARD 1 nosuch").IsInteger(0);
        Run("SDIFFCARD 2 key1 key2").IsInteger(2);
        Run("SDIFFCARD 2 key1 key2 LIMIT 1").IsInteger(1);
        Run("SDIFFCARD 2 nosuch key2").IsInteger(0);
        Run("SDIFFCARD 1 key1").IsInteger(3);
        Run("COMMAND GETKEYS SUNIONCARD 2 key1 key2 LIMIT 3").IsArray("key1", "key2");
    }

    [Fact]
    public void Estimate_of_a_union_is_near_its_cardinality()
    {
        _transcript.Fill("SADD a", "member:{0}", 20_000);
        _transcript.Fill("SADD b", "member:{0}", 10_000);
        _transcript.Fill("SADD b", "other:{0}", 10_000);
        Run("SUNIONCARD 2 a b").IsInteger(30_000);
        Assert.InRange(Run("SUNIONCARD 2 a b APPROX").Number, 29_000, 31_000);
    }

    [Theory]
    [InlineData("SUNIONCARD 0 a", "ERR numkeys should be greater than 0")]
    [InlineData("SUNIONCARD 3 a b", "ERR Number of keys can't be greater than number of args")]
    [InlineData("SUNIONCARD 1 a LIMIT -1", "ERR LIMIT can't be negative")]
    [InlineData("SUNIONCARD 1 a NOSUCH", "ERR syntax error")]
    [InlineData("SDIFFCARD 1 a APPROX", "ERR syntax error")]
    [InlineData("SDIFFCARD 2 a t", WrongType)]
    [InlineData("BITOP DIFF d l a", WrongType)]
    [InlineData("BITOP DIFF d t", "ERR BITOP DIFF must be called with at least two source keys.")]
    [InlineData("BITOP diff1 t l", "ERR BITOP DIFF1 must be called with at least two source keys.")]
    [InlineData("BITOP ANDOR d nosuch", "ERR BITOP ANDOR must be called with at least two source keys.")]
    [InlineData("BITRANGEINTARRAY t 0", "ERR wrong number of arguments for 'bitrangeintarray' command")]
    [InlineData("BITRANGEINTARRAY t 0 x", "ERR value is not an integer or out of range")]
    [InlineData("BITRANGEINTARRAY t 0 -1 BIT BYTE", "ERR syntax error")]
    [InlineData("BITRANGEINTARRAY t 0 -1 LIMIT -1", "ERR LIMIT can't be negative")]
    [InlineData("BITRANGEINTARRAY l 0 -1", WrongType)]
    [InlineData("ZMOVE z d NOSUCH", "ERR syntax error")]
    [InlineData("ZMOVE z d MIN COUNT 0", "ERR count should be greater than 0")]
    [InlineData("ZMOVE z d BYSCORE a 1", "ERR min or max is not a float")]
    [InlineData("ZMOVE z t MIN", WrongType)]
    [InlineData("ZMOVE t z MIN", WrongType)]
    [InlineData("BZMOVE z d MIN x", "ERR timeout is not a float or out of range")]
    [InlineData("BZMOVE z d BYSCORE 1 2 0", "ERR syntax error")]
    [InlineData("ZMOVEMEMBER z d MEMBERS 2 a", "ERR The `num-members` parameter must match the number of arguments")]
    [InlineData("ZMOVEMEMBER z d MEMBERS 2 a b c", "ERR The `num-members` parameter must match the number of arguments")]
    [InlineData("ZMOVEMEMBER z d MEMBERS 0 a b", "ERR Number of members must be a positive integer")]
    [InlineData("ZMOVEMEMBER z d NX XX MEMBERS 1 a", "ERR syntax error")]
    public void Error_changes_nothing(string line, string error)
    {
        Run("SET t 1").IsOk();
        Run("RPUSH l 1").IsInteger(1);
        Run("ZADD z 1 a 2 b").IsInteger(2);
        Run(line).IsError(error);
        Run("ZCARD z").IsInteger(2);
        Run("EXISTS d").IsInteger(0);
    }

    [Fact]
    public void Aggregate_count_is_the_number_of_inputs_with_a_member()
    {
        Run("ZADD z1 10 a 20 b").IsInteger(2);
        Run("ZADD z2 -5 b inf c").IsInteger(2);
        Run("SADD s b").IsInteger(1);
        Run("ZUNION 3 z1 z2 s AGGREGATE COUNT WITHSCORES").IsArray("a", "1", "c", "1", "b", "3");
        Run("ZINTER 3 z1 z2 s AGGREGATE count WITHSCORES").IsArray("b", "3");
        Run("ZUNION 2 z1 z2 WEIGHTS 2 5 AGGREGATE COUNT WITHSCORES").IsArray("a", "2", "c", "5", "b", "7");
        Run("ZUNIONSTORE d 2 z1 z2 AGGREGATE COUNT").IsInteger(3);
        Run("ZRANGE d 0 -1 WITHSCORES").IsArray("a", "1", "c", "1", "b", "2");
        Run("ZUNION 2 z1 z2 AGGREGATE COUNT AGGREGATE SUM WITHSCORES").IsArray("a", "10", "b", "15", "c", "inf");
    }

    [Theory]
    [InlineData("DIFF", 0b1100_0000, 0b0001_0000)]
    [InlineData("DIFF1", 0b0000_0011, 0b0000_0001)]
    [InlineData("ANDOR", 0b0011_0000, 0b1110_0000)]
    [InlineData("ONE", 0b1100_0010, 0b0001_0000)]
    public void Bit_operations_of_newer_versions(string operation, int first, int second)
    {
        Bytes("x", 0b1111_0000, 0b1111_0000);
        Bytes("y1", 0b0011_0001, 0b1110_0001);
        Bytes("y2", 0b0000_0011, 0b0000_0001);
        Run($"BITOP {operation} d x y1 y2 nosuch").IsInteger(2);
        Run("GET d").IsBytes([(byte)first, (byte)second]);
        Run("EXPIRE x 100").IsInteger(1);
        Run($"BITOP {operation} x x y1 y2").IsInteger(2);
        Run("GET x").IsBytes([(byte)first, (byte)second]);
        Assert.Null(_transcript.ExpiryOf("x"));
    }

    [Theory]
    [InlineData("DIFF")]
    [InlineData("DIFF1")]
    [InlineData("ANDOR")]
    [InlineData("ONE")]
    public void Bit_operations_agree_with_a_model(string operation)
    {
        var random = new Random(20_261_127);
        for (int round = 0; round < 12; round++)
        {
            byte[][] sources = [.. Enumerable.Range(0, (operation == "ONE" ? 1 : 2) + random.Next(4)).Select(_ => new byte[random.Next(2) == 0 ? random.Next(40) : 16_370 + random.Next(40_000)])];
            foreach (byte[] source in sources) random.NextBytes(source);
            for (int i = 0; i < sources.Length; i++) _transcript.Run(["SET"u8.ToArray(), [(byte)('a' + i)], sources[i]]).IsOk();
            byte[] expected = [.. Enumerable.Range(0, sources.Max(source => source.Length)).Select(at => Model(operation, [.. sources.Select(source => at < source.Length ? source[at] : (byte)0)]))];
            string keys = string.Join(' ', Enumerable.Range(0, sources.Length).Select(i => (char)('a' + i)));
            string destination = random.Next(2) == 0 ? "d" : "a";
            Run($"BITOP {operation} {destination} {keys}").IsInteger(expected.Length);
            if (expected.Length == 0) Run($"EXISTS {destination}").IsInteger(0);
            else Run($"GET {destination}").IsBytes(expected);
        }

        static byte Model(string operation, byte[] bits)
        {
            int others = bits.Skip(1).Aggregate(0, (a, b) => a | b);
            return (byte)(operation switch
            {
                "DIFF" => bits[0] & ~others,
                "DIFF1" => others & ~bits[0],
                "ANDOR" => bits[0] & others,
                _ => Enumerable.Range(0, 8).Where(bit => bits.Count(value => (value >> bit & 1) == 1) == 1).Sum(bit => 1 << bit),
            });
        }
    }

    [Theory]
    [InlineData("0 -1", "0 7 8 15")]
    [InlineData("0 0", "0 7")]
    [InlineData("-1 -1 BYTE", "8 15")]
    [InlineData("1 14 BIT", "7 8")]
    [InlineData("0 -1 LIMIT 3", "0 7 8")]
    [InlineData("6 9 BIT ZEROS", "6 9")]
    [InlineData("0 -1 ZEROS LIMIT 2", "1 2")]
    [InlineData("5 9", "")]
    [InlineData("1 0", "")]
    public void Offsets_of_bits_in_a_range(string range, string offsets)
    {
        Bytes("k", 0b1000_0001, 0b1000_0001);
        Run($"BITRANGEINTARRAY k {range}").IsIntegers([.. offsets.Split(' ', StringSplitOptions.RemoveEmptyEntries).Select(text => long.Parse(text, CultureInfo.InvariantCulture))]);
        Run($"BITRANGEINTARRAY nosuch {range}").IsIntegers();
    }

    [Theory]
    [InlineData("ZMOVE s d MIN", "a", "b c e", "z a d")]
    [InlineData("ZMOVE s d MAX COUNT 2", "e c", "a b", "z d c e")]
    [InlineData("ZMOVE s d MIN COUNT 9", "a b c e", "", "z a b d c e")]
    [InlineData("ZMOVE s d BYSCORE (1 3", "b c", "a e", "z b d c")]
    [InlineData("ZMOVE s d BYSCORE -inf +inf COUNT 1", "a", "b c e", "z a d")]
    [InlineData("BZMOVE s d MAX 0 COUNT 1", "e", "a b c", "z d e")]
    [InlineData("ZMOVEMEMBER s d MEMBERS 3 c nosuch a", "c a", "b e", "z a d c")]
    [InlineData("ZMOVEMEMBER s d MEMBERS 3 a a b", "a b", "c e", "z a b d")]
    [InlineData("ZMOVEMEMBER s d XX MEMBERS 2 b a", "", "a b c e", "z d")]
    public void Members_move_with_their_scores(string line, string reply, string source, string destination)
    {
        foreach (string limit in (string[])["128", "0"])
        {
            Run($"CONFIG SET zset-max-listpack-entries {limit}").IsOk();
            Run("DEL s d");
            Run("ZADD s 1 a 2 b 3 c 4 e").IsInteger(4);
            Run("ZADD d 0 z 2.5 d").IsInteger(2);
            RespValue moved = Run(line);
            if (reply.Length == 0) moved.IsNull();
            else moved.IsArray(reply.Split(' '));
            Assert.Equal((source, destination), (Members("s"), Members("d")));
            Run("EXISTS s").IsInteger(source.Length == 0 ? 0 : 1);
        }
    }

    [Fact]
    public void Members_replace_those_of_the_destination_and_keys_keep_their_expiries()
    {
        Run("ZADD s 1 a 2 b").IsInteger(2);
        Run("ZADD d 9 a").IsInteger(1);
        Run("EXPIRE d 100").IsInteger(1);
        Run("ZMOVEMEMBER s d NX MEMBERS 2 a b").IsArray("b");
        Run("ZMOVE s d MIN").IsArray("a");
        Run("ZRANGE d 0 -1 WITHSCORES").IsArray("a", "1", "b", "2");
        Assert.NotNull(_transcript.ExpiryOf("d"));
        Run("EXISTS s").IsInteger(0);
        Run("ZMOVE d d MIN").IsNull();
        Run("BZMOVE d d MIN 0").IsNull();
        Run("BZMOVE nosuch nosuch MIN 0").IsNull();
        Run("ZMOVEMEMBER d d MEMBERS 1 a").IsNull();
        Run("ZMOVE nosuch d MIN").IsNull();
        Run("ZMOVE d new MAX").IsArray("b");
        Assert.Null(_transcript.ExpiryOf("new"));
    }

    [Fact]
    public async Task Blocked_client_gets_the_members_that_arrive()
    {
        await using LiveServer server = await LiveServer.StartAsync();
        using RespConnection blocked = RespConnection.Connect(server.Server.Port);
        blocked.SendCommand("BZMOVE s d MIN 0 COUNT 5");
        while (server.Info("clients", "blocked_clients") != "1") await Task.Yield();
        server.Run("ZADD s 2 b 1 a").IsInteger(2);
        blocked.Read().IsArray("a", "b");
        server.Run("EXISTS s").IsInteger(0);
        blocked.SendCommand("BZMOVE s d MAX 0.01");
        Assert.True(blocked.Read().IsNull);
    }

    private string Members(string key) => string.Join(' ', Run($"ZRANGE {key} 0 -1").Items.Select(item => item.Text));

    private void Bytes(string key, params byte[] value) => _transcript.Run(["SET"u8.ToArray(), System.Text.Encoding.Latin1.GetBytes(key), value]).IsOk();

    private RespValue Run(string line) => _transcript.Run(line);
}
