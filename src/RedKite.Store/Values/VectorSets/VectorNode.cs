using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// The block of one element of a vector set: a node of its graph. The set's table of members owns it, and its array of nodes points to it.
/// <code>
///  0  address  attributes: a block of an i32 length and so many bytes; null: none
///  8  address  links of the levels above the lowest: a block of lists, the lowest first; null: the node is on the lowest level only
/// 16  f32      norm of the vector as it was given; the stored one has the norm 1
/// 20  f32      range: the largest component of a vector of signed bytes, otherwise 0
/// 24  i32      length of the name
/// 28  i32      offset of the name
/// 32  i32      number of the node
/// 36  u8       level
/// 40  the vector, filled up to a multiple of 4 bytes
///     links of the lowest level: an i32 count, and an i32 for each of 2M links
///     name
/// </code>
/// A list of links is a count and numbers of nodes. Links are mutual: a node is in the lists of all nodes that are in its own.
/// </summary>
internal readonly unsafe struct VectorNode : IMemberLayout
{
    internal const int VectorOffset = 40;

    private const int AttributesHeadBytes = sizeof(int);

    public static ReadOnlySpan<byte> Member(byte* block) => new(block + Head(block).NameOffset, Head(block).NameLength);

    public static long Bytes(byte* block) => (long)Head(block).NameOffset + Head(block).NameLength;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ref Header Head(byte* node) => ref *(Header*)node;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static byte* Vector(byte* node) => node + VectorOffset;

    internal static ReadOnlySpan<byte> Attributes(byte* node)
    {
        byte* block = Head(node).Attributes;
        return block == null ? default : new ReadOnlySpan<byte>(block + AttributesHeadBytes, *(int*)block);
    }

    /// <summary>The size of the node's attributes in its arena.</summary>
    internal static long AttributesBytes(byte* node) =>
        Head(node).Attributes == null ? 0 : BlockSize.RoundUp(AttributesHeadBytes + (long)*(int*)Head(node).Attributes);

    /// <summary>Replaces the attributes; empty ones are none.</summary>
    internal static void SetAttributes(Arena arena, byte* node, ReadOnlySpan<byte> attributes)
    {
        ref Header head = ref Head(node);
        FreeAttributes(arena, node);
        if (attributes.IsEmpty) return;
        byte* block = arena.Allocate(AttributesHeadBytes + (long)attributes.Length);
        *(int*)block = attributes.Length;
        attributes.CopyTo(new Span<byte>(block + AttributesHeadBytes, attributes.Length));
        head.Attributes = block;
    }

    internal static void FreeAttributes(Arena arena, byte* node)
    {
        ref Header head = ref Head(node);
        if (head.Attributes != null) arena.Free(head.Attributes, AttributesHeadBytes + (long)*(int*)head.Attributes);
        head.Attributes = null;
    }

    /// <summary>Moves the blocks that belong to a node, if defragmentation requires it.</summary>
    internal static void MoveParts(BlockMover mover, byte* node, int links)
    {
        ref Header head = ref Head(node);
        if (head.Attributes != null) head.Attributes = Moved(mover, head.Attributes, AttributesHeadBytes + (long)*(int*)head.Attributes);
        if (head.Upper != null) head.Upper = (int*)Moved(mover, (byte*)head.Upper, UpperBytes(head.Level, links));
    }

    /// <summary>The size of the lists above the lowest level.</summary>
    internal static long UpperBytes(int level, int links) => (long)level * (links + 1) * sizeof(int);

    private static byte* Moved(BlockMover mover, byte* block, long bytes)
    {
        byte* moved = mover.Copy(block, bytes);
        if (moved == null) return block;
        mover.Free(block, bytes);
        return moved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal struct Header
    {
        public byte* Attributes;
        public int* Upper;
        public float Norm;
        public float Range;
        public int NameLength;
        public int NameOffset;
        public int Number;
        public byte Level;
    }
}
