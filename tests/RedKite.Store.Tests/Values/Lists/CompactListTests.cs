using System.Globalization;
using System.Text;
using RedKite.Store.Memory;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Packed;
using RedKite.TestSupport;

namespace RedKite.Store.Tests.Structures;

/// <summary>Compact lists read back the packed lists that they were made from, on the guarded arena.</summary>
public sealed unsafe class CompactListTests
{
    private static readonly int Rounds = TestScale.Of(gate: 100, full: 400);

    [Fact]
    public void Compacted_list_reads_back()
    {
        Randomness.Run(random =>
        {
            int compacted = 0;
            for (int round = 0; round < Rounds; round++) compacted += Check(RandomElements(random)) > 0 ? 1 : 0;
            Assert.InRange(compacted, Rounds / 4, Rounds);
        });
    }

    [Theory]
    [InlineData("member:{0:d6}", 4)]
    [InlineData("{0:d12}", 3)]
    [InlineData("user-{0:x8}-name", 6)]
    public void Sorted_elements_take_few_bytes(string format, int bytesMax)
    {
        byte[][] elements = [.. Enumerable.Range(0, 500).Select(i => Encoding.ASCII.GetBytes(string.Format(CultureInfo.InvariantCulture, format, i)))];
        Assert.InRange(Check(elements), 1, 500 * bytesMax);
    }

    [Fact]
    public void Random_digits_take_half_of_their_bytes()
    {
        Randomness.Run(random =>
        {
            byte[][] elements = [.. Enumerable.Range(0, 500).Select(_ => Encoding.ASCII.GetBytes($"m{random.NextInt64(100_000_000_000):d11}"))];
            Assert.InRange(Check(elements), 1, 500 * 8);
        });
    }

    [Fact]
    public void Incompressible_data_is_left_alone()
    {
        Randomness.Run(random =>
        {
            Assert.Equal(0, Check([.. Enumerable.Range(0, 300).Select(_ => random.Bytes(12))]));
            Assert.Equal(0, Check([.. Enumerable.Repeat(new byte[CompactList.ElementBytesMax + 1], 50)]));
            Assert.Equal(0, Check(["a"u8.ToArray()]));
            Assert.Equal(0, Check([]));
        });
    }

    // Writes, reads and searches a list; returns the size of the compact form, or 0.
    private static int Check(byte[][] elements)
    {
        using var source = new SlabSource();
        using var guard = new ArenaGuard();
        using var arena = new Arena(source, guard);
        long packedBytes = PackedList.EmptyBytes + elements.Sum(element => (long)PackedList.ElementBytes(element));
        byte* packed = arena.Allocate(packedBytes);
        PackedList.Initialize(packed);
        foreach (byte[] element in elements) PackedList.Insert(packed, PackedList.EndOf(packed), element);

        byte[] shared = new byte[elements.Length];
        int bytes = CompactList.Measure(packed, shared, out CompactAlphabet alphabet);
        if (bytes > 0)
        {
            byte* compact = arena.Allocate(bytes);
            CompactList.Write(packed, compact, shared, ref alphabet);
            Assert.Equal((elements.Length, packedBytes), (CompactList.Count(compact), CompactList.PackedBytes(compact)));
            byte* unpacked = arena.Allocate(packedBytes);
            CompactList.Unpack(compact, unpacked);
            Assert.True(new ReadOnlySpan<byte>(packed, (int)packedBytes).SequenceEqual(new ReadOnlySpan<byte>(unpacked, (int)packedBytes)));
            HashSet<string> held = [.. elements.Select(Encoding.Latin1.GetString)];
            foreach (byte[] element in elements)
            {
                Assert.True(CompactList.Contains(compact, element));
                AssertContains(element.Length == 0 ? [] : element[..^1]);
                AssertContains([.. element, element.Length == 0 ? (byte)0 : element[^1]]);
                if (element.Length > 1) AssertContains([.. element[..^2], element[^1], element[^2]]);
            }

            void AssertContains(byte[] value) => Assert.Equal(held.Contains(Encoding.Latin1.GetString(value)), CompactList.Contains(compact, value));

            arena.Free(unpacked, packedBytes);
            arena.Free(compact, bytes);
        }

        arena.Free(packed, packedBytes);
        guard.Check();
        return bytes;
    }

    private static byte[][] RandomElements(Random random)
    {
        int count = random.Next(300);
        string alphabet = random.Pick("01", "abc", "0123456789", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz-", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
        int lengthMax = random.Pick(1, 5, 12, 20, 64);
        string prefix = random.Pick("", "k:", "a prefix of some length:");
        var elements = new byte[count][];
        for (int i = 0; i < count; i++)
        {
            var text = new StringBuilder(random.Next(10) == 0 ? "" : prefix);
            for (int length = random.Next(lengthMax + 1); length > 0 && text.Length < 64; length--) text.Append(alphabet[random.Next(alphabet.Length)]);
            elements[i] = random.Next(20) == 0 && i > 0 ? elements[i - 1] : Encoding.Latin1.GetBytes(text.ToString());
        }

        return elements;
    }
}
