using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests;

/// <summary>Allowed differences in replies about vector sets; the rows are in <see cref="AllowedDifferences"/>.</summary>
internal static class VectorDifferences
{
    private const double Tolerance = 2e-6;

    private static readonly string[] OwnFields = ["max-level", "vset-uid", "hnsw-max-node-uid", "attributes-count"]; // of the last see NotCopied

    /// <summary>The same reply, but that numbers may differ a little, whether they are doubles or, in RESP2, strings.</summary>
    internal static bool AreNear(RespValue oracle, RespValue subject)
    {
        if (oracle.Equals(subject)) return true;
        if (oracle.Marker != subject.Marker || oracle.Items.Count != subject.Items.Count) return false;
        if (oracle.Items.Count > 0) return oracle.Items.Zip(subject.Items).All(pair => AreNear(pair.First, pair.Second));
        return oracle.Marker is '$' or ',' && double.TryParse(oracle.Text, CultureInfo.InvariantCulture, out double first)
            && double.TryParse(subject.Text, CultureInfo.InvariantCulture, out double second) && Math.Abs(first - second) <= Tolerance * Math.Max(1, Math.Abs(first));
    }

    /// <summary>The same of a set, but for what each server draws or counts itself.</summary>
    internal static bool SameInfo(RespValue oracle, RespValue subject) =>
        oracle.Marker == subject.Marker && oracle.Items.Count == subject.Items.Count && oracle.Items.Count > 0
        && Enumerable.Range(0, oracle.Items.Count).All(i => oracle.Items[i].Equals(subject.Items[i]) || (i % 2 == 1 && OwnFields.Contains(oracle.Items[i - 1].Text)));
}
