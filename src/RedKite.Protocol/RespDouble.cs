namespace RedKite.Protocol;

/// <summary>
/// Floating-point numbers as Redis writes them since 7.2: digits that read back as the same number, usually the fewest
/// (<see cref="GrisuDigits"/>), and whole numbers with all their digits.
/// </summary>
internal static class RespDouble
{
    /// <summary>The longest text.</summary>
    public const int TextMax = 40;

    // Whole numbers up to here are written as integers.
    private const double IntegerMax = long.MaxValue / 2;

    /// <summary>Writes a number; the destination has at least <see cref="TextMax"/> bytes.</summary>
    /// <returns>How many bytes were written.</returns>
    public static int Format(double value, Span<byte> destination)
    {
        if (double.IsNaN(value)) return Copy("nan"u8, destination);
        if (double.IsInfinity(value)) return Copy(value > 0 ? "inf"u8 : "-inf"u8, destination);
        bool isWhole = value != 0 && Math.Abs(value) <= IntegerMax && value == Math.Floor(value);
        return isWhole ? RespNumber.Format((long)value, destination) : FormatDigits(value, destination);
    }

    /// <summary>Writes a number from its digits alone, so that a large whole one has an exponent, as DEBUG DIGEST uses it.</summary>
    /// <returns>How many bytes were written, at most <see cref="TextMax"/>.</returns>
    public static int FormatDigits(double value, Span<byte> destination)
    {
        if (!double.IsFinite(value)) return Format(value, destination);
        if (value == 0) return Copy(double.IsNegative(value) ? "-0"u8 : "0"u8, destination);

        int length = 0;
        if (value < 0) destination[length++] = (byte)'-';
        Span<byte> digits = stackalloc byte[GrisuDigits.CountMax];
        int count = GrisuDigits.Generate(Math.Abs(value), digits, out int exponent);
        return length + Layout(digits[..count], exponent, destination[length..]);
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
