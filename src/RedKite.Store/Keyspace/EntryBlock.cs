using System.Runtime.CompilerServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.Store.Keyspace;

/// <summary>
/// The bytes of an entry: one block that holds a key's header, expiry, name and (for a string) value.
/// <code>
///  0  u32  type (4 bits) | encoding (4) | access clock (24): the <see cref="ValueHeader"/>
///  4  u8   flags: 1 = has an expiry, 2 = long form, 4 = a hash with expiring fields, a set with expiring members, or a stream that remembers ids of producers, 8 = the epoch (<see cref="Keyspace.BeginEpoch"/>)
///          16 = the key must not be evicted; 32, 64 and 128 are free
///  short form (key up to 255 bytes, value up to 65,535):
///  5  u8   key length
///  6  u16  value length
///  8  i64  expiry, only with flag 1
///  long form:
///  8  u32  key length
/// 12  u32  value length
/// 16  i64  expiry, always reserved, so that setting one never moves a large value
///  a value from 256 KiB on: unused bytes, so that a key of up to 1,024 bytes ends at 1,048
///  then the key's bytes, then the value's
/// </code>
/// The block's capacity is the class of the bytes in use, so a value may grow in place up to it.
/// </summary>
/// <remarks>
/// The unused bytes before a large value's key let RENAME write another key into the same block: the value stays where it is.
/// They are at most 0.4 percent of the block. Rejected: a separate block for a large string, which every command that opens a
/// string would have to distinguish.
/// </remarks>
internal static unsafe class EntryBlock
{
    internal const byte HasExpiry = 1;
    internal const byte LongForm = 2;
    internal const byte HasFieldExpiry = 4;

    /// <summary>The flag that holds an entry's epoch: the values of an epoch are 0 and this.</summary>
    internal const byte EpochFlag = 8;

    /// <summary>The flag of a key that must not be evicted.</summary>
    internal const byte Pinned = 16;

    /// <summary>The minimum size of a block in the long form.</summary>
    internal const int LongFormMin = LongDataOffset;

    /// <summary>The minimum length of a value whose block has space for any key of up to <see cref="KeyRoomBytes"/>.</summary>
    internal const int LargeValueMin = 256 << 10;

    /// <summary>The longest key that can replace a large value's key in its block, and the longest that can be replaced.</summary>
    internal const int KeyRoomBytes = 1024;

    private const int LongDataOffset = 24;

    internal static bool IsLong(int keyLength, int valueLength) => keyLength > byte.MaxValue || valueLength > ushort.MaxValue;

    internal static long BytesFor(int keyLength, int valueLength, bool expires) =>
        (IsLong(keyLength, valueLength) ? LongKeyOffset(keyLength, valueLength) : expires ? 16 : 8) + (long)keyLength + valueLength;

    /// <summary>Whether a value of this length has room for other keys before its own.</summary>
    internal static bool HasKeyRoom(int valueLength) => valueLength >= LargeValueMin;

    /// <summary>Whether the block can hold its value under another key without moving it.</summary>
    internal static bool CanHoldKey(byte* block, int keyLength) =>
        IsLong(block) && HasKeyRoom(ValueLength(block)) && Math.Max(keyLength, KeyLength(block)) <= KeyRoomBytes;

    /// <summary>Replaces the key of a block that <see cref="CanHoldKey"/>; everything else stays.</summary>
    internal static void ReplaceKey(byte* block, ReadOnlySpan<byte> key)
    {
        *(int*)(block + 8) = key.Length;
        key.CopyTo(new Span<byte>(KeyStart(block), key.Length));
    }

    internal static void Initialize(byte* block, ValueHeader header, int keyLength, int valueLength, bool expires, byte epoch)
    {
        *(ValueHeader*)block = header;
        byte flags = expires ? (byte)(HasExpiry | epoch) : epoch;
        if (IsLong(keyLength, valueLength))
        {
            *(uint*)(block + 4) = (byte)(flags | LongForm);
            *(int*)(block + 8) = keyLength;
            *(int*)(block + 12) = valueLength;
            return;
        }

        *(uint*)(block + 4) = flags | ((uint)keyLength << 8) | ((uint)valueLength << 16);
    }

    internal static ValueHeader Header(byte* block) => *(ValueHeader*)block;

    internal static DataType Type(byte* block) => (DataType)(block[0] & 15);

