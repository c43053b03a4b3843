using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Values.Members;

/// <summary>
/// Enumerates the members of one table, each with the block of another table that may be the same member. Both tables share a
/// hasher, so the bits of a member's hash in the first table (the low ones in the bucket's index and the hint, the high ones in the
/// tag) determine the bucket and the tag in the other: no member is hashed, and members without a partner are not even read. The
/// tables must not change meanwhile.
/// </summary>
/// <remarks>
/// If the other table has no more buckets than the first, all members of a bucket belong to one bucket there, and both tables are
/// traversed once from start to end.
/// </remarks>
internal unsafe struct MemberPairs<TLayout>
    where TLayout : struct, IMemberLayout
{
    // The number of buckets to prefetch ahead.
    private const int BucketsAhead = 4;

    private readonly MemberBuckets _buckets;
    private readonly MemberBuckets _others;
    private readonly long _end;
    private readonly bool _onlyPairs;
    private long _index;
    private byte* _bucket;
    private uint _left;
    private ulong _low;       // the bits of the hash below the hint's
    private int _hintShift;
    private byte* _other;     // the other table's bucket for all members of this one; null: each member has its own

    /// <param name="table">The table to enumerate.</param>
    /// <param name="other">The other table, which must satisfy <see cref="CanPair"/>.</param>
    /// <param name="onlyPairs">Whether members without a partner may be skipped; some are returned nevertheless.</param>
    internal MemberPairs(MemberTable<TLayout> table, MemberTable<TLayout> other, bool onlyPairs)
    {
        _onlyPairs = onlyPairs;
        _buckets = table.Buckets;
        _others = other.Buckets;
        _end = table.BucketCount;
        _index = 0;
        FindOther();
        Enter(_buckets.Bucket(0));
    }

    /// <summary>Whether the first table stores enough bits of its members' hashes: the other has at most two to eight times as many buckets.</summary>
    internal static bool CanPair(MemberTable<TLayout> table, MemberTable<TLayout> other)
    {
        int bitsKnown = (LevelMin(table) / MemberBucket.HintBits * MemberBucket.HintBits) + MemberBucket.HintBits;
        int bitsAsked = LevelMin(other) + (BitOperations.IsPow2(other.BucketCount) ? 0 : 1);
        return bitsAsked <= bitsKnown;
    }

    /// <summary>Moves to the next member.</summary>
    /// <param name="block">The member's block.</param>
    /// <param name="other">The other table's block that may have the same member; null: it has none.</param>
    /// <param name="isClear">Whether there is no second such block.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool MoveNext(out byte* block, out byte* other, out bool isClear)
    {
        while (_left == 0)
        {
            if (TryEnterNext()) continue;
            block = other = null;
            isClear = true;
            return false;
        }

        int slot = BitOperations.TrailingZeroCount(_left);
        _left &= _left - 1;
        ulong word = MemberBucket.Slot(_bucket, slot);
        byte* bucket = _other != null ? _other : _others.Bucket(_others.IndexOf(_low | ((word & MemberBucket.HintMask) << _hintShift)));
        block = (byte*)(word & ~MemberBucket.HintMask);
        other = null;
        isClear = true;
        do
        {
            uint matches = MemberBucket.Matches(bucket, _bucket[slot]);
            if (matches != 0)
            {
                isClear = other == null && (matches & (matches - 1)) == 0;
                other = MemberBucket.Block(bucket, BitOperations.TrailingZeroCount(matches));
            }

            bucket = MemberBucket.Next(bucket);
        }
        while (bucket != null);

        return true;
    }

    private static int LevelMin(MemberTable<TLayout> table) => BitOperations.Log2((ulong)table.BucketCount);

    private bool TryEnterNext()
    {
        byte* next = MemberBucket.Next(_bucket);
        if (next != null)
        {
            Enter(next);
            return true;
        }

        if (_index + 1 == _end) return false;
        _index++;
        FindOther();
        Enter(_buckets.Bucket(_index));
        return true;
    }

    private void Enter(byte* bucket)
    {
        _bucket = bucket;
        _left = _onlyPairs && _other != null && MemberBucket.Next(_other) == null
            ? MemberBucket.MatchesAny(bucket, _other)
            : MemberBucket.Occupied(bucket);
    }

    private void FindOther()
    {
        int level = _buckets.LevelOf(_index);
        _hintShift = level / MemberBucket.HintBits * MemberBucket.HintBits;
        _low = (ulong)_index & ((1UL << _hintShift) - 1);
        long place = _others.IndexOf((ulong)_index);
        _other = _others.LevelOf(place) <= level ? _others.Bucket(place) : null;
        long ahead = _index + BucketsAhead;
        if (!Sse.IsSupported || ahead >= _end) return;
        Sse.Prefetch0(_buckets.Bucket(ahead));
        Sse.Prefetch0(_others.Bucket(_others.IndexOf((ulong)ahead)));
    }
}
