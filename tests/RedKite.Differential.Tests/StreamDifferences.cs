using System.Text.RegularExpressions;
using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>Allowed differences in replies about streams: times, and the nodes of Redis's tree.</summary>
internal static partial class StreamDifferences
{
    private static readonly string[] ProducerFields = ["idmp-duration", "idmp-maxsize", "pids-tracked", "iids-tracked", "iids-added", "iids-duplicates"];

    private static readonly string[] Times = ["idle", "inactive", "seen-time", "active-time"];

    /// <summary>Ids that two clocks generated.</summary>
    public static bool NearIds(Comparison c) =>
        Id().Match(c.Oracle.Text) is { Success: true } oracle && Id().Match(c.Subject.Text) is { Success: true } subject
        && Math.Abs(long.Parse(oracle.Groups[1].ValueSpan, provider: null) - long.Parse(subject.Groups[1].ValueSpan, provider: null)) <= ClockDistance.Ms;

    /// <summary>The same pending entries with about the same idle time.</summary>
    public static bool SamePending(Comparison c) => SamePending(c.Oracle, c.Subject, timeAt: 2);

    /// <summary>The same fields except for times and tree nodes.</summary>
    public static bool SameInfo(RespValue oracle, RespValue subject)
    {
        if (oracle.Marker != subject.Marker || oracle.Items.Count == 0) return oracle.Equals(subject);
        return oracle.Items[0].Text == "name" || oracle.Items[0].Text == "length" ? SameFields(oracle, subject) : SameLists(oracle, subject);
    }

    private static bool SameLists(RespValue oracle, RespValue subject) =>
        oracle.Items.Count == subject.Items.Count && oracle.Items.Zip(subject.Items).All(pair => SameInfo(pair.First, pair.Second));

    private static bool SameFields(RespValue oracle, RespValue subject)
    {
        int at = 0;
        for (int i = 0; i + 1 < subject.Items.Count; i += 2)
        {
            string name = subject.Items[i].Text;
            if (ProducerFields.Contains(name) && (at >= oracle.Items.Count || oracle.Items[at].Text != name)) continue; // of Redis 8.6
            if (at + 1 >= oracle.Items.Count || oracle.Items[at].Text != name || !SameField(name, oracle.Items[at + 1], subject.Items[i + 1])) return false;
            at += 2;
        }

        return at == oracle.Items.Count;
    }

    private static bool SameField(string name, RespValue oracle, RespValue subject)
    {
        if (Times.Contains(name)) return Near(oracle, subject);
        return name switch
        {
            "radix-tree-nodes" => subject.IsInteger && subject.Number > 0,
            "groups" or "consumers" => SameInfo(oracle, subject),
            "pending" when oracle.Marker == '*' => SamePending(oracle, subject, timeAt: oracle.Items.Count > 0 ? oracle.Items[0].Items.Count - 2 : 0),
            _ => oracle.Equals(subject),
        };
    }

    /// <summary>The same entries of streams, of which claimed ones say about the same idle time.</summary>
    public static bool SameClaims(RespValue oracle, RespValue subject)
    {
        if (oracle.Marker != '*' || subject.Marker != '*' || oracle.Items.Count != subject.Items.Count || oracle.Items.Count == 0) return oracle.Equals(subject);
        bool isClaimed = oracle.Items.Count == 4 && oracle.Items[2].IsInteger;
        return Enumerable.Range(0, oracle.Items.Count).All(i =>
            isClaimed && i == 2 ? Near(oracle.Items[i], subject.Items[i]) : SameClaims(oracle.Items[i], subject.Items[i]));
    }

    private static bool SamePending(RespValue oracle, RespValue subject, int timeAt)
    {
        if (oracle.Marker != '*' || subject.Marker != '*' || oracle.Items.Count != subject.Items.Count) return oracle.Equals(subject);
        return oracle.Items.Zip(subject.Items).All(pair =>
            pair.First.Items.Count == pair.Second.Items.Count && pair.First.Items.Count > timeAt
            && Enumerable.Range(0, pair.First.Items.Count).All(i =>
                i == timeAt ? Near(pair.First.Items[i], pair.Second.Items[i]) : pair.First.Items[i].Equals(pair.Second.Items[i])));
    }

    private static bool Near(RespValue oracle, RespValue subject) =>
        oracle.IsInteger && subject.IsInteger && oracle.Number < 0 == subject.Number < 0 && Math.Abs(oracle.Number - subject.Number) <= ClockDistance.Ms;

    [GeneratedRegex("^([0-9]{13})-[0-9]+$")]
    private static partial Regex Id();
}
