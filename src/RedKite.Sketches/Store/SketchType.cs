using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.Sketches.Store;

/// <summary>A type of sketch in the store. All have one structure: <see cref="SketchData"/>. Its first number is the value's size in reports.</summary>
internal sealed unsafe class SketchType : StoredType
{
    internal static readonly SketchType Bloom = new("MBbloom--"u8, "Bloom filter", "element");
    internal static readonly SketchType Cuckoo = new("MBbloomCF"u8, "cuckoo filter", "element");
    internal static readonly SketchType CountMin = new("CMSk-TYPE"u8, "count-min sketch", "count");
    internal static readonly SketchType Top = new("TopK-TYPE"u8, "top-k sketch", "element");
    internal static readonly SketchType Digest = new("TDIS-TYPE"u8, "t-digest", "observation");

    private SketchType(ReadOnlySpan<byte> name, string noun, string elementNoun)
        : base(name) => (Noun, ElementNoun) = (noun, elementNoun);

    internal override string Noun { get; }

    internal override string ElementNoun { get; }

    internal override ReadOnlySpan<byte> EncodingName(ValueEncoding encoding) => "raw"u8;

    internal override long SizeOf(Database database, Entry entry) => (long)SketchData.Number((SketchData*)entry.Root.Structure, 0);

    internal override long Bytes(Entry entry) => ((SketchData*)entry.Root.Structure)->Bytes;

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax) => SketchData.FreeSlice((SketchData*)root.Structure, arena, blocksMax);

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work)
    {
        var data = (SketchData*)root.Structure;
        bool more = SketchData.Move(mover, ref data, ref cursor, ref work);
        root.Structure = (byte*)data;
        return more;
    }

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new SketchData.Copy((SketchData*)source.Root.Structure, arena);
        return StructureCopy.Of(new ValueRoot { Structure = copy.Root }, copy);
    }
}
