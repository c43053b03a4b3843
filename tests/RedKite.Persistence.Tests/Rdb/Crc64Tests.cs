using System.Text;
using RedKite.Persistence.Rdb;

namespace RedKite.Persistence.Tests.Rdb;

public sealed class Crc64Tests
{
    [Theory]
    [InlineData("", 0UL)]
    [InlineData("123456789", 0xE9C6D914C4B8D9CAUL)]
    public void Published_texts_have_their_published_sums(string text, ulong sum) => Assert.Equal(sum, Crc64.Append(0, Encoding.ASCII.GetBytes(text)));

    [Fact]
    public void Sum_over_pieces_equals_sum_over_all_and_bitwise_sum()
    {
        var random = new Random(1);
        byte[] bytes = new byte[1_000];
        random.NextBytes(bytes);
        ulong whole = Crc64.Append(0, bytes);
        Assert.Equal(BitByBit(bytes), whole);
        for (int cut = 0; cut <= 40; cut++) Assert.Equal(whole, Crc64.Append(Crc64.Append(0, bytes.AsSpan(0, cut)), bytes.AsSpan(cut)));
    }

    // The definition: a polynomial division, the lowest bit of each byte first.
    private static ulong BitByBit(byte[] bytes)
    {
        ulong crc = 0;
        foreach (byte b in bytes)
        {
            for (int bit = 0; bit < 8; bit++)
            {
                bool carry = ((crc ^ (ulong)(b >> bit)) & 1) != 0;
                crc >>= 1;
                if (carry) crc ^= Reflected(0xAD93D23594C935A9);
            }
        }

        return crc;
    }

    private static ulong Reflected(ulong value)
    {
        ulong result = 0;
        for (int bit = 0; bit < 64; bit++) result |= ((value >> bit) & 1) << (63 - bit);
        return result;
    }
}
