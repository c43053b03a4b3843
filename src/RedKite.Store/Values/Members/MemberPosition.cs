using System.Numerics;

namespace RedKite.Store.Values.Members;

/// <summary>The position of a member's block in a <see cref="MemberTable{TLayout}"/>. Valid until the table gains or loses a member.</summary>
internal readonly unsafe struct MemberPosition(byte* bucket, int slot, ulong hash)
{
    internal byte* Bucket => bucket;

    internal int Slot => slot;

    internal ulong Hash => hash;

    internal byte* Block => MemberBucket.Block(bucket, slot);

    /// <summary>Replaces the block by another one of the same member; the old block then belongs to the caller.</summary>
    internal void Replace(byte* block)
    {
        ulong hint = MemberBucket.Slot(bucket, slot) & MemberBucket.HintMask;
        MemberBucket.WriteSlot(bucket, slot, (ulong)block | hint);
    }
}

/// <summary>
/// Enumerates the blocks of a <see cref="MemberTable{TLayout}"/> bucket by bucket; the next bucket's blocks are prefetched while
/// this one's are being used.
/// </summary>
internal unsafe struct MemberEnumerator
{
    private readonly MemberBuckets _buckets;
    private readonly long _end;
    private byte* _bucket;
    private uint _left;
    private long _index;
    private int _slot;

    /// <param name="buckets">The table's buckets.</param>
    /// <param name="first">The bucket to begin with.</param>
    /// <param name="end">The bucket after the last one.</param>
    internal MemberEnumerator(in MemberBuckets buckets, long first, long end)
    {
        _buckets = buckets;
        _end = end;
        _index = first;
        Enter(buckets.Bucket(first));
    }

    public readonly nint Current => (nint)MemberBucket.Block(_bucket, _slot);

    public bool MoveNext()
    {
        while (_left == 0)
        {
            byte* next = MemberBucket.Next(_bucket);
            if (next == null)
            {
                if (++_index == _end)
                {
                    _index--; // stays at the end
                    return false;
                }

                next = _buckets.Bucket(_index);
                if (_index + 1 < _end) MemberBucket.PrefetchBlocks(_buckets.Bucket(_index + 1));
            }

            Enter(next);
        }

        _slot = BitOperations.TrailingZeroCount(_left);
        _left &= _left - 1;
        return true;
    }

    private void Enter(byte* bucket)
    {
        _bucket = bucket;
        _left = MemberBucket.Occupied(bucket);
    }
}
