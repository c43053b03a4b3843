using System.Globalization;
using System.Text;
using RedKite.Testing;

namespace RedKite.Protocol.Tests;

public class RespDoubleTests
{
    [Theory]
    [InlineData(0.0, "0")]
    [InlineData(-0.0, "-0")]
    [InlineData(1.0, "1")]
    [InlineData(-3.0, "-3")]
    [InlineData(0.1, "0.1")]
    [InlineData(3.141, "3.141")]
    [InlineData(-1.5, "-1.5")]
    [InlineData(100.25, "100.25")]
    [InlineData(0.001, "0.001")]
    [InlineData(0.00001, "0.00001")]
    [InlineData(0.000001, "0.000001")]
    [InlineData(1e-7, "1e-7")]
    [InlineData(1.5e-10, "1.5e-10")]
    [InlineData(1e10, "10000000000")]
    [InlineData(4e18, "4000000000000000000")]
    [InlineData(1e19, "1e+19")]
    [InlineData(1.2345678901234568e22, "12345678901234568000000")]
    [InlineData(1e100, "1e+100")]
    [InlineData(1.5e300, "1.5e+300")]
    [InlineData(double.MaxValue, "1.7976931348623157e+308")]
    [InlineData(double.Epsilon, "5e-324")]
    [InlineData(8911729.691974692, "8.911729691974692e+6")]
    [InlineData(9.999999999999999e22, "1e+23")] // the same number
    [InlineData(double.PositiveInfinity, "inf")]
    [InlineData(double.NegativeInfinity, "-inf")]
    [InlineData(double.NaN, "nan")]
    public void Number_is_written_in_its_shortest_form(double value, string text) => Assert.Equal(text, Format(value));

    [Fact]
    public void Every_number_reads_back()
    {
        var random = new Random(20_240_602);
        for (int i = 0; i < 300_000; i++)
        {
            double value = RandomNumber(random);
            string text = Format(value);
            Assert.InRange(text.Length, 1, RespDouble.TextMax);
            Assert.Equal(value, double.Parse(text, CultureInfo.InvariantCulture));
        }
    }

    // The installed oracle writes 17 digits. If those are the shortest form anyway, the texts are compared; otherwise the
    // numbers, also where either version writes an exponent, because the versions differ in when and how they do.
    [Fact]
    public void Oracle_parses_the_same_numbers()
    {
        using ServerProcess server = OracleServer.Start();
        using RespConnection client = server.Connect();
        var random = new Random(20_240_603);
        int sameText = 0;
        for (int i = 0; i < 5_000; i++)
        {
            double value = RandomNumber(random);
            string mine = Format(value);
            client.Run($"ZADD z {mine} m");
            string oracle = client.Run("ZSCORE z m").Text;
            Assert.Equal(value, double.Parse(oracle, CultureInfo.InvariantCulture));
            bool hasExponent = oracle.Contains('e', StringComparison.Ordinal) || mine.Contains('e', StringComparison.Ordinal);
            if (hasExponent || value == 0 || oracle.Count(char.IsAsciiDigit) >= 17) continue;
            Assert.Equal(oracle, mine);
            sameText++;
        }

        Assert.InRange(sameText, 1_000, 5_000);
        client.Run("DEBUG PROTOCOL double").IsBulk(Format(3.141));
    }

    private static double RandomNumber(Random random)
    {
        switch (random.Next(6))
        {
            case 0: return random.NextInt64(-1_000_000_000_000, 1_000_000_000_000);
            case 1: return random.Next(-100_000, 100_000) / 64.0; // dyadic fractions: few digits in any form
            case 2: return random.NextDouble() * Math.Pow(10, random.Next(-12, 25));
            case 3: return random.Next(1_000) * Math.Pow(10, random.Next(-20, 20));
            case 4: return random.Next(-1_000_000, 1_000_000) / 8.0;
            default:
                double value = BitConverter.Int64BitsToDouble(random.NextInt64(long.MinValue, long.MaxValue));
                return double.IsFinite(value) ? value : 0.5;
        }
    }

    private static string Format(double value)
    {
        Span<byte> text = stackalloc byte[RespDouble.TextMax];
        return Encoding.ASCII.GetString(text[..RespDouble.Format(value, text)]);
    }
}
