using System.Globalization;

namespace RedKite.Protocol;

/// <summary>
/// Floating-point numbers as Redis writes them since 7.2: the fewest digits that read back as the same number, whole
/// numbers with all their digits. (Older versions write 17 digits, so 0.1 is 0.10000000000000001 there.)
/// </summary>
public static class RespDouble
{
    /// <summary>The longest text.</summary>
    public const int TextMax = 40;

    // Whole numbers up to here are written as integers.
    private const double IntegerMax = long.MaxValue / 2;

    private const int DigitsMax = 17;

    /// <summary>Writes a number; the destination has at least <see cref="TextMax"/> bytes.</summary>
    /// <returns>How many bytes were written.</returns>
    public static int Format(double value, Span<byte> destination)
    {
        if (double.IsNaN(value)) return Copy("nan"u8, destination);
        if (double.IsInfinity(value)) return Copy(value > 0 ? "inf"u8 : "-inf"u8, destination);
        if (value == 0) return Copy(double.IsNegative(value) ? "-0"u8 : "0"u8, destination);
        if (Math.Abs(value) <= IntegerMax && value == Math.Floor(value)) return RespNumber.Format((long)value, destination);

        int length = 0;
        if (value < 0) destination[length++] = (byte)'-';
        Span<byte> digits = stackalloc byte[DigitsMax];
        int count = ShortestDigits(Math.Abs(value), digits, out int exponent);
        return length + Layout(digits[..count], exponent, destination[length..]);
    }

    // The significant digits, and the power of ten of the last one.
    private static int ShortestDigits(double value, Span<byte> digits, out int exponent)
    {
        Span<byte> buffer = stackalloc byte[TextMax];
        value.TryFormat(buffer, out int length, "R", CultureInfo.InvariantCulture);
        ReadOnlySpan<byte> text = buffer[..length];
        int mantissaEnd = text.IndexOf((byte)'E');
        exponent = mantissaEnd < 0 ? 0 : int.Parse(text[(mantissaEnd + 1)..], NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);
        if (mantissaEnd >= 0) text = text[..mantissaEnd];
        int point = text.IndexOf((byte)'.');
        if (point >= 0) exponent -= text.Length - point - 1;

        int count = 0;
        foreach (byte c in text)
        {
            if (c != '.' && (c != '0' || count > 0)) digits[count++] = c;
        }

        while (digits[count - 1] == '0')
        {
            count--;
            exponent++;
        }

        return count;
    }

    // Where the decimal point goes and when there is an exponent, which has no leading zero.
    private static int Layout(ReadOnlySpan<byte> digits, int exponent, Span<byte> destination)
    {
        int magnitude = exponent + digits.Length - 1; // of the first digit
        int length = 0;
        if (exponent is >= 0 and < 8)
        {
            length = Copy(digits, destination);
            destination.Slice(length, exponent).Fill((byte)'0');
            return length + exponent;
        }

        if (exponent < 0 && (exponent > -7 || Math.Abs(magnitude) < 4))
        {
            int whole = digits.Length + exponent;
            if (whole > 0)
            {
                length = Copy(digits[..whole], destination);
                destination[length++] = (byte)'.';
                return length + Copy(digits[whole..], destination[length..]);
            }

            length = Copy("0."u8, destination);
            destination.Slice(length, -whole).Fill((byte)'0');
            length -= whole;
            return length + Copy(digits, destination[length..]);
        }

        destination[length++] = digits[0];
        if (digits.Length > 1)
        {
            destination[length++] = (byte)'.';
            length += Copy(digits[1..], destination[length..]);
        }

        destination[length++] = (byte)'e';
        destination[length++] = magnitude < 0 ? (byte)'-' : (byte)'+';
        return length + RespNumber.Format(Math.Abs(magnitude), destination[length..]);
    }

    private static int Copy(ReadOnlySpan<byte> text, Span<byte> destination)
    {
        text.CopyTo(destination);
        return text.Length;
    }
}
