using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;

namespace RedKite.Store.Values.SortedSets;

/// <summary>Sorted sets; a structure is a <see cref="SortedSetStructure"/>. See <see cref="StoredType"/>.</summary>
internal sealed class SortedSetType() : StoredType(DataType.SortedSet, "zset"u8)
{
    internal override string Noun => "sorted set";

    internal override string ElementNoun => "member";

    internal override string? SizesField => "zsets_items";

    internal override string? MemoryField => "zsets_sizes";

    internal override long SizeOf(Database database, Entry entry) => new SortedSetValue(database, entry).Count;

    internal override long Bytes(Entry entry) => SortedSetStructure.Bytes(entry.Root);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => SortedSetStructure.FreeSlice(arena, ref root, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work) =>
        SortedSetStructure.Move(mover, ref root, ref cursor, ref work);

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new SortedSetCopy(source.Root, arena, hasher);
        return StructureCopy.Of(copy.Root, copy);
    }
}
