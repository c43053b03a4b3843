using RedKite.Sketches.Store;
using RedKite.Store.Values;

namespace RedKite.Sketches.Bloom;

/// <summary>What adding an element to a filter has led to.</summary>
internal enum Addition
{
    /// <summary>It may have been there.</summary>
    Known,

    Added,

    /// <summary>There is no room, and the filter does not grow.</summary>
    Full,

    /// <summary>There is no room, and the filter has as many layers as it may have.</summary>
    TooManyLayers,

    /// <summary>There is no room, and a further layer would be too large.</summary>
    TooLarge,
}

/// <summary>
/// A scalable Bloom filter (Almeida and others, 2007): layers of bits, each larger than the one before, and each with half its error rate, so that the sum
/// stays below the promised one. Elements are added to the last layer.
/// </summary>
internal static class BloomFilter
{
    internal const double ErrorRateMax = 0.25;
    internal const double TighteningRatio = 0.5;
    internal const long CapacityMax = 1 << 30;
    internal const int ExpansionMax = 32768;

    private const int HashesMax = 1100; // of the least double

    // The numbers of a filter, and those of a layer.
    private const int Items = 0, ExpansionRate = 1;
    private const int LayerItems = 0, LayerCapacity = 1, LayerHashes = 2, LayerError = 3;

    internal static long Count(Sketch filter) => (long)filter.Number(Items);

    /// <summary>By how much a layer is larger than the one before; 0: there is one layer.</summary>
    internal static int Expansion(Sketch filter) => (int)filter.Number(ExpansionRate);

    internal static long Capacity(Sketch filter)
    {
        long sum = 0;
        for (int i = 0; i < filter.PartCount; i++) sum += (long)filter.PartNumber(i, LayerCapacity);
        return sum;
    }

    internal static void CountFacts(Sketch filter, Dictionary<string, long> facts)
    {
        facts.Count("elements", Count(filter));
        facts.Count("capacity", Capacity(filter));
        facts.Count("layers", filter.PartCount);
        facts.Count("that_do_not_grow", Expansion(filter) == 0 ? 1 : 0);
    }

    internal static (long Items, long Capacity, int Hashes, double ErrorRate) Layer(Sketch filter, int layer) =>
        ((long)filter.PartNumber(layer, LayerItems), (long)filter.PartNumber(layer, LayerCapacity), (int)filter.PartNumber(layer, LayerHashes), BitConverter.UInt64BitsToDouble(filter.PartNumber(layer, LayerError)));

    /// <summary>The places where an element's bits are. Half the bits of a layer are set, so that a new element is seldom looked for at more than two or three in each.</summary>
    internal static long PlacesOf(Sketch filter) => (2L * filter.PartCount) + (long)filter.PartNumber(filter.PartCount - 1, LayerHashes);

    /// <summary>The error rate of the first layer: half the promised one if there may be more layers.</summary>
    internal static double FirstErrorRate(double errorRate, int expansion) => Math.Min(errorRate, ErrorRateMax) * (expansion == 0 ? 1 : TighteningRatio);

    /// <summary>The bytes of a layer's bits.</summary>
    internal static double BytesFor(double errorRate, double capacity) => Math.Max(1, Math.Ceiling(capacity * BitsPerItem(errorRate) / 64)) * 8;

    internal static void Initialize(Sketch filter, double errorRate, long capacity, int expansion)
    {
        filter.Number(ExpansionRate) = (ulong)expansion;
        AddLayer(filter, FirstErrorRate(errorRate, expansion), capacity);
    }

    internal static bool Contains(Sketch filter, ReadOnlySpan<byte> element) => Find(filter, [SketchHash.Of(element)]) != 0;

    /// <summary>Which of at most <see cref="SketchBits.HashesMax"/> elements the filter may have: a bit for each.</summary>
    internal static uint Find(Sketch filter, ReadOnlySpan<SketchHash> elements) => filter.HaveBitsInAny(elements, 0, filter.PartCount, LayerHashes);

    internal static Addition Add(Sketch filter, ReadOnlySpan<byte> element)
    {
        Addition addition = default;
        Add(filter, [SketchHash.Of(element)], new Span<Addition>(ref addition));
        return addition;
    }

