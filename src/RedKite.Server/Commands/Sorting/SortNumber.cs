using System.Buffers.Text;
using RedKite.Protocol;

namespace RedKite.Server.Commands.Sorting;

/// <summary>
/// Parses a text as a number as C's strtod does, up to a zero byte. An empty text is 0, and leading blanks are allowed. A text that is
/// not a number, or overflows or underflows, is refused.
/// </summary>
internal static class SortNumber
{
    private const double SmallestNormal = 2.2250738585072014e-308;

    internal static bool TryParse(ReadOnlySpan<byte> text, out double value)
    {
        value = 0;
        int end = text.IndexOf((byte)0);
        if (end >= 0) text = text[..end];
        if (text.IsEmpty) return true;
        text = text.TrimStart(" \t\n\v\f\r"u8);
        if (text.IsEmpty) return false; // blanks alone
        bool negative = text[0] == '-';
        ReadOnlySpan<byte> rest = negative || text[0] == '+' ? text[1..] : text;
        if (rest.IsEmpty) return false;
        if ((rest[0] | 0x20) == 'i')
        {
            value = negative ? double.NegativeInfinity : double.PositiveInfinity;
            return AsciiText.EqualsIgnoreCase(rest, "inf"u8) || AsciiText.EqualsIgnoreCase(rest, "infinity"u8);
        }

        if (rest.Length > 2 && rest[0] == '0' && (rest[1] | 0x20) == 'x') return TryParseHexadecimal(text, out value);
        if (rest[0] is not ((>= (byte)'0' and <= (byte)'9') or (byte)'.')) return false;
        if (!Utf8Parser.TryParse(text, out value, out int read) || read != text.Length) return false;
        return IsInRange(value, rest);
    }

    private static bool TryParseHexadecimal(ReadOnlySpan<byte> text, out double value)
    {
        value = 0;
        if (!ExtendedDouble.TryParse(text, out ExtendedDouble extended)) return false;
        Span<byte> digits = stackalloc byte[ExtendedDouble.TextBytesMax];
        digits = digits[..extended.Format(digits)];
        return Utf8Parser.TryParse(digits, out value, out _) && double.IsFinite(value);
    }

    // A result of zero must have no other digits, or it is an underflow.
    private static bool IsInRange(double value, ReadOnlySpan<byte> digits)
    {
        if (!double.IsFinite(value)) return false;
        if (Math.Abs(value) >= SmallestNormal) return true;
        int end = digits.IndexOfAny((byte)'e', (byte)'E');
        return value == 0 && !digits[..(end < 0 ? digits.Length : end)].ContainsAnyExcept((byte)'0', (byte)'.');
    }
}
