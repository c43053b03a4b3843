using System.Globalization;
using System.Text;

namespace RedKite.Scripting.Translation;

/// <summary>Numbers in Lua 5.1's text form: 14 significant digits, and everything that C reads as a number.</summary>
internal static class NumberText
{
    internal const int PrecisionDigits = 14;

    // double.NaN has its sign bit set, which C shows.
    private static readonly double PositiveNaN = BitConverter.Int64BitsToDouble(0x7FF8_0000_0000_0000);

    /// <summary>The digits of a number as tostring and the concatenation of Lua 5.1 have them.</summary>
    internal static string Format(double value) => CFormat.General(value, PrecisionDigits, alternate: false, upper: false);

    /// <summary>Reads a number: decimal or hexadecimal, inf and nan too, with blanks around it.</summary>
    internal static bool TryParse(ReadOnlySpan<byte> text, out double value)
    {
        value = 0;
        text = text.Trim(" \t\n\v\f\r"u8);
        if (text.IsEmpty) return false;
        bool negative = text[0] == '-';
        ReadOnlySpan<byte> digits = text[0] is (byte)'-' or (byte)'+' ? text[1..] : text;
        if (digits.IsEmpty) return false;
        bool read = digits.Length > 1 && digits[0] == '0' && digits[1] is (byte)'x' or (byte)'X' ? TryParseHexadecimal(digits[2..], out value) : TryParseDecimal(digits, out value);
        if (negative) value = -value;
        return read;
    }

    private static bool TryParseDecimal(ReadOnlySpan<byte> digits, out double value)
    {
        value = 0;
        if (char.IsAsciiDigit((char)digits[0]) || digits[0] == '.')
        {
            return double.TryParse(digits, NumberStyles.AllowDecimalPoint | NumberStyles.AllowExponent, CultureInfo.InvariantCulture, out value);
        }

        if (digits.Length > "infinity".Length) return false;
#pragma warning disable CA1308 // compared, not shown
        string word = Encoding.Latin1.GetString(digits).ToLowerInvariant();
#pragma warning restore CA1308
        value = word is "inf" or "infinity" ? double.PositiveInfinity : PositiveNaN;
        return word is "inf" or "infinity" or "nan";
    }

    private static bool TryParseHexadecimal(ReadOnlySpan<byte> digits, out double value)
    {
        value = 0;
        int exponent = 0;
        bool any = false;
        bool isFraction = false;
        int at = 0;
        for (; at < digits.Length; at++)
        {
            char c = (char)digits[at];
            if (c == '.' && !isFraction)
            {
                isFraction = true;
                continue;
            }

            if (!char.IsAsciiHexDigit(c)) break;
            any = true;
            value = (value * 16) + (char.IsAsciiDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
            if (isFraction) exponent -= 4;
        }

        if (!any) return false;
        if (at < digits.Length)
        {
            if (digits[at] is not ((byte)'p' or (byte)'P')) return false;
            if (!int.TryParse(digits[(at + 1)..], NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int power)) return false;
            exponent += power;
        }

        value = Math.ScaleB(value, exponent);
        return true;
    }
}
