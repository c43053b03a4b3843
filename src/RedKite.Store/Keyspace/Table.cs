using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics.X86;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The keys of one database in one stripe: extendible hashing over 8 KiB segments. A full segment splits into two, so
/// growth never costs more than a thousand entries at once; there is no rehash of the whole.
/// </summary>
/// <remarks>
/// The directory maps the upper bits of a hash's prefix to a segment. The prefix is the hash's upper half, skewed a little: x +
/// x(1-x)/4 holds more keys at one end than at the other, so that segments fill and split at different times. Without the skew all
/// segments are half empty together just after the number of keys passes a power of two.
///
/// Directories and segments come from the stripe's pool, whose memory stays mapped: <see cref="PrefetchBucket"/> and
/// <see cref="PrefetchEntry"/> read both without the stripe's lock, and what they read may be out of date but must not fault.
/// </remarks>
internal sealed unsafe partial class Table
{
    private const int LineBytes = 64;

    // Two neighbours are joined when their total is below this, well below the result of a split.
    private const int JoinBelow = Segment.EntriesMax / 3;

    // The approximate maximum of fields that one call removes: some ten microseconds.
    private const int FieldWorkMax = 1024;

    private readonly Arena _arena;
    private readonly SegmentPool _pool;
    private readonly KeyHasher _hasher;
    private readonly ReleasedValues _values;

    internal Table(Arena arena, SegmentPool pool, KeyHasher hasher, ReleasedValues values)
    {
        _arena = arena;
        _values = values;
        _pool = pool;
        _hasher = hasher;
        _slotKeys = hasher.UsesSlots ? new int[hasher.SlotsOfStripe] : null;
        byte* first = pool.Take();
        Segment.Initialize(first, prefix: 0, depth: 0);
        Segments = 1;
        _directory = pool.TakeDirectory(depth: 0, isLower: false);
        _directory[1] = (nuint)first;
    }

    internal long Count { get; private set; }

    internal long Expiring { get; private set; }

    /// <summary>Keys that must not be evicted, and those of them that expire.</summary>
    internal long Pinned { get; private set; }

    internal long PinnedExpiring { get; private set; }

    /// <summary>Hashes of which fields have an expiry.</summary>
    internal long FieldsExpiring { get; private set; }

    internal int Segments { get; private set; }

    /// <summary>The average time to live of keys with an expiry, by the samples so far; 0: no samples.</summary>
    internal long AverageTtlMs { get; private set; }

    /// <summary>The share of keys with an expiry that have expired but are not removed yet, by the samples so far.</summary>
    internal double StaleShare { get; private set; }

    internal Arena Arena => _arena;

    internal KeyHasher Hasher => _hasher;

    /// <summary>Finds a key's entry. The caller decides what an expired one means.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool TryFind(ReadOnlySpan<byte> key, ulong hash, out EntryPosition position)
    {
        byte tag = Segment.Tag(hash);
        int index = Segment.Home(hash);
        byte* segment = SegmentOf(hash);
        while (true)
        {
            byte* bucket = Segment.Bucket(segment, index);
            for (uint matches = Segment.Matches(bucket, tag); matches != 0; matches &= matches - 1)
            {
                int slot = BitOperations.TrailingZeroCount(matches);
                nuint value = Segment.Slot(bucket, slot);
                if (!Segment.MayHave(value, hash)) continue;
                byte* entry = Segment.Entry(value);
                if (EntryBlock.Key(entry).SequenceEqual(key))
                {
                    position = new EntryPosition(bucket, slot, entry, hash);
                    return true;
                }
            }

            if (!Segment.IsPassed(bucket, tag)) break;
            index = Segment.Next(index);
            if (index == Segment.Home(hash)) break; // every bucket was passed
        }

        position = new EntryPosition(null, 0, null, hash);
        return false;
    }

