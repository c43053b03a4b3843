using System.Globalization;
using System.Numerics;

namespace RedKite.Protocol;

/// <summary>
/// Floating-point numbers as Redis's commands accept them, which is what C's strtod reads: decimal and hexadecimal numbers,
/// inf and infinity, and nan, in any case.
/// </summary>
internal static class FloatText
{
    // Bits of a hexadecimal number that are kept; of the others it only matters whether there are any.
    private const int MantissaBits = 60;
    private const int ExponentMax = 100_000;
    private const int SubnormalExponent = -1074;
    private const int DoubleBits = 53;

    // Digits of a number below 2^53, and the powers of ten that are doubles.
    private const int ExactDigitsMax = 15;

    private static readonly double[] PowersOfTen = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

    /// <summary>Reads a number that is the whole text: without blanks, neither too large nor too small for a double, and not nan.</summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out double value)
    {
        if (RespNumber.TryParseInt64(text, out long whole))
        {
            value = whole;
            return true;
        }

        return Read(text, readsHexadecimal: true, out value, out bool outOfRange) == text.Length && text.Length > 0 && !outOfRange && !double.IsNaN(value);
    }

    /// <summary>
    /// Reads a decimal number, inf or infinity, up to a zero byte: an empty text is 0, a number that is too large is infinite, and
    /// one that is too small is 0. That is how Redis 8 reads the ends of score ranges and what SORT compares.
    /// </summary>
    public static bool TryParseLoosely(ReadOnlySpan<byte> text, out double value)
    {
        int end = text.IndexOf((byte)0);
        if (end >= 0) text = text[..end];
        value = 0;
        if (text.IsEmpty) return true;
        if (RespNumber.TryParseInt64(text, out long whole))
        {
            value = whole;
            return true;
        }

        return Read(text, readsHexadecimal: false, out value, out _) == text.Length && !double.IsNaN(value);
    }

    // Reads the number at the start of the text and returns its length; 0: there is none.
    private static int Read(ReadOnlySpan<byte> text, bool readsHexadecimal, out double value, out bool outOfRange)
    {
        value = 0;
        outOfRange = false;
        int sign = text.Length > 0 && text[0] is (byte)'-' or (byte)'+' ? 1 : 0;
        bool negative = sign == 1 && text[0] == '-';
        ReadOnlySpan<byte> digits = text[sign..];
        if (digits.IsEmpty) return 0;
        int length;
        if (digits[0] is >= (byte)'0' and <= (byte)'9' or (byte)'.')
        {
            length = readsHexadecimal && StartsWith(digits, "0x"u8) ? ReadHexadecimal(digits, out value, out outOfRange) : ReadDecimal(digits, out value, out outOfRange);
        }
        else
        {
            length = ReadName(digits, out value);
        }

        if (negative) value = -value;
        return length == 0 ? 0 : sign + length;
    }

    private static int ReadName(ReadOnlySpan<byte> text, out double value)
    {
        value = double.PositiveInfinity;
        if (StartsWith(text, "infinity"u8)) return 8;
        if (StartsWith(text, "inf"u8)) return 3;
        value = double.NaN;
        return StartsWith(text, "nan"u8) ? 3 : 0;
    }

    private static int ReadDecimal(ReadOnlySpan<byte> text, out double value, out bool outOfRange)
    {
        value = 0;
        outOfRange = false;
        int at = SkipDigits(text, 0);
        int digits = at;
        if (at < text.Length && text[at] == '.')
        {
            int fraction = SkipDigits(text, at + 1);
            digits += fraction - at - 1;
            at = fraction;
        }

        if (digits == 0) return 0;
        ReadOnlySpan<byte> mantissa = text[..at];
        at = SkipExponent(text, at, (byte)'e');
        if (digits <= ExactDigitsMax && at == mantissa.Length)
        {
            value = ReadExactly(mantissa);
            return at;
        }

        value = double.Parse(text[..at], NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent, CultureInfo.InvariantCulture);
        outOfRange = double.IsInfinity(value) || (value == 0 && mantissa.ContainsAnyInRange((byte)'1', (byte)'9'));
        return at;
    }