    internal static ValueEncoding Encoding(byte* block) => (ValueEncoding)(block[0] >> 4);

    internal static void SetEncoding(byte* block, ValueEncoding encoding) => block[0] = (byte)((block[0] & 15) | ((int)encoding << 4));

    /// <summary>Whether the value is a separate structure whose root is in the block.</summary>
    internal static bool HasStructure(byte* block) => Encoding(block) >= ValueEncoding.HashTable;

    /// <summary>The root of a value that is a structure of its own; not aligned.</summary>
    internal static ref ValueRoot Root(byte* block) => ref Unsafe.AsRef<ValueRoot>(ValueStart(block));

    internal static uint AccessClock(byte* block) => *(uint*)block >> 8;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void SetAccessClock(byte* block, uint clock)
    {
        // Compared first: a line that is only read stays clean, and the clock ticks once a second.
        if (*(uint*)block >> 8 != clock) *(uint*)block = (*(uint*)block & 0xFF) | (clock << 8);
    }

    /// <summary>The epoch in which the entry was added or written by a snapshot, whichever is later.</summary>
    internal static byte Epoch(byte* block) => (byte)(block[4] & EpochFlag);

    internal static void SetEpoch(byte* block, byte epoch) => block[4] = (byte)((block[4] & ~EpochFlag) | epoch);

    internal static bool Expires(byte* block) => (block[4] & HasExpiry) != 0;

    /// <summary>The flags for expiries: of the key, or of fields of its hash.</summary>
    internal static byte ExpiryFlags(byte* block) => (byte)(block[4] & (HasExpiry | HasFieldExpiry));

    /// <summary>The flags that tables count.</summary>
    internal static byte CountedFlags(byte* block) => (byte)(block[4] & (HasExpiry | HasFieldExpiry | Pinned));

    internal static bool IsPinned(byte* block) => (block[4] & Pinned) != 0;

    internal static void MarkPinned(byte* block, bool isPinned) => block[4] = (byte)((block[4] & ~Pinned) | (isPinned ? Pinned : 0));

    internal static bool FieldsExpire(byte* block) => (block[4] & HasFieldExpiry) != 0;

    internal static void MarkFieldsExpire(byte* block, bool expire) => block[4] = (byte)((block[4] & ~HasFieldExpiry) | (expire ? HasFieldExpiry : 0));

    /// <summary>Sets the flag of an entry whose form always includes an expiry.</summary>
    internal static void MarkExpires(byte* block, bool expires) => block[4] = (byte)((block[4] & ~HasExpiry) | (expires ? HasExpiry : 0));

    internal static bool IsLong(byte* block) => (block[4] & LongForm) != 0;

    internal static long Expiry(byte* block) => *(long*)(block + (IsLong(block) ? 16 : 8));

    internal static void WriteExpiry(byte* block, long expiryMs) => *(long*)(block + (IsLong(block) ? 16 : 8)) = expiryMs;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static int KeyLength(byte* block) => IsLong(block) ? *(int*)(block + 8) : block[5];

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static int ValueLength(byte* block) => IsLong(block) ? *(int*)(block + 12) : *(ushort*)(block + 6);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static byte* KeyStart(byte* block) =>
        block + (IsLong(block) ? LongKeyOffset(*(int*)(block + 8), *(int*)(block + 12)) : 8 + ((block[4] & HasExpiry) << 3));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ReadOnlySpan<byte> Key(byte* block) => new(KeyStart(block), KeyLength(block));

    internal static byte* ValueStart(byte* block) => KeyStart(block) + KeyLength(block);

    internal static Span<byte> Value(byte* block) => new(ValueStart(block), ValueLength(block));

    /// <summary>Writes another value length of the same form: long or short, and with room for other keys or without.</summary>
    internal static void WriteValueLength(byte* block, int valueLength)
    {
        if (IsLong(block)) *(int*)(block + 12) = valueLength;
        else *(ushort*)(block + 6) = (ushort)valueLength;
    }

    internal static long Bytes(byte* block) => BytesFor(KeyLength(block), ValueLength(block), Expires(block));

    internal static long Capacity(byte* block) => BlockSize.RoundUp(Bytes(block));

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int LongKeyOffset(int keyLength, int valueLength) =>
        valueLength < LargeValueMin ? LongDataOffset : LongDataOffset + Math.Max(0, KeyRoomBytes - keyLength);
}
