using RedKite.Store.Values.Strings;

namespace RedKite.Store.Tests.Structures;

/// <summary>Strings as bits against an array of bits.</summary>
public class BitStringTests
{
    // Around the vectors' widths and the counting tree's block sizes.
    private static readonly int[] Lengths = [1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 255, 256, 511, 512, 513, 544, 1_023, 1_024, 1_025, 5_000];

    [Fact]
    public void Bits_are_counted_at_every_length() => Randomness.Run(random =>
    {
        foreach (int length in Lengths)
        {
            byte[] bytes = random.Bytes(length);
            Assert.Equal(Bits(bytes).Count(bit => bit), BitString.Count(bytes));
            Assert.Equal(length * 8L, BitString.Count(Enumerable.Repeat((byte)0xFF, length).ToArray()));
        }

        Assert.Equal(0, BitString.Count([]));
    });

    [Fact]
    public void Bits_are_counted_and_found_in_any_range() => Randomness.Run(random =>
    {
        foreach (int length in Lengths)
        {
            byte[] bytes = Sparse(random, length);
            bool[] bits = Bits(bytes);
            for (int i = 0; i < 200; i++)
            {
                int first = random.Next(bits.Length);
                int last = random.Next(first, bits.Length);
                bool[] part = bits[first..(last + 1)];
                Assert.Equal(part.Count(bit => bit), BitString.Count(bytes, first, last));
                foreach (bool set in (bool[])[true, false])
                {
                    int found = Array.IndexOf(part, set);
                    Assert.Equal(found < 0 ? -1 : first + found, BitString.Find(bytes, set, first, last));
                }
            }
        }
    });

    [Fact]
    public void Bit_fields_do_not_touch_their_neighbours() => Randomness.Run(random =>
    {
        for (int i = 0; i < 5_000; i++)
        {
            byte[] bytes = random.Bytes(random.Next(8, 40));
            bool[] bits = Bits(bytes);
            int width = random.Next(1, 65);
            int first = random.Next(bits.Length - width + 1);
            ulong expected = bits[first..(first + width)].Aggregate(0UL, (number, bit) => (number << 1) | (bit ? 1UL : 0));
            Assert.Equal(expected, BitString.ReadField(bytes, first, width));

            ulong written = (ulong)random.NextInt64();
            BitString.WriteField(bytes, first, width, written);
            for (int at = 0; at < width; at++) bits[first + at] = (written >> (width - 1 - at) & 1) != 0;
            Assert.Equal(bits, Bits(bytes));
        }
    });

    [Fact]
    public void Bit_fields_beyond_the_end_are_zero()
    {
        Assert.Equal(0xFF00UL, BitString.ReadField([0xFF], 0, 16));
        Assert.Equal(0UL, BitString.ReadField([0xFF], 8, 64));
        Assert.Equal(0UL, BitString.ReadField([], 1L << 33, 64));
        Assert.False(BitString.IsSet([0xFF], 8));
        Assert.True(BitString.IsSet([0x01], 7));
    }

    [Fact]
    public void Combinations_match_single_bits_at_any_lengths() => Randomness.Run(random =>
    {
        foreach (int length in Lengths)
        {
            foreach (BitOperation operation in (BitOperation[])[BitOperation.And, BitOperation.Or, BitOperation.Xor])
            {
                byte[] a = random.Bytes(length);
                byte[] b = random.Bytes(random.Next(2 * length));
                byte[] destination = random.Bytes(Math.Max(a.Length, b.Length) + random.Next(3));
                byte[] expected = [.. destination.Select((_, i) => Combine(operation, At(a, i), At(b, i)))];
                BitCombination.Combine(operation, a, b, destination);
                Assert.Equal(expected, destination);

                // In place, as if the destination is a source.
                byte[] own = [.. a, .. new byte[expected.Length - a.Length]];
                BitCombination.Combine(operation, own, b, own);
                Assert.Equal(expected, own);
            }

            byte[] turned = random.Bytes(length);
            byte[] inverted = new byte[length];
            BitCombination.Invert(turned, inverted);
            Assert.Equal(turned.Select(value => (byte)~value), inverted);
        }
    });

    private static byte At(byte[] bytes, int index) => index < bytes.Length ? bytes[index] : (byte)0;

    private static byte Combine(BitOperation operation, byte a, byte b) => operation switch
    {
        BitOperation.And => (byte)(a & b),
        BitOperation.Or => (byte)(a | b),
        _ => (byte)(a ^ b),
    };

    // Long runs of equal bytes, so that searches have to skip some.
    private static byte[] Sparse(Random random, int length)
    {
        byte[] bytes = new byte[length];
        bytes.AsSpan().Fill((byte)random.Pick(0, 255));
        for (int i = random.Next(4); i > 0; i--) bytes[random.Next(length)] = (byte)random.Next(256);
        return bytes;
    }

    private static bool[] Bits(byte[] bytes) => [.. Enumerable.Range(0, bytes.Length * 8).Select(bit => (bytes[bit / 8] >> (7 - (bit % 8)) & 1) != 0)];
}
