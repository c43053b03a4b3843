using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Members;

/// <summary>
/// A hash table of member blocks in an arena: the fields of a large hash, the members of a large set or sorted set. It uses
/// linear hashing: whenever buckets have more than six members on average, the next bucket in order splits into itself and a
/// new one at the end, so that no operation splits more than one bucket. Removals merge buckets again.
/// The table owns its buckets. The blocks belong to its users; freeing the table frees them too.
/// </summary>
/// <remarks>
/// A bucket's index consists of the hash's low bits, the tag of its high bits. A split needs one more bit of each member's hash.
/// Each slot stores three of them as a hint: the bits from 3 * (level / 3) on, where the level is the number of low bits that
/// all members of the bucket have in common. So only every third doubling has to read the blocks and hash their members again.
/// A merge never does, because the buckets' indexes contain the bits that it needs.
///
/// A table with one array for all buckets was rejected: growing it either stalls, or needs two tables at a time and lookups in
/// both. Chains of nodes were rejected too: a lookup has three cache misses there (slot, node, member), and two here.
/// </remarks>
internal readonly unsafe partial struct MemberTable<TLayout>
    where TLayout : struct, IMemberLayout
{
    private const int FillMax = 6;
    private const int FillMin = 3;

    // The cost of searching a chunk, in units of freed members.
    private const int ChunkSearchCost = 128;

    // How many random buckets are prefetched together when the table is unlikely to be in the cache.
    private const int DrawsAtOnce = 8;

    private readonly Arena _arena;
    private readonly KeyHasher _hasher;
    private readonly MemberBuckets.Header* _header;

    /// <param name="arena">The arena that the table was created in.</param>
    /// <param name="hasher">The keyspace's hasher, which computes every hash that is passed to the table.</param>
    /// <param name="root">The result of <see cref="Create"/>.</param>
    internal MemberTable(Arena arena, KeyHasher hasher, nint root)
    {
        _arena = arena;
        _hasher = hasher;
        _header = (MemberBuckets.Header*)root;
    }

    /// <summary>Opens a table that is only enumerated or freed, which needs no hashes.</summary>
    internal MemberTable(Arena arena, nint root)
        : this(arena, null!, root)
    {
    }

    internal long Count => _header->Count;

    /// <summary>The number of members that have an expiry, up to 2^32 - 1.</summary>
    internal uint Expiring => _header->Expiring;

    internal nint Root => (nint)_header;

    /// <summary>The size of the table without its members, in bytes.</summary>
    internal long TableBytes => Buckets.Bytes;

    internal long BucketCount => _header->Buckets;

    internal MemberBuckets Buckets => new(_arena, (byte*)_header);

    /// <summary>Creates an empty table and returns its root.</summary>
    internal static nint Create(Arena arena) => (nint)MemberBuckets.Create(arena);

    internal ulong Hash(ReadOnlySpan<byte> member) => _hasher.Hash(member);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryFind(ReadOnlySpan<byte> member, ulong hash, out MemberPosition position)
    {
        byte tag = MemberBucket.Tag(hash);
        byte* bucket = Buckets.Bucket(Buckets.IndexOf(hash));
        do
        {
            for (uint matches = MemberBucket.Matches(bucket, tag); matches != 0; matches &= matches - 1)
            {
                int slot = BitOperations.TrailingZeroCount(matches);
                byte* block = MemberBucket.Block(bucket, slot);
                if (TLayout.Member(block).SequenceEqual(member))
                {
                    position = new MemberPosition(bucket, slot, hash);
                    return true;
                }
            }

            bucket = MemberBucket.Next(bucket);
        }
        while (bucket != null);

        position = default;
        return false;
    }

    /// <summary>Returns the member's block, or null.</summary>
    internal byte* Find(ReadOnlySpan<byte> member, ulong hash) => TryFind(member, hash, out MemberPosition position) ? position.Block : null;

    /// <summary>Prefetches the cache line of a member's bucket.</summary>
    internal void PrefetchBucket(ulong hash)
    {
        if (Sse.IsSupported) Sse.Prefetch0(Buckets.Bucket(Buckets.IndexOf(hash)));
    }

    /// <summary>Prefetches the block that a member probably has, once its bucket is in the cache.</summary>
    internal void PrefetchBlock(ulong hash)
    {
        if (!Sse.IsSupported) return;
        byte* bucket = Buckets.Bucket(Buckets.IndexOf(hash));
        uint matches = MemberBucket.Matches(bucket, MemberBucket.Tag(hash));
        if (matches != 0) Sse.Prefetch0(MemberBucket.Block(bucket, BitOperations.TrailingZeroCount(matches)));
    }

    /// <summary>Adds a block whose member is not in the table. Invalidates all positions.</summary>
    internal void Add(ulong hash, byte* block)
    {
        MemberBuckets buckets = Buckets;
        if (++_header->Count > _header->Buckets * FillMax) Split();
        long index = buckets.IndexOf(hash);
        buckets.Append(buckets.Bucket(index), MemberBucket.Tag(hash), (ulong)block | Hint(hash, buckets.LevelOf(index)));
        if (TLayout.Expiry(block) != long.MaxValue) NoteExpiry(hash, long.MaxValue, TLayout.Expiry(block));
    }

    /// <summary>Removes a block, which the caller owns from then on. Invalidates all positions.</summary>
    internal byte* Remove(in MemberPosition position)
    {
        byte* block = position.Block;
        MemberBuckets buckets = Buckets;
        buckets.Unlink(buckets.Bucket(buckets.IndexOf(position.Hash)), position.Bucket, position.Slot);
        if (TLayout.Expiry(block) != long.MaxValue) CountExpiring(-1);
        if (--_header->Count < _header->Buckets * FillMin && _header->Buckets > 1) Join();
        return block;
    }

    /// <summary>Records that a member of the table has another expiry; long.MaxValue is none.</summary>
    internal void NoteExpiry(ulong hash, long oldMs, long expiryMs)
    {
        if (oldMs != long.MaxValue) CountExpiring(-1);
        if (expiryMs == long.MaxValue) return;
        CountExpiring(1);
        ref long earliest = ref Buckets.EarliestExpiryAt(Buckets.IndexOf(hash));
        if (expiryMs < earliest) earliest = expiryMs;
    }

    /// <summary>
    /// Frees expired members until none is left or about <paramref name="workMax"/> units of work are done (a freed member is one).
    /// </summary>
    /// <param name="nowMs">The time.</param>
    /// <param name="workMax">The work that may be done; on return, what remains of it.</param>
    /// <param name="earliestMs">A lower bound of the remaining members' expiries; not later than <paramref name="nowMs"/> if expired members remain.</param>
    /// <returns>The number of freed members.</returns>
    internal long FreeExpired(long nowMs, ref int workMax, out long earliestMs, scoped in ExpiryReport report = default)
    {
        MemberBuckets buckets = Buckets;
        long before = _header->Count;
        long chunks = buckets.Chunks;
        for (long chunk = 0; chunk < chunks && workMax > 0; chunk++)
        {
            ref long earliest = ref buckets.EarliestExpiryAt(chunk * MemberBuckets.BucketsPerChunk);
            if (earliest > nowMs) continue;
            workMax -= ChunkSearchCost;
            earliest = FreeExpiredInChunk(chunk * MemberBuckets.BucketsPerChunk, nowMs, ref workMax, report);
        }

        long freed = before - _header->Count;
        while (_header->Count < _header->Buckets * FillMin && _header->Buckets > 1) Join();
        earliestMs = long.MaxValue;
        for (long chunk = buckets.Chunks - 1; chunk >= 0 && _header->Expiring > 0; chunk--)
        {
            earliestMs = Math.Min(earliestMs, buckets.EarliestExpiryAt(chunk * MemberBuckets.BucketsPerChunk));
        }

        return freed;
    }

    /// <summary>Enumerates all blocks in no particular order. Valid until the table changes.</summary>
    public MemberEnumerator GetEnumerator() => new(Buckets, 0, _header->Buckets);

    /// <summary>
    /// Enumerates the blocks of one bucket. <paramref name="cursor"/> advances to the next bucket, and is 0 after the last one.
    /// Buckets are visited in the order of their index with its bits reversed, in which the two halves of a split bucket are
    /// neighbours: despite splits and merges between calls, each member that stays in the table is visited. Any value of the cursor is safe.
    /// </summary>
    internal MemberEnumerator ScanBucket(ref ulong cursor)
    {
        MemberBuckets buckets = Buckets;
        long index = buckets.IndexOf(cursor);
        int level = buckets.LevelOf(index);
        ulong step = level == 0 ? 0 : 1UL << (64 - level);
        cursor = level == 0 ? 0 : ReverseBits((ReverseBits(cursor) & ~(step - 1)) + step);
        return new MemberEnumerator(buckets, index, index + 1);
    }

    /// <summary>
    /// Returns a random block, each with the same probability; null when the table is empty. Rejection sampling: it picks a
    /// bucket and one of as many slots as the longest chain ever had, until the slot is occupied. The expected number of attempts
    /// is the ratio of that chain's length to the mean.
    /// </summary>
    internal byte* Pick(Random random)
    {
        if (_header->Count == 0) return null;
        MemberBuckets buckets = Buckets;
        var slots = (ulong)(_header->LongestChain * MemberBucket.Slots);
        int atOnce = _header->Buckets > MemberBuckets.BucketsPerChunk ? DrawsAtOnce : 1;
        byte** drawn = stackalloc byte*[DrawsAtOnce];
        int* slotOf = stackalloc int[DrawsAtOnce];
        while (true)
        {
            for (int i = 0; i < atOnce; i++)
            {
                // One random number yields both: the upper half of a product is the bucket, and the lower half, scaled again, the slot.
                ulong bits = (ulong)random.NextInt64() << 1;
                drawn[i] = buckets.Bucket((long)Math.BigMul(bits, (ulong)_header->Buckets, out ulong rest));
                slotOf[i] = (int)Math.BigMul(rest, slots, out _);
                if (Sse.IsSupported) Sse.Prefetch0(drawn[i]);
            }

            for (int i = 0; i < atOnce; i++)
            {
                byte* bucket = drawn[i];
                int slot = slotOf[i];
                for (; slot >= MemberBucket.Slots && bucket != null; slot -= MemberBucket.Slots) bucket = MemberBucket.Next(bucket);
                if (bucket != null && bucket[slot] != 0) return MemberBucket.Block(bucket, slot);
            }
        }
    }

    /// <summary>The slots that <see cref="DrawDistinct"/> takes for each block, at most.</summary>
    internal const int SlotsOfDrawn = 4;

    /// <summary>
    /// Fills the span with a random sample of distinct blocks, each with the same probability. The table must have more blocks than
    /// that, ideally three times as many: duplicates are rejected and sampled again. The caller has asked for memory (<see cref="NativeList{T}.HasRoom"/>).
    /// </summary>
    internal void DrawDistinct(Random random, Span<nint> blocks)
    {
        // The sampled blocks' addresses: a hash set with open addressing, at most half full.
        int slots = (int)BitOperations.RoundUpToPowerOf2((uint)blocks.Length * 2 + 1);
        using var table = new NativeList<nint>(slots);
        Span<nint> drawn = table.Items;
        drawn.Clear();
        for (int i = 0; i < blocks.Length;)
        {
            var block = (nint)Pick(random);
            int slot = (int)((((ulong)block >> 3) * 0x9E37_79B9_7F4A_7C15) >> 40) & (slots - 1);
            while (drawn[slot] != 0 && drawn[slot] != block) slot = (slot + 1) & (slots - 1);
            if (drawn[slot] == block) continue;
            drawn[slot] = block;
            blocks[i++] = block;
        }
    }

    /// <summary>
    /// Frees about <paramref name="blocksMax"/> members and, when none is left, the table itself. After the first call, no other
    /// operation on the table is permitted.
    /// </summary>
    /// <returns>Whether members remain to be freed.</returns>
    internal bool FreeSlice(int blocksMax)
    {
        MemberBuckets buckets = Buckets;
        for (int freed = 0; freed < blocksMax;)
        {
            long last = _header->Buckets - 1;
            if (last > 0) MemberBucket.PrefetchBlocks(buckets.Bucket(last - 1));
            byte* first = buckets.Bucket(last);
            for (byte* bucket = first, next; bucket != null; bucket = next)
            {
                next = MemberBucket.Next(bucket);
                for (uint occupied = MemberBucket.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
                {
                    byte* block = MemberBucket.Block(bucket, BitOperations.TrailingZeroCount(occupied));
                    _arena.Free(block, TLayout.Bytes(block));
                    freed++;
                }

                if (bucket != first) buckets.FreeChained(bucket);
            }

            freed++;
            if (last == 0)
            {
                buckets.Dispose();
                return false;
            }

            buckets.Pop();
        }

        return true;
    }

    /// <summary>The size of the table and its members in bytes. That of the members is estimated from the given number of them (0: all).</summary>
    internal long MemoryBytes(long samples)
    {
        long seen = 0;
        long bytes = 0;
        foreach (nint block in this)
        {
            bytes += BlockSize.RoundUp(TLayout.Bytes((byte*)block));
            if (++seen == samples) break;
        }

        return TableBytes + (seen == Count ? bytes : (long)((double)bytes / seen * Count));
    }

    // Beyond its maximum it stays there: some member may expire.
    private void CountExpiring(int change)
    {
        if (_header->Expiring != uint.MaxValue) _header->Expiring = (uint)(_header->Expiring + change);
    }

    // Frees the expired members of a chunk; returns the earliest expiry of the others.
    private long FreeExpiredInChunk(long first, long nowMs, ref int workMax, scoped in ExpiryReport report)
    {
        MemberBuckets buckets = Buckets;
        long earliest = long.MaxValue;
        long end = Math.Min(first + MemberBuckets.BucketsPerChunk, _header->Buckets);
        for (long index = first; index < end; index++)
        {
            byte* home = buckets.Bucket(index);
            if (index + 1 < end) MemberBucket.PrefetchBlocks(buckets.Bucket(index + 1));

            // Backwards: the member that replaces a removed one has been examined already.
            int length = MemberBucket.ChainLength(home);
            for (int link = length - 1; link >= 0; link--)
            {
                byte* bucket = MemberBucket.Link(home, link);
                for (int slot = MemberBucket.Slots - 1; slot >= 0; slot--)
                {
                    if (bucket[slot] == 0) continue;
                    byte* block = MemberBucket.Block(bucket, slot);
                    long expiry = TLayout.Expiry(block);
                    if (expiry > nowMs)
                    {
                        earliest = Math.Min(earliest, expiry);
                        continue;
                    }

                    bool isLast = MemberBucket.Next(bucket) == null && link > 0 && MemberBucket.Occupied(bucket) == 1u << slot;
                    if (report.IsWanted) report.Expired(TLayout.Member(block));
                    buckets.Unlink(home, bucket, slot);
                    _arena.Free(block, TLayout.Bytes(block));
                    _header->Count--;
                    CountExpiring(-1);
                    workMax--;
                    if (isLast) break; // the bucket was freed
                }
            }
        }

        return earliest;
    }

    private static ulong Hint(ulong hash, int level) => (hash >> (level / MemberBucket.HintBits * MemberBucket.HintBits)) & MemberBucket.HintMask;

    private static ulong ReverseBits(ulong bits)
    {
        bits = ((bits >> 1) & 0x5555_5555_5555_5555) | ((bits & 0x5555_5555_5555_5555) << 1);
        bits = ((bits >> 2) & 0x3333_3333_3333_3333) | ((bits & 0x3333_3333_3333_3333) << 2);
        bits = ((bits >> 4) & 0x0F0F_0F0F_0F0F_0F0F) | ((bits & 0x0F0F_0F0F_0F0F_0F0F) << 4);
        return BinaryPrimitives.ReverseEndianness(bits);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Split()
    {
        MemberBuckets buckets = Buckets;
        byte* upper = buckets.Push();
        long upperIndex = _header->Buckets - 1;
        int bit = BitOperations.Log2((ulong)upperIndex); // the bit that distinguishes the two buckets
        long lowerIndex = upperIndex - (1L << bit);
        byte* lower = buckets.Bucket(lowerIndex);
        ref long earliest = ref buckets.EarliestExpiryAt(upperIndex);
        earliest = Math.Min(earliest, buckets.EarliestExpiryAt(lowerIndex));
        bool hashAgain = (bit + 1) % MemberBucket.HintBits == 0;

        byte* old = stackalloc byte[MemberBucket.Bytes];
        Buffer.MemoryCopy(lower, old, MemberBucket.Bytes, MemberBucket.Bytes);
        MemberBucket.Clear(lower);
        for (byte* bucket = old, next; bucket != null; bucket = next)
        {
            if (hashAgain) MemberBucket.PrefetchBlocks(bucket);
            next = MemberBucket.Next(bucket);
            for (uint occupied = MemberBucket.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                int index = BitOperations.TrailingZeroCount(occupied);
                ulong slot = MemberBucket.Slot(bucket, index);
                bool isUpper = ((slot >> (bit % MemberBucket.HintBits)) & 1) != 0;
                if (hashAgain)
                {
                    ulong block = slot & ~MemberBucket.HintMask;
                    slot = block | Hint(_hasher.Hash(TLayout.Member((byte*)block)), bit + 1);
                }

                buckets.Append(isUpper ? upper : lower, bucket[index], slot);
            }

            if (bucket != old) buckets.FreeChained(bucket);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Join()
    {
        MemberBuckets buckets = Buckets;
        long upperIndex = _header->Buckets - 1;
        int bit = BitOperations.Log2((ulong)upperIndex);
        long lowerIndex = upperIndex - (1L << bit);
        byte* lower = buckets.Bucket(lowerIndex);
        byte* upper = buckets.Bucket(upperIndex);
        ref long earliest = ref buckets.EarliestExpiryAt(lowerIndex);
        earliest = Math.Min(earliest, buckets.EarliestExpiryAt(upperIndex));
        if ((bit + 1) % MemberBucket.HintBits == 0)
        {
            // The hints become those of the level below. Their bits are known from the indexes.
            WriteHints(lower, Hint((ulong)lowerIndex, bit));
            WriteHints(upper, Hint((ulong)upperIndex, bit));
        }

        for (byte* bucket = upper, next; bucket != null; bucket = next)
        {
            next = MemberBucket.Next(bucket);
            for (uint occupied = MemberBucket.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                int slot = BitOperations.TrailingZeroCount(occupied);
                buckets.Append(lower, bucket[slot], MemberBucket.Slot(bucket, slot));
            }

            if (bucket != upper) buckets.FreeChained(bucket);
        }

        buckets.Pop();
    }

    private static void WriteHints(byte* bucket, ulong hint)
    {
        for (; bucket != null; bucket = MemberBucket.Next(bucket))
        {
            for (uint occupied = MemberBucket.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                int slot = BitOperations.TrailingZeroCount(occupied);
                MemberBucket.WriteSlot(bucket, slot, (ulong)MemberBucket.Block(bucket, slot) | hint);
            }
        }
    }
}
