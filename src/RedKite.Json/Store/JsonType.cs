using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Copying;

namespace RedKite.Json.Store;

/// <summary>Documents in the store.</summary>
internal sealed unsafe class JsonType() : StoredType("ReJSON-RL"u8)
{
    /// <summary>The values of a document from which a report determines its depth.</summary>
    internal const int DepthValuesMax = 1024;

    internal static readonly JsonType Instance = new();

    internal override string Noun => "document";

    internal override string ElementNoun => "item";

    internal override ReadOnlySpan<byte> EncodingName(ValueEncoding encoding) => encoding == ValueEncoding.OwnStructure ? "jsonblocks"u8 : "jsonpacked"u8;

    internal override long SizeOf(Database database, Entry entry)
    {
        JsonValue root = JsonDocument.Of(entry).Root;
        return root.IsContainer ? root.Count : 1;
    }

    internal override void CountFacts(Entry entry, Dictionary<string, long> facts) => facts.Count("with_blocks", entry.HasStructure ? 1 : 0);

    internal override void DescribeLargest(Entry entry, Dictionary<string, long> facts)
    {
        int values = DepthValuesMax;
        facts["largest_depth"] = DepthOf(JsonDocument.Of(entry).Root, ref values);
    }

    internal override long Bytes(Entry entry)
    {
        ValueRoot root = entry.Root;
        return BlockSize.RoundUp(JsonRoot.ImageBytes(root)) + JsonBytes.OfBlocks(new JsonDocument(root.Structure).Root);
    }

    /// <summary>The bytes of a value inside of a document, with the blocks that it refers to.</summary>
    internal static long MemoryOf(JsonValue value) => JsonTag.Bytes(value.Address) + JsonBytes.OfBlocks(value);

    internal override bool FreeSlice(Arena arena, ref ValueRoot root, int blocksMax)
    {
        JsonValue value = new JsonDocument(root.Structure).Root;
        byte* end = root.Structure + JsonRoot.ImageBytes(root);
        for (; blocksMax > 0; blocksMax--)
        {
            if (JsonReferences.FreeOne(arena, value.Address, end, isObject: false)) continue;
            arena.Free(root.Structure, JsonRoot.ImageBytes(root));
            return false;
        }

        return true;
    }

    internal override bool Move(BlockMover mover, ref ValueRoot root, ref MoveCursor cursor, ref int work)
    {
        var moves = new JsonMoves(mover, cursor.Position, work);
        if (moves.MayMove()) root.Structure = moves.Moved(root.Structure, JsonRoot.ImageBytes(root));
        bool isComplete = moves.MoveAll(new JsonDocument(root.Structure).Root.Address, root.Structure + JsonRoot.ImageBytes(root), isObject: false);
        work = moves.Work;
        cursor = cursor.At(moves.Passed);
        return !isComplete;
    }

    internal override StructureCopy BeginCopy(Entry source, Arena arena, KeyHasher hasher)
    {
        var copy = new JsonCopy(source.Root, arena);
        return StructureCopy.Of(copy.Root, copy);
    }

    // How deep containers are in each other, as far as the first values show.
    private static int DepthOf(JsonValue value, ref int values)
    {
        values--;
        if (!value.IsContainer) return 0;
        int deepest = 0;
        JsonItems items = value.Items;
        while (values > 0 && items.MoveNext()) deepest = Math.Max(deepest, DepthOf(items.Value, ref values));
        return deepest + 1;
    }
}
