using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>What a text has between its parts, besides commas and colons.</summary>
internal readonly ref struct JsonFormat(ReadOnlySpan<byte> indent, ReadOnlySpan<byte> newline, ReadOnlySpan<byte> space)
{
    internal ReadOnlySpan<byte> Indent { get; } = indent;

    internal ReadOnlySpan<byte> Newline { get; } = newline;

    internal ReadOnlySpan<byte> Space { get; } = space;

    internal bool IsPlain => Indent.Length == 0 && Newline.Length == 0 && Space.Length == 0;

    internal void Line(NativeBuffer output, int depth)
    {
        output.Write(Newline);
        for (int i = 0; i < depth && Indent.Length > 0; i++) output.Write(Indent);
    }
}

/// <summary>
/// Writes a value as text to a buffer, all of it or in steps; long strings and names in pieces, because escapes make them six times as long. Between two steps the
/// document does not change and none of its blocks moves.
/// </summary>
internal sealed unsafe class JsonTextWriter
{
    // The bytes of a string or name that are written without a look at how much there is.
    private const int PieceBytes = 64 << 10;

    [ThreadStatic]
    private static JsonTextWriter? _ofThread;

    /// <summary>The characters that have escapes.</summary>
    internal static readonly SearchValues<byte> Escaped = SearchValues.Create([.. Enumerable.Range(0, 0x20).Select(static c => (byte)c), (byte)'"', (byte)'\\']);

    private readonly JsonItems[] _open = new JsonItems[JsonParser.DepthMax + 1];
    private JsonNames _names;
    private JsonValue _root;
    private int _depth;
    private byte* _rest; // of a long string or name that has been begun
    private int _restBytes;
    private bool _isName;

    /// <summary>The current thread's writer.</summary>
    internal static JsonTextWriter OfThread => _ofThread ??= new JsonTextWriter();

    /// <summary>Writes a value.</summary>
    /// <param name="output">Where to.</param>
    /// <param name="names">The names that its document shares.</param>
    /// <param name="value">The value.</param>
    /// <param name="format">What is between its parts.</param>
    /// <param name="depth">How deep it is in the text.</param>
    internal static void Write(NativeBuffer output, JsonNames names, JsonValue value, JsonFormat format = default, int depth = 0)
    {
        JsonTextWriter writer = OfThread;
        writer.Begin(names, value);
        writer.Step(output, int.MaxValue, format, depth);
    }

    internal static void WriteString(NativeBuffer output, ReadOnlySpan<byte> text)
    {
        Quote(output);
        WriteCharacters(output, text);
        Quote(output);
    }

    private static void WriteCharacters(NativeBuffer output, ReadOnlySpan<byte> text)
    {
        while (true)
        {
            int plain = text.IndexOfAny(Escaped);
            if (plain < 0) break;
            output.Write(text[..plain]);
            WriteEscaped(output, text[plain]);
            text = text[(plain + 1)..];
        }

        output.Write(text);
    }

    /// <summary>Begins with a value.</summary>
    internal void Begin(JsonNames names, JsonValue value)
    {
        (_names, _root) = (names, value);
        _depth = 0;
        _rest = null;
    }

    /// <summary>Writes about a number of bytes.</summary>
    /// <returns>Whether something is left.</returns>
    internal bool Step(NativeBuffer output, int bytes, JsonFormat format = default, int depth = 0)
    {
        long end = (long)output.Length + bytes;
        bool isPlain = format.IsPlain;
        if (_root.Exists)
        {
            JsonValue root = _root;
            _root = default;
            WriteValue(output, root);
        }

        while (true)
        {
            if (_rest != null)
            {
                if (!TryWriteRest(output, end, format)) return true;
                continue;
            }

            if (_depth == 0) return false;
            if (output.Length >= end) return true;
            ref JsonItems items = ref _open[_depth - 1];
            bool isFirst = items.Ordinal < 0;
            if (!items.MoveNext())
            {
                _depth--;
                if (!isFirst && !isPlain) format.Line(output, depth + _depth);
                Byte(output, items.IsObject ? (byte)'}' : (byte)']');
                continue;
            }

            if (!isFirst) Byte(output, (byte)',');
            if (!isPlain) format.Line(output, depth + _depth);
            if (items.IsObject)
            {
                ReadOnlySpan<byte> name = items.Name(_names);
                if (name.Length > PieceBytes)
                {
                    BeginPieces(output, name, isName: true);
                    continue;
                }

                WriteString(output, name);
                EndName(output, format);
            }

            WriteValue(output, items.Value);
        }
    }

