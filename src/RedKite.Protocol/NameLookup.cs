using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace RedKite.Protocol;

/// <summary>
/// Values by a name in any case, as <see cref="StringComparer.OrdinalIgnoreCase"/> compares: commands, settings,
/// routes. Looked up by characters or by UTF-8, by any number of threads, without a lock, while others add and remove.
/// </summary>
/// <remarks>
/// <para>Two levels. The first compares memory: a slot keeps the name's words in lower case, and beside each word a mask
/// with bit 5 of every byte that is a letter. A spelling is the name's when its words, with the mask set, are the slot's:
/// one OR makes the comparison ignore case and nothing else. So one slot serves every casing of an ASCII name, the first occurrence
/// of a casing costs the same as later ones, and no casing takes memory. The second level, out of line, is for names beyond ASCII:
/// see <see cref="UnicodeNames{TValue}"/>, which learns spellings within a bound. No ASCII name equals a spelling that is not
/// ASCII, nor vice versa.</para>
/// <para>Rejected: an exact level that learns each casing of each name. Callers with different habits fill it with several times
/// the number of names, and then it misses the cache where one slot per name does not.</para>
/// <para>A slot is written once: its words and value, then its state, which publishes them. Removing sets the state alone,
/// and slots are reused only in a new array. So a reader that began after a removal ended never sees the value, and
/// one that overlaps it sees the value whole or not at all. A removed value is kept from the collector until the array is
/// exchanged, which is at the latest when a quarter of it was removed.</para>
/// <para>A slot has 56 bytes with a reference as its value: at 500,000 names, about 120 bytes a name.</para>
/// </remarks>
internal sealed class NameLookup<TValue>
{
    /// <summary>The longest name, in characters.</summary>
    public const int NameLengthMax = 256;

    private const ulong LowerCase = 0x2020202020202020;
    private const int CapacityMin = 64;
    private const int InTwoWordsMax = 16;

    // Small tables are kept sparse: a name outside its own slot costs a call, an empty slot costs next to nothing.
    private const int SparseCapacityMax = 16 * 1024;

    private const int Empty = 0;
    private const int Removed = -1;

    private readonly Lock _writing = new();
    private volatile Slot[] _slots = new Slot[CapacityMin];
    private volatile UnicodeNames<TValue>? _unicode;
    private int _live;
    private int _removed;

    /// <summary>The number of names.</summary>
    public int Count
    {
        get
        {
            lock (_writing) return _live + (_unicode?.Count ?? 0);
        }
    }

    /// <summary>Finds a name's value.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryGetValue(ReadOnlySpan<byte> utf8Name, [MaybeNullWhen(false)] out TValue value)
    {
        var text = new Utf8NameText(utf8Name);
        ref Slot slot = ref FirstSlot(text, out ulong first, out ulong last);
        if (utf8Name.Length > InTwoWordsMax || !slot.Is(utf8Name.Length, first, last)) return TryGetValueSlow(utf8Name, out value);
        value = slot.Value;
        return true;
    }

    /// <inheritdoc cref="TryGetValue(ReadOnlySpan{byte}, out TValue)"/>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryGetValue(ReadOnlySpan<char> name, [MaybeNullWhen(false)] out TValue value)
    {
        var text = new Utf16NameText(name);
        ref Slot slot = ref FirstSlot(text, out ulong first, out ulong last);
        if (name.Length > InTwoWordsMax || !slot.Is(name.Length, first, last)) return TryGetValueSlow(name, out value);
        value = slot.Value;
        return true;
    }

    /// <summary>Adds a name.</summary>
    /// <returns>False if it exists already, in any case.</returns>
    /// <exception cref="ArgumentException">The name is longer than <see cref="NameLengthMax"/>.</exception>
    public bool TryAdd(string name, TValue value) => Write(name, value, replace: false);

    /// <summary>Adds a name, or replaces its value. A concurrent reader sees one of the two values.</summary>
    /// <exception cref="ArgumentException">The name is longer than <see cref="NameLengthMax"/>.</exception>
    public void Set(string name, TValue value) => Write(name, value, replace: true);

