using System.Buffers.Text;
using System.Globalization;
using System.Numerics;
using System.Text;

namespace RedKite.Protocol;

/// <summary>
/// A floating-point number with a mantissa of 64 bits and an exponent of 15, the x87's extended format, rounded to
/// nearest even: what Redis calculates INCRBYFLOAT with on x86-64, so that the same digits come out.
/// </summary>
/// <remarks>
/// The value is mantissa * 2^exponent. The mantissa's top bit is set, except in zero and in subnormal numbers, whose
/// exponent is the least. Every operation first forms the exact result, in 128 bits where that is enough (all usual numbers;
/// nothing is allocated) and with big integers otherwise, and rounds once. Decimal arithmetic was rejected: its digits are nicer, but different.
/// </remarks>
internal readonly struct ExtendedDouble
{
    /// <summary>The length of the text of any number whose text is short.</summary>
    public const int ShortTextBytesMax = 64;

    /// <summary>The length of the text of any number: a sign, 4,933 digits, a point and 17 digits.</summary>
    public const int TextBytesMax = 5120;

    // Redis reads a number from a buffer of 5 KiB; longer text is not a number.
    private const int InputBytesMax = 5119;

    private const int MantissaBits = 64;
    private const int ExponentMin = -16445;
    private const int ExponentMax = 16383 - 63;
    private const int FractionDigits = 17;
    private const ulong FractionScale = 100_000_000_000_000_000;

    // A number of at least 10^4940 is infinite, one below 10^-4970 is zero.
    private const int DecimalDigitsMax = 4940;
    private const int DecimalDigitsMin = -4970;

    // More than any exponent that matters, with all the digits there may be.
    private const int WrittenExponentMax = 100_000;

    private const int SignificandDigits = 19; // the most that always fit 64 bits
    private const int PowerOfFiveMax = 27;    // 5^27 is the last that fits 63 bits

    private static readonly ulong[] PowersOfFive = ComputePowersOfFive();

    private readonly ulong _mantissa;
    private readonly int _exponent;
    private readonly bool _negative;
    private readonly bool _notFinite;

    private ExtendedDouble(bool negative, ulong mantissa, int exponent)
    {
        _negative = negative;
        _mantissa = mantissa;
        _exponent = exponent;
    }

    private ExtendedDouble(bool notFinite) => _notFinite = notFinite;

    /// <summary>False for infinities and NaN.</summary>
    public bool IsFinite => !_notFinite;

    /// <summary>Whether the text fits <see cref="ShortTextBytesMax"/>: below 2^128.</summary>
    public bool TextIsShort => _exponent <= 128 - MantissaBits;

    /// <summary>The largest finite number.</summary>
    public static ExtendedDouble MaxValue => new(negative: false, ulong.MaxValue, ExponentMax);

    /// <summary>Whether the number has a minus.</summary>
    public bool IsNegative => _negative;

    private static ExtendedDouble NotFinite => new(notFinite: true);

    /// <summary>
    /// Reads what C's strtold accepts whole: decimal and hexadecimal numbers with or without exponent, and inf and
    /// infinity; but no blanks, no number too large or too small for the format, and no nan.
    /// </summary>
    public static bool TryParse(ReadOnlySpan<byte> text, out ExtendedDouble value)
    {
        value = default;
        if (text.Length is 0 or > InputBytesMax) return false;
        bool negative = text[0] == '-';
        ReadOnlySpan<byte> rest = negative || text[0] == '+' ? text[1..] : text;
        if (rest.IsEmpty) return false;
        if ((rest[0] | 0x20) == 'i' && (AsciiText.EqualsIgnoreCase(rest, "inf"u8) || AsciiText.EqualsIgnoreCase(rest, "infinity"u8)))
        {
            value = NotFinite;
            return true;
        }

        if (rest.Length > 2 && rest[0] == '0' && (rest[1] | 0x20) == 'x') return TryParseHexadecimal(negative, rest[2..], out value);
        return TryParseDecimal(negative, rest, out value);
    }

    /// <summary>The number times a thousand, rounded to the format and then up to an integer; false when that needs more than 64 bits.</summary>
    public bool TryThousandfold(out long value)
    {
        value = 0;
        if (_notFinite) return false;
        if (_mantissa == 0) return true;
        ExtendedDouble product = Round(_negative, (UInt128)_mantissa * 1000, _exponent);
        if (product._exponent > 0) return false; // the mantissa's highest bit is set: 2^64 and more
        int shift = Math.Min(-product._exponent, 64);
        ulong whole = shift == 64 ? 0 : product._mantissa >> shift;
        bool hasRest = shift == 64 || (whole << shift) != product._mantissa;
        if (hasRest && !_negative) whole++;
        if (whole > long.MaxValue) return false;
        value = _negative ? -(long)whole : (long)whole;
        return true;
    }

    public static ExtendedDouble operator +(ExtendedDouble a, ExtendedDouble b)
    {
        if (a._notFinite || b._notFinite) return NotFinite;
        if (b._mantissa == 0) return a._mantissa == 0 ? new ExtendedDouble(a._negative && b._negative, 0, 0) : a;
        if (a._mantissa == 0) return b;
        if (a._exponent < b._exponent) (a, b) = (b, a);

        // 63 bits below the last: what falls off further down only has to be remembered as one bit.
        const int GuardBits = 63;
        int distance = a._exponent - b._exponent;
        UInt128 larger = (UInt128)a._mantissa << GuardBits;
        UInt128 smaller = ShiftRightSticky((UInt128)b._mantissa << GuardBits, distance);
        int exponent = a._exponent - GuardBits;
        if (a._negative == b._negative) return Round(a._negative, larger + smaller, exponent);
        if (larger == smaller) return default;
        return larger > smaller ? Round(a._negative, larger - smaller, exponent) : Round(b._negative, smaller - larger, exponent);
    }

    public static ExtendedDouble operator -(ExtendedDouble value) => value._notFinite ? value : new ExtendedDouble(!value._negative, value._mantissa, value._exponent);

    /// <summary>Compares two finite numbers.</summary>
    public int CompareTo(ExtendedDouble other)
    {
        ExtendedDouble difference = this + -other;
        if (!difference.IsFinite) return _negative ? -1 : 1; // of opposite signs, and both very large
        return difference._mantissa == 0 ? 0 : difference._negative ? -1 : 1;
    }

    /// <summary>
    /// Writes the number as C's %.17Lf does, without zeros at the end and without a minus before a zero. The destination
    /// has <see cref="TextBytesMax"/> bytes, or <see cref="ShortTextBytesMax"/> where the text is short.
    /// </summary>
    public int Format(Span<byte> destination)
    {
        if (!TextIsShort) return FormatLarge(destination);
        UInt128 whole = _exponent >= 0 ? (UInt128)_mantissa << _exponent : _exponent > -MantissaBits ? _mantissa >> -_exponent : 0;
        ulong fraction = _exponent < 0 ? Fraction() : 0;
        if (fraction == FractionScale)
        {
            whole++;
            fraction = 0;
        }

        int length = 0;
        if (_negative && (whole != 0 || fraction != 0)) destination[length++] = (byte)'-';
        length += FormatWhole(whole, destination[length..]);
        if (fraction == 0) return length;

        destination[length++] = (byte)'.';
        int digits = FractionDigits;
        for (; fraction % 10 == 0; fraction /= 10) digits--;
        for (int i = digits - 1; i >= 0; i--, fraction /= 10) destination[length + i] = (byte)('0' + (fraction % 10));
        return length + digits;
    }

    private static bool TryParseDecimal(bool negative, ReadOnlySpan<byte> text, out ExtendedDouble value)
    {
        value = default;
        ulong significand = 0;
        int digits = 0;
        int exponent = 0;
        bool any = false, afterPoint = false, exact = true;
        int at = 0;
        for (; at < text.Length; at++)
        {
            if (text[at] == '.' && !afterPoint)
            {
                afterPoint = true;
                continue;
            }

            uint digit = text[at] - (uint)'0';
            if (digit > 9) break;
            any = true;
            if (digits < SignificandDigits)
            {
                significand = (significand * 10) + digit;
                if (significand != 0) digits++;
                if (afterPoint) exponent--;
            }
            else
            {
                exact &= digit == 0;
                if (!afterPoint) exponent++;
            }
        }

        ReadOnlySpan<byte> number = text[..at];
        if (!any || !TryParseExponent(text[at..], 'e', out int written)) return false;
        if (significand == 0)
        {
            value = new ExtendedDouble(negative, 0, 0);
            return true;
        }

        exponent += written;
        if (digits + exponent is > DecimalDigitsMax or < DecimalDigitsMin) return false;
        value = exact && exponent is >= -PowerOfFiveMax and <= PowerOfFiveMax
            ? FromDecimal(negative, significand, exponent)
            : FromLongDecimal(negative, number, written);
        return value.IsFinite && value._mantissa != 0;
    }

    private static ExtendedDouble FromDecimal(bool negative, ulong significand, int exponent)
    {
        if (exponent >= 0) return Round(negative, (UInt128)significand * PowersOfFive[exponent], exponent);

        // The quotient has at least 65 bits, and another one shows whether there is a remainder.
        int shift = BitOperations.LeadingZeroCount(significand);
        UInt128 dividend = (UInt128)(significand << shift) << 64;
        UInt128 divisor = PowersOfFive[-exponent];
        UInt128 quotient = dividend / divisor;
        UInt128 sticky = quotient * divisor == dividend ? 0u : 1u;
        return Round(negative, (quotient << 1) | sticky, exponent - shift - 65);
    }

    // Numbers of many digits or far from one. Their size is bounded by that of the text and of the exponents that get here.
    private static ExtendedDouble FromLongDecimal(bool negative, ReadOnlySpan<byte> number, int exponent)
    {
        var digits = new StringBuilder(number.Length);
        foreach (byte c in number)
        {
            if (c != '.') digits.Append((char)c);
        }

        int point = number.IndexOf((byte)'.');
        if (point >= 0) exponent -= number.Length - 1 - point;
        BigInteger integer = BigInteger.Parse(digits.ToString(), NumberStyles.None, CultureInfo.InvariantCulture);
        if (exponent >= 0) return Round(negative, integer * BigInteger.Pow(10, exponent), hasRemainder: false, 0);

        BigInteger divisor = BigInteger.Pow(10, -exponent);
        int shift = (int)Math.Max(0, divisor.GetBitLength() - integer.GetBitLength() + 128);
        BigInteger quotient = BigInteger.DivRem(integer << shift, divisor, out BigInteger remainder);
        return Round(negative, quotient, !remainder.IsZero, -shift);
    }

    private static bool TryParseHexadecimal(bool negative, ReadOnlySpan<byte> text, out ExtendedDouble value)
    {
        value = default;
        UInt128 significand = 0;
        int exponent = 0;
        bool any = false, afterPoint = false, hasRemainder = false;
        int at = 0;
        for (; at < text.Length; at++)
        {
            if (text[at] == '.' && !afterPoint)
            {
                afterPoint = true;
                continue;
            }

            int letter = text[at] | 0x20;
            int digit = text[at] is >= (byte)'0' and <= (byte)'9' ? text[at] - '0' : letter is >= 'a' and <= 'f' ? letter - 'a' + 10 : -1;
            if (digit < 0) break;
            any = true;
            if (significand >> 120 == 0)
            {
                significand = (significand << 4) | (uint)digit;
                if (afterPoint) exponent -= 4;
            }
            else
            {
                hasRemainder |= digit != 0;
                if (!afterPoint) exponent += 4;
            }
        }

        if (!any || !TryParseExponent(text[at..], 'p', out int written)) return false;
        value = Round(negative, (significand << 1) | (hasRemainder ? 1u : 0u), exponent + written - 1);
        return value.IsFinite && (value._mantissa != 0 || significand == 0);
    }

    // Nothing, or a letter, perhaps a sign, and digits up to the end.
    private static bool TryParseExponent(ReadOnlySpan<byte> text, char letter, out int exponent)
    {
        exponent = 0;
        if (text.IsEmpty) return true;
        if ((text[0] | 0x20) != letter) return false;
        text = text[1..];
        bool negative = text.Length > 0 && text[0] == '-';
        if (negative || (text.Length > 0 && text[0] == '+')) text = text[1..];
        if (text.IsEmpty) return false;
        foreach (byte c in text)
        {
            uint digit = c - (uint)'0';
            if (digit > 9) return false;
            exponent = Math.Min((exponent * 10) + (int)digit, WrittenExponentMax);
        }

        if (negative) exponent = -exponent;
        return true;
    }

    private static ExtendedDouble Round(bool negative, BigInteger value, bool hasRemainder, int exponent)
    {
        int excess = (int)Math.Max(0, value.GetBitLength() - 126);
        BigInteger top = value >> excess;
        hasRemainder |= top << excess != value;
        return Round(negative, ((UInt128)top << 1) | (hasRemainder ? 1u : 0u), exponent + excess - 1);
    }

    // To nearest, ties to even; numbers below the smallest normal one keep fewer than 64 bits.
    private static ExtendedDouble Round(bool negative, UInt128 value, int exponent)
    {
        if (value == 0) return new ExtendedDouble(negative, 0, 0);
        int bits = 128 - (int)UInt128.LeadingZeroCount(value);
        int shift = Math.Max(bits - MantissaBits, ExponentMin - exponent);
        UInt128 rounded = shift <= 0 ? value << -shift : ShiftRightRounding(value, shift);
        exponent += shift;
        if (rounded >> MantissaBits != 0)
        {
            rounded >>= 1;
            exponent++;
        }

        if (rounded == 0) exponent = 0;
        return exponent > ExponentMax ? NotFinite : new ExtendedDouble(negative, (ulong)rounded, exponent);
    }

    private static UInt128 ShiftRightRounding(UInt128 value, int shift)
    {
        if (shift > 128) return 0;
        UInt128 half = UInt128.One << (shift - 1);
        UInt128 kept = shift == 128 ? 0 : value >> shift;
        UInt128 rest = shift == 128 ? value : value & ((UInt128.One << shift) - 1);
        return rest > half || (rest == half && UInt128.IsOddInteger(kept)) ? kept + 1 : kept;
    }

    private static UInt128 ShiftRightSticky(UInt128 value, int shift)
    {
        if (shift > 127) return 1;
        UInt128 shifted = value >> shift;
        return shifted << shift == value ? shifted : shifted | 1;
    }

    // The fractional part in units of the last digit.
    private ulong Fraction()
    {
        int bits = -_exponent;
        ulong rest = bits < MantissaBits ? _mantissa & ((1UL << bits) - 1) : _mantissa;
        return (ulong)ShiftRightRounding((UInt128)rest * FractionScale, bits);
    }

    private static int FormatWhole(UInt128 whole, Span<byte> destination)
    {
        int written;
        if (whole <= ulong.MaxValue) Utf8Formatter.TryFormat((ulong)whole, destination, out written);
        else whole.TryFormat(destination, out written, default, CultureInfo.InvariantCulture);
        return written;
    }

    private int FormatLarge(Span<byte> destination)
    {
        BigInteger whole = (BigInteger)_mantissa << _exponent;
        return Encoding.Latin1.GetBytes((_negative ? -whole : whole).ToString(CultureInfo.InvariantCulture), destination);
    }

    private static ulong[] ComputePowersOfFive()
    {
        var powers = new ulong[PowerOfFiveMax + 1];
        powers[0] = 1;
        for (int i = 1; i < powers.Length; i++) powers[i] = powers[i - 1] * 5;
        return powers;
    }
}
