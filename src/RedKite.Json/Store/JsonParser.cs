using System.Buffers;
using System.Runtime.CompilerServices;
using System.Text.Unicode;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>
/// Turns text into a value of a document: what is short is appended to a buffer, longer strings and containers get blocks of the arena. Each thread has one. No
/// managed memory is allocated, unless the text is not valid.
/// </summary>
/// <remarks>
/// Rejected: Utf8JsonReader. It has no numbers of 64 bits without a parse of its own, its errors are not those that clients of Redis know, and an error is an
/// exception.
/// </remarks>
#pragma warning disable CA1001 // It lives as long as its thread; buffers free themselves.
internal sealed unsafe partial class JsonParser
#pragma warning restore CA1001
{
    /// <summary>How deep containers may be in each other.</summary>
    internal const int DepthMax = 128;

    private const int HeadBytes = 2;

    private static readonly SearchValues<byte> StringEnds = SearchValues.Create([.. Enumerable.Range(0, 0x20).Select(static c => (byte)c), (byte)'"', (byte)'\\']);

    [ThreadStatic]
    private static JsonParser? _ofThread;

    private readonly NativeBuffer _unescaped = new();
    private readonly JsonNameTable _table = new();
    private readonly JsonMembers _members = new();
    private NativeBuffer _output = null!;
    private Arena _arena = null!;
    private byte* _text;
    private byte* _at;
    private byte* _end;
    private JsonNames _names;
    private bool _collects;
    private bool _dropsNulls;
    private JsonSyntax _error;

    /// <summary>The current thread's parser.</summary>
    internal static JsonParser OfThread => _ofThread ??= new JsonParser();

    /// <summary>What was wrong with the last text.</summary>
    internal JsonSyntax Error => _error;

    /// <summary>Appends the image of a document with the names that it shares.</summary>
    /// <returns>False: the text is not valid, and nothing was appended.</returns>
    internal bool TryParseDocument(ReadOnlySpan<byte> text, NativeBuffer output, Arena arena)
    {
        _collects = true;
        _table.Clear();
        int start = output.Length;
        if (!TryParseText(text, output, arena, default, 0)) return false;
        _table.Prepend(output, start);
        return true;
    }

    /// <summary>Appends a value for a place in a document.</summary>
    /// <param name="text">The text.</param>
    /// <param name="output">Where to.</param>
    /// <param name="arena">Where blocks are allocated.</param>
    /// <param name="names">The names that the document shares.</param>
    /// <param name="depth">How deep the place is.</param>
    /// <param name="dropsNulls">Whether members that are null are left out.</param>
    internal bool TryParse(ReadOnlySpan<byte> text, NativeBuffer output, Arena arena, JsonNames names, int depth, bool dropsNulls = false)
    {
        _collects = false;
        _dropsNulls = dropsNulls;
        bool parsed = TryParseText(text, output, arena, names, depth);
        _dropsNulls = false;
        return parsed;
    }

    private bool TryParseText(ReadOnlySpan<byte> text, NativeBuffer output, Arena arena, JsonNames names, int depth)
    {
        (_output, _arena, _names, _error) = (output, arena, names, default);
        _members.Clear();
        int start = output.Length;
        fixed (byte* first = text)
        {
            _text = _at = first;
            _end = first + text.Length;
            if (!Utf8.IsValid(text)) return Fail("invalid unicode code point", _at);
            if (!ParseValue(depth)) return false;
            SkipSpace();
            if (_at == _end) return true;
            FreeFrom(start, isObject: false);
            return Fail("trailing characters", _at);
        }
    }

    // Appends a value; if it fails, nothing.
    private bool ParseValue(int depth)
    {
        SkipSpace();
        if (_at == _end) return Fail("EOF while parsing a value", _at);
        switch (*_at)
        {
            case (byte)'"':
                _at++;
                if (!ParseString(out ReadOnlySpan<byte> text)) return false;
                JsonStrings.Append(_output, _arena, text);
                return true;
            case (byte)'{' or (byte)'[':
                if (depth >= DepthMax) return Fail("recursion limit exceeded", _at);
                RuntimeHelpers.EnsureSufficientExecutionStack();
                return ParseContainer(isObject: *_at++ == '{', depth + 1);
            case (byte)'t':
                return ParseWord("true"u8, JsonTag.True);
            case (byte)'f':
                return ParseWord("false"u8, JsonTag.False);
            case (byte)'n':
                return ParseWord("null"u8, JsonTag.Null);
            case (byte)'-' or (>= (byte)'0' and <= (byte)'9'):
                return ParseNumber();
            default:
                return Fail("expected value", _at);
        }
    }

    private bool ParseContainer(bool isObject, int depth)
    {
        int start = _output.Length;
        _output.Room(HeadBytes);
        _output.Advance(HeadBytes);
        JsonBlock* block = null;
        uint pending = 0; // items that are in no chunk yet
        int serial = isObject ? _members.BeginObject() : 0;
        bool dropsNulls = _dropsNulls;
        _dropsNulls &= isObject; // what an array has is a value as a whole
        bool isParsed = ParseItems(isObject, depth, start, serial, ref block, ref pending);
        _dropsNulls = dropsNulls;
        if (isParsed)
        {
            Close(start, block, pending, isObject, serial);
            return true;
        }

        FreeFrom(start + HeadBytes, isObject);
        _output.Advance(start - _output.Length);
        if (block == null) return false;
        byte* reference = stackalloc byte[JsonTag.ReferenceBytes];
        JsonTag.SetBlock(reference, block);
        JsonReferences.FreeAll(_arena, reference);
        return false;
    }

    private bool ParseItems(bool isObject, int depth, int start, int serial, ref JsonBlock* block, ref uint pending)
    {
        byte close = isObject ? (byte)'}' : (byte)']';
        for (bool isFirst = true; ; isFirst = false)
        {
            SkipSpace();
            if (_at == _end) return Fail(isObject ? "EOF while parsing an object" : "EOF while parsing a list", _at);
            if (*_at == close)
            {
                _at++;
                return true;
            }

            if (!isFirst)
            {
                if (*_at != ',') return Fail(isObject ? "expected `,` or `}`" : "expected `,` or `]`", _at);
                _at++;
                SkipSpace();
                if (_at == _end) return Fail("EOF while parsing a value", _at);
                if (*_at == close) return Fail("trailing comma", _at);
            }

            int item = _output.Length;
            if (isObject ? !ParseMember(depth, start, serial, item, ref block, ref pending) : !ParseValue(depth))
            {
                _output.Advance(item - _output.Length);
                return false;
            }

            if (!isObject) pending++;
            if (_output.Length - start - HeadBytes <= JsonBlock.ChunkBytes) continue;
            Flush(start, ref block, ref pending, isObject, serial);
        }
    }

    private bool ParseMember(int depth, int start, int serial, int item, ref JsonBlock* block, ref uint pending)
    {
        if (*_at != '"') return Fail("key must be a string", _at);
        _at++;
        if (!ParseString(out ReadOnlySpan<byte> name)) return false;
        AppendName(name);
        bool isKnown = block != null ? _members.Add(serial, name) : HasPending(start, item, name, serial);
        SkipSpace();
        if (_at == _end) return Fail("EOF while parsing an object", _at);
        if (*_at != ':') return Fail("expected `:`", _at);
        _at++;
        int value = _output.Length;
        if (!ParseValue(depth)) return false;
        if (_dropsNulls && _output.Start[value] == JsonTag.Null) _output.Advance(item - _output.Length);
        else if (!isKnown || !ReplaceEarlier(start, item, value, block)) pending++;
        return true;
    }

    // Whether the object has a member with the name that was appended at an item.
    private bool HasPending(int start, int item, ReadOnlySpan<byte> name, int serial)
    {
        byte* items = _output.Start + start + HeadBytes, end = _output.Start + item;
        if (end - items > JsonMembers.ScannedBytesMax)
        {
            if (_members.IsEmptyOf(serial)) AddPending(items, end, serial);
            return _members.Add(serial, name);
        }

        for (; items < end; items += JsonTag.Bytes(items))
        {
            if (NameAt(items).SequenceEqual(name)) return true;
            items += JsonTag.NameBytes(items);
        }

        return false;
    }

    // The last value of a name counts, at the place of the first one. The item that was appended last goes.
    private bool ReplaceEarlier(int start, int item, int value, JsonBlock* block)
    {
        ReadOnlySpan<byte> name = NameAt(_output.Start + item);
        int length = _output.Length - value;
        byte* found = Earlier(_output.Start + start + HeadBytes, _output.Start + item, name);
        if (found != null)
        {
            JsonReferences.FreeAll(_arena, found);
            int at = (int)(found - _output.Start), old = (int)JsonTag.Bytes(found), behind = item - at - old;
            _unescaped.Clear();
            _unescaped.Write(new ReadOnlySpan<byte>(_output.Start + value, length));
            Buffer.MemoryCopy(found + old, found + length, behind, behind); // there is room: the value is behind
            _unescaped.Written.CopyTo(new Span<byte>(found, length));
            _output.Advance(at + length + behind - _output.Length);
            return true;
        }

        for (uint i = 0; block != null && i < block->Chunks; i++)
        {
            ref JsonChunk chunk = ref JsonBlock.ChunksOf(block)[i];
            found = Earlier(chunk.Items, chunk.End, name);
            if (found == null) continue;
            JsonReferences.FreeAll(_arena, found);
            long before = found - chunk.Items, old = JsonTag.Bytes(found), behind = chunk.Bytes - before - old, bytes = before + length + behind;
            byte* copy = _arena.Allocate(bytes);
            Buffer.MemoryCopy(chunk.Items, copy, before, before);
            Buffer.MemoryCopy(_output.Start + value, copy + before, length, length);
            Buffer.MemoryCopy(found + old, copy + before + length, behind, behind);
            _arena.Free(chunk.Items, chunk.Bytes);
            chunk = new JsonChunk { Items = copy, Count = chunk.Count, Word = JsonChunk.WordOf(bytes, JsonReferences.Any(copy, copy + bytes, isObject: true)) };
            _output.Advance(item - _output.Length);
            return true;
        }

        return false;
    }

    // The value of the member with a name.
    private byte* Earlier(byte* items, byte* end, ReadOnlySpan<byte> name)
    {
        while (items < end)
        {
            bool isEqual = NameAt(items).SequenceEqual(name);
            items += JsonTag.NameBytes(items);
            if (isEqual) return items;
            items += JsonTag.Bytes(items);
        }

        return null;
    }

    private ReadOnlySpan<byte> NameAt(byte* name) => _collects && *name is >= JsonTag.SharedName and < JsonTag.LongName ? _table[*name - JsonTag.SharedName] : _names.TextOf(name);

    private void AppendName(ReadOnlySpan<byte> name)
    {
        int shared = _collects ? _table.Number(name) : _names.Find(name);
        if (shared >= 0)
        {
            _output.Room(1)[0] = (byte)(JsonTag.SharedName + shared);
            _output.Advance(1);
            return;
        }

        JsonStrings.AppendName(_output, name);
    }

    // What a full chunk's items become.
    private void Flush(int start, ref JsonBlock* block, ref uint pending, bool isObject, int serial)
    {
        if (pending == 0) return;
        byte* items = _output.Start + start + HeadBytes, end = _output.Start + _output.Length;
        if (block == null)
        {
            block = JsonBlock.CreateContainer(_arena, isObject);
            if (isObject && _members.IsEmptyOf(serial)) AddPending(items, end, serial);
        }

        JsonBlock.AddChunk(ref block, _arena, items, end - items, pending);
        pending = 0;
        _output.Advance(start + HeadBytes - _output.Length);
    }

    private void AddPending(byte* items, byte* end, int serial)
    {
        for (; items < end; items += JsonTag.Bytes(items))
        {
            _members.Add(serial, NameAt(items));
            items += JsonTag.NameBytes(items);
        }
    }

    // The head of a container whose items are there, or the reference to its chunks.
    private void Close(int start, JsonBlock* block, uint pending, bool isObject, int serial)
    {
        int bytes = _output.Length - start - HeadBytes;
        if (block == null && bytes <= JsonBlock.PackedBytesMax)
        {
            JsonStrings.CloseContainer(_output, start, isObject);
            return;
        }

        Flush(start, ref block, ref pending, isObject, serial);
        JsonBlock.Resize(ref block, _arena, block->Chunks);
        _output.Advance(start - _output.Length);
        JsonStrings.AppendReference(_output, block);
    }

    private void FreeFrom(int start, bool isObject)
    {
        JsonReferences.FreeAll(_arena, _output.Start + start, _output.Start + _output.Length, isObject);
        _output.Advance(start - _output.Length);
    }
}