    /// <summary>Removes a name. Lookups that begin after this has returned do not find it.</summary>
    /// <returns>False when there is none.</returns>
    public bool TryRemove(string name)
    {
        ArgumentNullException.ThrowIfNull(name);
        lock (_writing)
        {
            if (!Ascii.IsValid(name)) return _unicode is { } unicode && unicode.TryRemove(name);
            ref Slot slot = ref FindSlot(_slots, new Utf16NameText(name));
            if (Unsafe.IsNullRef(ref slot)) return false;
            Remove(ref slot);
            _live--;
            if (_removed * 4 >= _slots.Length) Exchange(_live);
            return true;
        }
    }

    private bool Write(string name, TValue value, bool replace)
    {
        ArgumentNullException.ThrowIfNull(name);
        if (name.Length > NameLengthMax) throw new ArgumentException($"A name has at most {NameLengthMax} characters.", nameof(name));
        lock (_writing)
        {
            if (!Ascii.IsValid(name)) return (_unicode ??= new UnicodeNames<TValue>()).Write(name, value, replace);
            ref Slot old = ref FindSlot(_slots, new Utf16NameText(name));
            bool exists = !Unsafe.IsNullRef(ref old);
            if (exists && !replace) return false;
            if (IsFull(_slots.Length, _live + _removed + 1))
            {
                Exchange(_live + 1);
                if (exists) old = ref FindSlot(_slots, new Utf16NameText(name));
            }

            // The new slot lies behind the old one on the readers' way, and is there before the old one goes.
            Insert(_slots, Slot.Of(name, value), name.Length + 1);
            if (exists) Remove(ref old);
            else _live++;
            return true;
        }
    }

    private void Remove(ref Slot slot)
    {
        Volatile.Write(ref slot.State, Removed);
        _removed++;
    }

    // Into an array of the right size, without what was removed. Readers of the old one still find what they need there.
    private void Exchange(int names)
    {
        int capacity = CapacityMin;
        while (IsFull(capacity, names)) capacity *= 2;
        var slots = new Slot[capacity];
        foreach (ref Slot slot in _slots.AsSpan())
        {
            if (slot.State > 0) Insert(slots, slot, slot.State);
        }

        _removed = 0;
        _slots = slots;
    }

    private static bool IsFull(int capacity, int names) => names > (capacity <= SparseCapacityMax ? capacity / 4 : capacity / 2);

    private static void Insert(Slot[] slots, in Slot source, int state)
    {
        ulong hash = source.Hash(state - 1);
        int index = (int)hash & (slots.Length - 1);
        while (slots[index].State != Empty) index = (index + 1) & (slots.Length - 1);
        ref Slot slot = ref slots[index];
        slot = source with { State = Empty };
        Volatile.Write(ref slot.State, state);
    }

