using RedKite.Sketches.Bloom;
using RedKite.Sketches.CountMin;
using RedKite.Sketches.Cuckoo;
using RedKite.Sketches.Digests;
using RedKite.Sketches.Tops;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.Sketches.Store;

/// <summary>Counts what reports say of a sketch beside its size, by names. It costs the same for any sketch.</summary>
internal delegate void SketchFacts(Sketch sketch, Dictionary<string, long> facts);

/// <summary>A type of sketch in the store. All have one structure: <see cref="SketchData"/>. Its first number is the value's size in reports.</summary>
internal sealed unsafe class SketchType : StoredType
{
    internal static readonly SketchType Bloom = new("MBbloom--"u8, "Bloom filter", "element", BloomFilter.CountFacts);
    internal static readonly SketchType Cuckoo = new("MBbloomCF"u8, "cuckoo filter", "element", CuckooFilter.CountFacts);
    internal static readonly SketchType CountMin = new("CMSk-TYPE"u8, "count-min sketch", "count", CountMinSketch.CountFacts);
    internal static readonly SketchType Top = new("TopK-TYPE"u8, "top-k sketch", "element", TopSketch.CountFacts);
    internal static readonly SketchType Digest = new("TDIS-TYPE"u8, "t-digest", "observation", TDigest.CountFacts);

    private readonly SketchFacts _facts;

    private SketchType(ReadOnlySpan<byte> name, string noun, string elementNoun, SketchFacts facts)
        : base(name) => (Noun, ElementNoun, _facts) = (noun, elementNoun, facts);

    internal override string Noun { get; }

    internal override string ElementNoun { get; }

    internal override ReadOnlySpan<byte> EncodingName(ValueEncoding encoding) => "raw"u8;

    internal override long SizeOf(Database database, Entry entry) => (long)SketchData.Number((SketchData*)entry.Root.Structure, 0);

    internal override void CountFacts(Entry entry, Dictionary<string, long> facts) => _facts(Sketch.OfBlock(entry.Address), facts);

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
