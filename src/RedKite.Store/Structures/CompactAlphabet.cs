using System.Numerics;
using System.Runtime.CompilerServices;

namespace RedKite.Store.Structures;

/// <summary>The different characters of a <see cref="CompactList"/>, each with a code of as few bits as tell them apart.</summary>
internal struct CompactAlphabet
{
    private Characters _seen;
    private Codes _codes;

    /// <summary>How many different characters there are.</summary>
    internal int Count { get; private set; }

    /// <summary>Bits of a code.</summary>
    internal int Bits { get; private set; }

    /// <summary>Notes a character.</summary>
    internal void Add(byte character) => _seen[character >> 6] |= 1UL << (character & 63);

    /// <summary>Gives every character that was added its code.</summary>
    internal void Number()
    {
        Count = 0;
        for (int word = 0; word < 4; word++)
        {
            for (ulong left = _seen[word]; left != 0; left &= left - 1) _codes[(word << 6) | BitOperations.TrailingZeroCount(left)] = (byte)Count++;
        }

        Bits = Count switch
        {
            <= 2 => 1,
            <= 4 => 2,
            <= 16 => 4,
            <= 32 => 5,
            <= 64 => 6,
            _ => 8,
        };
        if (Bits == 8) Count = 0; // characters stand for themselves
    }

    internal readonly int CodeOf(byte character) => Bits == 8 ? character : _codes[character];

    /// <summary>Writes the characters by their code.</summary>
    internal readonly unsafe void WriteTo(byte* destination)
    {
        if (Bits == 8) return;
        int code = 0;
        for (int word = 0; word < 4; word++)
        {
            for (ulong left = _seen[word]; left != 0; left &= left - 1) destination[code++] = (byte)((word << 6) | BitOperations.TrailingZeroCount(left));
        }
    }

    [InlineArray(4)]
    private struct Characters
    {
        private ulong _first;
    }

    [InlineArray(256)]
    private struct Codes
    {
        private byte _first;
    }
}
