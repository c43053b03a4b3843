using System.Buffers.Text;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text.Json;
using RedKite.Json.Store;
using RedKite.Store.Memory;

namespace RedKite.Microbenchmarks.Documents;

/// <summary>
/// A tape as simdjson's: a word of 8 bytes for each name and value, with a second one for a number, and the strings in a buffer of their own. A word is a kind and
/// what belongs to it: the words of a container, or where a string is.
/// </summary>
/// <remarks>A longer string goes to the end of the buffer, which is written anew when it is full. Another number of words moves those behind it.</remarks>
internal sealed unsafe class TapeForm : DocumentForm
{
    private const int KindShift = 56;
    private const ulong PayloadMask = (1UL << KindShift) - 1;
    private const int SpareDivisor = 8;

    private readonly SlabSource _source = new();
    private readonly Arena _arena;
    private readonly NativeBuffer _words = new();   // of what is being parsed
    private readonly NativeBuffer _strings = new();
    private readonly List<int> _open = [];
    private ulong* _tape;
    private int _count;
    private byte* _texts;
    private int _textBytes;
    private int _textCapacity;

    internal TapeForm() => _arena = new Arena(_source);

    internal override string Name => "tape";

    internal override long Bytes => BlockSize.RoundUp(TapeBytes) + BlockSize.RoundUp(_textCapacity);

    private long TapeBytes => _count * (long)sizeof(ulong);

    public override void Dispose()
    {
        _arena.Dispose();
        _source.Dispose();
        _words.Dispose();
        _strings.Dispose();
        base.Dispose();
    }

    internal override void Load(byte[] text)
    {
        Parse(text);
        if (_tape != null)
        {
            _arena.Free((byte*)_tape, TapeBytes);
            _arena.Free(_texts, _textCapacity);
        }

        _count = _words.Length / sizeof(ulong);
        _tape = (ulong*)_arena.Allocate(TapeBytes);
        _words.Written.CopyTo(new Span<byte>(_tape, _words.Length));
        _textBytes = _textCapacity = _strings.Length;
        _texts = _arena.Allocate(_textCapacity);
        _strings.Written.CopyTo(new Span<byte>(_texts, _textBytes));
    }

    internal override void Get(byte[][] path, NativeBuffer output) => Write(Find(path), output);

    internal override void Set(byte[][] path, byte[] text)
    {
        int at = Find(path);
        Parse(text);
        int words = _words.Length / sizeof(ulong), old = WordsOf(at), longer = words - old;
        bool isString = KindOf(_tape[at]) == '"' && _strings.Length > 0 && words == 1;
        if (isString && StringAt(at).Length >= _strings.Length - sizeof(int))
        {
            _strings.Written.CopyTo(new Span<byte>(_texts + (_tape[at] & PayloadMask), _strings.Length));
            return;
        }

        if (longer > 0) _tape = (ulong*)_arena.Reallocate((byte*)_tape, TapeBytes, TapeBytes + (longer * sizeof(ulong)));
        if (longer != 0)
        {
            long behind = (_count - at - old) * (long)sizeof(ulong);
            Buffer.MemoryCopy(_tape + at + old, _tape + at + words, behind, behind);
            foreach (int container in _open) _tape[container] += (ulong)(long)longer;
        }

        if (longer < 0) _tape = (ulong*)_arena.Reallocate((byte*)_tape, TapeBytes, TapeBytes + (longer * sizeof(ulong)));
        _count += longer;
        new ReadOnlySpan<ulong>(_words.Start, words).CopyTo(new Span<ulong>(_tape + at, words));
        if (_textBytes + _strings.Length > _textCapacity) Compact(at, words);
        _strings.Written.CopyTo(new Span<byte>(_texts + _textBytes, _strings.Length));
        for (int i = at; i < at + words; i += HasSecondWord(_tape[i]) ? 2 : 1)
        {
            if (KindOf(_tape[i]) == '"') _tape[i] += (ulong)_textBytes;
        }

        _textBytes += _strings.Length;
    }

    // All strings but those of some new words, with room for more.
    private void Compact(int added, int words)
    {
        long live = 0;
        for (int i = 0; i < _count; i += HasSecondWord(_tape[i]) ? 2 : 1)
        {
            if (KindOf(_tape[i]) == '"' && (i < added || i >= added + words)) live += sizeof(int) + StringAt(i).Length;
        }

        int capacity = (int)(live + _strings.Length + (live / SpareDivisor)), end = 0;
        byte* texts = _arena.Allocate(capacity);
        for (int i = 0; i < _count; i += HasSecondWord(_tape[i]) ? 2 : 1)
        {
            if (KindOf(_tape[i]) != '"' || (i >= added && i < added + words)) continue;
            int bytes = sizeof(int) + StringAt(i).Length;
            Buffer.MemoryCopy(_texts + (_tape[i] & PayloadMask), texts + end, bytes, bytes);
            _tape[i] = WordOf('"', (ulong)end);
            end += bytes;
        }

        _arena.Free(_texts, _textCapacity);
        _texts = texts;
        (_textBytes, _textCapacity) = (end, capacity);
    }

