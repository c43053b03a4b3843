using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;
using RedKite.Store.Values.Members;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// A vector set in an arena: a table that finds elements by their names, an array of nodes by their numbers, and what all vectors have in
/// common. It is one block, which does not move; the entry's root points to it. <see cref="VectorGraph"/> links the nodes.
/// </summary>
/// <remarks>
/// Nodes refer to each other by numbers of 32 bits, not by addresses: that halves the links, a bit for each number marks what a search has
/// visited, and a node's block can move. The price is one more read for each visited node, of an array that is in the cache while it is used.
/// </remarks>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct VectorSetData
{
    internal const int NoNode = -1;

    private const int CapacityMin = 8;

    internal nint Table;        // MemberTable<VectorNode>
    internal byte** Nodes;      // of a free number: the next free number, shifted, with the lowest bit set
    internal float* Projection; // Dimensions rows of ProjectedFrom floats, or null
    internal long ProjectionMade; // of these floats; all, once the set is a key's
    internal long BlockBytes;   // of nodes with what belongs to them
    internal long WithAttributes;
    internal ulong RandomState;
    internal ulong LastId;      // counts additions, as Redis numbers its nodes
    internal long Changes;      // counts additions and removals
    internal long Id;           // of the set, in the order of creation
    internal int Capacity;
    internal int Used;          // numbers that were ever given out
    internal int Free;
    internal int Entry;         // where searches begin: a node of the highest level
    internal int Dimensions;
    internal int ProjectedFrom; // 0: vectors are stored as they are given
    internal int Links;         // M
    internal VectorQuantization Quantization;

    private static long _created = -1;

    internal readonly int VectorBytes => Quantization switch
    {
        VectorQuantization.None => Dimensions * sizeof(float),
        VectorQuantization.Int8 => Dimensions,
        _ => (Dimensions + 63) / 64 * sizeof(ulong),
    };

    internal readonly int LinksOffset => VectorNode.VectorOffset + ((VectorBytes + 3) & ~3);

    internal readonly int LowestLinks => Links * 2;

    private readonly int NameOffset => LinksOffset + ((LowestLinks + 1) * sizeof(int));

    internal static VectorSetData* Create(Arena arena, int dimensions, int links, VectorQuantization quantization)
    {
        var data = (VectorSetData*)arena.Allocate(sizeof(VectorSetData));
        *data = new VectorSetData
        {
            Table = MemberTable<VectorNode>.Create(arena),
            Free = NoNode,
            Entry = NoNode,
            Dimensions = dimensions,
            Links = links,
            Quantization = quantization,
            RandomState = 0x9E3779B97F4A7C15,
            Id = Interlocked.Increment(ref _created),
        };
        return data;
    }

    /// <summary>The number of elements.</summary>
    internal static long Count(VectorSetData* data) => new MemberTable<VectorNode>(null!, data->Table).Count;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal readonly byte* Node(int number) => Nodes[number];

    /// <summary>The node of a number below <see cref="Used"/>; null if the number is free.</summary>
    internal readonly byte* NodeOrNull(int number) => ((nint)Nodes[number] & 1) != 0 ? null : Nodes[number];

    /// <summary>The links of a node on one of its levels: their count, then their numbers.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal readonly int* LinksOf(byte* node, int level) =>
        level == 0 ? (int*)(node + LinksOffset) : VectorNode.Head(node).Upper + ((long)(level - 1) * (Links + 1));

    internal readonly int LinksMaxAt(int level) => level == 0 ? LowestLinks : Links;

    internal readonly int TopLevel => Entry == NoNode ? 0 : VectorNode.Head(Nodes[Entry]).Level;

    /// <summary>Allocates a node without links. The caller copies the vector and adds the node to the table.</summary>
    internal static byte* AddNode(VectorSetData* data, Arena arena, ReadOnlySpan<byte> name, int level)
    {
        int number = data->TakeNumber(arena);
        int nameOffset = data->NameOffset;
        long bytes = (long)nameOffset + name.Length;
        byte* node = arena.Allocate(bytes);
        VectorNode.Head(node) = new VectorNode.Header { NameLength = name.Length, NameOffset = nameOffset, Number = number, Level = (byte)level };
        NativeMemory.Clear(node + VectorNode.VectorOffset, (nuint)(data->LinksOffset - VectorNode.VectorOffset));
        *data->LinksOf(node, 0) = 0;
        name.CopyTo(new Span<byte>(node + nameOffset, name.Length));
        data->BlockBytes += BlockSize.RoundUp(bytes);
        if (level > 0)
        {
            long upperBytes = VectorNode.UpperBytes(level, data->Links);
            VectorNode.Head(node).Upper = (int*)arena.Allocate(upperBytes);
            for (int i = 1; i <= level; i++) *data->LinksOf(node, i) = 0;
            data->BlockBytes += BlockSize.RoundUp(upperBytes);
        }

        data->Nodes[number] = node;
        return node;
    }

    /// <summary>Frees a node that no other one links to and that is not in the table any more.</summary>
    internal static void FreeNode(VectorSetData* data, Arena arena, byte* node)
    {
        ref VectorNode.Header head = ref VectorNode.Head(node);
        data->Nodes[head.Number] = (byte*)(((nint)data->Free << 1) | 1);
        data->Free = head.Number;
        SetAttributes(data, arena, node, default);
        data->BlockBytes -= BlockSize.RoundUp(VectorNode.Bytes(node));
        if (head.Upper != null)
        {
            data->BlockBytes -= BlockSize.RoundUp(VectorNode.UpperBytes(head.Level, data->Links));
            arena.Free((byte*)head.Upper, VectorNode.UpperBytes(head.Level, data->Links));
        }

        arena.Free(node, VectorNode.Bytes(node));
    }

    internal static void SetAttributes(VectorSetData* data, Arena arena, byte* node, ReadOnlySpan<byte> attributes)
    {
        long before = VectorNode.AttributesBytes(node);
        VectorNode.SetAttributes(arena, node, attributes);
        long after = VectorNode.AttributesBytes(node);
        data->BlockBytes += after - before;
        data->WithAttributes += (after > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
    }

    /// <summary>The size of the set with all its blocks, in bytes.</summary>
    internal static long Bytes(VectorSetData* data) =>
        BlockSize.RoundUp(sizeof(VectorSetData)) + data->BlockBytes + Rounded(data->ArrayBytes) + Rounded(data->ProjectionBytes)
        + new MemberTable<VectorNode>(null!, data->Table).TableBytes;

    /// <summary>Frees about the given number of blocks at most.</summary>
    /// <returns>Whether something is left.</returns>
    internal static bool FreeSlice(VectorSetData* data, Arena arena, int blocksMax)
    {
        // The table frees the nodes; what belongs to them goes first.
        for (; data->Used > 0; data->Used--)
        {
            if (blocksMax-- <= 0) return true;
            byte* node = data->NodeOrNull(data->Used - 1);
            if (node == null) continue;
            ref VectorNode.Header head = ref VectorNode.Head(node);
            VectorNode.FreeAttributes(arena, node);
            if (head.Upper != null) arena.Free((byte*)head.Upper, VectorNode.UpperBytes(head.Level, data->Links));
            head.Upper = null;
        }

        if (blocksMax <= 0 || new MemberTable<VectorNode>(arena, data->Table).FreeSlice(blocksMax)) return true;
        if (data->Nodes != null) arena.Free((byte*)data->Nodes, data->ArrayBytes);
        if (data->Projection != null) arena.Free((byte*)data->Projection, data->ProjectionBytes);
        arena.Free((byte*)data, sizeof(VectorSetData));
        return false;
    }

    /// <summary>Moves nodes, what belongs to them, and the table, if defragmentation requires it. The set's own block and the array stay.</summary>
    /// <returns>Whether there are more.</returns>
    internal static bool Move(BlockMover mover, VectorSetData* data, ref MoveCursor cursor, ref int work)
    {
        long from = (long)cursor.Position;
        bool more = MemberTable<VectorNode>.Move(mover, ref data->Table, ref cursor, ref work, order: null);
        var table = new MemberTable<VectorNode>(null!, data->Table);
        long end = more ? (long)cursor.Position : table.BucketCount;
        if (from >= end) return more;
        var moved = new MemberEnumerator(table.Buckets, from, end);
        while (moved.MoveNext())
        {
            var node = (byte*)moved.Current;
            data->Nodes[VectorNode.Head(node).Number] = node;
            VectorNode.MoveParts(mover, node, data->Links);
        }

        return more;
    }

    internal readonly long ArrayBytes => (long)Capacity * sizeof(byte*);

    internal readonly long ProjectionBytes => (long)Dimensions * ProjectedFrom * sizeof(float);

    private static long Rounded(long bytes) => bytes == 0 ? 0 : BlockSize.RoundUp(bytes);

    private int TakeNumber(Arena arena)
    {
        if (Free != NoNode)
        {
            int free = Free;
            Free = (int)((nint)Nodes[free] >> 1);
            return free;
        }

        if (Used == Capacity) Grow(arena);
        return Used++;
    }

    // By a quarter: the system moves a large array without copying it.
    private void Grow(Arena arena)
    {
        int capacity = Math.Max(CapacityMin, Capacity + (Capacity / 4) + 1);
        Nodes = (byte**)(Nodes == null ? arena.Allocate((long)capacity * sizeof(byte*)) : arena.Reallocate((byte*)Nodes, ArrayBytes, (long)capacity * sizeof(byte*)));
        Capacity = capacity;
    }
}
