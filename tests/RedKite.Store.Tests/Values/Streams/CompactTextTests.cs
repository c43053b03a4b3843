using System.Globalization;
using System.Text;
using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Tests.Structures.Streams;

/// <summary>Compactly written texts read back byte for byte, within their maximum size.</summary>
public sealed unsafe class CompactTextTests
{
    private const string Letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    private const string Digits = "0123456789.-+:, ";

    [Fact]
    public void Every_text_reads_back()
    {
        Gen<byte[]> texts = Gen.OneOf(
            ArbMap.Default.GeneratorFor<byte[]>().Select(bytes => bytes ?? []),
            TextOf(Letters),
            TextOf(Digits),
            ArbMap.Default.GeneratorFor<long>().Select(number => Encoding.ASCII.GetBytes(number.ToString(CultureInfo.InvariantCulture))),
            ArbMap.Default.GeneratorFor<int>().Select(shift => Encoding.ASCII.GetBytes((long.MaxValue >> (shift & 63)).ToString(CultureInfo.InvariantCulture))));
        Prop.ForAll(texts.ToArbitrary(), text => AssertReadsBack(text)).QuickCheckThrowOnFailure();
    }

    [Fact]
    public void Texts_at_form_boundaries_read_back()
    {
        foreach (int length in (int[])[0, 1, 2, 3, 4, 5, 29, 30, 31, 32, 62, 63, 64, 190, 191, 254, 255, 256, 257, 4095, 4096, 70_000])
        {
            AssertReadsBack(Encoding.ASCII.GetBytes(new string('x', length)));
            AssertReadsBack(Encoding.ASCII.GetBytes(new string('.', length)));
            AssertReadsBack(Encoding.ASCII.GetBytes(new string('\n', length)));
        }
    }

    [Fact]
    public void Numbers_at_form_boundaries_read_back()
    {
        for (int bits = 0; bits < 64; bits++)
        {
            for (long delta = -2; delta <= 2; delta++)
            {
                AssertReadsBack(Encoding.ASCII.GetBytes(((1L << bits) + delta).ToString(CultureInfo.InvariantCulture)));
                AssertReadsBack(Encoding.ASCII.GetBytes((-(1L << bits) + delta).ToString(CultureInfo.InvariantCulture)));
            }
        }

        foreach (string text in (string[])["-0", "00", "01", "+1", " 1", "1 ", "-", "9223372036854775808", "-9223372036854775809"]) AssertReadsBack(Encoding.ASCII.GetBytes(text));
    }

    [Theory]
    [InlineData("0", 1)]
    [InlineData("63", 1)]
    [InlineData("127", 2)]
    [InlineData("-1", 2)]
    [InlineData("1795287506926", 7)]
    [InlineData("21.5", 3)]
    [InlineData("000000012345", 7)]
    [InlineData("sensor-12", 8)]
    [InlineData("a b", 4)]
    [InlineData("abc", 4)]
    public void Short_texts_take_few_bytes(string text, int bytes) => Assert.Equal(bytes, AssertReadsBack(Encoding.ASCII.GetBytes(text)));

    private static Gen<byte[]> TextOf(string characters) =>
        Gen.Choose(0, 300).SelectMany(length => Gen.ArrayOf(Gen.Elements(characters.ToCharArray()), length)).Select(text => Encoding.ASCII.GetBytes(text));

    private static int AssertReadsBack(byte[] text)
    {
        byte[] room = new byte[text.Length + CompactText.OverheadMax + 8];
        Array.Fill(room, (byte)0xEE);
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        fixed (byte* at = room)
        {
            byte* end = CompactText.Write(at, text, out int listPackBytes);
            int bytes = (int)(end - at);
            Assert.InRange(bytes, 1, text.Length + CompactText.OverheadMax);
            Assert.All(room[(text.Length + CompactText.OverheadMax)..], left => Assert.Equal(0xEE, left));
            Assert.Equal(PackedList.ElementBytes(text), listPackBytes);
            Assert.Equal((nint)end, (nint)CompactText.Skip(at));
            Assert.Equal((nint)end, (nint)CompactText.Read(at, out CompactText read));
            Assert.True(read.Bytes(scratch).SequenceEqual(text), $"'{Encoding.Latin1.GetString(text)}' became '{Encoding.Latin1.GetString(read.Bytes(scratch))}'");

            byte* plainEnd = CompactText.WritePlain(at, text);
            Assert.Equal((nint)plainEnd, (nint)CompactText.Read(at, out CompactText plain));
            Assert.True(plain.Bytes(scratch).SequenceEqual(text));
            return bytes;
        }
    }
}
