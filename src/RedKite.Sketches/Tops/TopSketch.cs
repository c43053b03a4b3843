using RedKite.Sketches.Store;
using RedKite.Store.Values;

namespace RedKite.Sketches.Tops;

/// <summary>
/// The elements that were added most often: HeavyKeeper (Gong and others, 2018). Rows of counters, each with the fingerprint of the element that it counts;
/// others make it decay, rarely if it is large. A heap has the k elements with the largest counts, the least at its top.
/// </summary>
/// <remarks>Decay is random, from a state in the value, with operations that all processors round alike: replicas do the same.</remarks>
internal static class TopSketch
{
    internal const long IncrementMax = 100_000;

    private const int Listed = 0, TopCount = 1, RowWidth = 2, Rows = 3, DecayBits = 4, RandomState = 5;
    private const int Counters = 0, Prints = 1, Counts = 2, Names = 3;
    private const ulong Seed = 0x853C_49E6_748F_EA9B;

    private const int CounterBytes = 8; // fingerprint, count
    private const int PrintsPerPlace = 32;

    internal static long Top(Sketch sketch) => (long)sketch.Number(TopCount);

    internal static long Width(Sketch sketch) => (long)sketch.Number(RowWidth);

    internal static long Depth(Sketch sketch) => (long)sketch.Number(Rows);

    internal static double Decay(Sketch sketch) => BitConverter.UInt64BitsToDouble(sketch.Number(DecayBits));

    internal static void CountFacts(Sketch sketch, Dictionary<string, long> facts)
    {
        facts.Count("listed", (long)sketch.Number(Listed));
        facts.Count("listed_at_most", Top(sketch));
        facts.Count("counters", Width(sketch) * Depth(sketch));
    }

    /// <summary>The places that are looked at for an element: its counters, and the listed elements' fingerprints, several at once.</summary>
    internal static long PlacesOf(Sketch sketch) => Depth(sketch) + (Top(sketch) / PrintsPerPlace);

    internal static bool Fits(long top, long width, long depth) =>
        top is > 0 and <= SketchLimits.TopMax && width > 0 && depth is > 0 and <= SketchLimits.DepthMax && width <= SketchLimits.BytesMax / CounterBytes / depth;

    internal static void Initialize(Sketch sketch, long top, long width, long depth, double decay)
    {
        sketch.Number(TopCount) = (ulong)top;
        sketch.Number(RowWidth) = (ulong)width;
        sketch.Number(Rows) = (ulong)depth;
        sketch.Number(DecayBits) = BitConverter.DoubleToUInt64Bits(decay);
        sketch.Number(RandomState) = Seed;
        sketch.AddPart(width * depth * CounterBytes);
        sketch.AddPart(top * sizeof(uint), isWhole: true);
        sketch.AddPart(top * sizeof(uint), isWhole: true);
        for (long i = 0; i < top; i++) sketch.AddPart(0, isWhole: true);
    }

    /// <summary>Adds to an element's count.</summary>
    /// <param name="sketch">The sketch.</param>
    /// <param name="element">The element.</param>
    /// <param name="increment">From 1 to <see cref="IncrementMax"/>.</param>
    /// <param name="decays">How often the command may still make other elements' counters decay.</param>
    /// <param name="expelled">The place of the element that it takes the place of, whose name is there until <see cref="Place"/>; -1: of none.</param>
    /// <returns>The count to place it with; 0: it is not among the first, or is already placed.</returns>
    internal static uint Add(Sketch sketch, ReadOnlySpan<byte> element, long increment, ref int decays, out int expelled)
    {
        SketchHash hash = SketchHash.Of(element);
        uint print = (uint)(hash.First >> 32), count = 0;
        for (int row = 0; row < Depth(sketch); row++)
        {
            ref ulong counter = ref sketch.At<ulong>(Counters, CounterOf(sketch, row, hash));
            if ((uint)(counter >> 32) == 0) counter = print;
            long added = (uint)counter == print ? increment : Wear(sketch, ref counter, print, increment, ref decays);
            if (added == 0) continue;
            uint sum = (uint)Math.Min(uint.MaxValue, (counter >> 32) + (ulong)added);
            counter = ((ulong)sum << 32) | print;
            count = Math.Max(count, sum);
        }

        expelled = -1;
        Span<uint> counts = sketch.All<uint>(Counts);
        if (count == 0 || count < counts[0]) return 0;
        int place = Find(sketch, element, print);
        if (place >= 0)
        {
            counts[place] = count;
            Sink(sketch, place);
            return 0;
        }

        if (counts[0] > 0) expelled = 0;
        else sketch.Number(Listed)++;
        return count;
    }

    /// <summary>Gives an element the place of the least one.</summary>
    internal static void Place(Sketch sketch, ReadOnlySpan<byte> element, uint count)
    {
        sketch.SetBytes(Names, element);
        sketch.All<uint>(Prints)[0] = (uint)(SketchHash.Of(element).First >> 32);
        sketch.All<uint>(Counts)[0] = count;
        Sink(sketch, 0);
    }

    internal static bool IsListed(Sketch sketch, ReadOnlySpan<byte> element) => Find(sketch, element, (uint)(SketchHash.Of(element).First >> 32)) >= 0;

    /// <summary>The count of an element, listed or not.</summary>
    internal static uint CountOf(Sketch sketch, ReadOnlySpan<byte> element)
    {
        SketchHash hash = SketchHash.Of(element);
        uint count = 0;
        for (int row = 0; row < Depth(sketch); row++)
        {
            ulong counter = sketch.Read<ulong>(Counters, CounterOf(sketch, row, hash));
            if ((uint)counter == (uint)(hash.First >> 32)) count = Math.Max(count, (uint)(counter >> 32));
        }

        return count;
    }

