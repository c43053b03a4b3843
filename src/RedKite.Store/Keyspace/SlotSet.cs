using System.Numerics;

namespace RedKite.Store.Keyspace;

/// <summary>A set of slots. Immutable.</summary>
internal sealed class SlotSet
{
    internal static readonly SlotSet Empty = new(new ulong[KeySlot.Count / WordBits]);

    private const int WordBits = 64;

    private readonly ulong[] _words;

    private SlotSet(ulong[] words)
    {
        _words = words;
        foreach (ulong word in words) Count += BitOperations.PopCount(word);
    }

    internal int Count { get; }

    internal bool IsEmpty => Count == 0;

    internal static SlotSet Of(Func<int, bool> contains)
    {
        ulong[] words = new ulong[KeySlot.Count / WordBits];
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            if (contains(slot)) words[slot / WordBits] |= 1UL << (slot % WordBits);
        }

        return new SlotSet(words);
    }

    internal static SlotSet Of(IEnumerable<SlotRange> ranges)
    {
        ulong[] words = new ulong[KeySlot.Count / WordBits];
        foreach (SlotRange range in ranges)
        {
            for (int slot = range.First; slot <= range.Last; slot++) words[slot / WordBits] |= 1UL << (slot % WordBits);
        }

        return new SlotSet(words);
    }

    internal bool Contains(int slot) => ((_words[slot / WordBits] >> (slot % WordBits)) & 1) != 0;

    internal SlotSet With(SlotSet others) => others.IsEmpty ? this : Combine(others, static (own, other) => own | other);

    internal SlotSet Without(SlotSet others) => others.IsEmpty || IsEmpty ? this : Combine(others, static (own, other) => own & ~other);

    internal bool Overlaps(SlotSet others)
    {
        for (int i = 0; i < _words.Length; i++)
        {
            if ((_words[i] & others._words[i]) != 0) return true;
        }

        return false;
    }

    /// <summary>The slots, in order.</summary>
    internal IEnumerable<int> Slots()
    {
        for (int i = 0; i < _words.Length; i++)
        {
            for (ulong word = _words[i]; word != 0; word &= word - 1) yield return (i * WordBits) + BitOperations.TrailingZeroCount(word);
        }
    }

    /// <summary>The same as ranges, in order.</summary>
    internal List<SlotRange> Ranges()
    {
        List<SlotRange> ranges = [];
        foreach (int slot in Slots())
        {
            if (ranges.Count > 0 && ranges[^1].Last == slot - 1) ranges[^1] = ranges[^1] with { Last = slot };
            else ranges.Add(new SlotRange(slot, slot));
        }

        return ranges;
    }

    private SlotSet Combine(SlotSet others, Func<ulong, ulong, ulong> combine)
    {
        ulong[] words = new ulong[KeySlot.Count / WordBits];
        for (int i = 0; i < words.Length; i++) words[i] = combine(_words[i], others._words[i]);
        return new SlotSet(words);
    }
}
