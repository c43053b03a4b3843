using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Rdb;

/// <summary>Reads lists: single elements, one packed list, or nodes of packed elements.</summary>
internal static class RdbListReader
{
    internal static bool TryRead(RdbType type, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        var list = ListValue.Create(target.Database, target.Key, target.Hash, target.Limits.List, target.AccessClock);
        long count = 1;
        if (type != RdbType.ListZipList && !input.TryCount(out count)) return false;
        for (; count > 0; count--)
        {
            if (!TryNode(type, ref input, ref list, scratch)) return false;
        }

        return list.Count > 0;
    }

    // A single element, or a node of several. As in Redis, a node may have no elements, but not no bytes.
    private static bool TryNode(RdbType type, ref RdbInput input, ref ListValue list, RdbScratch scratch)
    {
        long kind = RdbFormat.PackedNode;
        if (type == RdbType.ListOfListPacks && (!input.TryLength(out kind) || kind is not (RdbFormat.PackedNode or RdbFormat.PlainNode))) return false;
        if (!input.TryString(scratch.First, out ReadOnlySpan<byte> bytes)) return false;
        if (type == RdbType.ListOfListPacks && bytes.IsEmpty) return false;
        if (type == RdbType.List || kind == RdbFormat.PlainNode)
        {
            Push(ref list, bytes);
            return true;
        }

        if (type == RdbType.ListOfListPacks)
        {
            if (!scratch.TryOpen(bytes, out PackedListReader packed)) return false;
            PushAll(ref list, packed);
            return true;
        }

        if (!ZipListReader.TryOpen(bytes, out ZipListReader zipped)) return false;
        PushAll(ref list, zipped);
        return true;
    }

    private static void PushAll<TReader>(ref ListValue list, scoped TReader elements)
        where TReader : struct, IElementReader, allows ref struct
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        while (elements.MoveNext()) Push(ref list, elements.Bytes(digits));
    }

    private static void Push(ref ListValue list, scoped ReadOnlySpan<byte> element)
    {
        list.PrepareFor(element.Length, count: 1);
        list.PushLast(element);
    }
}
