using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using RedKite.Store.Values.Hashes;

namespace RedKite.Store.Keyspace;

/// <summary>
/// A part of a table: 8 KiB with a header line and 127 buckets, each bucket one cache line with nine entries.
/// <code>
/// bucket   0..8   a tag for each slot: eight bits of the hash, 0 = free
///          9      which entries overflowed from this full bucket: a bit for each eighth of the tags
///         10..63  nine 6-byte slots: the entry's address, which is a multiple of 8; its lowest bit says that the entry or some
///                 of its fields expire, the next two are two more bits of the hash
/// </code>
/// An entry is in its home bucket or, if that is full, in the next bucket with a free slot; a search ends at a bucket from which no
/// entry of its eighth overflowed. Six-byte slots were measured against eight-byte ones: 9 instead of 7 entries per line, which is
/// 3 bytes less per key with the same number of cache misses. Ten bits of the hash instead of eight, and eighths instead of one
/// overflow count, spare lookups of missing keys the wait for unrelated entries and buckets.
/// </summary>
internal static unsafe class Segment
{
    internal const int Bytes = 8192;
    internal const int Buckets = 127;
    internal const int BucketBytes = 64;
    internal const int SlotsPerBucket = 9;

    // Nearly full: at 0.93 the mean search still touches fewer than 1.3 lines, and the next split halves it.
    internal const int EntriesMax = 1060;

    private const uint SlotMask = (1 << SlotsPerBucket) - 1;
    private const int PassedAt = 9;
    private const int SlotsAt = 10;
    private const nuint ExpiresBit = 1;
    private const nuint MoreTagBits = 6;

    [StructLayout(LayoutKind.Sequential)]
    internal struct Header
    {
        public long EarliestExpiry; // no entry of the segment expires before; may be too early, never too late
        public uint Prefix;         // the first hash prefix that belongs here
        public int Depth;           // how many bits of the prefix are this segment's own
        public int Count;
        public int Expiring;        // entries with an expiry of their own or of fields
    }

    internal static Header* Of(byte* segment) => (Header*)segment;

    /// <summary>The segment that a bucket is in: segments are aligned to their size.</summary>
    internal static byte* OfBucket(byte* bucket) => (byte*)((nuint)bucket & ~(nuint)(Bytes - 1));

    internal static void Initialize(byte* segment, uint prefix, int depth)
    {
        NativeMemory.Clear(segment, Bytes);
        *Of(segment) = new Header { EarliestExpiry = long.MaxValue, Prefix = prefix, Depth = depth };
    }

    internal static byte Tag(ulong hash) => (byte)Math.Max((uint)(byte)hash, 1u);

    internal static int Home(ulong hash) => (int)(((uint)(ushort)(hash >> 16) * Buckets) >> 16);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static byte* Bucket(byte* segment, int index) => segment + ((index + 1) * BucketBytes);

    internal static int Next(int bucket) => bucket + 1 == Buckets ? 0 : bucket + 1;

    internal static int Previous(int bucket) => bucket == 0 ? Buckets - 1 : bucket - 1;

    /// <summary>Whether an entry went past the bucket because it was full.</summary>
    internal static bool IsPassed(byte* bucket) => bucket[PassedAt] != 0;

    /// <summary>Whether an entry with this tag may have gone past the bucket.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool IsPassed(byte* bucket, byte tag) => ((bucket[PassedAt] >> (tag >> 5)) & 1) != 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static uint Matches(byte* bucket, byte tag) =>
        Vector128.Equals(Vector128.Load(bucket), Vector128.Create(tag)).ExtractMostSignificantBits() & SlotMask;

    internal static uint Occupied(byte* bucket) =>
        ~Vector128.Equals(Vector128.Load(bucket), Vector128<byte>.Zero).ExtractMostSignificantBits() & SlotMask;

    /// <summary>The contents of a slot: an entry's address and its lowest bits.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static nuint Slot(byte* bucket, int slot) => (nuint)(*(ulong*)(bucket + SlotsAt - 2 + (slot * 6)) >> 16);

    /// <summary>Whether the slot's entry or some of its fields expire.</summary>
    internal static bool Expires(nuint slot) => (slot & ExpiresBit) != 0;

    /// <summary>The slot's entry.</summary>
    internal static byte* Entry(nuint slot) => (byte*)(slot & ~(ExpiresBit | MoreTagBits));

