using System.Buffers.Binary;
using System.Numerics;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// The LZF format, in which RDB stores long strings: literal runs and references to preceding bytes.
/// <code>
/// 000lllll                       l + 1 literal bytes follow (1 to 32)
/// lllooooo oooooooo              copies l + 2 bytes (3 to 8) from a distance of o + 1
/// 111ooooo llllllll oooooooo     copies l + 9 bytes (9 to 264) from a distance of o + 1
/// </code>
/// </summary>
internal static class Lzf
{
    /// <summary>The slots of the hash table that <see cref="Compress"/> needs.</summary>
    internal const int TableSlots = 1 << TableBitsMax;

    /// <summary>The maximum number of bytes that a reference of three bytes produces.</summary>
    private const int ReferenceMax = 264;
    private const int ReferenceBytes = 3;

    private const int TableBitsMax = 14;
    private const int TableBitsMin = 8;
    private const int RunMax = 32;
    private const int DistanceMax = 1 << 13;
    private const int MatchMin = 3;
    private const int ShortLengthMax = 6;

    // Without a match, the step grows by one every 2^6 bytes.
    private const int StepShift = 6;

    /// <summary>Whether compressed bytes can produce this many bytes; if not, the length is invalid.</summary>
    internal static bool CanHold(long compressed, ulong bytes) => bytes <= (ulong)(compressed * (ReferenceMax / ReferenceBytes));

    /// <summary>Compresses bytes.</summary>
    /// <param name="source">The bytes.</param>
    /// <param name="target">The destination; writing stops when it is full.</param>
    /// <param name="table">The hash table, of <see cref="TableSlots"/> slots.</param>
    /// <returns>The number of bytes written; 0 if they do not fit.</returns>
    internal static int Compress(ReadOnlySpan<byte> source, Span<byte> target, Span<int> table)
    {
        int bits = Math.Clamp(BitOperations.Log2((uint)source.Length) + 1, TableBitsMin, TableBitsMax);
        table = table[..(1 << bits)];
        table.Clear();
        int at = 0;
        int run = 0; // start of the literal run that is not written yet
        int written = 0;
        while (at + sizeof(uint) <= source.Length)
        {
            uint next = BinaryPrimitives.ReadUInt32LittleEndian(source[at..]) & 0xFFFFFF;
            ref int slot = ref table[(int)((next * 0x9E3779B1u) >> (32 - bits))];
            int before = slot - 1; // 0: none
            slot = at + 1;
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

    /// <summary>Decompresses untrusted bytes.</summary>
    /// <returns>Whether they are valid and produce exactly as many bytes as the target has.</returns>
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

            // Source and target of the copy may overlap.
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
