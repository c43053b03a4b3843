using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Tests.Structures;

/// <summary>The output of <see cref="PackedListWriter"/> is read at any address, and damaged lists are refused.</summary>
public class PackedListReaderTests
{
    [Fact]
    public void Elements_read_back()
    {
        Randomness.Run(random =>
        {
            using var buffer = new NativeBuffer();
            Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
            for (int round = 0; round < 100; round++)
            {
                buffer.Clear();
                List<byte[]> elements = Write(buffer, random, random.Next(round == 0 ? 70_000 : 60));

                // A copy in managed memory, between other bytes.
                byte[] copy = [1, 2, 3, .. buffer.Written, 4, 5];
                Assert.True(PackedListReader.TryOpen(copy.AsSpan(3, buffer.Length), out PackedListReader reader));
                Assert.Equal(elements.Count, reader.Count);
                foreach (byte[] element in elements)
                {
                    Assert.True(reader.MoveNext());
                    Assert.True(reader.Bytes(digits).SequenceEqual(element));
                    Assert.Equal(element.Length, reader.TextLength);
                    Assert.Equal(CanonicalInteger.TryParse(element, out long expected), reader.TryNumber(out long number));
                    if (expected != 0) Assert.Equal(expected, number);
                }

                Assert.False(reader.MoveNext());
            }
        });
    }

    [Fact]
    public void Damaged_list_is_refused_or_read_within_bounds()
    {
        Randomness.Run(random =>
        {
            using var buffer = new NativeBuffer();
            Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
            int opened = 0;
            for (int round = 0; round < 3_000; round++)
            {
                buffer.Clear();
                Write(buffer, random, random.Next(1, 12));
                byte[] bytes = buffer.Written.ToArray();
                for (int damages = random.Next(1, 3); damages > 0; damages--) bytes[random.Next(bytes.Length)] ^= (byte)(1 << random.Next(8));
                if (!PackedListReader.TryOpen(bytes, out PackedListReader reader)) continue;
                opened++;
                int count = 0;
                for (; reader.MoveNext(); count++) Assert.InRange(reader.Bytes(digits).Length, 0, bytes.Length + digits.Length);
                Assert.Equal(reader.Count, count);
            }

            Assert.InRange(opened, 1, 2_999);
        });
    }

    private static List<byte[]> Write(NativeBuffer buffer, Random random, int count)
    {
        List<byte[]> elements = [];
        var writer = new PackedListWriter(buffer);
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        for (int i = 0; i < count; i++)
        {
            if (random.Next(2) == 0)
            {
                long number = random.NextInt64(long.MinValue, long.MaxValue) >> random.Next(64);
                writer.Append(number);
                elements.Add(digits[..CanonicalInteger.Format(number, digits)].ToArray());
                continue;
            }

            byte[] text = random.Bytes(random.Next(40) == 0 ? random.Next(6_000) : random.Next(30));
            writer.Append(text);
            elements.Add(text);
        }

        writer.Finish();
        return elements;
    }
}