    /// <summary>Whether the slot's entry may have this hash, as far as its tag does not say.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool MayHave(nuint slot, ulong hash) => (slot & MoreTagBits) == MoreTag(hash);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static byte* Entry(byte* bucket, int slot) => Entry(Slot(bucket, slot));

    /// <summary>Replaces the block of an entry in its slot, or updates it after its expiry changed.</summary>
    internal static void Replace(byte* bucket, int slot, byte* entry, bool expires) =>
        WriteSlot(bucket, slot, (nuint)entry | (Slot(bucket, slot) & MoreTagBits) | (expires ? ExpiresBit : 0));

    /// <summary>Puts an entry into the first bucket with a free slot. There is one: the caller splits a full segment first.</summary>
    internal static void Add(byte* segment, ulong hash, byte* entry, out byte* bucket, out int slot)
    {
        int index = Home(hash);
        bucket = Bucket(segment, index);
        uint free = ~Occupied(bucket) & SlotMask;
        while (free == 0)
        {
            bucket[PassedAt] |= Passing(hash);
            index = Next(index);
            bucket = Bucket(segment, index);
            free = ~Occupied(bucket) & SlotMask;
        }

        slot = BitOperations.TrailingZeroCount(free);
        bucket[slot] = Tag(hash);
        Header* header = Of(segment);
        header->Count++;
        nuint value = (nuint)entry | MoreTag(hash);
        if (EntryBlock.ExpiryFlags(entry) != 0)
        {
            value |= ExpiresBit;
            header->Expiring++;
            NoteExpiry(header, entry);
        }

        WriteSlot(bucket, slot, value);
    }

    /// <summary>Notes in the header when an entry or one of its fields expires.</summary>
    internal static void NoteExpiry(Header* header, byte* entry)
    {
        long expiry = FieldExpiry.NextOf(entry);
        if (expiry < header->EarliestExpiry) header->EarliestExpiry = expiry;
    }

    /// <summary>Frees a slot.</summary>
    /// <param name="segment">The segment.</param>
    /// <param name="hash">The entry's hash.</param>
    /// <param name="bucket">Where the entry is.</param>
    /// <param name="slot">Its slot there.</param>
    /// <param name="hasher">Hashes the keys of entries that overflowed from the same buckets.</param>
    internal static void Remove(byte* segment, ulong hash, byte* bucket, int slot, KeyHasher hasher)
    {
        Header* header = Of(segment);
        header->Count--;
        if (Expires(Slot(bucket, slot))) header->Expiring--;
        bucket[slot] = 0;
        if (Bucket(segment, Home(hash)) != bucket) ForgetPassing(segment, hash, bucket, hasher);
    }

    // The removed entry had overflowed from the buckets between its home and this one. They keep their bit only if other entries of
    // its eighth overflowed too; those are between here and the first bucket from which none of them overflowed.
    private static void ForgetPassing(byte* segment, ulong hash, byte* bucket, KeyHasher hasher)
    {
        byte passing = Passing(hash);
        int home = Home(hash);
        for (int index = home; Bucket(segment, index) != bucket; index = Next(index)) Bucket(segment, index)[PassedAt] &= (byte)~passing;
        bool reached = false;
        for (int index = Next(home); ; index = Next(index))
        {
            byte* other = Bucket(segment, index);
            for (uint occupied = Occupied(other); occupied != 0; occupied &= occupied - 1)
            {
                int slot = BitOperations.TrailingZeroCount(occupied);
                if (PassingOf(other[slot]) != passing) continue;
                int start = Home(hasher.HashKey(EntryBlock.Key(Entry(other, slot))));
                for (int passed = start; passed != index; passed = Next(passed)) Bucket(segment, passed)[PassedAt] |= passing;
            }

            reached |= other == bucket;
            if (index == home || (reached && (other[PassedAt] & passing) == 0)) return;
        }
    }

    // The bit that an entry sets in a bucket from which it overflows.
    private static byte Passing(ulong hash) => PassingOf(Tag(hash));

    private static byte PassingOf(byte tag) => (byte)(1 << (tag >> 5));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static nuint MoreTag(ulong hash) => (nuint)(hash >> 13) & MoreTagBits;

    private static void WriteSlot(byte* bucket, int slot, nuint value)
    {
        byte* at = bucket + SlotsAt + (slot * 6);
        *(uint*)at = (uint)value;
        *(ushort*)(at + 4) = (ushort)(value >> 32);
    }
}
