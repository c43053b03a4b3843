using System.Text;

namespace RedKite.Protocol.Tests;

public sealed class SeventeenDigitsTests
{
    [Theory]
    [InlineData(0.0, "0")]
    [InlineData(-0.0, "-0")]
    [InlineData(0.1, "0.10000000000000001")]
    [InlineData(-0.1, "-0.10000000000000001")]
    [InlineData(3.5, "3.5")]
    [InlineData(100, "100")]
    [InlineData(1234567.891, "1234567.8910000001")]
    [InlineData(1e16, "10000000000000000")]
    [InlineData(123456789012345678, "1.2345678901234568e+17")]
    [InlineData(1e23, "9.9999999999999992e+22")]
    [InlineData(1e300, "1.0000000000000001e+300")]
    [InlineData(0.0001, "0.0001")]
    [InlineData(0.00001, "1.0000000000000001e-05")]
    [InlineData(double.Epsilon, "4.9406564584124654e-324")]
    [InlineData(-double.MaxValue, "-1.7976931348623157e+308")]
    [InlineData(double.PositiveInfinity, "inf")]
    [InlineData(double.NegativeInfinity, "-inf")]
    public void Number_is_written_as_by_printf(double value, string text)
    {
        Span<byte> destination = stackalloc byte[SeventeenDigits.TextMax];
        destination = destination[..SeventeenDigits.Format(value, destination)];
        Assert.Equal(text, Encoding.ASCII.GetString(destination));
    }
}
