using System.Numerics;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Values.Strings;

/// <summary>
/// The registers of a sparse HyperLogLog: consecutive runs of equal registers.
/// <code>
/// 00llllll            l + 1 registers of rank 0 (1 to 64)
/// 01llllll llllllll   l + 1 registers of rank 0 (1 to 16,384), the high bits first
/// 1vvvvvll            l + 1 registers of rank v + 1 (1 to 4 of rank 1 to 32)
/// </code>
/// Values from outside may have runs with a wrong total: every reader checks. Changes produce the same runs as in Redis, so that
/// the same commands lead to the same bytes.
/// </summary>
internal static class SparseRegisters
{
    /// <summary>The highest rank that a run can have.</summary>
    internal const int RankMax = 32;

    /// <summary>The maximum size of a run's replacement.</summary>
    internal const int ReplacementBytesMax = 5;

    private const int ShortZerosMax = 64;
    private const int RankedMax = 4;

    // How many runs, from the one before a change on, are looked at to join neighbours of equal rank.
    private const int JoinedRunsMax = 5;

    /// <summary>Reads the run at an offset; false at the end and if the run's second byte is missing.</summary>
    internal static bool TryRead(ReadOnlySpan<byte> runs, int at, out SparseRun run)
    {
        run = default;
        if (at >= runs.Length) return false;
        int first = runs[at];
        if ((first & 0x80) != 0)
        {
            run = new SparseRun(((first >> 2) & 31) + 1, (first & 3) + 1, 1);
            return true;
        }

        if ((first & 0x40) == 0)
        {
            run = new SparseRun(0, (first & 63) + 1, 1);
            return true;
        }

        if (at + 1 >= runs.Length) return false;
        run = new SparseRun(0, ((first & 63) << 8 | runs[at + 1]) + 1, 2);
        return true;
    }

    /// <summary>Finds the run that a register is in; false if the runs end before it.</summary>
    /// <param name="runs">The registers.</param>
    /// <param name="index">The register.</param>
    /// <param name="before">Where to start looking; then the run before the one that was found, if it was passed.</param>
    /// <param name="position">The run's position.</param>
    /// <param name="run">The run.</param>
    internal static bool TryFind(ReadOnlySpan<byte> runs, int index, ref SparsePosition before, out SparsePosition position, out SparseRun run)
    {
        position = before;
        SkipShortRuns(runs, index, ref before, ref position);
        while (TryRead(runs, position.At, out run))
        {
            if (index < position.First + run.Length) return true;
            before = position;
            position = position.Next(run);
        }

        return false;
    }

