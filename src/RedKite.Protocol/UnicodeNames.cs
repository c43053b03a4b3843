using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace RedKite.Protocol;

/// <summary>
/// The names of a <see cref="NameLookup{TValue}"/> that are not ASCII: a dictionary that ignores case, and in front of it
/// the spellings that callers use, by their exact bytes. Reads take no lock; writes come one at a time from the lookup.
/// </summary>
/// <remarks>
/// A spelling is stored when it misses twice in a row at its slot, so that spellings used once allocate nothing. The number of
/// slots is fixed; a new spelling replaces the previous one of its slot. It refers to an entry, which records whether its name
/// was removed.
/// </remarks>
internal sealed class UnicodeNames<TValue>
{
    private const int SpellingsMax = 4096;
    private const int Utf8LengthMax = 3 * NameLookup<TValue>.NameLengthMax;

    private readonly ConcurrentDictionary<string, Entry> _names = new(StringComparer.OrdinalIgnoreCase);
    private readonly ConcurrentDictionary<string, Entry>.AlternateLookup<ReadOnlySpan<char>> _namesBySpan;
    private readonly Spelling?[] _spellings = new Spelling?[SpellingsMax];
    private readonly uint[] _missed = new uint[SpellingsMax];

    internal UnicodeNames() => _namesBySpan = _names.GetAlternateLookup<ReadOnlySpan<char>>();

    internal int Count => _names.Count;

    /// <summary>The number of known spellings. For tests.</summary>
    internal int SpellingCount => SpellingsMax - _spellings.AsSpan().Count((Spelling?)null);

    internal bool TryGetValue(ReadOnlySpan<byte> utf8Name, [MaybeNullWhen(false)] out TValue value)
    {
        value = default;
        if (utf8Name.Length > Utf8LengthMax) return false;
        ulong hash = Hash(utf8Name, Encoding.UTF8.CodePage);
        if (TryGetSpelling(utf8Name, isUtf16: false, hash, out value)) return true;
        return TryGetDecoded(utf8Name, hash, out value);
    }

    internal bool TryGetValue(ReadOnlySpan<char> name, [MaybeNullWhen(false)] out TValue value)
    {
        value = default;
        if (name.Length > NameLookup<TValue>.NameLengthMax) return false;
        ReadOnlySpan<byte> bytes = MemoryMarshal.AsBytes(name);
        ulong hash = Hash(bytes, Encoding.Unicode.CodePage);
        return TryGetSpelling(bytes, isUtf16: true, hash, out value) || TryGetAndLearn(name, bytes, isUtf16: true, hash, out value);
    }

    internal bool Write(string name, TValue value, bool replace)
    {
        var entry = new Entry(value);
        if (_names.TryAdd(name, entry)) return true;
        if (!replace) return false;
        Entry old = _names[name];
        _names[name] = entry;
        old.IsRemoved = true;
        return true;
    }

    internal bool TryRemove(string name)
    {
        if (!_names.TryRemove(name, out Entry? entry)) return false;
        entry.IsRemoved = true;
        return true;
    }

    private bool TryGetSpelling(ReadOnlySpan<byte> bytes, bool isUtf16, ulong hash, [MaybeNullWhen(false)] out TValue value)
    {
        value = default;
        if (Volatile.Read(ref _spellings[Place(hash)]) is not { } known || !known.Is(bytes, isUtf16)) return false;

        // A name that was removed for good does not keep its value alive here.
        if (known.Entry.IsRemoved)
        {
            Interlocked.CompareExchange(ref _spellings[Place(hash)], null, known);
            return false;
        }

        value = known.Entry.Value;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)] // The buffer on the stack is not a known spelling's to pay for.
    private bool TryGetDecoded(ReadOnlySpan<byte> utf8Name, ulong hash, [MaybeNullWhen(false)] out TValue value)
    {
        Span<char> characters = stackalloc char[Utf8LengthMax];
        int length = Encoding.UTF8.GetChars(utf8Name, characters);
        return TryGetAndLearn(characters[..length], utf8Name, isUtf16: false, hash, out value);
    }

    private bool TryGetAndLearn(ReadOnlySpan<char> name, ReadOnlySpan<byte> bytes, bool isUtf16, ulong hash, [MaybeNullWhen(false)] out TValue value)
    {
        value = default;
        if (!_namesBySpan.TryGetValue(name, out Entry? entry)) return false;
        value = entry.Value;
        int place = Place(hash);
        var mark = (uint)(hash >> 32);
        if (_missed[place] == mark) Volatile.Write(ref _spellings[place], new Spelling(bytes.ToArray(), isUtf16, entry));
        else _missed[place] = mark;
        return true;
    }

    private static int Place(ulong hash) => (int)hash & (SpellingsMax - 1);

    private static ulong Hash(ReadOnlySpan<byte> bytes, int seed)
    {
        ulong hash = (ulong)seed ^ 0x9E3779B97F4A7C15;
        while (bytes.Length >= 8)
        {
            hash = Mixed(hash ^ MemoryMarshal.Read<ulong>(bytes));
            bytes = bytes[8..];
        }

        ulong rest = (ulong)bytes.Length << 56;
        for (int i = 0; i < bytes.Length; i++) rest |= (ulong)bytes[i] << (8 * i);
        return Mixed(hash ^ rest);
    }

    private static ulong Mixed(ulong hash)
    {
        ulong high = Math.BigMul(hash, 0xC2B2AE3D27D4EB4F, out ulong low);
        return high ^ low;
    }

    private sealed class Entry(TValue value)
    {
        private volatile bool _isRemoved;

        internal TValue Value { get; } = value;

        internal bool IsRemoved
        {
            get => _isRemoved;
            set => _isRemoved = value;
        }
    }

    private sealed class Spelling(byte[] bytes, bool isUtf16, Entry entry)
    {
        internal Entry Entry { get; } = entry;

        internal bool Is(ReadOnlySpan<byte> spelling, bool spellingIsUtf16) => spellingIsUtf16 == isUtf16 && spelling.SequenceEqual(bytes);
    }
}
