using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.Sets;

/// <summary>
/// The block of a large set's member.
/// <code>
/// 0 u8 length, 255: it stands in the four bytes that follow   then the member
/// </code>
/// </summary>
internal readonly unsafe struct SetMember : IMemberLayout
{
    private const int ShortMax = 254;
    private const int LongHeaderBytes = 5;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static ReadOnlySpan<byte> Member(byte* block) => *block <= ShortMax
        ? new ReadOnlySpan<byte>(block + 1, *block)
        : new ReadOnlySpan<byte>(block + LongHeaderBytes, Unsafe.ReadUnaligned<int>(block + 1));

    public static long Bytes(byte* block) => BytesFor(Member(block).Length);

    /// <summary>Whether two blocks hold the same member.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool AreEqual(byte* a, byte* b)
    {
        // Blocks begin with the length: those of 16 to 32 bytes are two comparisons that overlap.
        nuint bytes = *a + 1u;
        if (bytes - 16 > 16) return *a == *b && Member(a).SequenceEqual(Member(b));
        return *a == *b && (Vector128.Load(a) == Vector128.Load(b)) & (Vector128.Load(a + bytes - 16) == Vector128.Load(b + bytes - 16));
    }

    /// <summary>Makes a member's block.</summary>
    internal static byte* Create(Arena arena, ReadOnlySpan<byte> member)
    {
        byte* block = arena.Allocate(BytesFor(member.Length));
        byte* text = block + (member.Length <= ShortMax ? 1 : LongHeaderBytes);
        *block = (byte)Math.Min(member.Length, ShortMax + 1);
        if (member.Length > ShortMax) Unsafe.WriteUnaligned(block + 1, member.Length);
        member.CopyTo(new Span<byte>(text, member.Length));
        return block;
    }

    private static long BytesFor(int length) => (length <= ShortMax ? 1L : LongHeaderBytes) + length;
}
