using System.Numerics;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.Copying;

/// <summary>
/// The copy of a table of members, bucket by bucket: each is pushed with the same slots, so no member is hashed. Until all
/// buckets are there no member can be looked up, but the table can be freed.
/// </summary>
internal unsafe struct MemberTableCopy<TLayout> : IStructureCopy
    where TLayout : struct, IMemberLayout
{
    private readonly Arena _arena;
    private readonly MemberBuckets.Header* _source;
    private readonly MemberBuckets.Header* _copy;
    private BlockCopy _block;
    private long _index;        // of the bucket that is being copied
    private byte* _sourceBucket;
    private byte* _bucket;
    private uint _left;         // its slots that are not copied

    internal MemberTableCopy(nint source, Arena arena)
    {
        _arena = arena;
        _source = (MemberBuckets.Header*)source;
        _copy = (MemberBuckets.Header*)MemberBuckets.Create(arena);
        _copy->LongestChain = _source->LongestChain;
        _copy->Expiring = _source->Expiring;
        EnterBucket(0, Buckets.Bucket(0));
    }

    internal readonly nint Root => (nint)_copy;

    private readonly MemberBuckets SourceBuckets => new(_arena, (byte*)_source);

    private readonly MemberBuckets Buckets => new(_arena, (byte*)_copy);

    /// <summary>Copies the rest of a bucket, or a piece of a large member.</summary>
    /// <returns>Whether something is left.</returns>
    public bool Step()
    {
        while (_left != 0)
        {
            int slot = BitOperations.TrailingZeroCount(_left);
            byte* source = MemberBucket.Block(_sourceBucket, slot);
            byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, source, TLayout.Bytes(source));
            if (block == null) return true;
            MemberBucket.WriteSlot(_bucket, slot, (ulong)block | (MemberBucket.Slot(_sourceBucket, slot) & MemberBucket.HintMask));
            _bucket[slot] = _sourceBucket[slot];
            _copy->Count++;
            _left &= _left - 1;
        }

        return TryEnterNext();
    }

    public void DiscardOpenBlock() => _block.Discard(_arena);

    private bool TryEnterNext()
    {
        byte* chained = MemberBucket.Next(_sourceBucket);
        if (chained != null)
        {
            _bucket = Buckets.Chain(_bucket);
            Enter(chained);
            return true;
        }

        if (_index + 1 == _source->Buckets) return false;
        EnterBucket(_index + 1, Buckets.Push());
        return true;
    }

    private void EnterBucket(long index, byte* bucket)
    {
        _index = index;
        _bucket = bucket;
        Buckets.EarliestExpiryAt(index) = SourceBuckets.EarliestExpiryAt(index);
        if (index + 1 < _source->Buckets) MemberBucket.PrefetchBlocks(SourceBuckets.Bucket(index + 1));
        Enter(SourceBuckets.Bucket(index));
    }

    private void Enter(byte* sourceBucket)
    {
        _sourceBucket = sourceBucket;
        _left = MemberBucket.Occupied(sourceBucket);
    }
}
