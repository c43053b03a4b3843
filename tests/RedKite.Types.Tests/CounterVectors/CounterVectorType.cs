using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.Types.Tests.CounterVectors;

/// <summary>Vectors of counters in the store.</summary>
internal sealed unsafe class CounterVectorType() : StoredType("cvector"u8)
{
    internal static readonly CounterVectorType Instance = new();

    internal override string Noun => "counter vector";

    internal override string ElementNoun => "counter";

    internal override string? SizesField => "cvectors_items";

    internal override ReadOnlySpan<byte> EncodingName(ValueEncoding encoding) => encoding == ValueEncoding.OwnStructure ? "counterblocks"u8 : "counters"u8;

    internal override long SizeOf(Database database, Entry entry) => CounterVector.Of(entry).Count;

    internal override long Bytes(Entry entry) => CounterBlocks.Bytes((CounterBlocks*)entry.Root.Structure);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => CounterBlocks.FreeSlice((CounterBlocks*)root.Structure, arena, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work)
    {
        var blocks = (CounterBlocks*)root.Structure;
        bool more = CounterBlocks.Move(mover, ref blocks, ref cursor, ref work);
        root.Structure = (byte*)blocks;
        return more;
    }

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new CounterBlocks.Copy((CounterBlocks*)source.Root.Structure, arena);
        return StructureCopy.Of(new ValueRoot { Structure = copy.Root }, copy);
    }
}