    private static void EndName(NativeBuffer output, JsonFormat format)
    {
        Byte(output, (byte)':');
        if (!format.IsPlain) output.Write(format.Space);
    }

    private void BeginPieces(NativeBuffer output, ReadOnlySpan<byte> text, bool isName)
    {
        Quote(output);
        _rest = (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(text));
        (_restBytes, _isName) = (text.Length, isName);
    }

    // Behind a name, its value follows.
    private bool TryWriteRest(NativeBuffer output, long end, JsonFormat format)
    {
        for (int bytes; _restBytes > 0; _rest += bytes, _restBytes -= bytes)
        {
            if (output.Length >= end) return false;
            bytes = Math.Min(_restBytes, PieceBytes);
            WriteCharacters(output, new ReadOnlySpan<byte>(_rest, bytes));
        }

        Quote(output);
        _rest = null;
        if (!_isName) return true;
        EndName(output, format);
        WriteValue(output, _open[_depth - 1].Value);
        return true;
    }

    private static void Quote(NativeBuffer output) => Byte(output, (byte)'"');

    private static void Byte(NativeBuffer output, byte value)
    {
        output.Room(1)[0] = value;
        output.Advance(1);
    }

    /// <summary>The bytes of a character's text.</summary>
    internal static int EscapedBytes(byte character) => character switch
    {
        (byte)'\b' or (byte)'\f' or (byte)'\n' or (byte)'\r' or (byte)'\t' or (byte)'"' or (byte)'\\' => 2,
        < (byte)' ' => 6,
        _ => 1,
    };

    private static void WriteEscaped(NativeBuffer output, byte character)
    {
        ReadOnlySpan<byte> hex = "0123456789abcdef"u8;
        Span<byte> room = output.Room(6);
        room[0] = (byte)'\\';
        room[1] = character switch
        {
            (byte)'\b' => (byte)'b',
            (byte)'\f' => (byte)'f',
            (byte)'\n' => (byte)'n',
            (byte)'\r' => (byte)'r',
            (byte)'\t' => (byte)'t',
            (byte)'"' or (byte)'\\' => character,
            _ => (byte)'u',
        };
        if (room[1] != 'u')
        {
            output.Advance(2);
            return;
        }

        room[2] = room[3] = (byte)'0';
        room[4] = hex[character >> 4];
        room[5] = hex[character & 0xF];
        output.Advance(6);
    }

    private void WriteValue(NativeBuffer output, JsonValue value)
    {
        switch (value.Kind)
        {
            case JsonKind.Null:
                output.Write("null"u8);
                break;
            case JsonKind.Boolean:
                output.Write(value.IsTrue ? "true"u8 : "false"u8);
                break;
            case JsonKind.Integer or JsonKind.Number:
                output.Advance(JsonNumber.Format(value, output.Room(JsonNumber.TextMax)));
                break;
            case JsonKind.String:
                ReadOnlySpan<byte> text = value.Text;
                if (text.Length > PieceBytes) BeginPieces(output, text, isName: false);
                else WriteString(output, text);
                break;
            default:
                ref JsonItems items = ref _open[_depth++];
                items = value.Items;
                Byte(output, items.IsObject ? (byte)'{' : (byte)'[');
                break;
        }
    }
}