    // The digits and the power of ten are doubles, so that their quotient is rounded once. A vector of 65,536 such numbers took 12 ms with double.Parse.
    private static double ReadExactly(ReadOnlySpan<byte> text)
    {
        long digits = 0;
        int fraction = 0;
        bool pointSeen = false;
        foreach (byte character in text)
        {
            if (character == '.')
            {
                pointSeen = true;
                continue;
            }

            digits = (digits * 10) + character - '0';
            if (pointSeen) fraction++;
        }

        return digits / PowersOfTen[fraction];
    }

    private static int ReadHexadecimal(ReadOnlySpan<byte> text, out double value, out bool outOfRange)
    {
        value = 0;
        outOfRange = false;
        ulong mantissa = 0;
        long exponent = 0;
        bool anyDigits = false;
        bool pointSeen = false;
        int at = 2;
        for (; at < text.Length; at++)
        {
            if (text[at] == '.' && !pointSeen)
            {
                pointSeen = true;
                continue;
            }

            int digit = HexDigit(text[at]);
            if (digit < 0) break;
            anyDigits = true;
            if (mantissa >> MantissaBits == 0)
            {
                mantissa = (mantissa << 4) | (uint)digit;
                if (pointSeen) exponent -= 4;
            }
            else
            {
                if (digit != 0) mantissa |= 1;
                if (!pointSeen) exponent += 4;
            }
        }

        // Without digits the number is the zero before the x.
        if (!anyDigits) return 1;
        int end = SkipExponent(text, at, (byte)'p');
        if (end > at) exponent += ReadExponent(text[(at + 1)..end]);
        value = Scale(mantissa, exponent);
        outOfRange = double.IsInfinity(value) || (value == 0 && mantissa != 0);
        return end;
    }

    // mantissa * 2^exponent, rounded once, whatever the size: the conversion from 64 bits rounds, and scaling is exact where
    // the result has all its bits. A smaller one loses bits first, and the lowest bit records whether any were lost.
    private static double Scale(ulong mantissa, long exponent)
    {
        if (mantissa == 0) return 0;
        exponent = Math.Clamp(exponent, -ExponentMax, ExponentMax);
        int shift = BitOperations.LeadingZeroCount(mantissa);
        mantissa <<= shift;
        exponent -= shift;
        long lost = SubnormalExponent - exponent;
        if (lost <= 64 - DoubleBits) return Math.ScaleB(mantissa, (int)exponent);
        if (lost > 64) return 0;

        ulong kept = lost == 64 ? 0 : mantissa >> (int)lost;
        ulong rest = mantissa << (int)(64 - lost);
        const ulong Half = 1UL << 63;
        if (rest > Half || (rest == Half && (kept & 1) == 1)) kept++;
        return Math.ScaleB(kept, SubnormalExponent);
    }

    private static long ReadExponent(ReadOnlySpan<byte> text)
    {
        bool negative = text[0] == '-';
        if (text[0] is (byte)'-' or (byte)'+') text = text[1..];
        long exponent = 0;
        foreach (byte digit in text) exponent = Math.Min(ExponentMax, (exponent * 10) + digit - '0');
        return negative ? -exponent : exponent;
    }

    // The end of an exponent; without digits there is no exponent.
    private static int SkipExponent(ReadOnlySpan<byte> text, int at, byte letter)
    {
        if (at >= text.Length || (text[at] | 0x20) != letter) return at;
        int digits = at + 1;
        if (digits < text.Length && text[digits] is (byte)'-' or (byte)'+') digits++;
        int end = SkipDigits(text, digits);
        return end == digits ? at : end;
    }

    private static int SkipDigits(ReadOnlySpan<byte> text, int at)
    {
        while (at < text.Length && text[at] is >= (byte)'0' and <= (byte)'9') at++;
        return at;
    }

    private static int HexDigit(byte character) => character switch
    {
        >= (byte)'0' and <= (byte)'9' => character - '0',
        >= (byte)'a' and <= (byte)'f' => character - 'a' + 10,
        >= (byte)'A' and <= (byte)'F' => character - 'A' + 10,
        _ => -1,
    };

    private static bool StartsWith(ReadOnlySpan<byte> text, ReadOnlySpan<byte> lowerCase)
    {
        if (text.Length < lowerCase.Length) return false;
        for (int i = 0; i < lowerCase.Length; i++)
        {
            if ((text[i] | 0x20) != lowerCase[i]) return false;
        }

        return true;
    }
}
