using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.Sets;

/// <summary>
/// The block of a large set's member.
/// <code>
/// 0 u8  length, up to 253                             then the member
/// 0 u8  254   1 i32 length   5 i64 when it expires    then the member
/// 0 u8  255   1 i32 length                            then the member
/// </code>
/// </summary>
internal readonly unsafe struct SetMember : IMemberLayout
{
    private const int ShortMax = 253;
    private const byte Expiring = 254;
    private const byte Long = 255;
    private const int LongHeaderBytes = 5;
    private const int ExpiringHeaderBytes = 13;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ReadOnlySpan<byte> Member(byte* block) => *block <= ShortMax ? new ReadOnlySpan<byte>(block + 1, *block) : LongMember(block);

    public static long Bytes(byte* block) => *block <= ShortMax ? 1L + *block : HeaderBytes(*block) + (long)Unsafe.ReadUnaligned<int>(block + 1);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static long Expiry(byte* block) => *block == Expiring ? Unsafe.ReadUnaligned<long>(block + LongHeaderBytes) : long.MaxValue;

    /// <summary>Whether two blocks hold the same member.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool AreEqual(byte* a, byte* b)
    {
        // Short blocks begin with the length: those of 16 to 32 bytes are two comparisons that overlap.
        nuint bytes = *a + 1u;
        if (bytes - 16 > 16 || *b > ShortMax) return (*a == *b || *a == Expiring || *b == Expiring) && Member(a).SequenceEqual(Member(b));
        return *a == *b && (Vector128.Load(a) == Vector128.Load(b)) & (Vector128.Load(a + bytes - 16) == Vector128.Load(b + bytes - 16));
    }

    /// <summary>Makes a member's block; an expiry of long.MaxValue is none.</summary>
    internal static byte* Create(Arena arena, ReadOnlySpan<byte> member, long expiryMs = long.MaxValue)
    {
        byte form = expiryMs != long.MaxValue ? Expiring : member.Length > ShortMax ? Long : (byte)member.Length;
        int header = HeaderBytes(form);
        byte* block = arena.Allocate(header + (long)member.Length);
        *block = form;
        if (form > ShortMax) Unsafe.WriteUnaligned(block + 1, member.Length);
        if (form == Expiring) Unsafe.WriteUnaligned(block + LongHeaderBytes, expiryMs);
        member.CopyTo(new Span<byte>(block + header, member.Length));
        return block;
    }

    private static int HeaderBytes(byte form) => form <= ShortMax ? 1 : form == Expiring ? ExpiringHeaderBytes : LongHeaderBytes;

    private static ReadOnlySpan<byte> LongMember(byte* block) => new(block + HeaderBytes(*block), Unsafe.ReadUnaligned<int>(block + 1));
}
