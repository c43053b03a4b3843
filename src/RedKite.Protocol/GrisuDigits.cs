using System.Diagnostics;
using System.Numerics;

namespace RedKite.Protocol;

/// <summary>
/// The decimal digits of a double by Florian Loitsch's Grisu2 ("Printing Floating-Point Numbers Quickly and Accurately with
/// Integers"), which is what Redis's digits come from: they always read back as the same number, but in one case of a
/// thousand they are not the fewest, or not the closest of that length. .NET's own conversion is always the shortest, so it
/// writes 1e23 where Redis writes 99999999999999990000000.
/// </summary>
/// <remarks>
/// The number and the midpoints to its neighbours are multiplied with a power of ten of 64 bits, such that the whole part of
/// the product fits 32 bits. Digits of the upper midpoint are then generated until what is left out is less than the distance
/// between the midpoints, and the last digit is moved towards the number. The products are off by up to one unit, so
/// the interval is taken one unit narrower on either side: that is where the shortest digits are sometimes missed.
/// </remarks>
internal static class GrisuDigits
{
    /// <summary>The maximum number of digits.</summary>
    internal const int CountMax = 18;

    private const int FractionBits = 52;
    private const int ExponentBias = 1023 + FractionBits;
    private const ulong HiddenBit = 1UL << FractionBits;

    // The binary exponents of a product with a whole part of at most 32 bits and digits behind it that cannot overflow.
    private const int ProductExponentMin = -60;
    private const int ProductExponentMax = -32;

    private const int PowerFirst = -348;
    private const int PowerStep = 8;
    private const int PowerCount = 87;

    private const double Log10Of2 = 0.30102999566398120;

    private static readonly Scaled[] Powers = ComputePowers();

    /// <summary>Writes the digits of a positive finite number, the first of them not zero.</summary>
    /// <param name="value">The number.</param>
    /// <param name="digits">At least <see cref="CountMax"/> bytes.</param>
    /// <param name="exponent">The power of ten of the last digit.</param>
    /// <returns>The number of digits.</returns>
    internal static int Generate(double value, Span<byte> digits, out int exponent)
    {
        Debug.Assert(double.IsFinite(value) && value > 0, "only positive numbers have digits");
        ulong bits = BitConverter.DoubleToUInt64Bits(value);
        ulong fraction = bits & (HiddenBit - 1);
        int biased = (int)(bits >> FractionBits);
        Scaled number = biased == 0 ? new Scaled(fraction, 1 - ExponentBias) : new Scaled(fraction | HiddenBit, biased - ExponentBias);

        // The neighbour below a power of two is only half as far away.
        int below = number.Mantissa == HiddenBit ? 2 : 1;
        Scaled upper = new Scaled((number.Mantissa << 1) + 1, number.Exponent - 1).Normalized();
        Scaled lower = new Scaled((number.Mantissa << below) - 1, number.Exponent - below).WithExponent(upper.Exponent);

        Scaled power = PowerFor(upper.Exponent, out exponent);
        exponent = -exponent;
        upper = upper.Times(power);
        ulong highest = upper.Mantissa - 1;
        ulong lowest = lower.Times(power).Mantissa + 1;
        ulong toNumber = highest - number.Normalized().Times(power).Mantissa;
        return Generate(highest, highest - lowest, toNumber, -upper.Exponent, digits, ref exponent);
    }

    // The digits of highest / 2^fractionBits, until the rest is within the interval; toNumber is how far down the number is.
    private static int Generate(ulong highest, ulong interval, ulong toNumber, int fractionBits, Span<byte> digits, ref int exponent)
    {
        ulong one = 1UL << fractionBits;
        ulong whole = highest >> fractionBits;
        ulong fraction = highest & (one - 1);
        int count = 0;
        ulong unit = 1_000_000_000;
        for (int position = 9; position >= 0; position--, unit /= 10)
        {
            ulong digit = whole / unit;
            whole -= digit * unit;
            if (digit != 0 || count != 0) digits[count++] = (byte)('0' + digit);
            ulong rest = (whole << fractionBits) + fraction;
            if (rest > interval) continue;
            exponent += position;
            MoveTowards(toNumber, rest, interval, unit << fractionBits, ref digits[count - 1]);
            return count;
        }

        while (true)
        {
            // The interval grows instead of the unit shrinking. It stays below one, so ten times as much has bits to spare.
            fraction *= 10;
            interval *= 10;
            toNumber *= 10;
            exponent--;
            ulong digit = fraction >> fractionBits;
            fraction &= one - 1;
            if (digit != 0 || count != 0) digits[count++] = (byte)('0' + digit);
            if (fraction >= interval) continue;
            MoveTowards(toNumber, fraction, interval, one, ref digits[count - 1]);
            return count;
        }
    }

    // Lowers the last digit while that stays within the interval and comes closer to the number.
    private static void MoveTowards(ulong toNumber, ulong rest, ulong interval, ulong unit, ref byte digit)
    {
        while (rest < toNumber && interval - rest >= unit && (rest + unit < toNumber || toNumber - rest > rest + unit - toNumber))
        {
            digit--;
            rest += unit;
        }
    }

    // A power of ten that brings a mantissa of 64 bits with this exponent into the range.
    private static Scaled PowerFor(int exponent, out int powerOfTen)
    {
        int index = Math.Clamp((int)((ProductExponentMin - exponent - 1) * Log10Of2 - PowerFirst) / PowerStep, 0, PowerCount - 1);
        while (exponent + Powers[index].Exponent + 64 < ProductExponentMin) index++;
        while (exponent + Powers[index].Exponent + 64 > ProductExponentMax) index--;
        powerOfTen = PowerFirst + (index * PowerStep);
        return Powers[index];
    }

    // Every eighth power of ten, rounded to 64 bits.
    private static Scaled[] ComputePowers()
    {
        var powers = new Scaled[PowerCount];
        for (int i = 0; i < PowerCount; i++)
        {
            int power = PowerFirst + (i * PowerStep);
            BigInteger ten = BigInteger.Pow(10, Math.Abs(power));

            // With more than 64 bits, whatever the power.
            int shift = power >= 0 ? 65 : 65 + (int)ten.GetBitLength();
            BigInteger value = power >= 0 ? ten << shift : (BigInteger.One << shift) / ten;
            int excess = (int)value.GetBitLength() - 64;
            powers[i] = new Scaled((ulong)((value + (BigInteger.One << (excess - 1))) >> excess), excess - shift);
        }

        return powers;
    }

    /// <summary>mantissa * 2^exponent.</summary>
    private readonly record struct Scaled(ulong Mantissa, int Exponent)
    {
        internal Scaled Normalized() => WithExponent(Exponent - BitOperations.LeadingZeroCount(Mantissa));

        /// <summary>The same number with an exponent that is not greater.</summary>
        internal Scaled WithExponent(int exponent) => new(Mantissa << (Exponent - exponent), exponent);

        /// <summary>The upper half of the product, rounded.</summary>
        internal Scaled Times(Scaled other)
        {
            ulong upper = Math.BigMul(Mantissa, other.Mantissa, out ulong lower);
            return new Scaled(upper + (lower >> 63), Exponent + other.Exponent + 64);
        }
    }
}
