using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>DUMP and RESTORE in one server: features that Redis 7.0 lacks, and thousands of damaged dumps.</summary>
public sealed class DumpCommandsTests : IAsyncLifetime
{
    private const int DamagesOfEach = 400;
    private static readonly int LargeElements = TestScale.Of(gate: 60_000, full: 300_000);

    private static readonly string[] Queries =
    [
        "TYPE k", "OBJECT ENCODING k", "GET k", "STRLEN k", "LRANGE k 0 -1", "LINDEX k -1", "LLEN k", "SMEMBERS k", "SCARD k", "SISMEMBER k a", "HGETALL k", "HLEN k",
        "HGET k f", "HPEXPIRETIME k FIELDS 2 a f", "ZRANGE k 0 -1 WITHSCORES", "ZREVRANGE k 0 -1", "ZCARD k", "ZRANK k a", "XRANGE k - +", "XREVRANGE k + -", "XLEN k",
        "XINFO STREAM k FULL COUNT 0", "XINFO GROUPS k", "XPENDING k g - + 100", "DUMP k", "MEMORY USAGE k",
    ];

    private static readonly string[] Changes =
    [
        "APPEND k x", "LPUSH k x", "RPOP k", "LSET k 0 y", "SADD k x 5", "SREM k a", "HSET k f 2", "HDEL k 17", "ZADD k 3 x", "ZREM k a", "XADD k * a 1", "XDEL k 1-1", "XTRIM k MAXLEN 1",
        "XREADGROUP GROUP g c9 STREAMS k >", "XACK k g 1-1", "XGROUP DELCONSUMER k g c1", "COPY k copy REPLACE",
    ];

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    public static TheoryData<string> Forms => [.. RedisDumps.OfRedis70.Keys, .. RedisDumps.OfRedis74.Keys];

    [Theory]
    [MemberData(nameof(Forms))]
    public void Damaged_dump_is_refused_without_a_change_or_valid(string form)
    {
        byte[] sound = RedisDumps.OfRedis70.GetValueOrDefault(form) ?? RedisDumps.OfRedis74[form];
        var random = new Random(6);
        Run("SET other 1").IsOk();
        long used = _transcript.UsedBytes;
        int restored = 0;
        for (int i = 0; i < DamagesOfEach; i++)
        {
            Run("DEL k copy");
            Run("RPUSH k old value").IsInteger(2);
            RespValue reply = Restore("k", Damage(sound, random), "REPLACE");
            if (reply.IsError)
            {
                reply.IsError("ERR Bad data format");
                Run("LRANGE k 0 -1").IsArray("old", "value");
                continue;
            }

            reply.IsOk();
            restored++;
            foreach (string query in Queries) Run(query);
            foreach (string change in Changes) Run(change);
            foreach (string query in Queries) Run(query);
        }

        Run("DEL k copy");
        _transcript.SweepAll();
        Assert.Equal(used, _transcript.UsedBytes);
        Run("GET other").IsBulk("1");
        Assert.InRange(restored, 1, DamagesOfEach - 1);
    }

    [Theory]
    [InlineData(1L << 30)]
    [InlineData(int.MaxValue)]
    [InlineData(1L << 40)]
    [InlineData(long.MaxValue)]
    [InlineData(-1)]
    public void Sizes_beyond_the_payload_are_refused_before_anything_is_allocated(long claimed)
    {
        Run("SET k old").IsOk();
        Run("GET k").IsBulk("old");
        _transcript.SweepAll();
        long used = _transcript.UsedBytes;
        byte[] size = [0x81, .. BitConverter.GetBytes(System.Buffers.Binary.BinaryPrimitives.ReverseEndianness(claimed))];
        byte[] few = [1, (byte)'a', 1, (byte)'b'];
        for (byte type = 0; type <= 25; type++)
        {
            if (type is 6 or 7 or 8) continue; // modules, and a type that never was
            byte[] asSize = [type, .. size, .. few];
            byte[] asDecompressedSize = [type, 0xC3, 5, .. size, .. few, 0];
            byte[] asElementSize = [type, 1, .. size, .. few]; // in a list, set, hash or sorted set of one element
            foreach (byte[] value in type is >= 1 and <= 5 ? (byte[][])[asSize, asDecompressedSize, asElementSize] : [asSize, asDecompressedSize])
            {
                long allocated = GC.GetAllocatedBytesForCurrentThread();
                Restore("k", value, "REPLACE").IsError("ERR Bad data format");
                Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - allocated, 0, 1_000_000);
                Run("GET k").IsBulk("old");
            }
        }

