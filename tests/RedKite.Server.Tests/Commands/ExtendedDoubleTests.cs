using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class ExtendedDoubleTests
{
    private const int Pairs = 10_000;
    private const int Seed = 20_240_721;

    // Each of them is an edge case: of the syntax, of the range, or halfway between two numbers.
    private static readonly string[] Edges =
    [
        "0", "-0", "+0", ".5", "5.", ".", "", "-", "+", "1e", "1e+", "1e5x", "1.5.5", " 1", "1 ", "\t1", "1\n", "--1", "+-1", "1_000", "1,5", "1d5", "1\0",
        "inf", "-inf", "+INF", "Infinity", "infinit", "nan", "NAN", "nan(1)",
        "0x", "0x.", "0x1p", "0x1", "0X1P+3", "0x.8", "0x1.8p-1", "0xg", "0x1p16383", "0x1p16384", "0x1p-16445", "0x1p-16446", "0x1.8p-16446",
        "1e4932", "1e4933", "1.18973149535723176502e4932", "1.18973149535723176508e4932", "3.6e-4951", "1.8e-4951", "1.9e-4951",
        "1e99999999999999", "1e-99999999999999", "0e99999999999999", "18446744073709551615", "18446744073709551616", "18446744073709551617",
        "9007199254740993", "0.000000000000000005", "0.000000000000000015", "0.000000000000000025", "0.1", "0.2", "3.0e3", "340282366920938463463374607431768211455",
    ];

    [Fact]
    public void Sums_have_the_digits_of_redis()
    {
        using var oracle = new Oracle("--save", "");
        var random = new Random(Seed);
        for (int i = 0; i < TestScale.Of(gate: Pairs / 5, full: Pairs); i++)
        {
            string value = RandomNumber(random);
            string increment = RandomNumber(random);
            oracle.Run("SET", "k", value);
            Assert.Equal((value, increment, oracle.Run("INCRBYFLOAT", "k", increment)), (value, increment, Sum(value, increment)));
        }
    }

    [Fact]
    public void Sum_of_many_numbers_does_not_drift_from_redis()
    {
        using var oracle = new Oracle("--save", "");
        var random = new Random(Seed);
        string total = "0";
        for (int i = 0; i < 2_000; i++)
        {
            string increment = (random.NextDouble() * random.Next(-1000, 1000)).ToString("R", CultureInfo.InvariantCulture);
            total = Sum(total, increment);
            Assert.Equal(oracle.Run("INCRBYFLOAT", "k", increment), total);
        }
    }

    [Theory]
    [InlineData("0.1", "0.2", "0.3")]
    [InlineData("3", "1.1", "4.1")]
    [InlineData("1000000", "0.1", "1000000.10000000000002274")]
    [InlineData("123456789012.3", "0.4", "123456789012.69999999552965164")]
    [InlineData("1e30", "1", "1000000000000000000024696061952")]
    [InlineData("1", "-1e-30", "1")]
    [InlineData("-1e-30", "0", "0")]
    public void Sum_is_rounded_to_64_bits_and_printed_with_17_digits(string value, string increment, string sum) => Assert.Equal(sum, Sum(value, increment));

    [Fact]
    public void Common_numbers_are_parsed_added_and_written_without_allocation()
    {
        Span<byte> buffer = stackalloc byte[ExtendedDouble.ShortTextBytesMax];
        long length = 0;
        long allocated = long.MaxValue; // the minimum of several rounds, see HotCommandAllocationTests
        for (int round = 0; round < 6; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < 1000; i++)
            {
                if (ExtendedDouble.TryParse("1234567890.12345678"u8, out ExtendedDouble value)
                    && ExtendedDouble.TryParse("-2.5e-3"u8, out ExtendedDouble increment)) length += (value + increment).Format(buffer);
            }

            allocated = Math.Min(allocated, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        Assert.Equal(0, allocated);
        Assert.Equal(6 * 1000 * "1234567890.12095678003970534".Length, length);
    }

    private static string Sum(string value, string increment)
    {
        if (!ExtendedDouble.TryParse(Encoding.Latin1.GetBytes(value), out ExtendedDouble a)
            || !ExtendedDouble.TryParse(Encoding.Latin1.GetBytes(increment), out ExtendedDouble b)) return "-ERR value is not a valid float";
        ExtendedDouble sum = a + b;
        if (!sum.IsFinite) return "-ERR increment would produce NaN or Infinity";
        byte[] text = new byte[sum.TextIsShort ? ExtendedDouble.ShortTextBytesMax : ExtendedDouble.TextBytesMax];
        return Encoding.Latin1.GetString(text, 0, sum.Format(text));
    }

    private static string RandomNumber(Random random)
    {
        string number = random.Next(10) switch
        {
            0 => Edges[random.Next(Edges.Length)],
            1 => Digits(random, random.Next(1, 18)),
            2 or 3 => $"{Digits(random, random.Next(1, 9))}.{Digits(random, random.Next(1, 9))}",
            4 => (random.NextDouble() * 1e6).ToString("R", CultureInfo.InvariantCulture),
            5 => $"{Digits(random, 1)}.{Digits(random, random.Next(1, 25))}e{random.Next(-30, 31)}",
            6 => $"{Digits(random, random.Next(1, 30))}e{random.Next(-5000, 5000)}",
            7 => $"0x{random.NextInt64():x}.{random.NextInt64():x}{random.NextInt64():x}p{random.Next(-90, 90)}",
            8 => $"0x{random.NextInt64():x}{random.NextInt64():x}p{random.Next(-16_600, 16_400)}",
            _ => $"{Digits(random, random.Next(18, 60))}.{Digits(random, random.Next(1, 60))}",
        };
        return random.Next(3) == 0 ? "-" + number : number;
    }

    private static string Digits(Random random, int count) => string.Create(count, random, (text, source) =>
    {
        for (int i = 0; i < text.Length; i++) text[i] = (char)('0' + source.Next(10));
    });
}
