using System.Globalization;
using System.Text;
using FsCheck;
using FsCheck.Fluent;

namespace RedKite.Protocol.Tests;

public class FloatTextTests
{
    [Fact]
    public void Every_double_reads_back_from_its_shortest_text()
    {
        Prop.ForAll(ArbMap.Default.ArbFor<long>(), bits =>
        {
            double value = BitConverter.Int64BitsToDouble(bits * 0x5DEECE66D11);
            if (!double.IsFinite(value)) return;
            Assert.True(FloatText.TryParse(Encoding.ASCII.GetBytes(value.ToString("R", CultureInfo.InvariantCulture)), out double read));
            Assert.Equal(BitConverter.DoubleToInt64Bits(value), BitConverter.DoubleToInt64Bits(read));
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(20_000));
    }

    // Up to 15 digits are read without double.Parse, more with it.
    [Fact]
    public void Decimal_numbers_are_those_of_the_runtime()
    {
        var random = new Random(9);
        for (int i = 0; i < 20_000; i++)
        {
            string digits = random.NextInt64(0, (long)Math.Pow(10, random.Next(1, 19))).ToString(CultureInfo.InvariantCulture).PadLeft(random.Next(1, 19), '0');
            string text = (i % 3 == 0 ? "-" : "") + digits.Insert(random.Next(digits.Length + 1), ".");
            Assert.True(FloatText.TryParse(Encoding.ASCII.GetBytes(text), out double read));
            Assert.Equal(BitConverter.DoubleToInt64Bits(double.Parse(text, CultureInfo.InvariantCulture)), BitConverter.DoubleToInt64Bits(read));
        }
    }

    [Theory]
    [InlineData("0", 0)]
    [InlineData("-0", -0.0)]
    [InlineData("+1.5", 1.5)]
    [InlineData(".5", 0.5)]
    [InlineData("5.", 5)]
    [InlineData("007", 7)]
    [InlineData("1e3", 1000)]
    [InlineData("1E-2", 0.01)]
    [InlineData("9223372036854775807", 9223372036854775807)]
    [InlineData("12345678901234567890123", 12345678901234567890123.0)]
    [InlineData("5e-324", double.Epsilon)]
    [InlineData("inf", double.PositiveInfinity)]
    [InlineData("-Infinity", double.NegativeInfinity)]
    [InlineData("0x10", 16)]
    [InlineData("0X1.8P1", 3)]
    [InlineData("-0x.4p-3", -0.03125)]
    [InlineData("0x1.fffffffffffffp1023", double.MaxValue)]
    [InlineData("0x1p-1074", double.Epsilon)]
    [InlineData("0x1.8p-1074", 2 * double.Epsilon)]
    [InlineData("0x1.00000000000008", 1)]
    [InlineData("0x1.000000000000080000000001", 1.0000000000000002)]
    [InlineData("0x1.00000000000018", 1.0000000000000004)]
    [InlineData("0x100000000000000000000", 1208925819614629174706176.0)]
    public void Numbers_are_parsed_as_in_C(string text, double expected)
    {
        Assert.True(FloatText.TryParse(Encoding.ASCII.GetBytes(text), out double value));
        Assert.Equal(BitConverter.DoubleToInt64Bits(expected), BitConverter.DoubleToInt64Bits(value));
        bool isDecimal = !text.Contains('x', StringComparison.OrdinalIgnoreCase);
        Assert.Equal(isDecimal, FloatText.TryParseLoosely(Encoding.ASCII.GetBytes(text + "\0x"), out value));
        if (isDecimal) Assert.Equal(expected, value);
    }

    [Theory]
    [InlineData("")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("1\0")]
    [InlineData("nan")]
    [InlineData("-NaN")]
    [InlineData("1e400")]
    [InlineData("-1e400")]
    [InlineData("1e-400")]
    [InlineData("0x1p1024")]
    [InlineData("0x1p-1076")]
    [InlineData("0x")]
    [InlineData("0x.p1")]
    [InlineData("1e")]
    [InlineData("1e+")]
    [InlineData(".")]
    [InlineData("-")]
    [InlineData("+-1")]
    [InlineData("1.2.3")]
    [InlineData("1,5")]
    [InlineData("infinit")]
    [InlineData("abc")]
    public void Non_numbers_are_refused(string text) => Assert.False(FloatText.TryParse(Encoding.ASCII.GetBytes(text), out _));

    [Theory]
    [InlineData("", 0)]
    [InlineData("\0abc", 0)]
    [InlineData("1e400", double.PositiveInfinity)]
    [InlineData("-1e400", double.NegativeInfinity)]
    [InlineData("1e-400", 0)]
    [InlineData("1e-320", 1e-320)]
    [InlineData("0e-999", 0)]
    [InlineData("1\0abc", 1)]
    [InlineData("+3", 3)]
    [InlineData(".5", 0.5)]
    public void Lenient_parsing_accepts_more(string text, double expected)
    {
        Assert.True(FloatText.TryParseLoosely(Encoding.ASCII.GetBytes(text), out double value));
        Assert.Equal(expected, value);
    }

    [Theory]
    [InlineData(" ")]
    [InlineData(" 1")]
    [InlineData("1 ")]
    [InlineData("0x10")]
    [InlineData(".")]
    [InlineData("nan")]
    [InlineData("x")]
    public void Lenient_parsing_refuses_non_numbers(string text) => Assert.False(FloatText.TryParseLoosely(Encoding.ASCII.GetBytes(text), out _));
}
