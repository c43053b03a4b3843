using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Streams;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Store.Values;

/// <summary>
/// The operations on a value's structure that the keyspace needs, for any type: free it, report its memory.
/// <see cref="Copying.StructureCopy"/> copies it. Each switch has a line for each structure.
/// </summary>
internal static unsafe class ValueStructure
{
    /// <summary>Frees about the given number of blocks of a structure at most; the root then refers to the rest.</summary>
    /// <returns>Whether something is left.</returns>
    internal static bool FreeSlice(Arena arena, DataType type, ValueEncoding encoding, ref ValueRoot root, int blocksMax) => (type, encoding) switch
    {
        (DataType.Set, ValueEncoding.HashTable) => SetTable.FreeSlice(arena, root, blocksMax),
        (DataType.SortedSet, ValueEncoding.SkipList) => SortedSetStructure.FreeSlice(arena, ref root, blocksMax),
        (DataType.List, _) => QuickList.FreeSlice(arena, ref root.Structure, blocksMax),
        (DataType.Stream, ValueEncoding.Stream) => StreamData.FreeSlice((StreamData*)root.Structure, arena, blocksMax),
        (DataType.Hash, ValueEncoding.HashTable) => HashTable.FreeSlice(arena, root, blocksMax),
        (DataType.VectorSet, ValueEncoding.VectorSet) => VectorSetData.FreeSlice((VectorSetData*)root.Structure, arena, blocksMax),
        (DataType.Array, ValueEncoding.SlicedArray) => ArrayData.FreeSlice((ArrayData*)root.Structure, arena, blocksMax),
        _ => throw Unknown(type, encoding),
    };

    /// <summary>Bytes that an entry's structure takes in its arena.</summary>
    internal static long Bytes(Entry entry) => (entry.Type, entry.Encoding) switch
    {
        (DataType.Set, ValueEncoding.HashTable) => SetTable.Bytes(entry.Root),
        (DataType.SortedSet, ValueEncoding.SkipList) => SortedSetStructure.Bytes(entry.Root),
        (DataType.List, _) => QuickList.Bytes(entry.Root.Structure),
        (DataType.Stream, ValueEncoding.Stream) => StreamData.Bytes((StreamData*)entry.Root.Structure),
        (DataType.Hash, ValueEncoding.HashTable) => HashTable.Bytes(entry.Root),
        (DataType.VectorSet, ValueEncoding.VectorSet) => VectorSetData.Bytes((VectorSetData*)entry.Root.Structure),
        (DataType.Array, ValueEncoding.SlicedArray) => ArrayData.Bytes((ArrayData*)entry.Root.Structure),
        _ => throw Unknown(entry.Type, entry.Encoding),
    };

    /// <summary>Moves blocks of an entry's structure, those that have to move.</summary>
    /// <returns>Whether there are more.</returns>
    internal static bool Move(BlockMover mover, DataType type, ref ValueRoot root, ref MoveCursor cursor, ref int work)
    {
        switch (type)
        {
            case DataType.Set:
                return MoveTable<SetMember>(mover, ref root, ref cursor, ref work);
            case DataType.Hash:
                return MoveTable<HashField>(mover, ref root, ref cursor, ref work);
            case DataType.SortedSet:
                return SortedSetStructure.Move(mover, ref root, ref cursor, ref work);
            case DataType.List:
                return QuickList.Move(mover, ref root.Structure, ref cursor, ref work);
            case DataType.VectorSet:
                return VectorSetData.Move(mover, (VectorSetData*)root.Structure, ref cursor, ref work);
            case DataType.Array:
                return ArrayData.Move(mover, (ArrayData*)root.Structure, ref cursor, ref work);
            default:
                return StreamData.Move(mover, (StreamData*)root.Structure, ref cursor, ref work);
        }
    }

    private static bool MoveTable<TLayout>(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work)
        where TLayout : struct, IMemberLayout
    {
        var table = (nint)root.Structure;
        bool more = MemberTable<TLayout>.Move(mover, ref table, ref cursor, ref work, order: null);
        root.Structure = (byte*)table;
        return more;
    }

    private static InvalidOperationException Unknown(DataType type, ValueEncoding encoding) =>
        new($"A value of type {type} is not encoded as {encoding}.");
}
