using System.Runtime.CompilerServices;
using RedKite.Store.Memory;

namespace RedKite.Sketches.Store;

/// <summary>
/// Bits of parts that hashes determine. A filter that has grown looks for each new element in all of its parts, so this takes as few instructions as it can: bits are
/// read from words, parts of one page need no directory, and a part is looked at for a group of hashes, the reads of which do not wait for each other. Parts have whole words.
/// </summary>
internal static unsafe class SketchBits
{
    /// <summary>The hashes that are looked for at the same time.</summary>
    internal const int HashesMax = 16;

    // Bits that are read for each branch: a processor cannot predict single ones, and four are rarely all set in a part that does not have the element.
    private const int Group = 4;

    private const int PageShift = 19; // 64 KiB of bits
    private const ulong WordsMask = (SketchData.PageBytes / sizeof(ulong)) - 1;

    /// <summary>For which hashes all bits are set in one of the parts, the last of which is looked at first: a bit for each hash.</summary>
    /// <param name="parts">The parts.</param>
    /// <param name="count">Their number.</param>
    /// <param name="hashes">The hashes, <see cref="HashesMax"/> at most.</param>
    /// <param name="bitsNumber">The number of each part that says how many bits those are.</param>
    internal static uint AreSetInAny(SketchPart* parts, int count, ReadOnlySpan<SketchHash> hashes, int bitsNumber)
    {
        // Hashes that were found are removed, so that later parts are looked at for the others alone.
        SketchHash* left = stackalloc SketchHash[HashesMax];
        byte* numbers = stackalloc byte[HashesMax], candidates = stackalloc byte[HashesMax];
        hashes.CopyTo(new Span<SketchHash>(left, HashesMax));
        int leftCount = hashes.Length;
        for (int i = 0; i < leftCount; i++) numbers[i] = (byte)i;
        uint found = 0;
        for (SketchPart* part = parts + count - 1; part >= parts && leftCount > 0; part--)
        {
            int bits = (int)SketchPart.Number(part, bitsNumber), tested = bits < Group ? 0 : Group;
            int candidateCount = bits < Group ? AllOf(leftCount, candidates) : part->HasDirectory ? CandidatesInPages(part, left, leftCount, candidates) : CandidatesInPage(part, left, leftCount, candidates);

            // From the last one on: the hash that takes the place of one that was found is not to be tested again.
            while (--candidateCount >= 0)
            {
                int i = candidates[candidateCount];
                if (!AreSet(part, left[i].First + ((ulong)tested * left[i].Step), left[i].Step, bits - tested)) continue;
                found |= 1u << numbers[i];
                leftCount--;
                (left[i], numbers[i]) = (left[leftCount], numbers[leftCount]);
            }
        }

        return found;
    }

    /// <summary>Sets the bits of a part that a hash determines. Pages that are missing are created.</summary>
    /// <returns>Whether one of them was not set.</returns>
    internal static bool Set(SketchData* data, Arena arena, SketchPart* part, SketchHash hash, int bits)
    {
        var pages = (ulong**)SketchPart.PageAddress(part, 0);
        ulong positions = (ulong)part->Bytes * 8, at = hash.First, step = hash.Step, all = 1;
        for (; bits > 0; bits--, at += step)
        {
            ulong position = SketchHash.Position(at, positions);
            ulong* words = pages[position >> PageShift];
            if (words == null)
            {
                SketchData.PageToWrite(data, arena, part, (int)(position >> PageShift));
                words = pages[position >> PageShift];
            }

            ref ulong word = ref words[(position >> 6) & WordsMask];
            all &= word >> (int)position;
            word |= 1UL << (int)position;
        }

        return (all & 1) == 0;
    }

    // The hashes whose first bits are all set. There is no branch for each, because a processor could not predict it.
    private static int CandidatesInPage(SketchPart* part, SketchHash* hashes, int count, byte* candidates)
    {
        var words = (ulong*)part->Root;
        if (words == null) return 0;
        ulong positions = (ulong)part->Bytes * 8;
        int candidateCount = 0;
        for (int i = 0; i < count; i++)
        {
            ulong step = hashes[i].Step, a = hashes[i].First, b = a + step, c = b + step, d = c + step;
            ulong all = Bit(words, SketchHash.Position(a, positions)) & Bit(words, SketchHash.Position(b, positions)) & Bit(words, SketchHash.Position(c, positions)) & Bit(words, SketchHash.Position(d, positions));
            candidates[candidateCount] = (byte)i;
            candidateCount += (int)(all & 1);
        }

        return candidateCount;
    }

    private static int CandidatesInPages(SketchPart* part, SketchHash* hashes, int count, byte* candidates)
    {
        var pages = (ulong**)part->Root;
        ulong positions = (ulong)part->Bytes * 8;
        int candidateCount = 0;
        for (int i = 0; i < count; i++)
        {
            ulong step = hashes[i].Step, a = hashes[i].First, b = a + step, c = b + step, d = c + step;
            ulong all = Bit(pages, SketchHash.Position(a, positions)) & Bit(pages, SketchHash.Position(b, positions)) & Bit(pages, SketchHash.Position(c, positions)) & Bit(pages, SketchHash.Position(d, positions));
            candidates[candidateCount] = (byte)i;
            candidateCount += (int)(all & 1);
        }

        return candidateCount;
    }

    private static int AllOf(int count, byte* candidates)
    {
        for (int i = 0; i < count; i++) candidates[i] = (byte)i;
        return count;
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
