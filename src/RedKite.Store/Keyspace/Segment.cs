using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using RedKite.Store.Values;

namespace RedKite.Store.Keyspace;

/// <summary>
/// A piece of a table: 8 KiB of 127 buckets behind one header line, each bucket one cache line of nine entries.
/// <code>
/// bucket   0..8   a tag for each slot: eight bits of the hash, 0 = free
///          9      how many entries went past this full bucket (255 = it has forgotten)
///         10..63  nine 6-byte slots: the entry's address; its lowest bit says that it or some of its fields expire
/// </code>
/// An entry lives in its home bucket or, when that is full, in the next one with room; a search ends at a bucket that
/// nobody went past. Six-byte slots were measured against eight-byte ones: 9 instead of 7 entries a line, which
/// is 3 bytes less for each key at the same number of cache misses.
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
    private const int OverflowAt = 9;
    private const int SlotsAt = 10;
    private const byte Forgotten = 255;

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

    internal static bool IsPassed(byte* bucket) => bucket[OverflowAt] != 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static uint Matches(byte* bucket, byte tag) =>
        Vector128.Equals(Vector128.Load(bucket), Vector128.Create(tag)).ExtractMostSignificantBits() & SlotMask;

    internal static uint Occupied(byte* bucket) =>
        ~Vector128.Equals(Vector128.Load(bucket), Vector128<byte>.Zero).ExtractMostSignificantBits() & SlotMask;

    /// <summary>The address in a slot, its lowest bit telling whether it or some of its fields expire.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static nuint Slot(byte* bucket, int slot) => (nuint)(*(ulong*)(bucket + SlotsAt - 2 + (slot * 6)) >> 16);

    internal static void WriteSlot(byte* bucket, int slot, nuint address)
    {
        byte* at = bucket + SlotsAt + (slot * 6);
        *(uint*)at = (uint)address;
        *(ushort*)(at + 4) = (ushort)(address >> 32);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static byte* Entry(byte* bucket, int slot) => (byte*)(Slot(bucket, slot) & ~(nuint)1);

    /// <summary>Puts an entry into the first bucket with room. There is room: the caller splits before it runs out.</summary>
    internal static void Add(byte* segment, ulong hash, byte* entry, out byte* bucket, out int slot)
    {
        int index = Home(hash);
        bucket = Bucket(segment, index);
        uint free = ~Occupied(bucket) & SlotMask;
        while (free == 0)
        {
            if (bucket[OverflowAt] != Forgotten) bucket[OverflowAt]++;
            index = Next(index);
            bucket = Bucket(segment, index);
            free = ~Occupied(bucket) & SlotMask;
        }

        slot = BitOperations.TrailingZeroCount(free);
        bucket[slot] = Tag(hash);
        Header* header = Of(segment);
        header->Count++;
        nuint address = (nuint)entry;
        if (EntryBlock.ExpiryFlags(entry) != 0)
        {
            address |= 1;
            header->Expiring++;
            NoteExpiry(header, entry);
        }

        WriteSlot(bucket, slot, address);
    }

    /// <summary>Lets the header know when an entry or a field of it expires.</summary>
    internal static void NoteExpiry(Header* header, byte* entry)
    {
        long expiry = FieldExpiry.NextOf(entry);
        if (expiry < header->EarliestExpiry) header->EarliestExpiry = expiry;
    }

    internal static void Remove(byte* segment, ulong hash, byte* bucket, int slot)
    {
        Header* header = Of(segment);
        header->Count--;
        if ((Slot(bucket, slot) & 1) != 0) header->Expiring--;
        bucket[slot] = 0;
        for (int index = Home(hash); Bucket(segment, index) != bucket; index = Next(index))
        {
            byte* passed = Bucket(segment, index);
            if (passed[OverflowAt] != Forgotten) passed[OverflowAt]--;
        }
    }
}
