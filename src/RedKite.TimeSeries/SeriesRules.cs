using RedKite.Persistence.Types;

namespace RedKite.TimeSeries;

/// <summary>The compaction rules of a series.</summary>
internal static class SeriesRules
{
    internal static bool AreValid(ReadOnlySpan<byte> bytes) => bytes.IsEmpty;

    internal static void Mix(DatasetDigest digest, ReadOnlySpan<byte> rules) => digest.Mix(rules);
}
