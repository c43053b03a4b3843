using System.Globalization;

namespace RedKite.Server.Config;

/// <summary>
/// Sizes in redis.conf's notation: <c>100</c>, <c>100b</c>, <c>1k</c> = 1000, <c>1kb</c> = 1024, and so on with m, mb, g and
/// gb, in any case. As in Redis, no digits at all are 0, and too many are the largest size.
/// </summary>
internal static class MemorySize
{
    /// <summary>Returns false for a sign, a fraction or an unknown unit. As in Redis, the product of number and unit wraps.</summary>
    internal static bool TryParse(string text, out ulong bytes)
    {
        text = SettingText.UpToZero(text);
        bytes = 0;
        int digits = 0;
        while (digits < text.Length && char.IsAsciiDigit(text[digits]))
        {
            digits++;
        }

        ulong? unit = text[digits..].ToLowerInvariant() switch
        {
            "" or "b" => 1,
            "k" => 1000,
            "kb" => 1L << 10,
            "m" => 1000 * 1000,
            "mb" => 1L << 20,
            "g" => 1000 * 1000 * 1000,
            "gb" => 1L << 30,
            _ => null,
        };
        if (unit is null) return false;

        ulong number = 0;
        if (digits > 0 && !ulong.TryParse(text.AsSpan(0, digits), NumberStyles.None, CultureInfo.InvariantCulture, out number))
        {
            number = ulong.MaxValue;
        }

        bytes = unchecked(number * unit.Value);
        return true;
    }

    /// <summary>Formats a size in the largest of gb, mb and kb that divides it, as rewritten files have it.</summary>
    internal static string Format(ulong bytes)
    {
        (ulong unit, string suffix) = bytes switch
        {
            0 => (1UL, ""),
            _ when bytes % (1UL << 30) == 0 => (1UL << 30, "gb"),
            _ when bytes % (1UL << 20) == 0 => (1UL << 20, "mb"),
            _ when bytes % (1UL << 10) == 0 => (1UL << 10, "kb"),
            _ => (1UL, ""),
        };
        return (bytes / unit).ToString(CultureInfo.InvariantCulture) + suffix;
    }
}
