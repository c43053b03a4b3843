using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Runtime.Intrinsics.X86;

namespace RedKite.Store.Values.Strings;

/// <summary>
/// The registers of a dense HyperLogLog: six bits each, packed from the least significant bit of the first byte on, four
/// registers in three bytes. Operations on all registers unpack them to a byte each: thirty-two at a time, or sixty-four where the
/// processor has AVX-512 VBMI, whose instructions select bits that straddle bytes.
/// </summary>
internal static class DenseRegisters
{
    internal const int Bytes = HyperLogLog.Registers * BitsEach / 8;

    private const int BitsEach = 6;
    private const uint RankMask = (1 << BitsEach) - 1;

    // A vector of 16 bytes unpacks 12 packed bytes; its last four are not used.
    private const int PackedPerLane = 12;
    private const int PackedPerRound = 2 * PackedPerLane;
    private const int SpreadPerRound = 32;

    // The rounds whose loads and stores stay within the registers; the last one is done in a copy.
    private const int FullRounds = (Bytes / PackedPerRound) - 1;

    private const int WidePackedPerRound = 2 * PackedPerRound;
    private const int WideSpreadPerRound = 2 * SpreadPerRound;
    private const nuint WideFullRounds = (Bytes / WidePackedPerRound) - 1;

    // Six counting vectors and the six ranks that they count leave registers for the rest.
    private const int RanksPerPass = 6;
    private const int PassesMax = (HyperLogLog.Ranks + RanksPerPass - 1) / RanksPerPass;

    // 128 vectors: a byte counts up to 255 of them.
    private const int CountedAtOnce = 128 * SpreadPerRound;

    internal static int Get(ReadOnlySpan<byte> registers, int index)
    {
        int bit = index * BitsEach;
        int at = bit >> 3;
        uint low = registers[at];
        uint high = at + 1 < Bytes ? registers[at + 1] : 0u;
        return (int)(((low | (high << 8)) >> (bit & 7)) & RankMask);
    }

    /// <summary>Sets a register to a rank if that is higher.</summary>
    internal static bool Raise(Span<byte> registers, int index, int rank)
    {
        if (Get(registers, index) >= rank) return false;
        int bit = index * BitsEach;
        int at = bit >> 3;
        uint mask = RankMask << (bit & 7);
        uint value = (uint)rank << (bit & 7);
        registers[at] = (byte)((registers[at] & ~mask) | value);
        if (at + 1 < Bytes) registers[at + 1] = (byte)((registers[at + 1] & ~(mask >> 8)) | (value >> 8));
        return true;
    }

    /// <summary>Unpacks the registers to a byte each, overwriting the target.</summary>
    internal static void Spread(ReadOnlySpan<byte> registers, Span<byte> spread)
    {
        if (Avx512Vbmi.IsSupported) MergeWide(registers, spread, raises: false);
        else MergeNarrow(registers, spread, raises: false);
    }

    /// <summary>Raises each of the spread registers (a byte each) to this value's.</summary>
    internal static void MergeInto(ReadOnlySpan<byte> registers, Span<byte> spread)
    {
        if (Avx512Vbmi.IsSupported) MergeWide(registers, spread, raises: true);
        else MergeNarrow(registers, spread, raises: true);
    }

    /// <summary>Packs spread registers, none of them above 63.</summary>
    internal static void Pack(ReadOnlySpan<byte> spread, Span<byte> registers)
    {
        Debug.Assert(registers.Length == Bytes && spread.Length == HyperLogLog.Registers, "All registers are packed.");
        if (Avx512Vbmi.IsSupported) PackWide(spread, registers);
        else PackNarrow(spread, registers);
    }

    /// <summary>Counts the unpacked registers of each rank.</summary>
    /// <remarks>
    /// A vector of registers is compared with several ranks, each with its own vector of counts, and the passes end when all
    /// registers are counted: values have one or two dozen ranks, starting with low ones. Incrementing a count per register takes 9
    /// to 12 microseconds; this takes 2 to 5 (docs/performance-log.md, round 32).
    /// </remarks>
    internal static void CountRanks(ReadOnlySpan<byte> spread, Span<int> histogram)
    {
        Debug.Assert(spread.Length == HyperLogLog.Registers && histogram.Length == HyperLogLog.Ranks, "All registers are counted.");
        Span<int> counts = stackalloc int[PassesMax * RanksPerPass];
        counts.Clear();
        int left = spread.Length;
        for (int rank = 0; left > 0; rank += RanksPerPass)
        {
            for (int at = 0; at < spread.Length; at += CountedAtOnce)
            {
                left -= CountPass(ref Unsafe.Add(ref MemoryMarshal.GetReference(spread), at), rank, counts[rank..]);
            }
        }

        counts[..histogram.Length].CopyTo(histogram);
    }