    /// <summary>Adds an entry whose key is not in the table.</summary>
    internal EntryPosition Add(ulong hash, byte* entry)
    {
        byte* segment = MakeRoom(hash);
        Segment.Add(segment, hash, entry, out byte* bucket, out int slot);
        Count++;
        CountSlot(hash, 1);
        CountExpiry(entry, 1);
        return new EntryPosition(bucket, slot, entry, hash);
    }

    /// <summary>
    /// Splits the segment of a hash until it has room for another entry, so that <see cref="Add"/> allocates nothing. Entries may
    /// move to another segment.
    /// </summary>
    /// <returns>The segment.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal byte* MakeRoom(ulong hash)
    {
        byte* segment = SegmentOf(hash);
        while (Segment.Of(segment)->Count >= Segment.EntriesMax)
        {
            Split(segment);
            segment = SegmentOf(hash);
        }

        return segment;
    }

    /// <summary>Removes an entry, whose block then belongs to the caller. Other entries don't move.</summary>
    internal void RemoveInPlace(in EntryPosition position)
    {
        Segment.Remove(position.Segment, position.Hash, position.Bucket, position.Slot, _hasher);
        Count--;
        CountSlot(position.Hash, -1);
        CountExpiry(position.Entry, -1);
    }

    /// <summary>Joins the segment of a removed entry with its buddy if both are sparse. Entries may move to another segment.</summary>
    internal void JoinIfSparse(in EntryPosition removed) => JoinIfSparse(removed.Segment);

    /// <summary>
    /// Replaces an entry's block by another one of the same key, or updates the entry after the expiry of the key or of fields changed.
    /// </summary>
    /// <param name="position">The entry's position.</param>
    /// <param name="entry">The block.</param>
    /// <param name="oldFlags">The previous <see cref="EntryBlock.CountedFlags"/> of the entry.</param>
    internal void Replace(ref EntryPosition position, byte* entry, byte oldFlags)
    {
        Segment.Header* header = Segment.Of(position.Segment);
        byte flags = EntryBlock.ExpiryFlags(entry);
        int oldExpiryFlags = oldFlags & ~EntryBlock.Pinned;
        header->Expiring += (flags != 0 ? 1 : 0) - (oldExpiryFlags != 0 ? 1 : 0);
        Expiring += (flags & EntryBlock.HasExpiry) - (oldExpiryFlags & EntryBlock.HasExpiry);
        FieldsExpiring += ((flags & EntryBlock.HasFieldExpiry) - (oldExpiryFlags & EntryBlock.HasFieldExpiry)) / EntryBlock.HasFieldExpiry;
        if (((oldFlags | EntryBlock.CountedFlags(entry)) & EntryBlock.Pinned) != 0) CountPinned(oldFlags, EntryBlock.CountedFlags(entry));
        if (flags != 0) Segment.NoteExpiry(header, entry);
        Segment.Replace(position.Bucket, position.Slot, entry, expires: flags != 0);
        position = position.At(entry);
    }

    /// <summary>Sets or removes the flag of a key that must not be evicted.</summary>
    internal void Pin(in EntryPosition position, bool isPinned)
    {
        byte oldFlags = EntryBlock.CountedFlags(position.Entry);
        EntryBlock.MarkPinned(position.Entry, isPinned);
        CountPinned(oldFlags, EntryBlock.CountedFlags(position.Entry));
    }

