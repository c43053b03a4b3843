using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;

namespace RedKite.Store.Values.Streams;

/// <summary>Streams, which always are a structure: <see cref="StreamData"/>. See <see cref="StoredType"/>.</summary>
internal sealed unsafe class StreamType() : StoredType(DataType.Stream, "stream"u8)
{
    internal override string Noun => "stream";

    internal override string ElementNoun => "entry";

    internal override long SizeOf(Database database, Entry entry) => StreamValue.Of(database, entry).Length;

    internal override long Bytes(Entry entry) => StreamData.Bytes((StreamData*)entry.Root.Structure);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => StreamData.FreeSlice((StreamData*)root.Structure, arena, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work) =>
        StreamData.Move(mover, (StreamData*)root.Structure, ref cursor, ref work);

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new StreamCopy(source.Root.Structure, arena);
        return StructureCopy.Of(source.Root with { Structure = copy.Root }, copy);
    }
}
