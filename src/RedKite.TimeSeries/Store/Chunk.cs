using System.Numerics;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.TimeSeries.Store;

/// <summary>
/// Samples in ascending order of time, compressed by the algorithm of Gorilla (Pelkonen et al., VLDB 2015): of times the change of their difference, of values
/// the bits by which they differ from the one before. A chunk that is not compressed has 16 bytes for each sample.
/// </summary>
/// <remarks>Here is the state behind the last sample, so that one can be appended. The data grows up to the size that the series had for its chunks.</remarks>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct Chunk
{
    /// <summary>No chunk has more samples, so that reading one takes a fraction of a millisecond.</summary>
    internal const int SamplesMax = 16 << 10;

    internal const int PlainSampleBits = 128;

    // 5 bits of a prefix, 64 of a time, 2 + 5 + 6 bits and 64 of a value.
    private const int SampleBitsMax = 146;
    private const int FirstBytes = 64;
    private const int LeadingMax = 31;

    // A new window costs as much; the paper keeps a wide one for ever.
    private const int WindowBits = 11;

    internal byte* Data;
    internal long First;
    internal long Last;
    internal long Delta;
    internal ulong LastValue;
    internal int Count;
    internal int Bits;
    internal int Capacity;
    internal byte Leading;
    internal byte Width;
    internal bool IsCompressed;

    internal static Chunk Create(bool isCompressed) => new() { IsCompressed = isCompressed };

    /// <summary>Appends a sample that is later than all others.</summary>
    /// <returns>False: the chunk is full.</returns>
    internal static bool TryAppend(Chunk* chunk, Arena arena, int bytesMax, in Sample sample)
    {
        if (chunk->Count == SamplesMax || !HasRoom(chunk, arena, bytesMax)) return false;
        ulong value = BitConverter.DoubleToUInt64Bits(sample.Value);
        if (!chunk->IsCompressed || chunk->Count == 0)
        {
            Put(chunk, (ulong)sample.Time, 64);
            Put(chunk, value, 64);
            if (chunk->Count == 0) chunk->First = sample.Time;
        }
        else
        {
            long delta = unchecked(sample.Time - chunk->Last);
            PutTime(chunk, unchecked(delta - chunk->Delta));
            PutValue(chunk, value ^ chunk->LastValue);
            chunk->Delta = delta;
        }

        chunk->Last = sample.Time;
        chunk->LastValue = value;
        chunk->Count++;
        return true;
    }

    internal static void Free(Chunk* chunk, Arena arena)
    {
        if (chunk->Data != null) arena.Free(chunk->Data, chunk->Capacity);
        chunk->Data = null;
    }

    private static bool HasRoom(Chunk* chunk, Arena arena, int bytesMax)
    {
        long bits = chunk->IsCompressed && chunk->Count > 0 ? SampleBitsMax : PlainSampleBits;
        long needed = (chunk->Bits + bits + 7) / 8;
        if (needed <= chunk->Capacity) return true;
        if (needed > bytesMax) return false;
        int capacity = (int)Math.Min(bytesMax, Math.Max(Math.Max(FirstBytes, needed), chunk->Capacity * 2L));
        chunk->Data = chunk->Data == null ? arena.Allocate(capacity) : arena.Reallocate(chunk->Data, chunk->Capacity, capacity);
        chunk->Capacity = capacity;
        return true;
    }

    private static void PutTime(Chunk* chunk, long change)
    {
        switch (change)
        {
            case 0:
                Put(chunk, 0, 1);
                break;
            case >= -63 and <= 64:
                Put(chunk, 0b10, 2);
                Put(chunk, (ulong)(change + 63), 7);
                break;
            case >= -255 and <= 256:
                Put(chunk, 0b110, 3);
                Put(chunk, (ulong)(change + 255), 9);
                break;
            case >= -2047 and <= 2048:
                Put(chunk, 0b1110, 4);
                Put(chunk, (ulong)(change + 2047), 12);
                break;
            case >= int.MinValue and <= int.MaxValue:
                Put(chunk, 0b11110, 5);
                Put(chunk, (uint)(int)change, 32);
                break;
            default:
                Put(chunk, 0b11111, 5);
                Put(chunk, (ulong)change, 64);
                break;
        }
    }

    private static void PutValue(Chunk* chunk, ulong difference)
    {
        if (difference == 0)
        {
            Put(chunk, 0, 1);
            return;
        }

        int leading = Math.Min(LeadingMax, BitOperations.LeadingZeroCount(difference)), trailing = BitOperations.TrailingZeroCount(difference);
        int width = 64 - leading - trailing;
        if (chunk->Width > 0 && leading >= chunk->Leading && trailing >= 64 - chunk->Leading - chunk->Width && chunk->Width <= width + WindowBits)
        {
            Put(chunk, 0b10, 2);
            Put(chunk, difference >> (64 - chunk->Leading - chunk->Width), chunk->Width);
            return;
        }

        Put(chunk, 0b11, 2);
        Put(chunk, (ulong)leading, 5);
        Put(chunk, (ulong)(width - 1), 6);
        Put(chunk, difference >> trailing, width);
        (chunk->Leading, chunk->Width) = ((byte)leading, (byte)width);
    }

    // The highest bit first. Bits beyond the last one are undefined.
    private static void Put(Chunk* chunk, ulong value, int count)
    {
        while (count > 0)
        {
            byte* at = chunk->Data + (chunk->Bits >> 3);
            int used = chunk->Bits & 7, taken = Math.Min(8 - used, count);
            int bits = (int)(value >> (count - taken)) & ((1 << taken) - 1);
            int kept = used == 0 ? 0 : *at & (0xFF00 >> used);
            *at = (byte)(kept | (bits << (8 - used - taken)));
            chunk->Bits += taken;
            count -= taken;
        }
    }
}