    /// <summary>Resizes the value in an entry's block and keeps its leading bytes and everything else. The block may move.</summary>
    internal void Resize(ref EntryPosition position, int valueLength)
    {
        byte* block = position.Entry;
        int keyLength = EntryBlock.KeyLength(block);
        bool expires = EntryBlock.Expires(block);
        long bytes = EntryBlock.Bytes(block);
        long newBytes = EntryBlock.BytesFor(keyLength, valueLength, expires);
        byte* moved;
        bool sameForm = EntryBlock.IsLong(block) == EntryBlock.IsLong(keyLength, valueLength)
            && EntryBlock.HasKeyRoom(EntryBlock.ValueLength(block)) == EntryBlock.HasKeyRoom(valueLength);
        if (sameForm)
        {
            moved = _arena.Reallocate(block, bytes, newBytes);
            EntryBlock.WriteValueLength(moved, valueLength);
            if (moved == block) return;
        }
        else
        {
            moved = _arena.Allocate(newBytes);
            EntryBlock.Initialize(moved, EntryBlock.Header(block), keyLength, valueLength, expires, EntryBlock.Epoch(block));
            EntryBlock.MarkFieldsExpire(moved, EntryBlock.FieldsExpire(block));
            EntryBlock.MarkPinned(moved, EntryBlock.IsPinned(block));
            if (expires) EntryBlock.WriteExpiry(moved, EntryBlock.Expiry(block));
            EntryBlock.Key(block).CopyTo(new Span<byte>(EntryBlock.KeyStart(moved), keyLength));
            Span<byte> value = EntryBlock.Value(block);
            value[..Math.Min(value.Length, valueLength)].CopyTo(EntryBlock.Value(moved));
            _arena.Free(block, bytes);
        }

        Segment.Replace(position.Bucket, position.Slot, moved, Segment.Expires(Segment.Slot(position.Bucket, position.Slot)));
        position = position.At(moved);
    }

    /// <summary>Prefetches the cache line of a key's home bucket and returns its address. Needs no lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal byte* PrefetchBucket(ulong hash)
    {
        byte* bucket = Segment.Bucket(SegmentOf(hash), Segment.Home(hash));
        if (Sse.IsSupported) Sse.Prefetch0(bucket);
        return bucket;
    }

    /// <summary>
    /// Prefetches the first lines of a key's probable entry; without one, the bucket in which the search continues and the memory
    /// that adding the key changes. Needs no lock: a bucket that has moved meanwhile is still mapped, and a wrong address is only
    /// prefetched, never read.
    /// </summary>
    /// <param name="bytes">The part of the entry that will probably be read or written.</param>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void PrefetchEntry(byte* bucket, ulong hash, bool mayAdd, int bytes)
    {
        if (!Sse.IsSupported) return;
        byte tag = Segment.Tag(hash);
        for (uint matches = Segment.Matches(bucket, tag); matches != 0; matches &= matches - 1)
        {
            nuint value = Segment.Slot(bucket, BitOperations.TrailingZeroCount(matches));
            if (!Segment.MayHave(value, hash)) continue;
            byte* entry = Segment.Entry(value);
            Sse.Prefetch0(entry);
            Sse.Prefetch0(entry + LineBytes);
            for (int offset = 2 * LineBytes; offset < bytes; offset += LineBytes) Sse.Prefetch0(entry + offset);
            return;
        }

        if (Segment.IsPassed(bucket, tag)) Sse.Prefetch0(bucket + Segment.BucketBytes); // the next one, but for the last
        if (mayAdd) Sse.Prefetch0(Segment.OfBucket(bucket));
    }

    /// <summary>
    /// The entries of one home bucket in hash order, for SCAN: <paramref name="cursor"/> moves to the next one.
    /// Despite splits and joins meanwhile, a key that stays is visited: a split leaves a key's home bucket as it was and
    /// puts both halves in prefix order, and a cursor that is deeper than its segment starts that segment again.
    /// An empty segment is one step. Any cursor is harmless, even one that a client made up.
    /// </summary>
    /// <returns>False when the table ends after this bucket.</returns>
    internal bool NextBucket(ref TableCursor cursor, EntryList entries)
    {
        byte* segment = SegmentOfPrefix(cursor.Prefix);
        Segment.Header* header = Segment.Of(segment);
        int home = header->Depth < cursor.Depth ? 0 : cursor.Bucket;
        if (header->Count > 0 && home < Segment.Buckets) CollectHome(segment, home, entries);
        if (header->Count > 0 && home + 1 < Segment.Buckets)
        {
            cursor = new TableCursor(cursor.Prefix, header->Depth, home + 1);
            return true;
        }

        ulong next = (ulong)header->Prefix + (1UL << (32 - header->Depth));
        cursor = new TableCursor((uint)next, header->Depth, 0);
        return next <= uint.MaxValue;
    }

