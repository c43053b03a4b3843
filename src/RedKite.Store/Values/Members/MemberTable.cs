using System.Buffers;
using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Members;

/// <summary>
/// A hash table of member blocks in an arena: the fields of a big hash, the members of a big set or sorted set. It is
/// linear hashing: whenever the mean bucket has more than six members, the next bucket in turn splits into itself and a
/// new one at the end, so that no operation pays for more than one bucket's growth. Removing joins them again.
/// The table owns its buckets; the blocks are its users' until they are freed with the table.
/// </summary>
/// <remarks>
/// A bucket's index is the hash's low bits, the tag its high ones. Splitting asks for one further bit of each member, for
/// which the slot keeps three: a hint of the bits from 3 * (level / 3) on, where the level is how many bits the bucket's
/// members have in common. So only every third doubling has to look at the blocks and hash their members again, and a join
/// never does, because it knows the lost bits from the indexes.
///
/// A table with one array for all buckets was rejected: its growth stalls, or needs two tables at a time and a search in
/// both. So were chains of nodes: finding a member is three cache misses there (slot, node, member), and two here.
/// </remarks>
internal readonly unsafe partial struct MemberTable<TLayout>
    where TLayout : struct, IMemberLayout
{
    private const int FillMax = 6;
    private const int FillMin = 3;

    // What the search of a chunk costs, in members freed.
    private const int ChunkSearchCost = 128;

    // How many draws are asked for together, once their buckets are unlikely to be in the cache.
    private const int DrawsAtOnce = 8;

    private readonly Arena _arena;
    private readonly KeyHasher _hasher;
    private readonly MemberBuckets.Header* _header;

    /// <param name="arena">The arena that the table was created in.</param>
    /// <param name="hasher">The keyspace's hasher, with which every hash given to the table was made.</param>
    /// <param name="root">What <see cref="Create"/> gave.</param>
    internal MemberTable(Arena arena, KeyHasher hasher, nint root)
    {
        _arena = arena;
        _hasher = hasher;
        _header = (MemberBuckets.Header*)root;
    }

    /// <summary>A table that is only read from end to end or freed: nothing that needs a hash.</summary>
    internal MemberTable(Arena arena, nint root)
        : this(arena, null!, root)
    {
    }

    internal long Count => _header->Count;

    internal nint Root => (nint)_header;

    /// <summary>Bytes of the table without its members.</summary>
    internal long TableBytes => Buckets.Bytes;

    internal long BucketCount => _header->Buckets;

    internal MemberBuckets Buckets => new(_arena, (byte*)_header);

    /// <summary>Makes an empty table; what is returned is its root.</summary>
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

    /// <summary>The member's block, or null.</summary>
    internal byte* Find(ReadOnlySpan<byte> member, ulong hash) => TryFind(member, hash, out MemberPosition position) ? position.Block : null;

    /// <summary>Asks for the line of a member's bucket, ahead of a search.</summary>
    internal void PrefetchBucket(ulong hash)
    {
        if (Sse.IsSupported) Sse.Prefetch0(Buckets.Bucket(Buckets.IndexOf(hash)));
    }

    /// <summary>Asks for the block that a member probably has, once its bucket has arrived.</summary>
    internal void PrefetchBlock(ulong hash)
    {
        if (!Sse.IsSupported) return;
        byte* bucket = Buckets.Bucket(Buckets.IndexOf(hash));
        uint matches = MemberBucket.Matches(bucket, MemberBucket.Tag(hash));
        if (matches != 0) Sse.Prefetch0(MemberBucket.Block(bucket, BitOperations.TrailingZeroCount(matches)));
    }

    /// <summary>Adds a block whose member is not in the table. Positions found before are not valid any more.</summary>
    internal void Add(ulong hash, byte* block)
    {
        MemberBuckets buckets = Buckets;
        if (++_header->Count > _header->Buckets * FillMax) Split();
        long index = buckets.IndexOf(hash);
        buckets.Append(buckets.Bucket(index), MemberBucket.Tag(hash), (ulong)block | Hint(hash, buckets.LevelOf(index)));
    }

    /// <summary>Takes a block out; it is the caller's then. Other positions are not valid any more.</summary>
    internal byte* Remove(in MemberPosition position)
    {
        byte* block = position.Block;
        MemberBuckets buckets = Buckets;
        buckets.Unlink(buckets.Bucket(buckets.IndexOf(position.Hash)), position.Bucket, position.Slot);
        if (--_header->Count < _header->Buckets * FillMin && _header->Buckets > 1) Join();
        return block;
    }

    /// <summary>Notes that a member which is in the table expires at a time.</summary>
    internal void NoteExpiry(ulong hash, long expiryMs)
    {
        ref long earliest = ref Buckets.EarliestExpiryAt(Buckets.IndexOf(hash));
        if (expiryMs < earliest) earliest = expiryMs;
    }

    /// <summary>
    /// Frees members whose time has come, until none is left or about so much work is done (in members freed).
    /// </summary>
    /// <param name="nowMs">The time.</param>
    /// <param name="workMax">How much may be done; what is left of it.</param>
    /// <param name="earliestMs">The earliest expiry of what is left, or earlier; not after the time if work is left.</param>
    /// <returns>How many members were freed.</returns>
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
        for (long chunk = buckets.Chunks - 1; chunk >= 0; chunk--)
        {
            earliestMs = Math.Min(earliestMs, buckets.EarliestExpiryAt(chunk * MemberBuckets.BucketsPerChunk));
        }

        return freed;
    }

    /// <summary>Every block, in no order; valid until the table changes.</summary>
    public MemberEnumerator GetEnumerator() => new(Buckets, 0, _header->Buckets);

    /// <summary>
    /// The blocks of one bucket; <paramref name="cursor"/> moves to the next one, and is 0 after the last.
    /// The cursor is a place in the order of the hashes' bits, lowest first, in which a bucket's two halves are neighbours:
    /// whatever splits and joins meanwhile, members that stay are seen. Any cursor is harmless, also one that a client made up.
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

    /// <summary>Adds the blocks of one bucket to a list and gives the cursor of the next: see <see cref="ScanBucket"/>.</summary>
    internal ulong Scan(ulong cursor, List<nint> blocks)
    {
        MemberEnumerator bucket = ScanBucket(ref cursor);
        while (bucket.MoveNext()) blocks.Add(bucket.Current);
        return cursor;
    }

    /// <summary>
    /// A block drawn at random, each with the same chance; null when the table is empty. A slot of the longest chain that
    /// there ever was is drawn, in any bucket, until one is hit that is taken: as often as that chain is longer than the mean.
    /// </summary>
    internal byte* Draw(Random random)
    {
        if (_header->Count == 0) return null;
        MemberBuckets buckets = Buckets;
        var slots = (ulong)(_header->LongestChain * MemberBucket.Slots);
        int atOnce = _header->Buckets > MemberBuckets.BucketsPerChunk ? DrawsAtOnce : 1;
        byte** drawn = stackalloc byte*[DrawsAtOnce];
        int* places = stackalloc int[DrawsAtOnce];
        while (true)
        {
            for (int i = 0; i < atOnce; i++)
            {
                // One random number is bucket and slot: its product's upper half, and what the lower half leaves.
                ulong bits = (ulong)random.NextInt64() << 1;
                drawn[i] = buckets.Bucket((long)Math.BigMul(bits, (ulong)_header->Buckets, out ulong rest));
                places[i] = (int)Math.BigMul(rest, slots, out _);
                if (Sse.IsSupported) Sse.Prefetch0(drawn[i]);
            }

            for (int i = 0; i < atOnce; i++)
            {
                byte* bucket = drawn[i];
                int place = places[i];
                for (; place >= MemberBucket.Slots && bucket != null; place -= MemberBucket.Slots) bucket = MemberBucket.Next(bucket);
                if (bucket != null && bucket[place] != 0) return MemberBucket.Block(bucket, place);
            }
        }
    }

    /// <summary>
    /// Draws as many different blocks as the span takes, each with the same chance. There are more in the table, best three
    /// times as many: a block that was drawn before is drawn again.
    /// </summary>
    internal void DrawDistinct(Random random, Span<nint> blocks)
    {
        // What was drawn, by its address: open addressing, at most half full.
        int places = (int)BitOperations.RoundUpToPowerOf2((uint)blocks.Length * 2 + 1);
        nint[] drawn = ArrayPool<nint>.Shared.Rent(places);
        drawn.AsSpan(0, places).Clear();
        for (int i = 0; i < blocks.Length;)
        {
            var block = (nint)Draw(random);
            int place = (int)((((ulong)block >> 3) * 0x9E37_79B9_7F4A_7C15) >> 40) & (places - 1);
            while (drawn[place] != 0 && drawn[place] != block) place = (place + 1) & (places - 1);
            if (drawn[place] == block) continue;
            drawn[place] = block;
            blocks[i++] = block;
        }

        ArrayPool<nint>.Shared.Return(drawn);
    }

    /// <summary>
    /// Frees about <paramref name="blocksMax"/> members and, when none is left, the table itself. Nothing else may be done
    /// with a table once this was called.
    /// </summary>
    /// <returns>Whether something is left to free.</returns>
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

    /// <summary>Bytes of the table and its members, these estimated from as many of them as said (0: all are counted).</summary>
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

    // Frees what is due in a chunk's buckets; gives the earliest expiry of the rest.
    private long FreeExpiredInChunk(long first, long nowMs, ref int workMax, scoped in ExpiryReport report)
    {
        MemberBuckets buckets = Buckets;
        long earliest = long.MaxValue;
        long end = Math.Min(first + MemberBuckets.BucketsPerChunk, _header->Buckets);
        for (long index = first; index < end; index++)
        {
            byte* home = buckets.Bucket(index);
            if (index + 1 < end) MemberBucket.PrefetchBlocks(buckets.Bucket(index + 1));

            // From the chain's end: what takes a removed member's place was looked at before.
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
                    workMax--;
                    if (isLast) break; // the bucket is gone
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
        int bit = BitOperations.Log2((ulong)upperIndex); // which parts the two
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
            // The hints become those of the level below, which are bits of the indexes.
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
