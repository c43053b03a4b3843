namespace RedKite.Store.Values.Members;

/// <summary>The layout of a <see cref="MemberTable{TLayout}"/>'s blocks, each of which is one arena block.</summary>
internal unsafe interface IMemberLayout
{
    /// <summary>The bytes by which the table finds a block: a set's member, a hash's field.</summary>
    static abstract ReadOnlySpan<byte> Member(byte* block);

    /// <summary>The bytes that the block was allocated with.</summary>
    static abstract long Bytes(byte* block);

    /// <summary>When the member expires, in Unix milliseconds; most kinds of members never do.</summary>
    static virtual long Expiry(byte* block) => long.MaxValue;
}
