using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;

namespace RedKite.Store.Values.Lists;

/// <summary>Lists; a structure is a <see cref="QuickList"/>. See <see cref="StoredType"/>.</summary>
internal sealed unsafe class ListType() : StoredType(DataType.List, "list"u8)
{
    internal override string Noun => "list";

    internal override string ElementNoun => "element";

    internal override string? SizesField => "lists_items";

    internal override string? MemoryField => "lists_sizes";

    internal override long SizeOf(Database database, Entry entry) => new ListValue(database, entry, default).Count;

    internal override long Bytes(Entry entry) => QuickList.Bytes(entry.Root.Structure);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => QuickList.FreeSlice(arena, ref root.Structure, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work) =>
        QuickList.Move(mover, ref root.Structure, ref cursor, ref work);

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new ListCopy(source.Root.Structure, arena);
        return StructureCopy.Of(source.Root with { Structure = copy.Root }, copy);
    }
}
