using System.Runtime.InteropServices;

namespace RedKite.Store.Values;

/// <summary>Counts of <see cref="StoredType.CountFacts"/>.</summary>
internal static class FactCounts
{
    internal static void Count(this Dictionary<string, long> facts, string fact, long count) => CollectionsMarshal.GetValueRefOrAddDefault(facts, fact, out _) += count;
}