    /// <summary>Every entry of the segment that holds <paramref name="prefix"/>; the prefix moves to the next segment.</summary>
    /// <returns>False when it was the last segment.</returns>
    internal bool NextSegment(ref uint prefix, EntryList entries)
    {
        byte* segment = SegmentOfPrefix(prefix);
        for (int index = 0; index < Segment.Buckets; index++)
        {
            byte* bucket = Segment.Bucket(segment, index);
            for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                entries.Add(Segment.Entry(bucket, BitOperations.TrailingZeroCount(occupied)));
            }
        }

        return Advance(segment, ref prefix);
    }

    /// <summary>
    /// Samples an entry; null only if the table is empty. A random hash selects a segment, then a random number one of its entries:
    /// hashes are uniform, so all keys have the same probability except for random differences in how full segments are. Sampling
    /// slots until one is in use would be exact, but unbounded in a table that has emptied.
    /// </summary>
    internal byte* Pick(Random random)
    {
        if (Count == 0) return null;
        byte* segment = SegmentOf((ulong)random.NextInt64(long.MinValue, long.MaxValue));
        while (Segment.Of(segment)->Count == 0)
        {
            uint prefix = 0;
            Advance(segment, ref prefix);
            segment = SegmentOfPrefix(prefix);
        }

        int left = random.Next(Segment.Of(segment)->Count);
        for (int index = 0; ; index++)
        {
            byte* bucket = Segment.Bucket(segment, index);
            uint occupied = Segment.Occupied(bucket);
            int here = BitOperations.PopCount(occupied);
            if (left >= here)
            {
                left -= here;
                continue;
            }

            for (; left > 0; left--) occupied &= occupied - 1;
            return Segment.Entry(bucket, BitOperations.TrailingZeroCount(occupied));
        }
    }

    /// <summary>The segment's first prefix in which a hash belongs, for <see cref="ExpireSegment"/>.</summary>
    internal uint PrefixOf(ulong hash) => Segment.Of(SegmentOf(hash))->Prefix;

    /// <summary>
    /// Removes expired keys and hash fields from the segment that contains <paramref name="prefix"/> and moves on to the next
    /// segment, unless there are too many fields for one call. A segment whose earliest expiry is in the future costs one read of
    /// its header.
    /// </summary>
    /// <param name="prefix">The start, initially 0.</param>
    /// <param name="nowMs">The time.</param>
    /// <param name="database">The table's database, through which entries are removed.</param>
    /// <param name="stripe">The table's stripe.</param>
    /// <param name="result">The counts to add to.</param>
    /// <returns>False when it was the last segment.</returns>
    internal bool ExpireSegment(ref uint prefix, long nowMs, Database database, Stripe stripe, ref ExpiryResult result)
    {
        uint start = prefix;
        byte* segment = SegmentOfPrefix(prefix);
        bool more = Advance(segment, ref prefix);
        if (Segment.Of(segment)->EarliestExpiry > nowMs) return more;

        result.SegmentsSearched++;
        long earliest = long.MaxValue;
        int fieldWork = FieldWorkMax;
        for (int index = 0; index < Segment.Buckets; index++)
        {
            if (Sse.IsSupported && index + 2 < Segment.Buckets) PrefetchExpiring(Segment.Bucket(segment, index + 2));
            byte* bucket = Segment.Bucket(segment, index);
            for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                int slot = BitOperations.TrailingZeroCount(occupied);
                nuint value = Segment.Slot(bucket, slot);
                if (!Segment.Expires(value)) continue;
                byte* entry = Segment.Entry(value);
                long expiry = FieldExpiry.NextOf(entry);
                if (expiry <= nowMs) expiry = Expire(bucket, slot, nowMs, database, stripe, ref fieldWork, ref result);
                earliest = Math.Min(earliest, expiry);
            }
        }

        Segment.Of(segment)->EarliestExpiry = earliest;
        if (earliest <= nowMs)
        {
            prefix = start; // fields are left
            return true;
        }

        JoinIfSparse(segment);
        return more;
    }

    // Removes an entry that is due, or its fields that are; returns when something of what is left expires.
    private long Expire(byte* bucket, int slot, long nowMs, Database database, Stripe stripe, ref int fieldWork, ref ExpiryResult result)
    {
        byte* entry = Segment.Entry(Segment.Slot(bucket, slot));
        bool isKeyDue = EntryBlock.Expires(entry) && EntryBlock.Expiry(entry) <= nowMs;
        if (!isKeyDue && fieldWork <= 0) return nowMs;
        var position = new EntryPosition(bucket, slot, entry, _hasher.HashKey(EntryBlock.Key(entry)));
        if (database.Hides(position.Hash)) return nowMs + 1; // removed otherwise, or by the node that sends it
        if (isKeyDue)
        {
            result.Expired++;
        }
        else if (stripe.Awaits(entry))
        {
            return nowMs + 1; // its fields are left to a later round: a snapshot is still to write it
        }
        else
        {
            result.ExpiredFields += database.ExpireFields(stripe, this, ref position, nowMs, ref fieldWork, out bool isEmpty);
            if (!isEmpty) return FieldExpiry.NextOf(position.Entry);
        }

        database.UnlinkExpired(stripe, this, position, isKeyDue ? UnlinkReason.Expired : UnlinkReason.Emptied);
        if (!database.TakesOver(stripe, position)) SetAside(position.Entry);
        return long.MaxValue;
    }

    /// <summary>Removes about the given number of expired fields of a hash. The entry's block may move.</summary>
    /// <param name="position">Where the entry is.</param>
    /// <param name="nowMs">The time.</param>
    /// <param name="workMax">How many; what is left of it.</param>
    /// <param name="isEmpty">Whether no field is left. The entry is still there, for the caller to remove.</param>
    /// <param name="report">Where each field is reported.</param>
    /// <returns>How many fields were removed.</returns>
    internal long ExpireFields(ref EntryPosition position, long nowMs, ref int workMax, out bool isEmpty, scoped in ExpiryReport report)
    {
        byte flags = EntryBlock.CountedFlags(position.Entry);
        long removed = FieldExpiry.Free(this, ref position, nowMs, ref workMax, out isEmpty, report);
        EntryBlock.MarkFieldsExpire(position.Entry, FieldExpiry.EarliestOf(position.Entry) != long.MaxValue);
        Replace(ref position, position.Entry, flags);
        return removed;
    }

    /// <summary>Samples a few entries that expire, from the segment that holds <paramref name="prefix"/>, for INFO's estimates.</summary>
    internal void SampleExpiries(uint prefix, long nowMs)
    {
        const int SamplesMax = 16;
        const double Weight = 0.25; // of a new sample: old samples fade within a second of rounds

        byte* segment = SegmentOfPrefix(prefix);
        if (Segment.Of(segment)->Expiring == 0) return;
        long left = 0;
        int alive = 0, stale = 0;
        var first = (int)(prefix % Segment.Buckets);
        for (int i = 0; i < Segment.Buckets && alive + stale < SamplesMax; i++)
        {
            byte* bucket = Segment.Bucket(segment, (first + i) % Segment.Buckets);
            for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                nuint value = Segment.Slot(bucket, BitOperations.TrailingZeroCount(occupied));
                if (!Segment.Expires(value) || !EntryBlock.Expires(Segment.Entry(value))) continue;
                long expiry = EntryBlock.Expiry(Segment.Entry(value));
                if (expiry <= nowMs)
                {
                    stale++;
                    continue;
                }

                alive++;
                left += (expiry - nowMs - left) / alive; // a running mean: a sum of far expiries could overflow
            }
        }

        if (alive > 0) AverageTtlMs = AverageTtlMs == 0 ? left : AverageTtlMs + (long)((left - AverageTtlMs) * Weight);
        if (alive + stale > 0) StaleShare += (((double)stale / (alive + stale)) - StaleShare) * Weight;
    }

    /// <summary>
    /// Frees one bucket's entries of an abandoned table, then the segment, and finally the directory. The structures of values are
    /// detached to be freed in slices.
    /// </summary>
    /// <param name="prefix">The next segment, initially 0.</param>
    /// <param name="index">The bucket in it, initially 0.</param>
    /// <returns>Whether there is more to free.</returns>
    internal bool FreeStep(ref uint prefix, ref int index)
    {
        byte* segment = SegmentOfPrefix(prefix);
        if (Sse.IsSupported && index + 2 < Segment.Buckets) PrefetchAllToFree(Segment.Bucket(segment, index + 2));
        byte* bucket = Segment.Bucket(segment, index);
        for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
        {
            byte* entry = Segment.Entry(bucket, BitOperations.TrailingZeroCount(occupied));
            if (!EntryBlock.HasStructure(entry)) _values.NoteFreedLater();
            SetAside(entry);
            Count--;
        }

        if (++index < Segment.Buckets) return true;
        index = 0;
        bool more = Advance(segment, ref prefix);
        _pool.Return(segment);
        if (more) return true;
        ReturnDirectories();
        Count = Expiring = Pinned = PinnedExpiring = Segments = 0;
        return false;
    }

    /// <summary>Frees an entry that was removed from its table, with its whole value.</summary>
    internal void FreeEntry(byte* entry)
    {
        if (EntryBlock.HasStructure(entry)) _values.Release(entry);
        FreeBlock(entry);
    }

    /// <summary>Frees only the block of an entry that was removed from its table.</summary>
    internal void FreeBlock(byte* entry) => _arena.Free(entry, EntryBlock.Bytes(entry));

    // When many entries are removed at once, none may take the time that a single one may take.
    private void SetAside(byte* entry)
    {
        if (EntryBlock.HasStructure(entry)) _values.SetAside(entry);
        FreeBlock(entry);
    }

    private void CountExpiry(byte* entry, int change)
    {
        if (EntryBlock.Expires(entry)) Expiring += change;
        if (EntryBlock.FieldsExpire(entry)) FieldsExpiring += change;
        if (EntryBlock.IsPinned(entry)) CountPinned(change < 0 ? EntryBlock.CountedFlags(entry) : (byte)0, change < 0 ? (byte)0 : EntryBlock.CountedFlags(entry));
    }

    private void CountPinned(byte oldFlags, byte flags)
    {
        const byte Both = EntryBlock.Pinned | EntryBlock.HasExpiry;
        Pinned += ((flags & EntryBlock.Pinned) - (oldFlags & EntryBlock.Pinned)) / EntryBlock.Pinned;
        PinnedExpiring += ((flags & Both) == Both ? 1 : 0) - ((oldFlags & Both) == Both ? 1 : 0);
    }

    // x + x(1-x)/4 in 32-bit fixed point, see the remarks above.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static uint Prefix(ulong hash)
    {
        var x = (uint)(hash >> 32);
        return x + (uint)(((ulong)x * ~x) >> 34);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private byte* SegmentOf(ulong hash) => SegmentOfPrefix(Prefix(hash));

    // An entry is in a bucket that is not its home only if its eighth overflowed from the bucket before, so few keys are hashed.
    private void CollectHome(byte* segment, int home, EntryList entries)
    {
        if (Sse.IsSupported && home + 1 < Segment.Buckets) PrefetchAll(Segment.Bucket(segment, home + 1));
        byte* before = Segment.Bucket(segment, Segment.Previous(home));
        int index = home;
        do
        {
            byte* bucket = Segment.Bucket(segment, index);
            for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                int slot = BitOperations.TrailingZeroCount(occupied);
                byte* entry = Segment.Entry(bucket, slot);
                if (Segment.IsPassed(before, bucket[slot]) ? Segment.Home(_hasher.HashKey(EntryBlock.Key(entry))) == home : index == home) entries.Add(entry);
            }

            if (!Segment.IsPassed(bucket)) return;
            before = bucket;
            index = Segment.Next(index);
        }
        while (index != home);
    }

    private static bool Advance(byte* segment, ref uint prefix)
    {
        Segment.Header* header = Segment.Of(segment);
        ulong next = (ulong)header->Prefix + (1UL << (32 - header->Depth));
        prefix = (uint)next;
        return next <= uint.MaxValue;
    }

    private void Split(byte* segment)
    {
        Segment.Header* header = Segment.Of(segment);
        int depth = header->Depth + 1;
        DeepenDirectory(header->Prefix, depth);

        uint upperPrefix = header->Prefix | (1u << (32 - depth));
        byte* upper = _pool.Take();
        Segment.Initialize(upper, upperPrefix, depth);
        byte* old = _pool.Scratch;
        Buffer.MemoryCopy(segment, old, Segment.Bytes, Segment.Bytes);
        Segment.Initialize(segment, header->Prefix, depth);
        Segments++;

        for (int index = 0; index < Segment.Buckets; index++)
        {
            if (Sse.IsSupported && index + 2 < Segment.Buckets) PrefetchAll(Segment.Bucket(old, index + 2));
            byte* bucket = Segment.Bucket(old, index);
            for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                byte* entry = Segment.Entry(bucket, BitOperations.TrailingZeroCount(occupied));
                ulong hash = _hasher.HashKey(EntryBlock.Key(entry));
                Segment.Add(Prefix(hash) >= upperPrefix ? upper : segment, hash, entry, out _, out _);
            }
        }

        Point(upper);
    }

    // Joins a segment with its buddy, and the result with its own buddy, so that a sweep that empties one segment after the other
    // leaves no empty ones.
    private void JoinIfSparse(byte* segment)
    {
        while (true)
        {
            Segment.Header* header = Segment.Of(segment);
            if (header->Count > JoinBelow / 2 || header->Depth == 0) return;
            uint half = 1u << (32 - header->Depth);
            byte* buddy = SegmentOfPrefix(header->Prefix ^ half);
            Segment.Header* buddyHeader = Segment.Of(buddy);
            if (buddyHeader->Depth != header->Depth || buddyHeader->Count + header->Count > JoinBelow) return;

            bool isLower = (header->Prefix & half) == 0;
            byte* lower = isLower ? segment : buddy;
            Join(lower, isLower ? buddy : segment);
            segment = lower;
        }
    }

    private void Join(byte* lower, byte* upper)
    {
        for (int index = 0; index < Segment.Buckets; index++)
        {
            byte* bucket = Segment.Bucket(upper, index);
            for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
            {
                byte* entry = Segment.Entry(bucket, BitOperations.TrailingZeroCount(occupied));
                Segment.Add(lower, _hasher.HashKey(EntryBlock.Key(entry)), entry, out _, out _);
            }
        }

        Segment.Of(lower)->Depth--;
        Point(lower);
        _pool.Return(upper);
        Segments--;
    }

    private static void PrefetchExpiring(byte* bucket)
    {
        for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
        {
            nuint value = Segment.Slot(bucket, BitOperations.TrailingZeroCount(occupied));
            if (Segment.Expires(value)) PrefetchToFree(Segment.Entry(value));
        }
    }

    private static void PrefetchAllToFree(byte* bucket)
    {
        for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
        {
            PrefetchToFree(Segment.Entry(bucket, BitOperations.TrailingZeroCount(occupied)));
        }
    }

    // The lines of a usual entry's header and key, and that of its slab, which counts its blocks.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void PrefetchToFree(byte* entry)
    {
        Sse.Prefetch0(entry);
        Sse.Prefetch0(entry + 32);
        Sse.Prefetch0(Arena.SlabOf(entry));
    }

    private static void PrefetchAll(byte* bucket)
    {
        for (uint occupied = Segment.Occupied(bucket); occupied != 0; occupied &= occupied - 1)
        {
            Sse.Prefetch0(Segment.Entry(bucket, BitOperations.TrailingZeroCount(occupied)));
        }
    }
}
