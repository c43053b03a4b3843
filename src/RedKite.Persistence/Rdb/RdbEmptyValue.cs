using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Recognises collections without elements. No version of Redis holds such a key, but some wrote one; like Redis, loading a file passes
/// over it, while RESTORE refuses it.
/// </summary>
internal static class RdbEmptyValue
{
    // u32 width in bytes, u32 count.
    private const int IntegersHeaderBytes = 8;

    /// <summary>Whether a value is a collection without elements. An empty stream is not: it is a value.</summary>
    internal static bool Is(RdbType type, ReadOnlySpan<byte> value, RdbScratch scratch)
    {
        var input = new RdbInput(value);
        switch (type)
        {
            case RdbType.List or RdbType.Set or RdbType.SortedSet or RdbType.SortedSetWithTexts or RdbType.Hash or RdbType.HashWithExpiriesDraft or RdbType.HashWithTimes:
                return HasNone(ref input);
            case RdbType.HashWithExpiries:
                return input.TryInt64(out _) && HasNone(ref input);
            case RdbType.HashListPackWithExpiries when !input.TryInt64(out _):
                return false;
            case RdbType.ListOfZipLists or RdbType.ListOfListPacks:
                return HasEmptyNodes(type, ref input, scratch);
        }

        if (type is RdbType.String || !input.TryString(scratch.First, out ReadOnlySpan<byte> bytes)) return false;
        return type switch
        {
            RdbType.SetIntSet => bytes.Length == IntegersHeaderBytes && !bytes[sizeof(int)..].ContainsAnyExcept((byte)0),
            RdbType.HashZipMap => ZipMapReader.TryOpen(bytes, out ZipMapReader map) && map.Count == 0,
            RdbType.ListZipList or RdbType.SortedSetZipList or RdbType.HashZipList => ZipListReader.TryOpen(bytes, out ZipListReader zipped) && zipped.Count == 0,
            RdbType.SetListPack or RdbType.SortedSetListPack or RdbType.HashListPack or RdbType.HashListPackWithExpiries or RdbType.HashListPackWithExpiriesDraft
                => PackedListReader.TryOpen(bytes, out PackedListReader packed) && packed.Count == 0,
            _ => false,
        };
    }

    private static bool HasNone(ref RdbInput input) => input.TryLength(out ulong count) && count == 0 && input.Left == 0;

    private static bool HasEmptyNodes(RdbType type, ref RdbInput input, RdbScratch scratch)
    {
        if (!input.TryCount(out long nodes)) return false;
        for (; nodes > 0; nodes--)
        {
            if (type == RdbType.ListOfListPacks && (!input.TryLength(out long kind) || kind != RdbFormat.PackedNode)) return false;
            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> bytes)) return false;
            bool isEmpty = type == RdbType.ListOfListPacks
                ? PackedListReader.TryOpen(bytes, out PackedListReader packed) && packed.Count == 0
                : ZipListReader.TryOpen(bytes, out ZipListReader zipped) && zipped.Count == 0;
            if (!isEmpty) return false;
        }

        return input.Left == 0;
    }
}
