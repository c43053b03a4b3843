using System.Globalization;

namespace RedKite.Scripting.Translation;

/// <summary>C's formats for floating-point numbers: %g, %e and %f with a precision.</summary>
internal static class CFormat
{
    private const int ExactDigitsMax = 1100;

    /// <summary>%g: the shorter of the other two, without trailing zeros.</summary>
    internal static string General(double value, int precision, bool alternate, bool upper)
    {
        if (!double.IsFinite(value)) return NotFinite(value, upper);
        if (precision == 0) precision = 1;
        if (value == 0) return Sign(value) + (alternate ? "0." + new string('0', precision - 1) : "0");
        string digits = Exponential(Math.Abs(value), precision - 1, upper: false, alternate: false);
        int mark = digits.IndexOf('e', StringComparison.Ordinal);
        int exponent = int.Parse(digits.AsSpan(mark + 1), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture);
        string text;
        if (exponent < -4 || exponent >= precision)
        {
            string mantissa = alternate ? digits[..mark] : TrimZeros(digits[..mark]);
            text = mantissa + (upper ? "E" : "e") + digits[(mark + 1)..];
        }
        else
        {
            text = Fixed(Math.Abs(value), precision - 1 - exponent, alternate);
            if (!alternate) text = TrimZeros(text);
        }

        return Sign(value) + text;
    }

    /// <summary>%e</summary>
    internal static string Exponential(double value, int precision, bool upper, bool alternate)
    {
        if (!double.IsFinite(value)) return NotFinite(value, upper);
        string text = Math.Abs(value).ToString("E" + Math.Min(precision, ExactDigitsMax).ToString(CultureInfo.InvariantCulture), CultureInfo.InvariantCulture);
        int mark = text.IndexOf('E', StringComparison.Ordinal);
        string digits = text[(mark + 2)..].TrimStart('0').PadLeft(2, '0');
        string point = alternate && precision == 0 ? "." : "";
        return Sign(value) + text[..mark] + point + (upper ? 'E' : 'e') + text[mark + 1] + digits;
    }

    /// <summary>%f</summary>
    internal static string Fixed(double value, int precision, bool alternate = false)
    {
        if (!double.IsFinite(value)) return NotFinite(value, upper: false);
        string text = Math.Abs(value).ToString("F" + precision.ToString(CultureInfo.InvariantCulture), CultureInfo.InvariantCulture);
        return Sign(value) + text + (alternate && precision == 0 ? "." : "");
    }

    private static string NotFinite(double value, bool upper)
    {
        string text = double.IsNaN(value) ? "nan" : "inf";
        return Sign(value) + (upper ? text.ToUpperInvariant() : text);
    }

    private static string Sign(double value) => double.IsNegative(value) ? "-" : "";

    private static string TrimZeros(string text) => text.Contains('.', StringComparison.Ordinal) ? text.TrimEnd('0').TrimEnd('.') : text;
}
