using RedKite.Store.Memory;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Hashes;

/// <summary>
/// A field of a big hash, in one block:
/// <code>
///  0  u8   1 = has an expiry, 2 = long form
///  short form (field up to 255 bytes, value up to 65,535):
///  1  u8   field length
///  2  u16  value length
///  long form:
///  4  u32  field length
///  8  u32  value length
///  then the expiry (i64), if there is one, the field's bytes, the value's
/// </code>
/// </summary>
internal readonly unsafe struct HashField : IMemberLayout
{
    private const byte HasExpiry = 1;
    private const byte LongForm = 2;

    private const int ShortHeaderBytes = 4;
    private const int LongHeaderBytes = 12;
    private const int ExpiryBytes = 8;

    public static ReadOnlySpan<byte> Member(byte* block)
    {
        if (block[0] == 0) return new(block + ShortHeaderBytes, block[1]);
        return new(FieldStart(block), FieldLength(block));
    }

    public static long Bytes(byte* block) => HeaderBytes(block[0]) + (long)FieldLength(block) + ValueLength(block);

    public static long Expiry(byte* block) => (block[0] & HasExpiry) != 0 ? *(long*)(FieldStart(block) - ExpiryBytes) : long.MaxValue;

    internal static PackedElement Field(byte* block) => new(FieldStart(block), FieldLength(block));

    internal static PackedElement Value(byte* block) => new(FieldStart(block) + FieldLength(block), ValueLength(block));

    /// <summary>Makes a block; an expiry of long.MaxValue is none.</summary>
    internal static byte* Create(Arena arena, ReadOnlySpan<byte> field, ReadOnlySpan<byte> value, long expiryMs)
    {
        byte form = FormOf(field.Length, value.Length, expiryMs);
        byte* block = arena.Allocate(HeaderBytes(form) + (long)field.Length + value.Length);
        if ((form & LongForm) != 0)
        {
            *(uint*)block = form;
            *(int*)(block + 4) = field.Length;
            *(int*)(block + 8) = value.Length;
        }
        else
        {
            *(uint*)block = form | ((uint)field.Length << 8) | ((uint)value.Length << 16);
        }

        byte* start = FieldStart(block);
        if ((form & HasExpiry) != 0) *(long*)(start - ExpiryBytes) = expiryMs;
        field.CopyTo(new Span<byte>(start, field.Length));
        value.CopyTo(new Span<byte>(start + field.Length, value.Length));
        return block;
    }

    /// <summary>Writes another value and expiry into a block if it has the size and form for it.</summary>
    internal static bool TryRewrite(byte* block, ReadOnlySpan<byte> value, long expiryMs)
    {
        int fieldLength = FieldLength(block);
        byte form = FormOf(fieldLength, value.Length, expiryMs);
        if (form != block[0] || BlockSize.RoundUp(HeaderBytes(form) + (long)fieldLength + value.Length) != BlockSize.RoundUp(Bytes(block))) return false;
        if ((form & LongForm) != 0) *(int*)(block + 8) = value.Length;
        else *(ushort*)(block + 2) = (ushort)value.Length;
        byte* start = FieldStart(block);
        if ((form & HasExpiry) != 0) *(long*)(start - ExpiryBytes) = expiryMs;
        value.CopyTo(new Span<byte>(start + fieldLength, value.Length));
        return true;
    }

    private static byte FormOf(int fieldLength, int valueLength, long expiryMs) =>
        (byte)((expiryMs != long.MaxValue ? HasExpiry : 0) | (fieldLength > byte.MaxValue || valueLength > ushort.MaxValue ? LongForm : 0));

    private static int HeaderBytes(byte form) =>
        ((form & LongForm) != 0 ? LongHeaderBytes : ShortHeaderBytes) + ((form & HasExpiry) != 0 ? ExpiryBytes : 0);

    private static int FieldLength(byte* block) => (block[0] & LongForm) != 0 ? *(int*)(block + 4) : block[1];

    private static int ValueLength(byte* block) => (block[0] & LongForm) != 0 ? *(int*)(block + 8) : *(ushort*)(block + 2);

    private static byte* FieldStart(byte* block) => block + HeaderBytes(block[0]);
}
