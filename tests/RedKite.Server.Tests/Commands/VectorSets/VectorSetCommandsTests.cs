using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands.VectorSets;

/// <summary>Vector sets without another server: what later versions of Redis have, limits, effects, memory. VectorSetTests compares the rest.</summary>
public sealed class VectorSetCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Elements_are_added_found_and_removed()
    {
        Run("VADD v VALUES 2 1 0 right SETATTR '{\"side\":1}'").IsInteger(1);
        Run("VADD v VALUES 2 -1 0 left").IsInteger(1);
        Run("VADD v VALUES 2 0 1 up").IsInteger(1);
        Run("VADD v VALUES 2 0.1 1 up").IsInteger(0);
        Run("VSIM v VALUES 2 1 0.5").IsArray("right", "up", "left");
        Run("VSIM v ELE left COUNT 1").IsArray("left");
        Run("VSIM v ELE right FILTER .side==1").IsArray("right");
        Run("VCARD v").IsInteger(3);
        Run("TYPE v").IsSimple("vectorset");
        Run("VREM v right").IsInteger(1);
        Run("VREM v up").IsInteger(1);
        Run("VREM v left").IsInteger(1);
        Run("EXISTS v").IsInteger(0);
    }

    // redis.io/commands/vsim: WITHATTRIBS, since 8.2.
    [Fact]
    public void Attributes_are_returned_with_results()
    {
        Run("VADD v VALUES 2 1 0 a SETATTR {}");
        Run("VADD v VALUES 2 0 1 b");
        Run("VSIM v VALUES 2 1 0 WITHATTRIBS").IsArray("a", "{}", "b", null);
        Run("VSIM v VALUES 2 1 0 WITHATTRIBS WITHSCORES COUNT 1").IsArray("a", "1", "{}");
    }

    // redis.io/commands/vrange, since 8.4.
    [Fact]
    public void Range_is_in_the_order_of_names()
    {
        foreach (string name in (string[])["cherry", "apple", "fig", "banana", "date", "a", "eggplant"]) Run($"VADD v VALUES 1 1 {name}");
        Run("VRANGE v - +").IsArray("a", "apple", "banana", "cherry", "date", "eggplant", "fig");
        Run("VRANGE v - + 2").IsArray("a", "apple");
        Run("VRANGE v (apple + 2").IsArray("banana", "cherry");
        Run("VRANGE v [b [date").IsArray("banana", "cherry", "date");
        Run("VRANGE v [b (date -1").IsArray("banana", "cherry");
        Run("VRANGE v [x +").IsArray();
        Run("VRANGE v - + 0").IsArray();
        Run("VRANGE missing - +").IsArray();
        Run("VRANGE v + -").IsError("ERR '-' can only be used as first argument, '+' only as second");
        Run("VRANGE v a +").IsError("ERR invalid start range format");
        Run("VRANGE v - [").IsError("ERR invalid end range format");
        Run("VRANGE v a + x").IsError("ERR invalid COUNT value");
        Run("VRANGE v -").IsError("ERR wrong number of arguments for 'VRANGE' command");
    }

    [Fact]
    public void Limits_are_refused_with_an_error()
    {
        Run([.. Words("VADD v FP32"), new byte[65_537 * 4], "e"u8.ToArray()]).IsError("ERR a vector has at most 65536 dimensions, and a projection 4194304 components");
        Run([.. Words("VADD v REDUCE 2048 FP32"), new byte[4 * 65_536], "e"u8.ToArray()]).IsError("ERR a vector has at most 65536 dimensions, and a projection 4194304 components");
        Run("VADD v VALUES 1 1 e SETATTR {}");
        Run([.. Words("VSIM v ELE e FILTER"), Encoding.ASCII.GetBytes(new string(' ', 1 << 17) + "1")]).IsError("ERR a FILTER expression has at most 131072 bytes");
        Run([.. Words("VSIM v ELE e FILTER"), Encoding.ASCII.GetBytes(new string('(', 65_000) + "1" + new string(')', 65_000))]).IsArray("e");
        string nested = "{\"a\":" + new string('[', 100_000) + new string(']', 100_000) + ",\"b\":1}";
        Run([.. Words("VSETATTR v e"), Encoding.ASCII.GetBytes(nested)]);
        Run("VSIM v ELE e FILTER .b").IsArray("e");
        Run("VSIM v ELE e FILTER .a").IsArray();
        Run("VSIM v ELE e COUNT 9223372036854775807 EF 1000000 FILTER-EF 9223372036854775807 FILTER .b").IsArray("e");
        Run("VSIM v ELE e EF 1000001").IsError("ERR invalid EF");
        Run("VADD w REDUCE 3 VALUES 2 1 1 e").IsError("ERR invalid vector specification");
        Run([.. Words("VSIM v ELE e FILTER"), Encoding.ASCII.GetBytes(Repeats(30_000, 'b') + " in " + Repeats(70_000, 'c'))]).IsError("ERR the FILTER takes too long for the attributes of one element");

        static string Repeats(int count, char last) => $"\"{new string('a', count)}{last}\"";
    }

    [Fact]
    public void Vectors_of_any_bits_do_no_harm()
    {
        var random = new Random(2);
        byte[] vector = new byte[12 * 4];
        foreach (string quantization in (string[])["Q8", "NOQUANT", "BIN"])
        {
            for (int i = 0; i < 300; i++)
            {
                random.NextBytes(vector);
                if (i % 3 == 0) vector.AsSpan(random.Next(11) * 4).Fill(0xFF); // NaN
                Run([.. Words($"VADD {quantization} FP32"), vector, Encoding.ASCII.GetBytes($"e{i % 200}"), .. Words(quantization)]);
                Assert.False(Run([.. Words($"VSIM {quantization} FP32"), vector, .. Words("COUNT 5 WITHSCORES")]).IsError);
                if (i % 5 == 0) Run($"VREM {quantization} e{random.Next(200)}");
            }

            foreach (RespValue element in Run($"VSIM {quantization} ELE e199 WITHSCORES COUNT 200").Items.Where((_, at) => at % 2 == 1))
            {
                Assert.InRange(double.Parse(element.Text, CultureInfo.InvariantCulture), 0, 1);
            }
        }
    }

    [Fact]
    public void Memory_of_a_set_is_counted_and_returned()
    {
        Run("SET other 1");
        long empty = _transcript.Keyspace.UsedBytes;
        for (int i = 0; i < 500; i++) Run($"VADD v VALUES 4 {i} 1 {500 - i} 3 element:{i} SETATTR {{\"n\":{i}}}");
        long used = _transcript.Keyspace.UsedBytes - empty;
        Assert.InRange(Run("MEMORY USAGE v").Number, used * 9 / 10, used + 100);
        Run("DEL v").IsInteger(1);
        while (_transcript.Keyspace.Stripes[0].FreeDroppedSlice())
        {
        }

        Assert.InRange(_transcript.Keyspace.UsedBytes, empty - 1_000, empty + 1_000);
    }

    [Fact]
    public void Digest_depends_on_elements_and_not_on_their_order()
    {
        for (int i = 0; i < 100; i++) Run($"VADD a VALUES 3 {i} 1 2 e{i}");
        for (int i = 99; i >= 0; i--) Run($"VADD b VALUES 3 {i} 1 2 e{i}");
        Assert.Equal(Run("DEBUG DIGEST-VALUE a"), Run("DEBUG DIGEST-VALUE b"));
        Run("VSETATTR b e5 {}");
        Assert.NotEqual(Run("DEBUG DIGEST-VALUE a"), Run("DEBUG DIGEST-VALUE b"));
    }

    private RespValue Run(string line) => _transcript.Run(line);

    private RespValue Run(IReadOnlyList<byte[]> arguments) => _transcript.Run(arguments);

    private static byte[][] Words(string line) => [.. line.Split(' ').Select(Encoding.ASCII.GetBytes)];
}
