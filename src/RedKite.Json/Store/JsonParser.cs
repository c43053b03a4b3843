using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
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

    // So many levels fit into the stack that one check ensures.
    private const int DepthUnchecked = 16;

    private const int HeadBytes = 2;

    // Texts of so many bytes are copied without counting them.
    private const int ShortCopyMax = 32;

    // Objects whose items take no more bytes are searched for a name; of larger ones the names are listed.
    private const int ScannedBytesMax = 256;

    private static readonly SearchValues<byte> StringEnds = SearchValues.Create([.. Enumerable.Range(0, 0x20).Select(static c => (byte)c), (byte)'"', (byte)'\\']);

    [ThreadStatic]
    private static JsonParser? _ofThread;

    private readonly NativeBuffer _unescaped = new();
    private readonly JsonNameTable _table = new();
    private readonly JsonMembers _members = new();
    private NativeBuffer _output = null!;
    private Arena _arena = null!;
    private byte* _text;
    private byte* _end;
    private JsonNames _names;
    private bool _collects;
    private bool _repeats; // the names of the last document
    private int _objects;  // in the document so far
    private bool _dropsNulls;
    private JsonFloats _floats;          // of arrays of numbers
    private JsonFloats _floatsOfNumbers; // of the array that is being parsed
    private JsonSyntax _error;

    /// <summary>The current thread's parser.</summary>
    internal static JsonParser OfThread => _ofThread ??= new JsonParser();

    /// <summary>What was wrong with the last text.</summary>
    internal JsonSyntax Error => _error;

    /// <summary>The names of the last document.</summary>
    internal JsonNameSequence Sequence { get; } = new();

    /// <summary>Whether there may be references to blocks in the value of the last text.</summary>
    internal bool MayRefer { get; private set; }

    /// <summary>Appends the image of a document with the names that it shares.</summary>
    /// <returns>False: the text is not valid, and nothing was appended.</returns>
    internal bool TryParseDocument(ReadOnlySpan<byte> text, NativeBuffer output, Arena arena, JsonFloats floats = JsonFloats.Any)
    {
        _collects = true;
        _floats = floats;
        _objects = 0;
        _repeats = Sequence.Begin();
        if (!_repeats) _table.Clear();
        int start = output.Length;
        JsonNameTable.WriteEmpty(output);
        bool parsed = TryParseText(text, output, arena, default, 0);
        if (parsed && !Sequence.TryEnd()) EndRepeating();
        _repeats = false;
        if (parsed)
        {
            _table.Complete(output, start);
            return true;
        }

        Sequence.Forget();
        output.Truncate(start);
        return false;
    }

    /// <summary>Appends a value for a place in a document.</summary>
    /// <param name="text">The text.</param>
    /// <param name="output">Where to.</param>
    /// <param name="arena">Where blocks are allocated.</param>
    /// <param name="names">The names that the document shares.</param>
    /// <param name="depth">How deep the place is.</param>
    /// <param name="dropsNulls">Whether members that are null are left out.</param>
    /// <param name="floats">The precision of arrays of numbers.</param>
    internal bool TryParse(ReadOnlySpan<byte> text, NativeBuffer output, Arena arena, JsonNames names, int depth, bool dropsNulls = false, JsonFloats floats = JsonFloats.Any)
    {
        _collects = false;
        _floats = floats;
        _dropsNulls = dropsNulls;
        bool parsed = TryParseText(text, output, arena, names, depth);
        _dropsNulls = false;
        return parsed;
    }

    // Functions that parse get where they begin and return where the text goes on; null: it is not valid.
    private bool TryParseText(ReadOnlySpan<byte> text, NativeBuffer output, Arena arena, JsonNames names, int depth)
    {
        (_output, _arena, _names, _error) = (output, arena, names, default);
        MayRefer = false;
        _floatsOfNumbers = JsonFloats.Any;
        _members.Clear();
        int start = output.Length;
        fixed (byte* first = text)
        {
            _text = first;
            _end = first + text.Length;
            byte* at = Utf8.IsValid(text) ? ParseValue(first, depth) : Fail("invalid unicode code point", first);
            if (at == null) return false;
            at = SkipSpace(at);
            if (at == _end) return true;
            FreeFrom(start, isObject: false);
            Fail("trailing characters", at);
            return false;
        }
    }

    // Appends a value; if it fails, nothing.
    private byte* ParseValue(byte* at, int depth)
    {
        at = SkipSpace(at);
        if (at == _end) return Fail("EOF while parsing a value", at);
        switch (*at)
        {
            case (byte)'"':
                byte* close = FindQuote(++at);
                if (close != null)
                {
                    AppendString(at, (int)(close - at));
                    return close + 1;
                }

                at = ParseEscaped(at);
                if (at == null) return null;
                fixed (byte* text = _unescaped.Written) AppendString(text, _unescaped.Length);
                return at;
            case (byte)'{' or (byte)'[':
                if (depth >= DepthMax) return Fail("recursion limit exceeded", at);
                if (depth % DepthUnchecked == 0) RuntimeHelpers.EnsureSufficientExecutionStack();
                return ParseContainer(at + 1, isObject: *at == '{', depth + 1);
            case (byte)'t':
                return ParseWord(at, "true"u8, JsonTag.True);
            case (byte)'f':
                return ParseWord(at, "false"u8, JsonTag.False);
            case (byte)'n':
                return ParseWord(at, "null"u8, JsonTag.Null);
            case (byte)'-' or (>= (byte)'0' and <= (byte)'9'):
                return ParseNumber(at);
            default:
                return Fail("expected value", at);
        }
    }

    private byte* ParseContainer(byte* at, bool isObject, int depth)
    {
        var container = new Container { IsObject = isObject, Depth = depth, Start = _output.Length };
        if (isObject) container.Ordinal = _objects++;
        _output.Room(HeadBytes);
        _output.Advance(HeadBytes);
        bool dropsNulls = _dropsNulls;
        _dropsNulls &= isObject; // what an array has is a value as a whole
        if (_floats != JsonFloats.Any && !isObject && HasOnlyNumbers(at)) _floatsOfNumbers = _floats;
        at = ParseItems(at, ref container);
        _floatsOfNumbers = JsonFloats.Any;
        _dropsNulls = dropsNulls;
        if (at != null)
        {
            Close(ref container);
            return at;
        }

        FreeFrom(container.Start + HeadBytes, isObject);
        _output.Truncate(container.Start);
        if (container.Block == null) return null;
        byte* reference = stackalloc byte[JsonTag.ReferenceBytes];
        JsonTag.SetBlock(reference, container.Block);
        JsonReferences.FreeAll(_arena, reference);
        return null;
    }

    private byte* ParseItems(byte* at, ref Container container)
    {
        bool isObject = container.IsObject;
        byte close = isObject ? (byte)'}' : (byte)']';
        for (bool isFirst = true; ; isFirst = false)
        {
            at = SkipSpace(at);
            if (at == _end) return Fail(isObject ? "EOF while parsing an object" : "EOF while parsing a list", at);
            if (*at == close) return at + 1;
            if (!isFirst)
            {
                if (*at != ',') return Fail(isObject ? "expected `,` or `}`" : "expected `,` or `]`", at);
                at = SkipSpace(at + 1);
                if (at == _end) return Fail("EOF while parsing a value", at);
                if (*at == close) return Fail("trailing comma", at);
            }

            int item = _output.Length;
            at = isObject ? ParseMember(at, item, ref container) : ParseValue(at, container.Depth);
            if (at == null)
            {
                _output.Truncate(item);
                return null;
            }

            if (!isObject) container.Pending++;
            if (_output.Length - container.Start - HeadBytes > JsonBlock.ChunkBytes) Flush(ref container);
        }
    }

    private byte* ParseMember(byte* at, int item, ref Container container)
    {
        if (*at != '"') return Fail("key must be a string", at);
        at++;
        bool isKnown = false;
        byte* behind = _repeats ? RepeatName(at, ref container) : null;
        if (behind != null)
        {
            at = behind;
        }
        else
        {
            if (_repeats) EndRepeating();
            byte* close = FindQuote(at);
            if (close != null)
            {
                isKnown = AppendName(at, (int)(close - at), item, ref container);
                at = close + 1;
            }
            else
            {
                at = ParseEscaped(at);
                if (at == null) return null;
                Sequence.Forget();
                fixed (byte* name = _unescaped.Written) isKnown = AppendName(name, _unescaped.Length, item, ref container);
            }
        }

        at = SkipSpace(at);
        if (at == _end) return Fail("EOF while parsing an object", at);
        if (*at != ':') return Fail("expected `:`", at);
        int value = _output.Length;
        at = ParseValue(at + 1, container.Depth);
        if (at == null) return null;
        if (_dropsNulls && _output.Start[value] == JsonTag.Null) _output.Truncate(item);
        else if (!isKnown || !ReplaceEarlier(item, value, ref container)) container.Pending++;
        else Sequence.Forget();
        return at;
    }

    // Appends the name that the last document had here, which no other member of the object has. Returns what is behind it; null: it is another one.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private byte* RepeatName(byte* at, ref Container container)
    {
        if (container.ListsNames || !Sequence.TryRepeat(at, _end, container.Ordinal, out JsonNameSequence.Name name)) return null;
        _output.Room(1 + ShortCopyMax);
        byte* target = _output.Start + _output.Length;
        if (name.Code != 0)
        {
            *target = name.Code;
            _output.Advance(1);
        }
        else
        {
            *target = name.Length;
            name.Store(target + 1);
            _output.Advance(1 + name.Length);
        }

        container.NameBits = ulong.MaxValue; // its hash is not known
        return at + name.Length + 1;
    }

    // The document has other names than the last one: the table gets those that it has had.
    private void EndRepeating()
    {
        _repeats = false;
        _table.Clear();
        byte* text = stackalloc byte[ShortCopyMax];
        foreach (JsonNameSequence.Name name in Sequence.EndRepeating())
        {
            name.Store(text);
            _table.Number(text, name.Length, JsonMembers.Hash(text, name.Length), out _);
        }
    }

    // Appends a member's name. Returns whether the object may have it already.
    private bool AppendName(byte* name, int length, int item, ref Container container)
    {
        ulong hash = JsonMembers.Hash(name, length);
        bool isNew = false;
        int shared = _collects ? _table.Number(name, length, hash, out isNew) : _names.Find(new ReadOnlySpan<byte>(name, length));
        if (_collects) Sequence.Record(name, length, container.Ordinal, (byte)(shared >= 0 ? JsonTag.SharedName + shared : 0));
        if (shared >= 0)
        {
            _output.Room(1)[0] = (byte)(JsonTag.SharedName + shared);
            _output.Advance(1);
        }
        else if (IsShort(name, length))
        {
            AppendShort((byte)length, name, length);
        }
        else
        {
            JsonStrings.AppendName(_output, new ReadOnlySpan<byte>(name, length));
        }

        if (!isNew || container.ListsNames) return IsKnown(name, length, hash, item, ref container);
        container.NameBits |= BitOf(hash);
        return false;
    }

    private bool IsKnown(byte* name, int length, ulong hash, int item, ref Container container)
    {
        if (!container.ListsNames)
        {
            byte* items = _output.Start + container.Start + HeadBytes, end = _output.Start + item;
            if (end - items <= ScannedBytesMax)
            {
                ulong bit = BitOf(hash);
                bool mayBeKnown = (container.NameBits & bit) != 0;
                container.NameBits |= bit;
                return mayBeKnown && Earlier(items, end, new ReadOnlySpan<byte>(name, length)) != null;
            }

            ListNames(items, end, ref container);
        }

        return _members.Add(container.Number, hash);
    }

    private static ulong BitOf(ulong hash) => 1UL << (int)(hash >> 58);

    // The last value of a name counts, at the place of the first one. The item that was appended last goes.
    private bool ReplaceEarlier(int item, int value, ref Container container)
    {
        ReadOnlySpan<byte> name = NameAt(_output.Start + item);
        int length = _output.Length - value;
        byte* found = Earlier(_output.Start + container.Start + HeadBytes, _output.Start + item, name);
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

        JsonBlock* block = container.Block;
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
            _output.Truncate(item);
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

    private void AppendString(byte* text, int length)
    {
        if (IsShort(text, length))
        {
            AppendShort((byte)(JsonTag.ShortString + length), text, length);
            return;
        }

        MayRefer |= length > JsonTag.InlineStringMax;
        JsonStrings.Append(_output, _arena, new ReadOnlySpan<byte>(text, length));
    }

    // What had escapes is not in the text.
    private bool IsShort(byte* text, int length) => length <= ShortCopyMax && text >= _text && _end - text >= ShortCopyMax;

    // Appends a byte and a short text, of which more may be read and written than it has.
    private void AppendShort(byte head, byte* text, int length)
    {
        _output.Room(1 + ShortCopyMax);
        byte* target = _output.Start + _output.Length;
        *target = head;
        Vector128.Store(Vector128.Load(text), target + 1);
        Vector128.Store(Vector128.Load(text + Vector128<byte>.Count), target + 1 + Vector128<byte>.Count);
        _output.Advance(1 + length);
    }

    // What a full chunk's items become.
    private void Flush(ref Container container)
    {
        if (container.Pending == 0) return;
        byte* items = _output.Start + container.Start + HeadBytes, end = _output.Start + _output.Length;
        if (container.Block == null)
        {
            container.Block = JsonBlock.CreateContainer(_arena, container.IsObject);
            if (container.IsObject && !container.ListsNames) ListNames(items, end, ref container);
        }

        JsonBlock.AddChunk(ref container.Block, _arena, new ReadOnlySpan<byte>(items, (int)(end - items)), container.Pending, MayRefer);
        container.Pending = 0;
        _output.Truncate(container.Start + HeadBytes);
    }

    private void ListNames(byte* items, byte* end, ref Container container)
    {
        container.ListsNames = true;
        container.Number = _members.BeginObject();
        for (; items < end; items += JsonTag.Bytes(items))
        {
            ReadOnlySpan<byte> name = NameAt(items);
            fixed (byte* text = name) _members.Add(container.Number, JsonMembers.Hash(text, name.Length));
            items += JsonTag.NameBytes(items);
        }
    }

    // The head of a container whose items are there, or the reference to its chunks.
    private void Close(ref Container container)
    {
        int bytes = _output.Length - container.Start - HeadBytes;
        if (container.Block == null && bytes <= JsonBlock.PackedBytesMax)
        {
            JsonStrings.CloseContainer(_output, container.Start, container.IsObject);
            return;
        }

        Flush(ref container);
        JsonBlock.Resize(ref container.Block, _arena, container.Block->Chunks);
        _output.Truncate(container.Start);
        JsonStrings.AppendReference(_output, container.Block);
        MayRefer = true;
    }

    private void FreeFrom(int start, bool isObject)
    {
        JsonReferences.FreeAll(_arena, _output.Start + start, _output.Start + _output.Length, isObject);
        _output.Truncate(start);
    }

    // A container that is being parsed.
    private struct Container
    {
        internal bool IsObject;
        internal bool ListsNames; // in the members' table
        internal int Depth;
        internal int Ordinal;     // among the objects of the text
        internal int Start;       // where its head is in the output
        internal uint Pending;    // items that are in no chunk yet
        internal JsonBlock* Block;
        internal ulong NameBits;  // a bit of the hash of each name, until they are listed
        internal ulong Number;    // in the members' table
    }
}
