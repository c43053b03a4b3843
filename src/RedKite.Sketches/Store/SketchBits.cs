using System.Runtime.CompilerServices;

namespace RedKite.Sketches.Store;

/// <summary>
/// Bits of parts that hashes determine. A filter that has grown looks for each new element in all of its parts, so this takes as few instructions as it can: bits are
/// read from words, and parts of one page need no directory. Parts have whole words.
/// </summary>
internal static unsafe class SketchBits
{
    // Bits that are read for each branch: a processor cannot predict single ones, and four are rarely all set in a part that does not have the element.
    private const int Group = 4;

    private const int PageShift = 19; // 64 KiB of bits
    private const ulong WordsMask = (SketchData.PageBytes / sizeof(ulong)) - 1;

    /// <summary>Whether all bits that a hash determines are set in one of the parts, the last of which is looked at first.</summary>
    /// <param name="parts">The parts.</param>
    /// <param name="count">Their number.</param>
    /// <param name="hash">The hash.</param>
    /// <param name="bitsNumber">The number of each part that says how many bits those are.</param>
    internal static bool AreSetInAny(SketchPart* parts, int count, SketchHash hash, int bitsNumber)
    {
        ulong step = hash.Step, first = hash.First, second = first + step, third = second + step, fourth = third + step;
        for (SketchPart* part = parts + count - 1; part >= parts; part--)
        {
            int bits = (int)SketchPart.Number(part, bitsNumber);
            ulong positions = (ulong)part->Bytes * 8, all;
            if (bits < Group)
            {
                if (AreSet(part, first, step, bits)) return true;
                continue;
            }

            (ulong a, ulong b, ulong c, ulong d) = (SketchHash.Position(first, positions), SketchHash.Position(second, positions), SketchHash.Position(third, positions), SketchHash.Position(fourth, positions));
            if (part->HasDirectory)
            {
                var pages = (ulong**)part->Root;
                all = Bit(pages, a) & Bit(pages, b) & Bit(pages, c) & Bit(pages, d);
            }
            else
            {
                var words = (ulong*)part->Root;
                all = words == null ? 0 : Bit(words, a) & Bit(words, b) & Bit(words, c) & Bit(words, d);
            }

            if ((all & 1) != 0 && AreSet(part, fourth + step, step, bits - Group)) return true;
        }

        return false;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool AreSet(SketchPart* part, ulong at, ulong step, int bits)
    {
        ulong positions = (ulong)part->Bytes * 8;
        var pages = (ulong**)SketchPart.PageAddress(part, 0);
        for (; bits > 0; bits--, at += step)
        {
            if ((Bit(pages, SketchHash.Position(at, positions)) & 1) == 0) return false;
        }

        return true;
    }

    // The lowest bit is that of a position, which a shift takes modulo 64.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Bit(ulong* words, ulong position) => words[position >> 6] >> (int)position;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static ulong Bit(ulong** pages, ulong position)
    {
        ulong* words = pages[position >> PageShift];
        return words == null ? 0 : words[(position >> 6) & WordsMask] >> (int)position;
    }
}
