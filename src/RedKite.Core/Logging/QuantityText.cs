using System.Globalization;

namespace RedKite.Server.Logging;

/// <summary>Quantities as findings, logs and tools write them for people.</summary>
internal static class QuantityText
{
    /// <summary>Formats text with numbers as the invariant culture does.</summary>
    internal static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);

    /// <summary>A number of bytes for people: "1.25 GiB".</summary>
    internal static string Bytes(double bytes)
    {
        if (Math.Abs(bytes) < 1024) return Times(bytes, "byte");
        string[] units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
        int unit = 0;
        while (Math.Abs(bytes) >= 1024 && unit < units.Length - 1)
        {
            bytes /= 1024;
            unit++;
        }

        return string.Create(CultureInfo.InvariantCulture, $"{bytes:0.##} {units[unit]}");
    }

    /// <summary>A number of things: "1 client", "3 clients", "2 entries".</summary>
    /// <param name="count">How many.</param>
    /// <param name="noun">One of them.</param>
    /// <param name="format">How the number is shown. What is shown as 1 is one.</param>
    internal static string Times(double count, string noun, string format = "0")
    {
        string number = count.ToString(format, CultureInfo.InvariantCulture);
        bool isIrregular = noun.EndsWith("ry", StringComparison.Ordinal); // an entry
        return $"{number} {(number == "1" ? noun : isIrregular ? noun[..^1] + "ies" : noun + "s")}";
    }

    /// <summary>A duration for people: "about 40 minutes".</summary>
    internal static string About(double seconds) => seconds switch
    {
        < 90 => "about " + Times(seconds, "second"),
        < 5400 => "about " + Times(seconds / 60, "minute"),
        < 129600 => "about " + Times(seconds / 3600, "hour"),
        _ => "about " + Times(seconds / 86400, "day"),
    };
}
