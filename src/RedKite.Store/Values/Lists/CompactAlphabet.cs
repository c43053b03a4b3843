namespace RedKite.Store.Values.Lists;

/// <summary>The distinct characters of a <see cref="CompactList"/>, with codes of the minimum number of bits.</summary>
internal unsafe struct CompactAlphabet
{
    private const int CodedMax = 64;

    private fixed byte _codes[256];
    private fixed byte _characters[CodedMax];

    /// <param name="seen">For each of 256 characters whether it occurs: 0 or 1.</param>
    internal CompactAlphabet(byte* seen)
    {
        int count = 0;
        for (int character = 0; character < 256; character++) count += seen[character];
        Bits = count switch
        {
            <= 2 => 1,
            <= 4 => 2,
            <= 16 => 4,
            <= 32 => 5,
            <= CodedMax => 6,
            _ => 8,
        };
        if (Bits == 8) return; // characters are their own codes
        for (int character = 0; character < 256; character++)
        {
            if (seen[character] == 0) continue;
            _codes[character] = (byte)Count;
            _characters[Count++] = (byte)character;
        }
    }

    /// <summary>The number of distinct characters; 0 if characters are their own codes.</summary>
    internal int Count { get; private set; }

    /// <summary>Bits of a code.</summary>
    internal int Bits { get; }

    /// <summary>Writes the characters by their code.</summary>
    internal void WriteTo(byte* destination)
    {
        for (int code = 0; code < Count; code++) destination[code] = _characters[code];
    }

    /// <summary>Writes a text's codes, each part of 32 bits at a time.</summary>
    /// <returns>Where they end.</returns>
    internal byte* Encode(byte* text, int length, byte* at)
    {
        int bits = Bits;
        if (bits == 8)
        {
            Buffer.MemoryCopy(text, at, length, length);
            return at + length;
        }

        ulong word = 0;
        int held = 0;
        fixed (byte* codes = _codes)
        {
            for (int i = 0; i < length; i++)
            {
                word |= (ulong)codes[text[i]] << held;
                held += bits;
                if (held < 32) continue;
                *(uint*)at = (uint)word;
                at += 4;
                word >>= 32;
                held -= 32;
            }
        }

        for (; held > 0; held -= 8, word >>= 8) *at++ = (byte)word;
        return at;
    }
}