    /// <summary>Adds at most <see cref="SketchBits.HashesMax"/> elements, as if one after the other, until one cannot be added.</summary>
    /// <returns>The number of additions, of which only the last one may have failed.</returns>
    internal static int Add(Sketch filter, ReadOnlySpan<SketchHash> elements, Span<Addition> additions)
    {
        // All layers but the last one stay as they are, and AddToLast looks at that one again. A layer that was the last one has got elements since.
        uint known = Find(filter, elements);
        int last = filter.PartCount - 1;
        for (int i = 0; i < elements.Length; i++)
        {
            if (filter.PartCount - 1 > last)
            {
                known |= filter.HaveBitsInAny(elements, last, filter.PartCount - 1 - last, LayerHashes);
                last = filter.PartCount - 1;
            }

            additions[i] = (known & (1u << i)) != 0 ? Addition.Known : AddToLast(filter, elements[i]);
            if (additions[i] is not (Addition.Known or Addition.Added)) return i + 1;
        }

        return elements.Length;
    }

    /// <summary>Whether the numbers, which came from outside, fit each other. Another machine may round logarithms otherwise.</summary>
    internal static bool IsValid(Sketch filter)
    {
        if (filter.PartCount is 0 or > SketchLimits.BloomLayersMax || filter.Number(ExpansionRate) > ExpansionMax) return false;
        if (Expansion(filter) == 0 && filter.PartCount > 1) return false;
        ulong items = 0;
        for (int i = 0; i < filter.PartCount; i++)
        {
            (long layerItems, long capacity, int hashes, double errorRate) = Layer(filter, i);
            bool fits = errorRate is > 0 and <= ErrorRateMax && capacity > 0 && layerItems >= 0 && layerItems <= capacity
                && filter.PartNumber(i, LayerHashes) is > 0 and <= HashesMax && Math.Abs(hashes - HashesFor(errorRate)) <= 1
                && Math.Abs(filter.PartBytes(i) - BytesFor(errorRate, capacity)) <= sizeof(ulong) && filter.PartBytes(i) % sizeof(ulong) == 0 && filter.PartBytes(i) > 0 && !filter.IsWhole(i);
            if (!fits) return false;
            items += (ulong)layerItems;
        }

        return items == filter.Number(Items);
    }

    // Adds an element that no earlier layer has.
    private static Addition AddToLast(Sketch filter, SketchHash element)
    {
        int last = filter.PartCount - 1;
        if (filter.PartNumber(last, LayerItems) >= filter.PartNumber(last, LayerCapacity))
        {
            if (filter.HaveBitsInAny([element], last, 1, LayerHashes) != 0) return Addition.Known;
            Addition growth = Grow(filter);
            if (growth != Addition.Added) return growth;
            last++;
        }

        if (!filter.SetBits(last, element, (int)filter.PartNumber(last, LayerHashes))) return Addition.Known;
        filter.PartNumber(last, LayerItems)++;
        filter.Number(Items)++;
        return Addition.Added;
    }

    // Added: there is a further layer.
    private static Addition Grow(Sketch filter)
    {
        int last = filter.PartCount - 1;
        if (Expansion(filter) == 0) return Addition.Full;
        if (filter.PartCount == SketchLimits.BloomLayersMax) return Addition.TooManyLayers;
        double errorRate = BitConverter.UInt64BitsToDouble(filter.PartNumber(last, LayerError)) * TighteningRatio;
        double capacity = (double)filter.PartNumber(last, LayerCapacity) * Expansion(filter);
        if (BytesFor(errorRate, capacity) + BytesOf(filter) > SketchLimits.BytesMax) return Addition.TooLarge;
        AddLayer(filter, errorRate, (long)capacity);
        return Addition.Added;
    }

    private static long BytesOf(Sketch filter)
    {
        long sum = 0;
        for (int i = 0; i < filter.PartCount; i++) sum += filter.PartBytes(i);
        return sum;
    }

    private static void AddLayer(Sketch filter, double errorRate, long capacity)
    {
        filter.AddPart((long)BytesFor(errorRate, capacity));
        int layer = filter.PartCount - 1;
        filter.PartNumber(layer, LayerCapacity) = (ulong)capacity;
        filter.PartNumber(layer, LayerHashes) = (ulong)HashesFor(errorRate);
        filter.PartNumber(layer, LayerError) = BitConverter.DoubleToUInt64Bits(errorRate);
    }

    private static double BitsPerItem(double errorRate) => -Math.Log(errorRate) / (Math.Log(2) * Math.Log(2));

    private static int HashesFor(double errorRate) => (int)Math.Ceiling(Math.Log(2) * BitsPerItem(errorRate));
}
