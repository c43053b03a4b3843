using RedKite.Sketches.Store;
using RedKite.Store.Values;

namespace RedKite.Sketches.CountMin;

/// <summary>A count-min sketch (Cormode and Muthukrishnan, 2005): rows of counters. An element's count is the least of its counters, one in each row.</summary>
internal static class CountMinSketch
{
    private const int Total = 0, RowWidth = 1, Rows = 2;

    internal static long Count(Sketch sketch) => (long)sketch.Number(Total);

    internal static long Width(Sketch sketch) => (long)sketch.Number(RowWidth);

    internal static long Depth(Sketch sketch) => (long)sketch.Number(Rows);

    internal static void CountFacts(Sketch sketch, Dictionary<string, long> facts) => facts.Count("counters", Width(sketch) * Depth(sketch));

    /// <summary>Whether a sketch may have these dimensions.</summary>
    internal static bool Fits(long width, long depth) => width > 0 && depth is > 0 and <= SketchLimits.DepthMax && width <= SketchLimits.CountMinBytesMax / sizeof(uint) / depth;

    internal static void Initialize(Sketch sketch, long width, long depth)
    {
        sketch.Number(RowWidth) = (ulong)width;
        sketch.Number(Rows) = (ulong)depth;
        sketch.AddPart(width * depth * sizeof(uint));
    }

    internal static long Query(Sketch sketch, ReadOnlySpan<byte> element)
    {
        SketchHash hash = SketchHash.Of(element);
        uint least = uint.MaxValue;
        for (int row = 0; row < Depth(sketch); row++) least = Math.Min(least, sketch.Read<uint>(0, CounterOf(sketch, row, hash)));
        return least;
    }

    /// <summary>Adds to an element's counters. Nothing changes if one of them would exceed its 32 bits.</summary>
    internal static bool TryAdd(Sketch sketch, ReadOnlySpan<byte> element, long increment, out long count)
    {
        count = 0;
        SketchHash hash = SketchHash.Of(element);
        int rows = (int)Depth(sketch);
        for (int row = 0; row < rows; row++)
        {
            if (sketch.Read<uint>(0, CounterOf(sketch, row, hash)) > uint.MaxValue - increment) return false;
        }

        if (Count(sketch) > long.MaxValue - increment) return false;
        uint least = uint.MaxValue;
        for (int row = 0; row < rows; row++)
        {
            ref uint counter = ref sketch.At<uint>(0, CounterOf(sketch, row, hash));
            counter += (uint)increment;
            least = Math.Min(least, counter);
        }

        sketch.Number(Total) += (ulong)increment;
        count = least;
        return true;
    }

    /// <summary>Adds the product of a sketch's counters and a weight to sums.</summary>
    /// <param name="source">The sketch.</param>
    /// <param name="page">The page of its counters.</param>
    /// <param name="weight">The weight.</param>
    /// <param name="isSmall">Whether no sum can exceed 64 bits.</param>
    /// <param name="sums">The sums.</param>
    /// <returns>Whether all sums are within 64 bits.</returns>
    internal static bool TrySum(Sketch source, int page, long weight, bool isSmall, Span<long> sums)
    {
        ReadOnlySpan<uint> counters = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, uint>(source.Page(0, page));
        bool fits = true;
        for (int i = 0; isSmall && i < counters.Length; i++) sums[i] += counters[i] * weight;
        if (isSmall) return true;
        for (int i = 0; i < counters.Length; i++)
        {
            Int128 sum = sums[i] + ((Int128)counters[i] * weight);
            fits &= sum == (long)sum;
            sums[i] = (long)sum;
        }

        return fits;
    }

    internal static void Replace(Sketch sketch, int page, ReadOnlySpan<long> sums)
    {
        if (sketch.Page(0, page).IsEmpty && sums.IndexOfAnyExcept(0) < 0) return;
        Span<uint> counters = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, uint>(sketch.PageToWrite(0, page));
        for (int i = 0; i < counters.Length; i++) counters[i] = (uint)sums[i];
    }

    internal static void SetCount(Sketch sketch, long count) => sketch.Number(Total) = (ulong)count;

    /// <summary>Whether the numbers, which came from outside, fit each other.</summary>
    internal static bool IsValid(Sketch sketch) =>
        sketch.PartCount == 1 && sketch.Number(RowWidth) <= long.MaxValue && sketch.Number(Rows) <= long.MaxValue && Fits(Width(sketch), Depth(sketch))
        && sketch.PartBytes(0) == Width(sketch) * Depth(sketch) * sizeof(uint) && !sketch.IsWhole(0) && Count(sketch) >= 0;

    private static long CounterOf(Sketch sketch, int row, SketchHash hash) => (row * Width(sketch)) + (long)hash.Position(row, (ulong)Width(sketch));
}
