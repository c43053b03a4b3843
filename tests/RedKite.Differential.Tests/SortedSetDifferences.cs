using System.Globalization;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>Allowed differences in replies with members and scores; the rows are in <see cref="AllowedDifferences"/>.</summary>
internal static class SortedSetDifferences
{
    /// <summary>The same number of random members; if each member is requested once, the same members.</summary>
    public static bool SameSample(Comparison c)
    {
        if (c.Command.Length == 2) return c.Oracle.Marker == '$' && c.Subject.Marker == '$' && !c.Oracle.IsNull && !c.Subject.IsNull;
        if (c.Oracle.Marker != '*' || c.Subject.Marker != '*' || c.Oracle.Items.Count != c.Subject.Items.Count) return false;
        int pair = c.Command.Length > 3 && c.Oracle.Items[0].Marker != '*' ? 2 : 1;
        bool whole = long.TryParse(c.Word(2), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long count) && count > c.Oracle.Items.Count / pair;
        return !whole || SamePairs(c.Oracle.Items, c.Subject.Items, pair);
    }

    /// <summary>The same members with the same scores in any order, if the scan completes in one call.</summary>
    public static bool SameScan(Comparison c)
    {
        if (!IsScan(c.Oracle) || !IsScan(c.Subject)) return false;
        bool whole = c.Word(2) == "0" && c.Oracle.Items[0].Text == "0" && c.Subject.Items[0].Text == "0";
        return !whole || SamePairs(c.Oracle.Items[1].Items, c.Subject.Items[1].Items, 2);
    }

    private static bool IsScan(RespValue reply) => reply.Marker == '*' && reply.Items.Count == 2 && reply.Items[1].Marker == '*';

    private static bool SamePairs(IReadOnlyList<RespValue> oracle, IReadOnlyList<RespValue> subject, int pair)
    {
        if (oracle.Count != subject.Count) return false;
        RespValue[] Ordered(IReadOnlyList<RespValue> items) => [.. items.Chunk(pair)
            .OrderBy(chunk => chunk[0].Marker == '*' ? chunk[0].Items[0].ToString() : chunk[0].ToString(), StringComparer.Ordinal)
            .SelectMany(chunk => chunk)];
        return Ordered(oracle).Zip(Ordered(subject)).All(both => both.First.Equals(both.Second));
    }
}
