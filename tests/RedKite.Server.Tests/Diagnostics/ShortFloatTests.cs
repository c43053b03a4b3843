using RedKite.Server.Diagnostics;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>Numbers in two bytes: how far they are from what they were, and in which direction.</summary>
public class ShortFloatTests
{
    [Fact]
    public void Nearest_is_within_four_thousandths_and_the_next_one_above_is_never_less()
    {
        var random = new Random(20261122);
        for (int i = 0; i < 100_000; i++)
        {
            float value = (float)(random.NextDouble() * Math.Pow(10, random.Next(-6, 16)));
            Assert.InRange(ShortFloat.Nearest(value).Value, value * 0.996f, value * 1.004f);
            Assert.InRange(ShortFloat.Nearest(-value).Value, -value * 1.004f, -value * 0.996f);
            Assert.InRange(ShortFloat.Up(value).Value, value, value * 1.008f);
            Assert.InRange(ShortFloat.Up(-value).Value, -value, -value * 0.992f);
        }
    }

    // 256 and 258 are neighbours. A sum that is rounded to nearest stays what it is in the mean.
    [Theory]
    [InlineData(256, 256, 256)]
    [InlineData(256.9f, 256, 258)]
    [InlineData(257, 256, 258)]
    [InlineData(257.1f, 258, 258)]
    [InlineData(259, 260, 260)]
    [InlineData(0, 0, 0)]
    [InlineData(float.PositiveInfinity, float.PositiveInfinity, float.PositiveInfinity)]
    [InlineData(float.NaN, float.NaN, float.NaN)]
    public void Rounds_to_nearest_and_up(float value, float nearest, float up)
    {
        Assert.Equal(nearest, ShortFloat.Nearest(value).Value);
        Assert.Equal(up, ShortFloat.Up(value).Value);
    }

    [Fact]
    public void Rounding_again_changes_nothing()
    {
        for (float value = 0.001f; value < 1e12f; value *= 1.37f)
        {
            float nearest = ShortFloat.Nearest(value).Value, up = ShortFloat.Up(value).Value;
            Assert.Equal((nearest, up), (ShortFloat.Nearest(nearest).Value, ShortFloat.Up(up).Value));
        }
    }

    [Fact]
    public void What_is_no_number_stays_none_whatever_its_bits()
    {
        float odd = BitConverter.UInt32BitsToSingle(0x7F800001); // its upper half alone is infinity
        Assert.True(float.IsNaN(ShortFloat.Nearest(odd).Value));
        Assert.True(float.IsNaN(ShortFloat.Up(odd).Value));
    }
}
