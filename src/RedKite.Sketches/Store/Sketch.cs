using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.Sketches.Store;

/// <summary>A key's sketch as its type's algorithm sees it: numbers, and parts with numbers and bytes. The key's stripe is locked.</summary>
internal readonly unsafe ref struct Sketch
{
    private readonly SketchData* _data;
    private readonly Arena _arena;

    private Sketch(SketchData* data, Arena arena)
    {
        _data = data;
        _arena = arena;
    }

    internal bool Exists => _data != null;

    internal int PartCount => _data->Count;

    /// <summary>The memory that it takes.</summary>
    internal long MemoryBytes => _data->Bytes;

    internal static Sketch Of(Database database, Entry entry) => entry.Exists ? new((SketchData*)entry.Root.Structure, database.ArenaOf(entry)) : default;

    /// <summary>For reading: an entry without its database.</summary>
    internal static Sketch OfBlock(nint entry) => new((SketchData*)Entry.FromBlock(entry).Root.Structure, null!);

    /// <summary>Creates an empty one at a missing key.</summary>
    internal static Sketch Create(Database database, ReadOnlySpan<byte> key, ulong hash, SketchType type, uint accessClock)
    {
        Entry entry = database.WriteValue(key, hash, default, new ValueHeader(type.Number, ValueEncoding.OwnStructure, accessClock), ValueRoot.Bytes, Database.NoExpiry);
        Arena arena = database.ArenaOf(hash);
        SketchData* data = SketchData.Create(arena);
        entry.Root = new ValueRoot { Structure = (byte*)data };
        return new Sketch(data, arena);
    }

    internal ref ulong Number(int index) => ref SketchData.Number(_data, index);

    internal ref ulong PartNumber(int part, int index) => ref SketchPart.Number(SketchData.Part(_data, part), index);

    internal long PartBytes(int part) => SketchData.Part(_data, part)->Bytes;

    internal int PageCount(int part) => SketchData.Part(_data, part)->PageCount;

    internal bool IsWhole(int part) => SketchData.Part(_data, part)->PageBytes > SketchData.PageBytes;

    internal int PageLength(int part, int page) => (int)SketchPart.PageLength(SketchData.Part(_data, part), page);

    internal void AddPart(long bytes, bool isWhole = false) => SketchData.AddPart(_data, _arena, bytes, isWhole);

    /// <summary>Gives a part of one block another length, all zeros.</summary>
    internal void Resize(int part, long bytes) => SketchData.ReplacePart(_data, _arena, part, bytes);

    /// <summary>Replaces a part's bytes.</summary>
    internal void SetBytes(int part, ReadOnlySpan<byte> bytes)
    {
        SketchData.ReplacePart(_data, _arena, part, bytes.Length);
        if (bytes.Length > 0) bytes.CopyTo(PageToWrite(part, 0));
    }

    internal void RemoveLastPart() => SketchData.RemoveLastPart(_data, _arena);

    /// <summary>Frees a page, which is all zeros then.</summary>
    internal void FreePage(int part, int page) => SketchData.FreePage(_data, _arena, SketchData.Part(_data, part), page);

    internal void SwapParts(int a, int b) => SketchData.SwapParts(_data, a, b);

    /// <summary>A page; empty if nothing of it was ever written: it is all zeros.</summary>
    internal Span<byte> Page(int part, int page) => SketchData.Page(SketchData.Part(_data, part), page);

    internal Span<byte> PageToWrite(int part, int page) => SketchData.PageToWrite(_data, _arena, SketchData.Part(_data, part), page);

    /// <summary>All bytes of a part of one block.</summary>
    internal Span<byte> Bytes(int part) => PartBytes(part) == 0 ? default : PageToWrite(part, 0);

    internal ReadOnlySpan<byte> BytesAsTheyAre(int part) => PartBytes(part) == 0 ? default : Page(part, 0);

    internal Span<T> All<T>(int part)
        where T : unmanaged => MemoryMarshal.Cast<byte, T>(Bytes(part));

    /// <summary>An element of a part. Pages hold a whole number of them.</summary>
    internal T Read<T>(int part, long index)
        where T : unmanaged
    {
        long offset = index * sizeof(T);
        Span<byte> page = Page(part, (int)(offset / SketchData.PageBytes));
        return page.IsEmpty ? default : MemoryMarshal.Read<T>(page[(int)(offset % SketchData.PageBytes)..]);
    }

    /// <summary>An element of a part, to write.</summary>
    internal ref T At<T>(int part, long index)
        where T : unmanaged
    {
        long offset = index * sizeof(T);
        return ref MemoryMarshal.AsRef<T>(PageToWrite(part, (int)(offset / SketchData.PageBytes)).Slice((int)(offset % SketchData.PageBytes), sizeof(T)));
    }

    /// <summary>For which hashes all bits are set in one of <paramref name="count"/> parts: a bit for each hash, of which there are <see cref="SketchBits.HashesMax"/> at most.</summary>
    /// <param name="hashes">The hashes.</param>
    /// <param name="first">The first of the parts.</param>
    /// <param name="count">The number of parts.</param>
    /// <param name="bitsNumber">The number of each part that says how many bits a hash has there.</param>
    internal uint HaveBitsInAny(ReadOnlySpan<SketchHash> hashes, int first, int count, int bitsNumber) => SketchBits.AreSetInAny(SketchData.Part(_data, first), count, hashes, bitsNumber);

    /// <summary>Sets the bits of a part that a hash determines, and returns whether one of them was not set.</summary>
    internal bool SetBits(int part, SketchHash hash, int count) => SketchBits.Set(_data, _arena, SketchData.Part(_data, part), hash, count);
}
