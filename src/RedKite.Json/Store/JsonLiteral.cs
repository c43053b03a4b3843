using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>Values that are in a buffer instead of a document.</summary>
internal static unsafe class JsonLiteral
{
    /// <summary>The value at a position. It is valid until the buffer grows.</summary>
    internal static JsonValue At(NativeBuffer buffer, int position) => new(buffer.Start + position);

    /// <summary>The names of a buffer that begins with the image of a table of names.</summary>
    internal static JsonNames NamesOf(NativeBuffer buffer) => new(buffer.Start);

    /// <summary>Appends a string of any length that is not long.</summary>
    internal static void AppendString(NativeBuffer buffer, ReadOnlySpan<byte> text) => JsonStrings.Append(buffer, null!, text);

    /// <summary>Appends a word's value.</summary>
    internal static void AppendWord(NativeBuffer buffer, JsonKind kind, bool isTrue = false) => buffer.Write([kind == JsonKind.Null ? JsonTag.Null : isTrue ? JsonTag.True : JsonTag.False]);

    /// <summary>Appends the value that a cleared one becomes: an empty container, or 0.</summary>
    internal static void AppendEmpty(NativeBuffer buffer, JsonKind kind)
    {
        if (kind == JsonKind.Array) buffer.Write([JsonTag.Array8, 0]);
        else if (kind == JsonKind.Object) buffer.Write([JsonTag.Object8, 0]);
        else buffer.Write([JsonTag.SmallInteger]);
    }
}