    // Adds the counts of consecutive ranks, for as many registers as a byte can count, and returns their sum.
    private static int CountPass(ref byte spread, int rank, Span<int> counts)
    {
        Vector256<byte> first = default, second = default, third = default, fourth = default, fifth = default, sixth = default;
        for (nuint at = 0; at < CountedAtOnce; at += SpreadPerRound)
        {
            // A lane is all ones, which is -1, where the ranks are equal.
            Vector256<byte> ranks = Vector256.LoadUnsafe(ref spread, at);
            first -= Vector256.Equals(ranks, Vector256.Create((byte)rank));
            second -= Vector256.Equals(ranks, Vector256.Create((byte)(rank + 1)));
            third -= Vector256.Equals(ranks, Vector256.Create((byte)(rank + 2)));
            fourth -= Vector256.Equals(ranks, Vector256.Create((byte)(rank + 3)));
            fifth -= Vector256.Equals(ranks, Vector256.Create((byte)(rank + 4)));
            sixth -= Vector256.Equals(ranks, Vector256.Create((byte)(rank + 5)));
        }

        return Add(first, ref counts[0]) + Add(second, ref counts[1]) + Add(third, ref counts[2])
            + Add(fourth, ref counts[3]) + Add(fifth, ref counts[4]) + Add(sixth, ref counts[5]);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Add(Vector256<byte> lanes, ref int count)
    {
        (Vector256<ushort> lower, Vector256<ushort> upper) = Vector256.Widen(lanes);
        int sum = Vector256.Sum(lower + upper);
        count += sum;
        return sum;
    }

    /// <summary>Packs thirty-two registers at a time.</summary>
    internal static void PackNarrow(ReadOnlySpan<byte> spread, Span<byte> registers)
    {
        ref byte source = ref MemoryMarshal.GetReference(spread);
        ref byte target = ref MemoryMarshal.GetReference(registers);
        for (nuint round = 0; round < FullRounds; round++)
        {
            Pack(ref Unsafe.Add(ref source, round * SpreadPerRound), ref Unsafe.Add(ref target, round * PackedPerRound));
        }

        Span<byte> last = stackalloc byte[SpreadPerRound];
        Pack(ref Unsafe.Add(ref source, FullRounds * SpreadPerRound), ref MemoryMarshal.GetReference(last));
        last[..PackedPerRound].CopyTo(registers[(FullRounds * PackedPerRound)..]);
    }

    /// <summary>Unpacks thirty-two registers at a time.</summary>
    /// <remarks>Its callers give a constant, so that each has a loop of its own.</remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static void MergeNarrow(ReadOnlySpan<byte> registers, Span<byte> spread, bool raises)
    {
        Debug.Assert(registers.Length == Bytes && spread.Length == HyperLogLog.Registers, "All registers are merged.");
        ref byte source = ref MemoryMarshal.GetReference(registers);
        ref byte target = ref MemoryMarshal.GetReference(spread);
        for (nuint round = 0; round < FullRounds; round++)
        {
            MergeNarrow(ref Unsafe.Add(ref source, round * PackedPerRound), ref Unsafe.Add(ref target, round * SpreadPerRound), raises);
        }

        Span<byte> last = stackalloc byte[SpreadPerRound];
        last.Clear();
        registers[(FullRounds * PackedPerRound)..].CopyTo(last);
        MergeNarrow(ref MemoryMarshal.GetReference(last), ref Unsafe.Add(ref target, FullRounds * SpreadPerRound), raises);
    }

    // Three packed bytes go to each word, then each of their four registers to a byte of its own.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void MergeNarrow(ref byte packed, ref byte spread, bool raises)
    {
        Vector128<byte> lanes = Vector128.Create((byte)0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255);
        Vector128<byte> low = Vector128.Shuffle(Vector128.LoadUnsafe(ref packed), lanes);
        Vector128<byte> high = Vector128.Shuffle(Vector128.LoadUnsafe(ref packed, PackedPerLane), lanes);
        Vector256<uint> words = Vector256.Create(low, high).AsUInt32();
        Vector256<uint> ranks = (words & Vector256.Create(RankMask))
            | ((words << 2) & Vector256.Create(RankMask << 8))
            | ((words << 4) & Vector256.Create(RankMask << 16))
            | ((words << 6) & Vector256.Create(RankMask << 24));
        (raises ? Vector256.Max(ranks.AsByte(), Vector256.LoadUnsafe(ref spread)) : ranks.AsByte()).StoreUnsafe(ref spread);
    }

    // The four bytes after each lane's twelve are written too, and overwritten by the next lane.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Pack(ref byte spread, ref byte packed)
    {
        Vector128<byte> lanes = Vector128.Create((byte)0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 255, 255, 255, 255);
        Vector256<uint> ranks = Vector256.LoadUnsafe(ref spread).AsUInt32();
        Vector256<uint> words = (ranks & Vector256.Create(RankMask))
            | ((ranks >> 2) & Vector256.Create(RankMask << 6))
            | ((ranks >> 4) & Vector256.Create(RankMask << 12))
            | ((ranks >> 6) & Vector256.Create(RankMask << 18));
        Vector128.Shuffle(words.GetLower().AsByte(), lanes).StoreUnsafe(ref packed);
        Vector128.Shuffle(words.GetUpper().AsByte(), lanes).StoreUnsafe(ref packed, PackedPerLane);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void MergeWide(ReadOnlySpan<byte> registers, Span<byte> spread, bool raises)
    {
        Debug.Assert(registers.Length == Bytes && spread.Length == HyperLogLog.Registers, "All registers are merged.");
        ref byte source = ref MemoryMarshal.GetReference(registers);
        ref byte target = ref MemoryMarshal.GetReference(spread);
        for (nuint round = 0; round < WideFullRounds; round++)
        {
            MergeWide(ref Unsafe.Add(ref source, round * WidePackedPerRound), ref Unsafe.Add(ref target, round * WideSpreadPerRound), raises);
        }

        Span<byte> last = stackalloc byte[WideSpreadPerRound];
        last.Clear();
        registers[((int)WideFullRounds * WidePackedPerRound)..].CopyTo(last);
        MergeWide(ref MemoryMarshal.GetReference(last), ref Unsafe.Add(ref target, WideFullRounds * WideSpreadPerRound), raises);
    }

    // Six packed bytes go to each eight, then each of their eight registers to a byte of its own.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void MergeWide(ref byte packed, ref byte spread, bool raises)
    {
        Vector512<byte> lanes = Vector512.Create(
            (byte)0, 1, 2, 3, 4, 5, 0, 0, 6, 7, 8, 9, 10, 11, 0, 0, 12, 13, 14, 15, 16, 17, 0, 0, 18, 19, 20, 21, 22, 23, 0, 0,
            24, 25, 26, 27, 28, 29, 0, 0, 30, 31, 32, 33, 34, 35, 0, 0, 36, 37, 38, 39, 40, 41, 0, 0, 42, 43, 44, 45, 46, 47, 0, 0);
        Vector512<byte> bits = Vector512.Create(0x2A_24_1E_18_12_0C_06_00UL).AsByte();
        Vector512<byte> words = Avx512Vbmi.PermuteVar64x8(Vector512.LoadUnsafe(ref packed), lanes);
        Vector512<byte> ranks = Avx512Vbmi.MultiShift(bits, words.AsUInt64()) & Vector512.Create((byte)RankMask);
        (raises ? Vector512.Max(ranks, Vector512.LoadUnsafe(ref spread)) : ranks).StoreUnsafe(ref spread);
    }

    private static void PackWide(ReadOnlySpan<byte> spread, Span<byte> registers)
    {
        ref byte source = ref MemoryMarshal.GetReference(spread);
        ref byte target = ref MemoryMarshal.GetReference(registers);
        for (nuint round = 0; round < WideFullRounds; round++)
        {
            PackWide(ref Unsafe.Add(ref source, round * WideSpreadPerRound), ref Unsafe.Add(ref target, round * WidePackedPerRound));
        }

        Span<byte> last = stackalloc byte[WideSpreadPerRound];
        PackWide(ref Unsafe.Add(ref source, WideFullRounds * WideSpreadPerRound), ref MemoryMarshal.GetReference(last));
        last[..WidePackedPerRound].CopyTo(registers[((int)WideFullRounds * WidePackedPerRound)..]);
    }

    // Pairs of registers become 12 bits, pairs of those 24. The sixteen bytes after the 48 are overwritten by the next round.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void PackWide(ref byte spread, ref byte packed)
    {
        Vector512<byte> lanes = Vector512.Create(
            (byte)0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30, 32, 33, 34, 36, 37, 38, 40, 41,
            42, 44, 45, 46, 48, 49, 50, 52, 53, 54, 56, 57, 58, 60, 61, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63);
        Vector512<short> pairs = Avx512BW.MultiplyAddAdjacent(Vector512.LoadUnsafe(ref spread), Vector512.Create((short)(1 | (1 << (BitsEach + 8)))).AsSByte());
        Vector512<int> words = Avx512BW.MultiplyAddAdjacent(pairs, Vector512.Create(1 | (1 << ((2 * BitsEach) + 16))).AsInt16());
        Avx512Vbmi.PermuteVar64x8(words.AsByte(), lanes).StoreUnsafe(ref packed);
    }
}