    private int Find(byte[][] path)
    {
        int at = 0;
        _open.Clear();
        foreach (byte[] name in path)
        {
            _open.Add(at++);
            while (!StringAt(at).SequenceEqual(name)) at += 1 + WordsOf(at + 1);
            at++;
        }

        return at;
    }

    private ReadOnlySpan<byte> StringAt(int at)
    {
        byte* text = _texts + (_tape[at] & PayloadMask);
        return new ReadOnlySpan<byte>(text + sizeof(int), *(int*)text);
    }

    private int WordsOf(int at) => KindOf(_tape[at]) is '{' or '[' ? (int)(_tape[at] & PayloadMask) : HasSecondWord(_tape[at]) ? 2 : 1;

    private static char KindOf(ulong word) => (char)(word >> KindShift);

    private static bool HasSecondWord(ulong word) => KindOf(word) is 'l' or 'd';

    private static ulong WordOf(char kind, ulong payload) => ((ulong)kind << KindShift) | payload;

    private void Write(int at, NativeBuffer output)
    {
        switch (KindOf(_tape[at]))
        {
            case 'n':
                output.Write("null"u8);
                return;
            case 't':
                output.Write("true"u8);
                return;
            case 'f':
                output.Write("false"u8);
                return;
            case 'l':
                Utf8Formatter.TryFormat((long)_tape[at + 1], output.Room(JsonNumber.TextMax), out int digits);
                output.Advance(digits);
                return;
            case 'd':
                BitConverter.UInt64BitsToDouble(_tape[at + 1]).TryFormat(output.Room(JsonNumber.TextMax), out int length, default, CultureInfo.InvariantCulture);
                output.Advance(length);
                return;
            case '"':
                JsonTextWriter.WriteString(output, StringAt(at));
                return;
        }

        bool isObject = KindOf(_tape[at]) == '{';
        output.Write(isObject ? "{"u8 : "["u8);
        for (int item = at + 1, end = at + WordsOf(at); item < end; item += WordsOf(item))
        {
            if (item > at + 1) output.Write(","u8);
            if (isObject)
            {
                JsonTextWriter.WriteString(output, StringAt(item++));
                output.Write(":"u8);
            }

            Write(item, output);
        }

        output.Write(isObject ? "}"u8 : "]"u8);
    }

    private void Parse(byte[] text)
    {
        _words.Clear();
        _strings.Clear();
        var reader = new Utf8JsonReader(text);
        var containers = new Stack<int>();
        while (reader.Read())
        {
            switch (reader.TokenType)
            {
                case JsonTokenType.StartObject or JsonTokenType.StartArray:
                    containers.Push(_words.Length);
                    Add(WordOf(reader.TokenType == JsonTokenType.StartObject ? '{' : '[', 0));
                    break;
                case JsonTokenType.EndObject or JsonTokenType.EndArray:
                    int start = containers.Pop();
                    *(ulong*)(_words.Start + start) |= (uint)((_words.Length - start) / sizeof(ulong));
                    break;
                case JsonTokenType.PropertyName or JsonTokenType.String:
                    Add(WordOf('"', (ulong)_strings.Length));
                    int length = reader.CopyString(_strings.Room(sizeof(int) + reader.ValueSpan.Length)[sizeof(int)..]);
                    MemoryMarshal.Write(_strings.Room(sizeof(int)), length);
                    _strings.Advance(sizeof(int) + length);
                    break;
                case JsonTokenType.Number when reader.TryGetInt64(out long integer):
                    Add(WordOf('l', 0));
                    Add((ulong)integer);
                    break;
                case JsonTokenType.Number:
                    Add(WordOf('d', 0));
                    Add(BitConverter.DoubleToUInt64Bits(reader.GetDouble()));
                    break;
                default:
                    Add(WordOf(reader.TokenType switch { JsonTokenType.True => 't', JsonTokenType.False => 'f', _ => 'n' }, 0));
                    break;
            }
        }
    }

    private void Add(ulong word)
    {
        MemoryMarshal.Write(_words.Room(sizeof(ulong)), word);
        _words.Advance(sizeof(ulong));
    }
}
