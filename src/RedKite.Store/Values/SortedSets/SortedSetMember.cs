namespace RedKite.Store.Values.SortedSets;

/// <summary>A member that a scan of a large sorted set has found. It is valid until the set changes.</summary>
internal readonly unsafe struct SortedSetMember(nint block)
{
    internal double Score => ScoredMember.Score((byte*)block);

    internal ReadOnlySpan<byte> Member => ScoredMember.Member((byte*)block);
}
