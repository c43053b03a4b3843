using System.Globalization;
using System.Text;
using FsCheck;
using FsCheck.Fluent;

namespace RedKite.Protocol.Tests;

public class RespNumberTests
{
    [Fact]
    public void Every_integer_reads_back()
    {
        Prop.ForAll(ArbMap.Default.ArbFor<(long Value, byte Shift)>(), sample =>
        {
            long value = sample.Value * 0x5DEECE66D11 >> (sample.Shift & 63);
            AssertRoundTrip(value);
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(10_000));
        foreach (long value in new[] { 0, 1, -1, 9, 10, 99, 100, 999, 1000, long.MaxValue, long.MinValue, long.MaxValue - 1, long.MinValue + 1 }) AssertRoundTrip(value);
    }

    [Theory]
    [InlineData("")]
    [InlineData("-")]
    [InlineData("+1")]
    [InlineData("-0")]
    [InlineData("00")]
    [InlineData("01")]
    [InlineData("-01")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("1.0")]
    [InlineData("1e3")]
    [InlineData("0x10")]
    [InlineData("--1")]
    [InlineData("1-")]
    [InlineData("/")]
    [InlineData(":")]
    [InlineData("9223372036854775808")]
    [InlineData("-9223372036854775809")]
    [InlineData("18446744073709551616")]
    [InlineData("99999999999999999999")]
    [InlineData("-99999999999999999999")]
    [InlineData("100000000000000000000")]
    public void Non_canonical_numbers_are_refused(string text)
    {
        Assert.False(RespNumber.TryParseInt64(Encoding.ASCII.GetBytes(text), out _));
    }

    [Fact]
    public void Random_text_is_parsed_like_the_base_library_when_canonical()
    {
        var random = new Random(20_240_601);
        const string Alphabet = "-0123456789 +.a";
        for (int i = 0; i < 200_000; i++)
        {
            string text = string.Create(random.Next(1, 23), random, (span, source) =>
            {
                for (int at = 0; at < span.Length; at++) span[at] = Alphabet[source.Next(source.Next(5) == 0 ? Alphabet.Length : 11)];
            });
            bool canonical = long.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long expected)
                && expected.ToString(CultureInfo.InvariantCulture) == text;
            Assert.Equal(canonical, RespNumber.TryParseInt64(Encoding.ASCII.GetBytes(text), out long value));
            if (canonical) Assert.Equal(expected, value);
        }
    }

    private static void AssertRoundTrip(long value)
    {
        Span<byte> text = stackalloc byte[RespNumber.Int64TextMax];
        int length = RespNumber.Format(value, text);
        Assert.Equal(value.ToString(CultureInfo.InvariantCulture), Encoding.ASCII.GetString(text[..length]));
        Assert.Equal(length, RespNumber.TextLength(value));
        Assert.True(RespNumber.TryParseInt64(text[..length], out long read));
        Assert.Equal(value, read);
    }
}
