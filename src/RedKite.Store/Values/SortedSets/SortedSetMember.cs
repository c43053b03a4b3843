using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.SortedSets;

/// <summary>A member that a scan of a large sorted set has found. It is valid until the set changes.</summary>
internal readonly unsafe struct SortedSetMember(nint block)
{
    /// <summary>A member that a scan has found.</summary>
    internal static SortedSetMember Of(MemberList members, int index) => new(members.Blocks[index]);

    internal double Score => ScoredMember.Score((byte*)block);

    internal ReadOnlySpan<byte> Member => ScoredMember.Member((byte*)block);
}
