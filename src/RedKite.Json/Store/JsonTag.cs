using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Json.Store;

/// <summary>What a value of a document is.</summary>
internal enum JsonKind : byte
{
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

/// <summary>
/// The first byte of a value, and how long a value is. A document's values are packed one behind the other:
/// <code>
/// 0 null   1 false   2 true
/// 3..6 integer of 1, 2, 4, 8 bytes   7 of 8 bytes without a sign   8 double
/// 9 string: length of 2 bytes, text
/// 10, 11 array, object: length of 1 byte, items   12, 13 the same with a length of 2 bytes
/// 14 reference: the address of a block (<see cref="JsonBlock"/>) that has a long string, or the items of a large container
/// 0x10..0x2F decimal number: places * 4 + the size of the digits (1, 2, 4, 8 bytes), digits as an integer: 12.99 is 1299 with 2 places
/// 0x40..0x7F the integers 0 to 63   0x80..0xFF string of 0 to 127 bytes
/// </code>
/// An item of an object is a name and a value. A name begins with 0..127 for so many bytes that follow, 0x80..0xFE for one of the document's shared names
/// (<see cref="JsonNames"/>), or 0xFF for a length of 4 bytes.
/// </summary>
/// <remarks>Rejected: numbers as the text that came (12.99 would take 6 bytes instead of 3, and arithmetic would parse it each time).</remarks>
internal static unsafe class JsonTag
{
    internal const byte Null = 0;
    internal const byte False = 1;
    internal const byte True = 2;
    internal const byte Int8 = 3;
    internal const byte Int16 = 4;
    internal const byte Int32 = 5;
    internal const byte Int64 = 6;
    internal const byte UInt64 = 7;
    internal const byte Double = 8;
    internal const byte String16 = 9;
    internal const byte Array8 = 10;
    internal const byte Object8 = 11;
    internal const byte Array16 = 12;
    internal const byte Object16 = 13;
    internal const byte Reference = 14;
    internal const byte Decimal = 0x10;
    internal const byte DecimalEnd = 0x30;
    internal const byte SmallInteger = 0x40;
    internal const byte ShortString = 0x80;

    /// <summary>The largest integer in the tag itself.</summary>
    internal const int SmallIntegerMax = 63;

    /// <summary>The longest string whose length is in the tag.</summary>
    internal const int ShortStringMax = 127;

    /// <summary>The longest string among other values; longer ones have a block of their own.</summary>
    internal const int InlineStringMax = 1024;

    /// <summary>The longest string.</summary>
    internal const int StringMax = 512 << 20;

    internal const int ReferenceBytes = 1 + sizeof(long);

    /// <summary>The places behind the point that a decimal number may have.</summary>
    internal const int PlacesMax = 7;

    internal const byte SharedName = 0x80;
    internal const byte LongName = 0xFF;
    internal const int ShortNameMax = 127;

    // What values with tags 0 to 14 take whose length is fixed; 0: it is not.
    private static ReadOnlySpan<byte> FixedBytes => [1, 1, 1, 2, 3, 5, 9, 9, 9, 0, 0, 0, 0, 0, ReferenceBytes, 1];

    /// <summary>The bytes of the value at an address.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static long Bytes(byte* value)
    {
        byte tag = *value;
        if (tag >= ShortString) return 1 + (tag & ShortStringMax);
        if (tag >= SmallInteger) return 1;
        if (tag >= Decimal) return 1 + (1 << (tag & 3));
        int bytes = Unsafe.Add(ref MemoryMarshal.GetReference(FixedBytes), tag);
        if (bytes != 0) return bytes;
        return tag is Array8 or Object8 ? 2 + value[1] : 3 + Unsafe.ReadUnaligned<ushort>(value + 1);
    }

    /// <summary>The bytes of the name at an address.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static long NameBytes(byte* name)
    {
        byte first = *name;
        if (first <= ShortNameMax) return 1 + first;
        return first != LongName ? 1 : 1 + sizeof(uint) + Unsafe.ReadUnaligned<uint>(name + 1);
    }

    internal static bool IsInlineContainer(byte tag) => tag is >= Array8 and <= Object16;

    internal static bool IsInlineObject(byte tag) => tag is Object8 or Object16;

    /// <summary>The block that a reference refers to.</summary>
    internal static JsonBlock* BlockOf(byte* reference) => (JsonBlock*)Unsafe.ReadUnaligned<nint>(reference + 1);

    internal static void SetBlock(byte* reference, JsonBlock* block)
    {
        *reference = Reference;
        Unsafe.WriteUnaligned(reference + 1, (nint)block);
    }

    /// <summary>The first item of a container among other values, and where its items end.</summary>
    internal static byte* ItemsOf(byte* container, out byte* end)
    {
        byte* items = container + (*container is Array8 or Object8 ? 2 : 3);
        end = container + Bytes(container);
        return items;
    }
}
