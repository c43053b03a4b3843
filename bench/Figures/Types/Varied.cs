namespace RedKite.Figures.Types;

/// <summary>Reproducible pseudo-random numbers and texts, so that both servers have the same data.</summary>
internal static class Varied
{
    private static ReadOnlySpan<byte> Alphanumerics => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8;

    /// <summary>Mixes a number into 64 bits without collisions: SplitMix64 by Steele, Lea and Flood.</summary>
    internal static ulong Bits(long number)
    {
        unchecked
        {
            ulong bits = ((ulong)number + 1) * 0x9E3779B97F4A7C15;
            bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
            bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
            return bits ^ (bits >> 31);
        }
    }

    /// <summary>A number from 0 to below <paramref name="bound"/>.</summary>
    internal static int Below(int bound, long number) => (int)(Bits(number) % (ulong)bound);

    /// <summary>Fills a span with letters and digits of both cases.</summary>
    internal static void Fill(Span<byte> text, long number)
    {
        const int CharactersPerWord = 10; // Ten times 62 fits 64 bits.
        ulong bits = 0;
        for (int i = 0; i < text.Length; i++)
        {
            if (i % CharactersPerWord == 0) bits = Bits(unchecked((number * 31) + (i << 20)));
            text[i] = Alphanumerics[(int)(bits % 62)];
            bits /= 62;
        }
    }
}
