using System.Text;
using RedKite.Persistence.Rdb;

namespace RedKite.Persistence.Tests.Rdb;

public sealed class LzfTests
{
    // Compressed by Redis 7.0.
    [Theory]
    [InlineData("016161e0110001" + "6161", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")]
    [InlineData("0361626361e00f02016263", "abcabcabcabcabcabcabcabcabcabc")]
    [InlineData("1f74686520717569636b2062726f776e20666f78206a756d7073206f7665722074201e086c617a7920646f672c600de0042c016f78", "the quick brown fox jumps over the lazy dog, the quick brown fox")]
    public void Data_compressed_by_redis_is_read(string compressed, string text)
    {
        byte[] target = new byte[text.Length];
        Assert.True(Lzf.TryDecompress(Convert.FromHexString(compressed), target));
        Assert.Equal(text, Encoding.ASCII.GetString(target));
    }

    [Theory]
    [InlineData("")]                 // fewer bytes than declared
    [InlineData("0061")]             // the same
    [InlineData("0a61")]             // a run beyond the end
    [InlineData("2000")]             // a reference without data
    [InlineData("00612001")]         // a reference before the start
    [InlineData("006120")]           // half a reference
    [InlineData("0061e0")]           // half a long one
    [InlineData("0061e000")]         // the same
    [InlineData("0061e0ff00")]       // more bytes than declared
    public void Invalid_lzf_is_refused(string compressed) => Assert.False(Lzf.TryDecompress(Convert.FromHexString(compressed), new byte[12]));

    [Fact]
    public void Compressed_data_reads_back()
    {
        var random = new Random(2);
        int[] table = new int[Lzf.TableSlots];
        int compressedTexts = 0;
        for (int round = 0; round < 3_000; round++)
        {
            byte[] text = Text(random);
            byte[] target = new byte[text.Length];
            int written = Lzf.Compress(text, target, table);
            if (written == 0) continue;
            compressedTexts++;
            byte[] again = new byte[text.Length];
            Assert.True(Lzf.TryDecompress(target.AsSpan(0, written), again));
            Assert.Equal(text, again);
            Assert.True(Lzf.CanHold(written, (ulong)text.Length));
        }

        Assert.True(compressedTexts > 1_000);
    }

    [Fact]
    public void Incompressible_text_does_not_fit()
    {
        byte[] text = new byte[5_000];
        new Random(3).NextBytes(text);
        Assert.Equal(0, Lzf.Compress(text, new byte[text.Length - 4], new int[Lzf.TableSlots]));
    }

    [Fact]
    public void Damaged_data_is_never_read_out_of_bounds()
    {
        var random = new Random(4);
        int[] table = new int[Lzf.TableSlots];
        int refused = 0, accepted = 0;
        for (int round = 0; round < 5_000; round++)
        {
            byte[] text = Text(random);
            byte[] target = new byte[text.Length];
            int written = Lzf.Compress(text, target, table);
            if (written == 0) continue;
            for (int i = random.Next(1, 4); i > 0; i--) target[random.Next(written)] ^= (byte)(1 << random.Next(8));

            // Access outside of the spans throws. Some damage only changes the text, if the length is right.
            int used = random.Next(4) == 0 ? random.Next(written + 1) : written;
            int length = random.Next(4) == 0 ? random.Next(text.Length + 1) : text.Length;
            if (Lzf.TryDecompress(target.AsSpan(0, used), new byte[length])) accepted++;
            else refused++;
        }

        Assert.InRange(refused, 100, int.MaxValue);
        Assert.InRange(accepted, 100, int.MaxValue);
    }

    // Words of a few letters, long runs, and distances up to and beyond the maximum reference.
    private static byte[] Text(Random random)
    {
        byte[] text = new byte[random.Next(4) == 0 ? random.Next(20_000) : random.Next(21, 300)];
        for (int at = 0; at < text.Length;)
        {
            int length = Math.Min(text.Length - at, random.Next(1, 400));
            if (at > 0 && random.Next(3) > 0)
            {
                int from = random.Next(Math.Max(0, at - 9_000), at);
                for (int i = 0; i < length; i++) text[at + i] = text[from + i];
            }
            else
            {
                for (int i = 0; i < length; i++) text[at + i] = (byte)random.Next(random.Next(2) == 0 ? 3 : 256);
            }

            at += length;
        }

        return text;
    }
}