        _transcript.SweepAll();
        Assert.Equal(used, _transcript.UsedBytes);
    }

    [Theory]
    [InlineData("SADD k", "member:{0}")]
    [InlineData("SADD k", "{0}")]
    [InlineData("HSET k", "field:{0} value:{0}")]
    [InlineData("ZADD k", "{0} member:{0}")]
    [InlineData("RPUSH k", "element:{0}")]
    [InlineData("XADD k * field", "value:{0}")]
    public void Large_values_are_restored_whole_or_not_at_all(string prefix, string element)
    {
        Run("SET r old").IsOk();
        long used = SweptBytes();
        bool takesOne = prefix.StartsWith("XADD", StringComparison.Ordinal);
        _transcript.Fill(prefix, element, takesOne ? LargeElements / 10 : LargeElements, perRequest: takesOne ? 1 : 1000);
        byte[] dump = Run("DUMP k").Payload!;
        byte[] value = RedisDumps.ValueOf(dump);
        long filled = SweptBytes();

        Restore("r", value[..(value.Length * 9 / 10)], "REPLACE", version: 12).IsError("ERR Bad data format");
        Assert.Equal(filled, SweptBytes());
        Run("CONFIG SET maxmemory 1").IsOk();
        Run([.. CommandLine.Split("RESTORE r 0"), dump, .. CommandLine.Split("REPLACE")]).IsError("OOM command not allowed when used memory > 'maxmemory'.");
        Run("CONFIG SET maxmemory 0").IsOk();
        Run("GET r").IsBulk("old");
        Assert.Equal(filled, SweptBytes());

        Restore("r", value, "REPLACE", version: 12).IsOk();
        IReadOnlyList<RespValue> digests = Run("DEBUG DIGEST-VALUE k r").Items;
        Assert.Equal(digests[0], digests[1]);
        Run("DEL k r").IsInteger(2);
        Run("SET r old").IsOk();
        Assert.Equal(used, SweptBytes());
    }

    [Fact]
    public void Large_strings_are_restored_whole_or_not_at_all()
    {
        byte[] text = new byte[TestScale.Of(gate: 10_000_000, full: 100_000_000)];
        new Random(4).NextBytes(text);
        Run([.. CommandLine.Split("SET k"), text]).IsOk();
        byte[] dump = Run("DUMP k").Payload!;
        Run("SET r old").IsOk();
        Restore("r", RedisDumps.ValueOf(dump)[..^1], "REPLACE", version: 12).IsError("ERR Bad data format");
        Run("GET r").IsBulk("old");
        Restore("r", RedisDumps.ValueOf(dump), "REPLACE", version: 12).IsOk();
        Assert.True(Run("GET r").Payload.AsSpan().SequenceEqual(text));
    }

    [Fact]
    public void Field_expiries_survive_dump_and_restore()
    {
        foreach ((string form, byte[] dump) in RedisDumps.OfRedis74)
        {
            Restore("k", RedisDumps.ValueOf(dump), "REPLACE", version: 12).IsOk();
            Run("HPEXPIRETIME k FIELDS 3 a b nope").IsIntegers(4102444800000, -1, -2);
            Run("HGET k a").IsBulk("1");
            bool isLarge = form.StartsWith("large", StringComparison.Ordinal);
            Run("OBJECT ENCODING k").IsBulk(isLarge ? "hashtable" : "listpackex");
            if (!isLarge) Run("DUMP k").IsBytes(dump); // a table's fields have no order
        }
    }

    [Fact]
    public void Restore_of_an_expired_hash_removes_the_replaced_key()
    {
        Run("HSET k a 1").IsInteger(1);
        Run("HPEXPIRE k 100 FIELDS 1 a").IsIntegers(1);
        byte[] dump = Run("DUMP k").Payload!;
        Run("SET k old").IsOk();
        _transcript.Advance(100);
        Restore("k", RedisDumps.ValueOf(dump), "REPLACE", version: 12).IsOk();
        Run("EXISTS k").IsInteger(0);
    }

    [Fact]
    public void Overflowed_stream_counters_survive_dump_and_restore()
    {
        for (int i = 1; i <= 3; i++) Run($"XADD k {i}-1 a b").IsBulk($"{i}-1");
        Run("XGROUP CREATE k g 1-1 ENTRIESREAD 9223372036854775807").IsOk();
        Run("XREADGROUP GROUP g c STREAMS k >");
        Run("XSETID k 3-1 ENTRIESADDED 9223372036854775807").IsOk();
        Run("XADD k 4-1 a b").IsBulk("4-1");
        RespValue before = Run("XINFO STREAM k");
        Assert.Equal(long.MinValue, before["entries-added"]!.Number);
        byte[] dump = Run("DUMP k").Payload!;
        Restore("k", RedisDumps.ValueOf(dump), "REPLACE", version: 12).IsOk();
        Run("XINFO STREAM k").Is(before);
        Run("DUMP k").IsBytes(dump);
    }

    [Fact]
    public void Restore_sets_the_access_clock_of_the_policy()
    {
        byte[] value = RedisDumps.ValueOf(RedisDumps.OfRedis70["string"]);
        Restore("k", value, "IDLETIME", "1000").IsOk();
        Run("OBJECT IDLETIME k").IsInteger(1000);
        Restore("k", value, "REPLACE", "FREQ", "77").IsOk();
        Run("OBJECT IDLETIME k").IsInteger(0);
        Run("CONFIG SET maxmemory-policy allkeys-lfu").IsOk();
        Restore("k", value, "REPLACE", "FREQ", "77").IsOk();
        Run("OBJECT FREQ k").IsInteger(77);
    }

    [Fact]
    public void Waitaof_without_a_file()
    {
        Run("WAITAOF 0 0 0").IsIntegers(0, 0);
        Run("WAITAOF 1 0 0").IsError("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
        Run("WAITAOF 2 0 0").IsError("ERR value is out of range, value must between 0 and 1");
        Run("WAITAOF 0 -1 0").IsError("ERR value is out of range, must be positive");
        Run("WAITAOF 0 0 -1").IsError("ERR timeout is negative");
    }

    private RespValue Run(string line) => _transcript.Run(line);

    private RespValue Run(IReadOnlyList<byte[]> arguments) => _transcript.Run(arguments);

    private long SweptBytes()
    {
        _transcript.SweepAll();
        return _transcript.UsedBytes;
    }

    private RespValue Restore(string key, byte[] value, params string[] options) => Restore(key, value, string.Join(' ', options), version: 10);

    private RespValue Restore(string key, byte[] value, string options, int version) => Run([.. CommandLine.Split($"RESTORE {key} 0"), RedisDumps.Seal(value, version), .. CommandLine.Split(options)]);

    private static byte[] Damage(byte[] sound, Random random)
    {
        List<byte> value = [.. RedisDumps.ValueOf(sound)];
        for (int damages = random.Next(1, 4); damages > 0 && value.Count > 1; damages--)
        {
            int at = random.Next(1, value.Count); // keeps the type
            switch (random.Next(8))
            {
                case 0: value.RemoveRange(at, value.Count - at); break;
                case 1: value.Insert(at, (byte)random.Next(256)); break;
                case 2: value.RemoveAt(at); break;
                case 3: value.InsertRange(at, [0x81, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]); break;
                case 4: value[at] = (byte)random.Next(256); break;
                default: value[at] ^= (byte)(1 << random.Next(8)); break;
            }
        }

        return [.. value];
    }
}
