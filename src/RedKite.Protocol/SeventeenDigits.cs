using System.Globalization;

namespace RedKite.Protocol;

/// <summary>
/// Floating-point numbers with up to 17 significant digits, as C's %.17g writes them: more than are needed to read them back
/// (0.1 is 0.10000000000000001). Redis writes the scores of ZSCAN so where a set is a table.
/// </summary>
internal static class SeventeenDigits
{
    /// <summary>The longest text.</summary>
    public const int TextMax = 32;

    private const int DigitCount = 17;
    private const int ExponentMin = -4;

    /// <summary>Writes a number; the destination has at least <see cref="TextMax"/> bytes.</summary>
    /// <returns>How many bytes were written.</returns>
    public static int Format(double value, Span<byte> destination)
    {
        if (!double.IsFinite(value) || value == 0) return RespDouble.Format(value, destination);

        // d.ddddddddddddddddE+ddd
        Span<byte> text = stackalloc byte[TextMax];
        Math.Abs(value).TryFormat(text, out int length, "E16", CultureInfo.InvariantCulture);
        int exponent = int.Parse(text[(DigitCount + 2)..length], NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);
        Span<byte> digits = stackalloc byte[DigitCount];
        digits[0] = text[0];
        text[2..(DigitCount + 1)].CopyTo(digits[1..]);
        digits = digits.TrimEnd((byte)'0');

        int written = 0;
        if (value < 0) destination[written++] = (byte)'-';
        if (exponent is < ExponentMin or >= DigitCount) return written + FormatScientific(digits, exponent, destination[written..]);
        return written + FormatPlain(digits, exponent, destination[written..]);
    }

    // The exponent has at least two digits.
    private static int FormatScientific(ReadOnlySpan<byte> digits, int exponent, Span<byte> destination)
    {
        int written = FormatPlain(digits, 0, destination);
        destination[written++] = (byte)'e';
        destination[written++] = exponent < 0 ? (byte)'-' : (byte)'+';
        Math.Abs(exponent).TryFormat(destination[written..], out int length, "00", CultureInfo.InvariantCulture);
        return written + length;
    }

    private static int FormatPlain(ReadOnlySpan<byte> digits, int exponent, Span<byte> destination)
    {
        int written = 0;
        if (exponent < 0)
        {
            "0."u8.CopyTo(destination);
            destination.Slice(2, -exponent - 1).Fill((byte)'0');
            written = 1 - exponent;
            digits.CopyTo(destination[written..]);
            return written + digits.Length;
        }

        for (int i = 0; i < Math.Max(digits.Length, exponent + 1); i++)
        {
            if (i == exponent + 1) destination[written++] = (byte)'.';
            destination[written++] = i < digits.Length ? digits[i] : (byte)'0';
        }

        return written;
    }
}
