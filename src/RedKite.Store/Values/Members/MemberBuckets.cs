using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Members;

/// <summary>
/// The buckets of a <see cref="MemberTable{TLayout}"/>, independent of its blocks' layout: an array that grows and shrinks at its
/// end by one bucket in constant time. It consists of chunks of 4 KiB, found through a directory.
/// </summary>
/// <remarks>
/// 4 KiB is the largest block that an arena allocates from slabs, where every bucket is aligned to a cache line. The first chunks
/// grow in steps of a third to a half, so that a table of few members is small; this costs 2.4 copies of a bucket
/// for each bucket that is added. The directory of a million members has 2,600 chunks and stays in the cache.
///
/// For members that can expire, a chunk stores a lower bound of their expiries. So expired members are found by reading the
/// directory and searching only the chunks whose bound has passed.
/// </remarks>
internal readonly unsafe struct MemberBuckets
{
    internal const int BucketsPerChunk = 64;

    private const int ChunkShift = 6;
    private const int DirectoryMin = 4;

    // Beyond these chunks, a whole chunk is a small part of the table.
    private const int GrowingChunks = 4;

    private readonly Arena _arena;
    private readonly Header* _header;

    internal MemberBuckets(Arena arena, byte* root)
    {
        _arena = arena;
        _header = (Header*)root;
    }

    /// <summary>The root of a table: one cache line that never moves.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct Header
    {
        public Chunk* Directory;     // points to First while there is one chunk
        public Chunk First;
        public long Count;           // members
        public long Buckets;         // without chained buckets
        public long Capacity;        // the chunks' capacity in buckets
        public uint ChainedBuckets;  // the second and further buckets of chains
        public uint Expiring;        // members that have an expiry; at its maximum, that many or more
        public int DirectoryLength;
        public int LongestChain;     // in buckets; the maximum since the table was created
    }

    /// <summary>An entry of the directory.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct Chunk
    {
        public byte* Buckets;
        public long EarliestExpiry; // long.MaxValue: none
    }

    internal static byte* Create(Arena arena)
    {
        var header = (Header*)arena.Allocate(sizeof(Header));
        byte* first = arena.Allocate(MemberBucket.Bytes);
        MemberBucket.Clear(first);
        *header = new Header { Buckets = 1, Capacity = 1, DirectoryLength = 1, LongestChain = 1 };
        header->First = new Chunk { Buckets = first, EarliestExpiry = long.MaxValue };
        header->Directory = &header->First;
        return (byte*)header;
    }

    internal long Bytes =>
        sizeof(Header) + DirectoryBytes + ((_header->Capacity + _header->ChainedBuckets) * MemberBucket.Bytes);

    private long DirectoryBytes => _header->DirectoryLength == 1 ? 0 : (long)_header->DirectoryLength * sizeof(Chunk);

    internal long Chunks => LastChunk(_header->Capacity) + 1;

    // 2^(level+1) - 1, where 2^level <= Buckets < 2^(level+1)
    private ulong Mask => ulong.MaxValue >> BitOperations.LeadingZeroCount((ulong)_header->Buckets);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal byte* Bucket(long index) =>
        _header->Directory[index >> ChunkShift].Buckets + ((index & (BucketsPerChunk - 1)) * MemberBucket.Bytes);

    /// <summary>The earliest expiry in the chunk of a bucket.</summary>
    internal ref long EarliestExpiryAt(long index) => ref _header->Directory[index >> ChunkShift].EarliestExpiry;

    /// <summary>Returns the index of a hash's bucket: as many of the hash's low bits as the splits have distinguished so far.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal long IndexOf(ulong hash)
    {
        ulong mask = Mask;
        ulong index = hash & mask;
        if (index >= (ulong)_header->Buckets) index &= mask >> 1;
        return (long)index;
    }

    /// <summary>Returns the number of low hash bits that all members of a bucket have in common.</summary>
    internal int LevelOf(long index)
    {
        int level = BitOperations.Log2((ulong)_header->Buckets);
        return (index | (1L << level)) < _header->Buckets ? level + 1 : level;
    }

    /// <summary>Appends an empty bucket.</summary>
    internal byte* Push()
    {
        Header* header = _header;
        if (header->Buckets == header->Capacity) Grow();
        byte* bucket = Bucket(header->Buckets++);
        MemberBucket.Clear(bucket);
        return bucket;
    }

    /// <summary>Removes the last bucket, whose members the caller has moved.</summary>
    internal void Pop()
    {
        Header* header = _header;
        header->Buckets--;
        long last = LastChunk(header->Capacity);
        long inLast = header->Buckets - (last << ChunkShift);
        if (inLast == 0 && last > 0) DropChunk(last);
        else if (last < GrowingChunks && inLast > 0 && inLast == StepBelow(CapacityOf(last))) ResizeChunk(last, inLast);
    }

    /// <summary>Adds a slot to a bucket's chain.</summary>
    internal void Append(byte* bucket, byte tag, ulong slot)
    {
        int length = 1;
        uint occupied;
        while ((occupied = MemberBucket.Occupied(bucket)) == (1 << MemberBucket.Slots) - 1)
        {
            byte* next = MemberBucket.Next(bucket);
            if (next == null) next = Chain(bucket);

            bucket = next;
            length++;
        }

        if (length > _header->LongestChain) _header->LongestChain = length;
        int free = BitOperations.TrailingZeroCount(~occupied);
        bucket[free] = tag;
        MemberBucket.WriteSlot(bucket, free, slot);
    }

    /// <summary>Appends a bucket to a chain.</summary>
    internal byte* Chain(byte* bucket)
    {
        byte* next = _arena.Allocate(MemberBucket.Bytes);
        MemberBucket.Clear(next);
        MemberBucket.WriteNext(bucket, next);
        _header->ChainedBuckets++;
        return next;
    }

    /// <summary>Removes a slot from the chain that begins with <paramref name="first"/>. The chain's last member replaces it.</summary>
    internal void Unlink(byte* first, byte* bucket, int slot)
    {
        byte* last = first;
        byte* before = null;
        for (byte* next; (next = MemberBucket.Next(last)) != null; last = next) before = last;

        int lastSlot = BitOperations.Log2(MemberBucket.Occupied(last));
        bucket[slot] = last[lastSlot];
        MemberBucket.WriteSlot(bucket, slot, MemberBucket.Slot(last, lastSlot));
        last[lastSlot] = 0;
        if (before == null || MemberBucket.Occupied(last) != 0) return;
        MemberBucket.WriteNext(before, null);
        FreeChained(last);
    }

    /// <summary>Frees a chained bucket.</summary>
    internal void FreeChained(byte* bucket)
    {
        _header->ChainedBuckets--;
        _arena.Free(bucket, MemberBucket.Bytes);
    }

    /// <summary>Moves a table's root and directory if defragmentation requires it.</summary>
    /// <returns>The root.</returns>
    internal static byte* MoveRoot(BlockMover mover, byte* root)
    {
        byte* moved = mover.Copy(root, sizeof(Header));
        if (moved != null)
        {
            if (((Header*)moved)->Directory == &((Header*)root)->First) ((Header*)moved)->Directory = &((Header*)moved)->First;
            mover.Free(root, sizeof(Header));
            root = moved;
        }

        var header = (Header*)root;
        if (header->DirectoryLength == 1) return root;
        long bytes = (long)header->DirectoryLength * sizeof(Chunk);
        byte* directory = mover.Copy((byte*)header->Directory, bytes);
        if (directory == null) return root;
        mover.Free((byte*)header->Directory, bytes);
        header->Directory = (Chunk*)directory;
        return root;
    }

    /// <summary>Moves the chunk that begins with a bucket if defragmentation requires it.</summary>
    internal void MoveChunk(BlockMover mover, long index)
    {
        long chunk = index >> ChunkShift;
        long bytes = CapacityOf(chunk) * MemberBucket.Bytes;
        byte* buckets = _header->Directory[chunk].Buckets;
        byte* moved = mover.Copy(buckets, bytes);
        if (moved == null) return;
        _header->Directory[chunk].Buckets = moved;
        mover.Free(buckets, bytes);
    }

    /// <summary>Frees the table's remaining memory, when only one bucket is left and it is empty.</summary>
    internal void Dispose()
    {
        Debug.Assert(_header->Buckets == 1 && _header->ChainedBuckets == 0, "The members were freed before.");
        _arena.Free(_header->Directory[0].Buckets, CapacityOf(0) * MemberBucket.Bytes);
        if (_header->DirectoryLength > 1) _arena.Free((byte*)_header->Directory, DirectoryBytes);
        _arena.Free((byte*)_header, sizeof(Header));
    }

    private static long LastChunk(long capacity) => (capacity - 1) >> ChunkShift;

    // 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64: each fills a size class of the arena.
    private static long StepAbove(long capacity) => capacity == 1 ? 2 : BitOperations.IsPow2(capacity) ? capacity + (capacity >> 1) : capacity / 3 * 4;

    private static long StepBelow(long capacity) => capacity <= 2 ? 1 : BitOperations.IsPow2(capacity) ? capacity / 4 * 3 : capacity / 3 * 2;

    private long CapacityOf(long chunk) => Math.Min(BucketsPerChunk, _header->Capacity - (chunk << ChunkShift));

    private void Grow()
    {
        long last = LastChunk(_header->Capacity);
        long capacity = CapacityOf(last);
        if (capacity < BucketsPerChunk)
        {
            ResizeChunk(last, StepAbove(capacity));
            return;
        }

        long added = ++last < GrowingChunks ? 1 : BucketsPerChunk;
        if (last == _header->DirectoryLength) ResizeDirectory(Math.Max(DirectoryMin, _header->DirectoryLength * 2));
        _header->Directory[last] = new Chunk { Buckets = _arena.Allocate(added * MemberBucket.Bytes), EarliestExpiry = long.MaxValue };
        _header->Capacity += added;
    }

    private void ResizeChunk(long chunk, long capacity)
    {
        long old = CapacityOf(chunk);
        Chunk* place = &_header->Directory[chunk];
        place->Buckets = _arena.Reallocate(place->Buckets, old * MemberBucket.Bytes, capacity * MemberBucket.Bytes);
        _header->Capacity += capacity - old;
    }

    private void DropChunk(long chunk)
    {
        long capacity = CapacityOf(chunk);
        _arena.Free(_header->Directory[chunk].Buckets, capacity * MemberBucket.Bytes);
        _header->Capacity -= capacity;
        if (_header->DirectoryLength > DirectoryMin && chunk <= _header->DirectoryLength / 4) ResizeDirectory(_header->DirectoryLength / 2);
        else if (chunk == 1) ResizeDirectory(1);
    }

    private void ResizeDirectory(int length)
    {
        Header* header = _header;
        if (header->DirectoryLength == 1)
        {
            header->Directory = (Chunk*)_arena.Allocate((long)length * sizeof(Chunk));
            header->Directory[0] = header->First;
        }
        else if (length == 1)
        {
            header->First = header->Directory[0];
            _arena.Free((byte*)header->Directory, DirectoryBytes);
            header->Directory = &header->First;
        }
        else
        {
            header->Directory = (Chunk*)_arena.Reallocate((byte*)header->Directory, DirectoryBytes, (long)length * sizeof(Chunk));
        }

        header->DirectoryLength = length;
    }
}