    internal static ReadOnlySpan<byte> Name(Sketch sketch, int place) => sketch.BytesAsTheyAre(Names + place);

    internal static uint ListedCount(Sketch sketch, int place) => System.Runtime.InteropServices.MemoryMarshal.Cast<byte, uint>(sketch.BytesAsTheyAre(Counts)) is { IsEmpty: false } counts ? counts[place] : 0;

    /// <summary>Whether the numbers, which came from outside, fit each other.</summary>
    internal static bool IsValid(Sketch sketch)
    {
        if (sketch.Number(TopCount) > SketchLimits.TopMax || sketch.Number(RowWidth) > long.MaxValue || sketch.Number(Rows) > long.MaxValue) return false;
        if (!Fits(Top(sketch), Width(sketch), Depth(sketch)) || Decay(sketch) is not (> 0 and <= 1) || sketch.PartCount != Names + Top(sketch)) return false;
        if (sketch.PartBytes(Counters) != Width(sketch) * Depth(sketch) * CounterBytes || sketch.IsWhole(Counters)) return false;
        if (sketch.PartBytes(Prints) != Top(sketch) * sizeof(uint) || sketch.PartBytes(Counts) != Top(sketch) * sizeof(uint)) return false;
        if (sketch.PageCount(Prints) != 1 || sketch.PageCount(Counts) != 1) return false;
        Span<uint> counts = sketch.All<uint>(Counts), prints = sketch.All<uint>(Prints);
        ulong listed = 0;
        for (int i = 0; i < counts.Length; i++)
        {
            if (i > 0 && counts[i] < counts[(i - 1) / 2]) return false;
            if (sketch.PageCount(Names + i) > 1 || (counts[i] == 0 && sketch.PartBytes(Names + i) > 0)) return false;
            if (counts[i] == 0) continue;
            listed++;
            if (prints[i] != (uint)(SketchHash.Of(sketch.Bytes(Names + i)).First >> 32)) return false;
        }

        return listed == sketch.Number(Listed);
    }

    // Another element's counter: each addition takes 1 from it with the probability decay^count. Returns how many are left when it is at 0.
    private static long Wear(Sketch sketch, ref ulong counter, uint print, long additions, ref int decays)
    {
        double decay = Decay(sketch);
        for (; additions > 0 && decays > 0; decays--)
        {
            uint count = (uint)(counter >> 32);
            long tries = TriesToSuccess(sketch, Power(decay, count), additions);
            additions -= tries;
            if (additions < 0) return 0;
            counter -= 1UL << 32;
            if (count > 1) continue;
            counter = print;
            return additions + 1;
        }

        return 0;
    }

    // The number of the first try that succeeds, drawn at once; more than there are: none.
    private static long TriesToSuccess(Sketch sketch, double probability, long tries)
    {
        if (probability >= 1) return 1;
        ref ulong state = ref sketch.Number(RandomState);
        state = (state * 6364136223846793005) + 1442695040888963407;
        double drawn = ((state >> 11) + 1) * (1.0 / (1UL << 53));
        Span<double> failures = stackalloc double[18]; // of 2^i tries
        failures[0] = 1 - probability;
        for (int i = 1; i < failures.Length; i++) failures[i] = failures[i - 1] * failures[i - 1];
        long failed = 0;
        double left = 1;
        for (int i = failures.Length - 1; i >= 0; i--)
        {
            if (left * failures[i] < drawn) continue;
            left *= failures[i];
            failed += 1L << i;
        }

        return Math.Min(failed, tries) + 1;
    }

    private static double Power(double value, uint exponent)
    {
        double power = 1;
        for (; exponent != 0 && power > 0; exponent >>= 1, value *= value)
        {
            if ((exponent & 1) != 0) power *= value;
        }

        return power;
    }

    private static int Find(Sketch sketch, ReadOnlySpan<byte> element, uint print)
    {
        ReadOnlySpan<uint> prints = System.Runtime.InteropServices.MemoryMarshal.Cast<byte, uint>(sketch.BytesAsTheyAre(Prints));
        for (int start = 0; start < prints.Length;)
        {
            int at = prints[start..].IndexOf(print);
            if (at < 0) return -1;
            start += at;
            if (ListedCount(sketch, start) > 0 && Name(sketch, start).SequenceEqual(element)) return start;
            start++;
        }

        return -1;
    }

    // Of equal counts the right one rises, and the element that sinks goes below them, as in RedisBloom: clients see which of them is expelled.
    private static void Sink(Sketch sketch, int place)
    {
        Span<uint> counts = sketch.All<uint>(Counts), prints = sketch.All<uint>(Prints);
        while ((2 * place) + 1 < counts.Length)
        {
            int child = (2 * place) + 1;
            if (child + 1 < counts.Length && counts[child + 1] <= counts[child]) child++;
            if (counts[child] > counts[place]) return;
            (counts[place], counts[child]) = (counts[child], counts[place]);
            (prints[place], prints[child]) = (prints[child], prints[place]);
            sketch.SwapParts(Names + place, Names + child);
            place = child;
        }
    }

    private static long CounterOf(Sketch sketch, int row, SketchHash hash) => (row * Width(sketch)) + (long)hash.Position(row, (ulong)Width(sketch));
}
