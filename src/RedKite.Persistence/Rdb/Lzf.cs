using System.Buffers.Binary;
using System.Numerics;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// The LZF format, in which RDB keeps longer strings: runs of bytes as they are, and references to what came before.
/// <code>
/// 000lllll                       l + 1 bytes as they are follow (1 to 32)
/// lllooooo oooooooo              l + 2 bytes (3 to 8) from o + 1 bytes before
/// 111ooooo llllllll oooooooo     l + 9 bytes (9 to 264) from o + 1 bytes before
/// </code>
/// </summary>
internal static class Lzf
{
    /// <summary>Places of the table that <see cref="Compress"/> works with.</summary>
    internal const int TablePlaces = 1 << TableBitsMax;

    /// <summary>The most bytes that three bytes can stand for.</summary>
    private const int ReferenceMax = 264;
    private const int ReferenceBytes = 3;

    private const int TableBitsMax = 14;
    private const int TableBitsMin = 8;
    private const int RunMax = 32;
    private const int DistanceMax = 1 << 13;
    private const int MatchMin = 3;
    private const int ShortLengthMax = 6;

    // Where nothing repeats, the search takes longer steps after so many bytes.
    private const int StepShift = 6;

    /// <summary>Whether so few bytes can stand for so many: what claims more is no LZF.</summary>
    internal static bool CanHold(long compressed, ulong bytes) => bytes <= (ulong)(compressed * (ReferenceMax / ReferenceBytes));

    /// <summary>Compresses bytes.</summary>
    /// <param name="source">The bytes.</param>
    /// <param name="target">Where to; no more is written than fits.</param>
    /// <param name="table">Room of <see cref="TablePlaces"/> for the search.</param>
    /// <returns>How many bytes were written; 0 if they do not fit.</returns>
    internal static int Compress(ReadOnlySpan<byte> source, Span<byte> target, Span<int> table)
    {
        int bits = Math.Clamp(BitOperations.Log2((uint)source.Length) + 1, TableBitsMin, TableBitsMax);
        table = table[..(1 << bits)];
        table.Clear();
        int at = 0;
        int run = 0; // where the bytes begin that are not written yet
        int written = 0;
        while (at + sizeof(uint) <= source.Length)
        {
            uint next = BinaryPrimitives.ReadUInt32LittleEndian(source[at..]) & 0xFFFFFF;
            ref int place = ref table[(int)((next * 0x9E3779B1u) >> (32 - bits))];
            int before = place - 1; // 0: none
            place = at + 1;
            if (before < 0 || at - before > DistanceMax || (BinaryPrimitives.ReadUInt32LittleEndian(source[before..]) & 0xFFFFFF) != next)
            {
                at += 1 + ((at - run) >> StepShift);
                continue;
            }

            int length = MatchMin + source[(before + MatchMin)..].CommonPrefixLength(source.Slice(at + MatchMin, Math.Min(ReferenceMax, source.Length - at) - MatchMin));
            if (!TryWriteRun(source[run..at], target, ref written) || written + ReferenceBytes > target.Length) return 0;
            int distance = at - before - 1;
            int coded = length - 2;
            if (coded <= ShortLengthMax)
            {
                target[written++] = (byte)((coded << 5) | (distance >> 8));
            }
            else
            {
                target[written++] = (byte)(0xE0 | (distance >> 8));
                target[written++] = (byte)(coded - ShortLengthMax - 1);
            }

            target[written++] = (byte)distance;
            at += length;
            run = at;
        }

        return TryWriteRun(source[run..], target, ref written) ? written : 0;
    }

    /// <summary>Decompresses bytes, which may be anything.</summary>
    /// <returns>Whether they are LZF and stand for as many bytes as the target has.</returns>
    internal static bool TryDecompress(ReadOnlySpan<byte> source, Span<byte> target)
    {
        int at = 0;
        int written = 0;
        while (at < source.Length)
        {
            int control = source[at++];
            if (control < RunMax)
            {
                int run = control + 1;
                if (run > source.Length - at || run > target.Length - written) return false;
                source.Slice(at, run).CopyTo(target[written..]);
                at += run;
                written += run;
                continue;
            }

            int length = control >> 5;
            if (length > ShortLengthMax)
            {
                if (at == source.Length) return false;
                length += source[at++];
            }

            length += 2;
            if (at == source.Length) return false;
            int from = written - (((control & 31) << 8) | source[at++]) - 1;
            if (from < 0 || length > target.Length - written) return false;

            // What is copied may reach into what it makes.
            while (length > 0)
            {
                int part = Math.Min(length, written - from);
                target.Slice(from, part).CopyTo(target[written..]);
                written += part;
                length -= part;
            }
        }

        return written == target.Length;
    }

    private static bool TryWriteRun(ReadOnlySpan<byte> run, Span<byte> target, ref int written)
    {
        while (run.Length > 0)
        {
            int part = Math.Min(run.Length, RunMax);
            if (written + 1 + part > target.Length) return false;
            target[written++] = (byte)(part - 1);
            run[..part].CopyTo(target[written..]);
            written += part;
            run = run[part..];
        }

        return true;
    }
}
