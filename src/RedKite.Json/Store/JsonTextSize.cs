using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>
/// The length of values' text, counted without writing it, with a comma behind each item. A name that a document shares is counted wherever it comes, so the text may
/// be far longer than the memory.
/// </summary>
/// <remarks>
/// A document's size is the sum of its items' sizes, so an edit changes it by what comes and what goes. The text itself has no comma behind the last item of a
/// container, so it is never longer.
/// </remarks>
internal static unsafe class JsonTextSize
{
    /// <summary>The longest text that commands let a document grow to. It fits, with what is around it, what files and payloads have for a string.</summary>
    internal const long DocumentMax = 1_000_000_000;

    /// <summary>The longest text of a document that a file, a payload, a log or a primary's stream has: that of a string in a file.</summary>
    internal const long LoadedMax = 1 << 30;

    /// <summary>No document without blocks has a longer text: 2,048 bytes are some thousand members at most, and a name that is shared is short.</summary>
    internal const long PackedMax = 1 << 20;

    private const int QuotesBytes = 2;

    /// <summary>The text of items one behind the other.</summary>
    internal static long Of(JsonNames names, byte* items, byte* end, bool isObject)
    {
        long size = 0;
        while (items < end)
        {
            if (isObject)
            {
                size += OfString(names.TextOf(items)) + 1; // and a colon
                items += JsonTag.NameBytes(items);
            }

            size += Of(names, items) + 1;
            items += JsonTag.Bytes(items);
        }

        return size;
    }

    /// <summary>The text of a value with a comma behind it.</summary>
    internal static long OfItem(JsonNames names, byte* value) => Of(names, value) + 1;

    /// <summary>The text of the document whose image is in a buffer.</summary>
    internal static long OfDocument(NativeBuffer image)
    {
        JsonDocument document = JsonDocument.In(image);
        return OfItem(document.Names, document.Root.Address);
    }

    private static long Of(JsonNames names, byte* value)
    {
        var read = new JsonValue(value);
        switch (read.Kind)
        {
            case JsonKind.Null:
                return "null"u8.Length;
            case JsonKind.Boolean:
                return read.IsTrue ? "true"u8.Length : "false"u8.Length;
            case JsonKind.Integer or JsonKind.Number:
                return JsonNumber.TextSize(read);
            case JsonKind.String:
                return OfString(read.Text);
        }

        const int BracketsBytes = 2;
        if (*value != JsonTag.Reference)
        {
            byte* items = JsonTag.ItemsOf(value, out byte* end);
            return BracketsBytes + Of(names, items, end, JsonTag.IsInlineObject(*value));
        }

        JsonBlock* block = JsonTag.BlockOf(value);
        long size = BracketsBytes;
        for (uint i = 0; i < block->Chunks; i++)
        {
            JsonChunk chunk = JsonBlock.ChunksOf(block)[i];
            size += Of(names, chunk.Items, chunk.End, block->IsObject);
        }

        return size;
    }

    private static long OfString(ReadOnlySpan<byte> text)
    {
        long size = QuotesBytes + text.Length;
        int at = text.IndexOfAny(JsonTextWriter.Escaped);
        if (at < 0) return size;
        for (; at < text.Length; at++) size += JsonTextWriter.EscapedBytes(text[at]) - 1;
        return size;
    }
}
