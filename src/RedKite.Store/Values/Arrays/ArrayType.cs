using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;

namespace RedKite.Store.Values.Arrays;

/// <summary>Arrays, which always are a structure: <see cref="ArrayData"/>. See <see cref="StoredType"/>.</summary>
internal sealed unsafe class ArrayType() : StoredType(DataType.Array, "array"u8)
{
    internal override string Noun => "array";

    internal override string ElementNoun => "element";

    internal override long SizeOf(Database database, Entry entry) => ArrayValue.Of(database, entry).Count;

    internal override long Bytes(Entry entry) => ArrayData.Bytes((ArrayData*)entry.Root.Structure);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => ArrayData.FreeSlice((ArrayData*)root.Structure, arena, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work) =>
        ArrayData.Move(mover, (ArrayData*)root.Structure, ref cursor, ref work);

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new ArrayCopy(source.Root.Structure, arena);
        return StructureCopy.Of(source.Root with { Structure = copy.Root }, copy);
    }
}