    // Skips most runs before a register, sixteen at a time: one-byte runs, whose lengths are added with vectors.
    private static void SkipShortRuns(ReadOnlySpan<byte> runs, int index, ref SparsePosition before, ref SparsePosition position)
    {
        ref byte start = ref MemoryMarshal.GetReference(runs);
        int at = position.At;
        int first = position.First;
        int previous = position.Before;
        Vector128<byte> numbers = Vector128.Create((byte)0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        while (at + Vector128<byte>.Count <= runs.Length)
        {
            Vector128<byte> codes = Vector128.LoadUnsafe(ref start, (nuint)at);
            Vector128<byte> areRanked = Vector128.LessThan(codes.AsSByte(), Vector128<sbyte>.Zero).AsByte();
            uint longAt = Vector128.Equals(codes & Vector128.Create((byte)0xC0), Vector128.Create((byte)0x40)).ExtractMostSignificantBits();
            int count = BitOperations.TrailingZeroCount(longAt | 1u << Vector128<byte>.Count);
            Vector128<byte> lengths = (codes & Vector128.ConditionalSelect(areRanked, Vector128.Create((byte)3), Vector128.Create((byte)63))) + Vector128<byte>.One;
            lengths &= Vector128.LessThan(numbers, Vector128.Create((byte)count));
            int sum = Sse2.IsSupported
                ? Sum(Sse2.SumAbsoluteDifferences(lengths, Vector128<byte>.Zero))
                : Vector128.Sum(Vector128.WidenLower(lengths) + Vector128.WidenUpper(lengths));
            if (first + sum > index) break;
            if (count > 0)
            {
                TryRead(runs, at + count - 1, out SparseRun last);
                if (count > 1) previous = at + count - 2;
                before = new SparsePosition(at + count - 1, first + sum - last.Length, previous);
                previous = at + count - 1;
                at += count;
                first += sum;
            }

            if (count == Vector128<byte>.Count) continue;
            if (!TryRead(runs, at, out SparseRun run) || first + run.Length > index) break;
            before = new SparsePosition(at, first, previous);
            previous = at;
            at += run.Bytes;
            first += run.Length;
        }

        position = new SparsePosition(at, first, previous);
    }

    private static int Sum(Vector128<ushort> halves) => halves[0] + halves[4];

    /// <summary>
    /// Writes the runs that replace a run when one of its registers is raised, at most <see cref="ReplacementBytesMax"/> bytes.
    /// </summary>
    /// <param name="run">The run.</param>
    /// <param name="offset">The index of the raised register in the run.</param>
    /// <param name="rank">The register's new rank.</param>
    /// <param name="replacement">Where to.</param>
    internal static int WriteReplacement(SparseRun run, int offset, int rank, Span<byte> replacement)
    {
        int length = 0;
        if (offset > 0) length += Write(run.Rank, offset, replacement);
        length += Write(rank, 1, replacement[length..]);
        int left = run.Length - 1 - offset;
        if (left > 0) length += Write(run.Rank, left, replacement[length..]);
        return length;
    }

    /// <summary>Joins neighbours of equal rank near a change, as long as one run can hold them.</summary>
    /// <param name="runs">The registers; what is joined moves to the front.</param>
    /// <param name="at">The run before the change.</param>
    /// <returns>How many bytes fewer are in use.</returns>
    internal static int Join(Span<byte> runs, int at)
    {
        int length = runs.Length;
        for (int looked = 0; looked < JoinedRunsMax && TryRead(runs[..length], at, out SparseRun run); looked++)
        {
            if (run.Rank > 0 && TryRead(runs[..length], at + 1, out SparseRun next)
                && next.Rank == run.Rank && run.Length + next.Length <= RankedMax)
            {
                // The joined run may have another such neighbour: it is looked at again.
                Write(run.Rank, run.Length + next.Length, runs[(at + 1)..]);
                runs[(at + 1)..length].CopyTo(runs[at..]);
                length--;
                continue;
            }

            at += run.Bytes;
        }

        return runs.Length - length;
    }

    /// <summary>Raises each of the spread registers (a byte each) to this value's; false if the runs do not make 16,384 registers.</summary>
    internal static bool TryMergeInto(ReadOnlySpan<byte> runs, Span<byte> spread)
    {
        int index = 0;
        int at = 0;
        for (; TryRead(runs, at, out SparseRun run); at += run.Bytes)
        {
            if (run.Length > spread.Length - index) return false;
            if (run.Rank > 0)
            {
                foreach (ref byte register in spread.Slice(index, run.Length)) register = Math.Max(register, (byte)run.Rank);
            }

            index += run.Length;
        }

        return at == runs.Length && index == spread.Length;
    }

    /// <summary>Counts how many registers have each rank; false if the runs do not make 16,384 registers.</summary>
    internal static bool TryCountRanks(ReadOnlySpan<byte> runs, Span<int> histogram)
    {
        histogram.Clear();
        int index = 0;
        int at = 0;
        for (; TryRead(runs, at, out SparseRun run); at += run.Bytes)
        {
            index += run.Length;
            if (index > HyperLogLog.Registers) return false;
            histogram[run.Rank] += run.Length;
        }

        return at == runs.Length && index == HyperLogLog.Registers;
    }

    // One run; the length fits the rank.
    private static int Write(int rank, int length, Span<byte> destination)
    {
        if (rank > 0)
        {
            destination[0] = (byte)(0x80 | ((rank - 1) << 2) | (length - 1));
            return 1;
        }

        if (length <= ShortZerosMax)
        {
            destination[0] = (byte)(length - 1);
            return 1;
        }

        destination[0] = (byte)(0x40 | ((length - 1) >> 8));
        destination[1] = (byte)(length - 1);
        return 2;
    }
}

/// <summary>A run of registers with one rank, and how many bytes it takes.</summary>
internal readonly record struct SparseRun(int Rank, int Length, int Bytes);

/// <summary>A run's position, its first register, and the position of the previous run; -1: none.</summary>
internal readonly record struct SparsePosition(int At, int First, int Before)
{
    /// <summary>The first run.</summary>
    internal static SparsePosition Start => new(0, 0, -1);

    /// <summary>The position after this run.</summary>
    internal SparsePosition Next(SparseRun run) => new(At + run.Bytes, First + run.Length, At);
}
