using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.VectorSets;

/// <summary>Vector sets, which always are a structure: <see cref="VectorSetData"/>. As in Redis, COPY refuses them. See <see cref="StoredType"/>.</summary>
internal sealed unsafe class VectorSetType() : StoredType(DataType.VectorSet, "vectorset"u8)
{
    internal override string Noun => "vector set";

    internal override string ElementNoun => "member";

    internal override bool CanBeCopied => false;

    internal override long SizeOf(Database database, Entry entry) => VectorSetValue.Of(database, entry).Count;

    internal override long Bytes(Entry entry) => VectorSetData.Bytes((VectorSetData*)entry.Root.Structure);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => VectorSetData.FreeSlice((VectorSetData*)root.Structure, arena, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work) =>
        VectorSetData.Move(mover, (VectorSetData*)root.Structure, ref cursor, ref work);
}
