using System.Globalization;
using RedKite.Server.Diagnostics.Rules;

namespace RedKite.Server.Diagnostics;

/// <summary>Every rule, in the order in which findings of the same severity are shown. docs/reference/findings.md is generated from it.</summary>
internal static class FindingTable
{
    internal static IReadOnlyList<FindingRule> Rules { get; } =
    [
        .. MemoryRules.All,
        .. MachineRules.All,
        .. DurabilityRules.All,
        .. ReplicationRules.All,
        .. LoadRules.All,
        .. ClientRules.All,
        .. SettingRules.All,
    ];

    /// <summary>Formats text with numbers as all findings do.</summary>
    internal static string Text(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);

    /// <summary>A number of bytes for people: "1.25 GiB".</summary>
    internal static string Bytes(double bytes)
    {
        string[] units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
        int unit = 0;
        while (Math.Abs(bytes) >= 1024 && unit < units.Length - 1)
        {
            bytes /= 1024;
            unit++;
        }

        return string.Create(CultureInfo.InvariantCulture, $"{bytes.ToString(unit == 0 ? "0" : "0.##", CultureInfo.InvariantCulture)} {units[unit]}");
    }

    /// <summary>A number of things: "1 client", "3 clients".</summary>
    internal static string Times(double count, string noun) => Text($"{count:0} {noun}{(Math.Round(count) == 1 ? "" : "s")}");

    /// <summary>A duration for people: "about 40 minutes".</summary>
    internal static string About(double seconds) => seconds switch
    {
        < 90 => Text($"about {seconds:0} seconds"),
        < 5400 => Text($"about {seconds / 60:0} minutes"),
        < 129600 => Text($"about {seconds / 3600:0} hours"),
        _ => Text($"about {seconds / 86400:0} days"),
    };
}