    // The slot of a name of up to two words, unless another name occupies it.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ref Slot FirstSlot<TText>(TText text, out ulong first, out ulong last)
        where TText : struct, INameText, allows ref struct
    {
        ReadWords(text, out first, out last);
        Slot[] slots = _slots;
        ulong index = HashOfEnds(first, last, text.Length) & (ulong)(slots.Length - 1);
        return ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(slots), (nint)index);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryGetValueSlow(ReadOnlySpan<byte> utf8Name, [MaybeNullWhen(false)] out TValue value)
    {
        ref Slot slot = ref FindSlot(_slots, new Utf8NameText(utf8Name));
        if (Unsafe.IsNullRef(ref slot))
        {
            value = default;
            return _unicode is { } unicode && !Ascii.IsValid(utf8Name) && unicode.TryGetValue(utf8Name, out value);
        }

        value = slot.Value;
        return true;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryGetValueSlow(ReadOnlySpan<char> name, [MaybeNullWhen(false)] out TValue value)
    {
        ref Slot slot = ref FindSlot(_slots, new Utf16NameText(name));
        if (Unsafe.IsNullRef(ref slot))
        {
            value = default;
            return _unicode is { } unicode && !Ascii.IsValid(name) && unicode.TryGetValue(name, out value);
        }

        value = slot.Value;
        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ref Slot FindSlot<TText>(Slot[] slots, TText text)
        where TText : struct, INameText, allows ref struct
    {
        int length = text.Length;
        if (length > NameLengthMax) return ref Unsafe.NullRef<Slot>();
        ReadWords(text, out ulong first, out ulong last);
        ulong hash = HashOfEnds(first, last, length);
        for (int start = 8; start < length - 8; start += 8) hash = AddToHash(hash, text.Word(start));
        int index = (int)hash & (slots.Length - 1);
        while (true)
        {
            ref Slot slot = ref slots[index];
            if (Volatile.Read(ref slot.State) == Empty) return ref Unsafe.NullRef<Slot>();
            if (slot.Is(length, first, last) && (length <= InTwoWordsMax || slot.HasMiddleOf(text))) return ref slot;
            index = (index + 1) & (slots.Length - 1);
        }
    }

    // The first and the last eight letters, which overlap in a name of fewer than sixteen.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void ReadWords<TText>(TText text, out ulong first, out ulong last)
        where TText : struct, INameText, allows ref struct
    {
        int length = text.Length;
        if (length >= 8)
        {
            first = text.Word(0);
            last = text.Word(length - 8);
            return;
        }

        last = 0;
        if (length >= 4) first = text.Ends();
        else if (length == 0) first = 0;
        else first = text.Letter(0) | (text.Letter(length >> 1) << 8) | (text.Letter(length - 1) << 16);
    }

    // Bit 5 is left out for every byte, letter or not: the comparison distinguishes what collides.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong HashOfEnds(ulong first, ulong last, int length)
    {
        ulong high = Math.BigMul((first | LowerCase) ^ 0x9E3779B97F4A7C15, (last | LowerCase) ^ 0xD6E8FEB86659FD93 ^ (ulong)length, out ulong low);
        return high ^ low;
    }

    private static ulong AddToHash(ulong hash, ulong word)
    {
        ulong high = Math.BigMul(hash ^ (word | LowerCase), 0xC2B2AE3D27D4EB4F, out ulong low);
        return high ^ low;
    }

    private struct Slot
    {
        public ulong First;
        public ulong Last;
        public ulong FirstLetters; // bit 5 of each byte of First that is a letter
        public ulong LastLetters;
        public int State; // 0: empty; the name's length and one; -1: removed
        public ulong[]? Middle; // of a name longer than two words: a mask and a word, for every eight letters between the ends
        public TValue Value;

        internal static Slot Of(string name, TValue value)
        {
            var text = new Utf16NameText(name);
            var slot = new Slot { Value = value };
            ReadWords(text, out ulong first, out ulong last);
            (slot.FirstLetters, slot.First) = Folded(first);
            (slot.LastLetters, slot.Last) = Folded(last);
            if (name.Length <= InTwoWordsMax) return slot;
            slot.Middle = new ulong[(name.Length - InTwoWordsMax + 7) / 8 * 2];
            for (int start = 8, i = 0; start < name.Length - 8; start += 8, i += 2)
            {
                (slot.Middle[i], slot.Middle[i + 1]) = Folded(text.Word(start));
            }

            return slot;
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        internal bool Is(int length, ulong first, ulong last) =>
            Volatile.Read(ref State) == length + 1 && (((first | FirstLetters) ^ First) | ((last | LastLetters) ^ Last)) == 0;

        internal readonly bool HasMiddleOf<TText>(TText text)
            where TText : struct, INameText, allows ref struct
        {
            ulong[] middle = Middle!;
            ulong difference = 0;
            for (int i = 0; i < middle.Length; i += 2) difference |= (text.Word(8 + (i * 4)) | middle[i]) ^ middle[i + 1];
            return difference == 0;
        }

        internal readonly ulong Hash(int length)
        {
            ulong hash = HashOfEnds(First, Last, length);
            for (int i = 1; i < (Middle?.Length ?? 0); i += 2) hash = AddToHash(hash, Middle![i]);
            return hash;
        }

        private static (ulong Letters, ulong Word) Folded(ulong word)
        {
            ulong letters = 0;
            for (int shift = 0; shift < 64; shift += 8)
            {
                if (char.IsAsciiLetter((char)(byte)(word >> shift))) letters |= 0x20UL << shift;
            }

            return (letters, word | letters);
        }
    }
}
