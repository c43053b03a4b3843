using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Values.Members;

/// <summary>
/// Goes over the members of one table and tells for each which block of another table may be the same member's. Both
/// tables are of one hasher, so what the first one's buckets keep of a member's hash (its low bits in the bucket's index and
/// the hint, its high ones in the tag) leads to the bucket and the tag in the other: no member is hashed, and those without
/// a partner are not even read. The tables must not change meanwhile.
/// </summary>
/// <remarks>
/// Where the other table has no more buckets than the first, a bucket's members all belong in one bucket there, and both
/// tables are passed through from one end to the other.
/// </remarks>
internal unsafe struct MemberPairs<TLayout>
    where TLayout : struct, IMemberLayout
{
    // How many buckets ahead are asked for.
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
    private byte* _other;     // where all the bucket's members would be; null: each has a place of its own

    /// <param name="table">The table whose members are gone over.</param>
    /// <param name="other">The other one; <see cref="CanPair"/> says whether it may be.</param>
    /// <param name="onlyPairs">Whether members without a partner need not be told; some of them are all the same.</param>
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

    /// <summary>Whether the first table's buckets know enough of their members' hashes: the other has at most twice to eight times as many.</summary>
    internal static bool CanPair(MemberTable<TLayout> table, MemberTable<TLayout> other)
    {
        int bitsKnown = (LevelMin(table) / MemberBucket.HintBits * MemberBucket.HintBits) + MemberBucket.HintBits;
        int bitsAsked = LevelMin(other) + (BitOperations.IsPow2(other.BucketCount) ? 0 : 1);
        return bitsAsked <= bitsKnown;
    }

    /// <summary>Goes on to the next member.</summary>
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
