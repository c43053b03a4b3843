using System.Globalization;

namespace RedKite.Server.Config;

/// <summary>A rule of <c>ts-compaction-policy</c>; all times in milliseconds.</summary>
/// <param name="Aggregator">The aggregator's name in uppercase.</param>
/// <param name="Duration">The duration of a bucket.</param>
/// <param name="Retention">The retention of the compaction; 0: none.</param>
/// <param name="Align">A time at which a bucket begins.</param>
internal sealed record CompactionPolicyRule(string Aggregator, long Duration, long Retention, long Align);

/// <summary>
/// The rules that a series gets when TS.ADD, TS.INCRBY or TS.DECRBY creates it: <c>aggregator:bucket:retention[:align]</c>, separated by semicolons. A time is a
/// number with m (milliseconds), s, M (minutes), h or d.
/// </summary>
internal sealed record CompactionPolicy(string Text, CompactionPolicyRule[] Rules)
{
    /// <summary>Rules, at most.</summary>
    internal const int RulesMax = 64;

    private static readonly string[] Aggregators = ["AVG", "SUM", "MIN", "MAX", "RANGE", "COUNT", "FIRST", "LAST", "STD.P", "STD.S", "VAR.P", "VAR.S", "TWA", "COUNTNAN", "COUNTALL"];

    internal static CompactionPolicy None { get; } = new("", []);

    internal static bool TryParse(string text, out CompactionPolicy policy)
    {
        policy = None;
        string[] parts = text.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        if (parts.Length > RulesMax) return false;
        var rules = new CompactionPolicyRule[parts.Length];
        for (int i = 0; i < parts.Length; i++)
        {
            string[] fields = parts[i].Split(':');
            long align = 0;
            if (fields.Length is < 3 or > 4 || Array.Find(Aggregators, name => name.Equals(fields[0], StringComparison.OrdinalIgnoreCase)) is not { } aggregator) return false;
            if (!TryTime(fields[1], out long duration) || duration == 0 || !TryTime(fields[2], out long retention) || (fields.Length == 4 && !TryTime(fields[3], out align))) return false;
            rules[i] = new CompactionPolicyRule(aggregator, duration, retention, align);
        }

        policy = new CompactionPolicy(text, rules);
        return true;
    }

    // Zero needs no unit.
    private static bool TryTime(string text, out long milliseconds)
    {
        milliseconds = 0;
        if (text == "0") return true;
        if (text.Length < 2 || !long.TryParse(text.AsSpan(..^1), NumberStyles.None, CultureInfo.InvariantCulture, out long number)) return false;
        long unit = text[^1] switch
        {
            'm' => 1,
            's' => 1000,
            'M' => 60_000,
            'h' => 3_600_000,
            'd' => 86_400_000,
            _ => 0,
        };
        if (unit == 0 || number > long.MaxValue / unit) return false;
        milliseconds = number * unit;
        return true;
    }
}
