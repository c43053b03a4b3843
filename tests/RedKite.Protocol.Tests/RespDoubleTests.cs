using System.Globalization;
using System.Text;
using RedKite.TestSupport;

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
    [InlineData(1e23, "99999999999999990000000")] // not the shortest
    [InlineData(-51.4610284, "-51.461028399999996")]
    [InlineData(9007199254740993, "9007199254740992")]
    [InlineData(double.PositiveInfinity, "inf")]
    [InlineData(double.NegativeInfinity, "-inf")]
    [InlineData(double.NaN, "nan")]
    public void Number_is_written_with_these_digits(double value, string text) => Assert.Equal(text, Format(value));

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

    // Scores are sent with 17 digits, which always read back, and come back with the oracle's own digits.
    [Theory]
    [InlineData(2)]
    [InlineData(3)]
    public void Every_number_has_the_digits_that_redis_writes(int protocol)
    {
        Assert.SkipWhen(OracleProgram.Redis8 is null, "digits of doubles: " + OracleProgram.Redis8Missing);
        using ServerProcess server = OracleServer.Start();
        using RespConnection client = server.Connect();
        client.Run($"HELLO {protocol}");
        var random = new Random(Random.Shared.Next());
        for (int batch = 0; batch < 150; batch++)
        {
            double[] values = [.. Enumerable.Range(0, 1_000).Select(_ => RandomNumber(random))];
            client.Run([.. CommandLine.Split("ZADD z"), .. values.SelectMany((value, i) => new[] { Encoding.ASCII.GetBytes(value.ToString("G17", CultureInfo.InvariantCulture)), Encoding.ASCII.GetBytes($"{i}") })]);
            RespValue scores = client.Run([.. CommandLine.Split("ZMSCORE z"), .. values.Select((_, i) => Encoding.ASCII.GetBytes($"{i}"))]);
            for (int i = 0; i < values.Length; i++)
            {
                if (scores.Items[i].Text != Format(values[i])) Assert.Fail($"{values[i]:G17}: {scores.Items[i].Text} by redis, {Format(values[i])} here");
            }
        }

        Assert.Equal(Format(3.141), client.Run("DEBUG PROTOCOL double").Text);
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
