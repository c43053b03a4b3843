using System.Numerics;
using RedKite.Sketches.Bloom;
using RedKite.Sketches.Store;
using RedKite.Store.Values;

namespace RedKite.Sketches.Cuckoo;

/// <summary>
/// A cuckoo filter (Fan and others, 2014): one byte of each element, its fingerprint, in one of two buckets. Elements whose buckets are full push others to
/// their other buckets; if that does not help, a further layer is added. 0 is an empty place.
/// </summary>
internal static class CuckooFilter
{
    internal const long CapacityMax = 1 << 30;
    internal const int BucketSizeMax = 255;
    internal const int IterationsMax = 65535;
    internal const int ExpansionMax = 32768;

    // The numbers of a filter, and those of a layer. CompactionLayer and CompactionPlace are where its next compaction goes on; layer 0: a pass begins. Compacted is 1 if no element
    // was added or deleted since the last pass began: another one would move nothing.
    private const int Items = 0, Deleted = 1, BucketPlaces = 2, Iterations = 3, ExpansionRate = 4, CompactionLayer = 5, CompactionPlace = 6, Compacted = 7;
    private const int LayerBuckets = 0, LayerItems = 1;
    private const int Fingerprints = 255;

    // What looking through a page for elements costs: about as much as looking at so many places.
    private const int StepsPerPage = 512;
    private const ulong FingerprintSpread = 0x5BD1_E995_9E37_79B1;

    internal static long Count(Sketch filter) => (long)filter.Number(Items);

    internal static long DeletedCount(Sketch filter) => (long)filter.Number(Deleted);

    internal static int BucketSize(Sketch filter) => (int)filter.Number(BucketPlaces);

    internal static int MaxIterations(Sketch filter) => (int)filter.Number(Iterations);

    internal static int Expansion(Sketch filter) => (int)filter.Number(ExpansionRate);

    internal static long Buckets(Sketch filter, int layer = 0) => (long)filter.PartNumber(layer, LayerBuckets);

    /// <summary>The places where an element may be.</summary>
    internal static long PlacesOf(Sketch filter) => 2L * BucketSize(filter) * filter.PartCount;

    internal static void CountFacts(Sketch filter, Dictionary<string, long> facts)
    {
        // Many layers are all of one size; those that grow are few.
        const int LayersSummed = 256;
        long capacity = 0;
        for (int layer = 0; layer < Math.Min(filter.PartCount, LayersSummed); layer++) capacity += filter.PartBytes(layer);
        if (filter.PartCount > LayersSummed) capacity += (filter.PartCount - LayersSummed) * filter.PartBytes(filter.PartCount - 1);
        facts.Count("elements", Count(filter));
        facts.Count("capacity", capacity);
        facts.Count("deletions", DeletedCount(filter));
        facts.Count("layers", filter.PartCount);
        facts.Count("that_do_not_grow", Expansion(filter) == 0 ? 1 : 0);
    }

    /// <summary>The buckets for a capacity.</summary>
    internal static long BucketsFor(long capacity, int bucketSize) => (long)BitOperations.RoundUpToPowerOf2((ulong)Math.Max(1, capacity / bucketSize));

    internal static void Initialize(Sketch filter, long capacity, int bucketSize, int iterations, int expansion)
    {
        filter.Number(BucketPlaces) = (ulong)bucketSize;
        filter.Number(Iterations) = (ulong)iterations;
        filter.Number(ExpansionRate) = expansion == 0 ? 0 : BitOperations.RoundUpToPowerOf2((uint)expansion);
        AddLayer(filter, BucketsFor(capacity, bucketSize));
    }

    internal static bool Contains(Sketch filter, ReadOnlySpan<byte> element)
    {
        var place = new Place(element);
        for (int layer = filter.PartCount - 1; layer >= 0; layer--)
        {
            if (CountIn(filter, layer, place, 1) > 0) return true;
        }

        return false;
    }

    /// <summary>How often an element may have been added.</summary>
    internal static long CountOf(Sketch filter, ReadOnlySpan<byte> element)
    {
        var place = new Place(element);
        long count = 0;
        for (int layer = 0; layer < filter.PartCount; layer++) count += CountIn(filter, layer, place, int.MaxValue);
        return count;
    }

    internal static bool Remove(Sketch filter, ReadOnlySpan<byte> element)
    {
        var place = new Place(element);
        for (int layer = filter.PartCount - 1; layer >= 0; layer--)
        {
            if (!TryReplace(filter, layer, place, place.Fingerprint, 0)) continue;
            CountItem(filter, layer, -1);
            if (filter.Number(Deleted) < long.MaxValue) filter.Number(Deleted)++;
            filter.Number(Compacted) = 0;
            return true;
        }

        return false;
    }

    /// <summary>Adds an element, also one that is there.</summary>
    /// <param name="filter">The filter.</param>
    /// <param name="element">The element.</param>
    /// <param name="layersMax">The layers that it may have.</param>
    /// <param name="pushes">How often elements may still be pushed for the command: when there are none left, a full bucket is a full filter.</param>
    internal static Addition Add(Sketch filter, ReadOnlySpan<byte> element, int layersMax, ref int pushes)
    {
        var place = new Place(element);
        Addition addition = TryPlace(filter, place) || TryPush(filter, place, ref pushes) ? Addition.Added : Grow(filter, layersMax);
        if (addition == Addition.Known) addition = TryPlace(filter, place) ? Addition.Added : Addition.Full;
        if (addition == Addition.Added) filter.Number(Compacted) = 0;
        return addition;
    }

    /// <summary>The places that a compaction may look at.</summary>
    internal static long CompactionSteps(Sketch filter, long stepsMax)
    {
        if (IsCompacted(filter)) return 0;
        double steps = 0;
        for (int layer = 1; layer < filter.PartCount; layer++)
        {
            steps += (filter.PageCount(layer) * (double)StepsPerPage) + (2.0 * BucketSize(filter) * layer * filter.PartNumber(layer, LayerItems));
        }

        return (long)Math.Min(steps, stepsMax);
    }

    /// <summary>
    /// Moves elements of later layers to empty places of earlier ones, and removes the last layers that have none left. It goes on where the one before
    /// has stopped, until a pass through all layers has ended; then there is nothing to do until an element is added or deleted. What it does follows from the
    /// filter's bytes and numbers, so that every server does the same.
    /// </summary>
    /// <returns>Whether there was something to do.</returns>
    internal static bool Compact(Sketch filter, long steps)
    {
        if (IsCompacted(filter)) return false;
        ulong layer = filter.Number(CompactionLayer), place = filter.Number(CompactionPlace);
        if (layer == 0 || layer >= (ulong)filter.PartCount)
        {
            (layer, place) = (1, 0);
            filter.Number(Compacted) = 1;
        }

        while (layer < (ulong)filter.PartCount && steps > 0)
        {
            ulong next = CompactPage(filter, (int)layer, place, ref steps);
            (layer, place) = next < (ulong)filter.PartBytes((int)layer) ? (layer, next) : (layer + 1, 0);
        }

        while (filter.PartCount > 1 && filter.PartNumber(filter.PartCount - 1, LayerItems) == 0) filter.RemoveLastPart();
        if (layer >= (ulong)filter.PartCount) (layer, place) = (0, 0);
        (filter.Number(CompactionLayer), filter.Number(CompactionPlace)) = (layer, place);
        return true;
    }

    /// <summary>Whether the numbers, which came from outside, fit each other.</summary>
    internal static bool IsValid(Sketch filter)
    {
        if (filter.PartCount is 0 or > SketchLimits.CuckooLayersMax || filter.Number(BucketPlaces) is 0 or > BucketSizeMax) return false;
        if (filter.Number(Iterations) is 0 or > IterationsMax || filter.Number(ExpansionRate) > ExpansionMax) return false;
        if (filter.Number(ExpansionRate) != 0 && !BitOperations.IsPow2(filter.Number(ExpansionRate))) return false;
        ulong items = 0;
        for (int layer = 0; layer < filter.PartCount; layer++)
        {
            ulong buckets = filter.PartNumber(layer, LayerBuckets);
            if (buckets > SketchLimits.BytesMax || !BitOperations.IsPow2(buckets) || filter.PartBytes(layer) != (long)buckets * BucketSize(filter) || filter.IsWhole(layer)) return false;
            if (layer > 0 && buckets < filter.PartNumber(layer - 1, LayerBuckets)) return false;
            if (filter.PartNumber(layer, LayerItems) > (ulong)filter.PartBytes(layer)) return false;
            items += filter.PartNumber(layer, LayerItems);
        }

        return filter.Number(Items) == items && filter.Number(Deleted) <= long.MaxValue;
    }

    // Whether no pass is in progress, and another one would move nothing.
    private static bool IsCompacted(Sketch filter) => filter.PartCount == 1 || (filter.Number(CompactionLayer) == 0 && filter.Number(Compacted) == 1);

    // Of a filter that was loaded the counts may not be those of its elements: they stay possible ones.
    private static void CountItem(Sketch filter, int layer, int change)
    {
        ref ulong items = ref filter.PartNumber(layer, LayerItems);
        if (items == (change < 0 ? 0 : (ulong)filter.PartBytes(layer))) return;
        items = (ulong)((long)items + change);
        filter.Number(Items) = (ulong)((long)filter.Number(Items) + change);
    }

    // Returns the place to go on with.
    private static ulong CompactPage(Sketch filter, int layer, ulong place, ref long steps)
    {
        if (filter.PartNumber(layer, LayerItems) == 0) return ulong.MaxValue;
        steps -= StepsPerPage;
        int page = (int)(place / SketchData.PageBytes), at = (int)(place % SketchData.PageBytes);
        if (page >= filter.PageCount(layer)) return ulong.MaxValue;
        Span<byte> bytes = filter.Page(layer, page);
        for (; at < bytes.Length && steps > 0; at++)
        {
            int empty = bytes[at..].IndexOfAnyExcept((byte)0);
            at = empty < 0 ? bytes.Length : at + empty;
            if (at == bytes.Length || !TryMoveDown(filter, layer, (((ulong)page * SketchData.PageBytes) + (ulong)at) / filter.Number(BucketPlaces), bytes[at], ref steps)) continue;
            bytes[at] = 0;
        }

        if (bytes.IndexOfAnyExcept((byte)0) < 0) filter.FreePage(layer, page);
        return at < bytes.Length ? ((ulong)page * SketchData.PageBytes) + (ulong)at : ((ulong)page + 1) * SketchData.PageBytes;
    }

    // An earlier layer has no more buckets than this one, so that an element's bucket there follows from the one here.
    private static bool TryMoveDown(Sketch filter, int layer, ulong bucket, byte fingerprint, ref long steps)
    {
        var place = new Place(bucket, fingerprint);
        for (int earlier = 0; earlier < layer; earlier++)
        {
            steps -= 2 * BucketSize(filter);
            if (!TryReplace(filter, earlier, place, 0, fingerprint)) continue;
            CountItem(filter, layer, -1);
            CountItem(filter, earlier, 1);
            return true;
        }

        return false;
    }

    private static bool TryPlace(Sketch filter, Place place)
    {
        for (int layer = filter.PartCount - 1; layer >= 0; layer--)
        {
            if (!TryReplace(filter, layer, place, 0, place.Fingerprint)) continue;
            CountItem(filter, layer, 1);
            return true;
        }

        return false;
    }

    // Pushes elements of the last layer to their other buckets. The places follow from the step's number, so that steps in vain are undone backwards, and
    // every server does the same.
    private static bool TryPush(Sketch filter, Place place, ref int pushes)
    {
        int layer = filter.PartCount - 1, places = BucketSize(filter), steps = Math.Min(MaxIterations(filter), pushes);
        pushes -= steps;
        ulong bucket = place.First;
        byte fingerprint = place.Fingerprint;
        for (int step = 0; step < steps; step++)
        {
            ref byte pushed = ref PlaceAt(filter, layer, bucket, step % places);
            (fingerprint, pushed) = (pushed, fingerprint);
            bucket = Other(bucket, fingerprint);
            if (!TryReplace(filter, layer, bucket, 0, fingerprint)) continue;
            CountItem(filter, layer, 1);
            pushes += steps - step - 1;
            return true;
        }

        for (int step = steps - 1; step >= 0; step--)
        {
            bucket = Other(bucket, fingerprint);
            ref byte pushed = ref PlaceAt(filter, layer, bucket, step % places);
            (fingerprint, pushed) = (pushed, fingerprint);
        }

        return false;
    }

    // Known: there is a further layer.
    private static Addition Grow(Sketch filter, int layersMax)
    {
        if (Expansion(filter) == 0) return Addition.Full;
        if (filter.PartCount >= Math.Min(layersMax, SketchLimits.CuckooLayersMax)) return Addition.TooManyLayers;
        double buckets = (double)Buckets(filter, filter.PartCount - 1) * Expansion(filter);
        if ((buckets * BucketSize(filter)) + BytesOf(filter) > SketchLimits.BytesMax) return Addition.TooLarge;
        AddLayer(filter, (long)buckets);
        return Addition.Known;
    }

    private static long BytesOf(Sketch filter)
    {
        long sum = 0;
        for (int i = 0; i < filter.PartCount; i++) sum += filter.PartBytes(i);
        return sum;
    }

    private static void AddLayer(Sketch filter, long buckets)
    {
        filter.AddPart(buckets * BucketSize(filter));
        filter.PartNumber(filter.PartCount - 1, LayerBuckets) = (ulong)buckets;
    }

    private static int CountIn(Sketch filter, int layer, Place place, int max)
    {
        ulong mask = (ulong)Buckets(filter, layer) - 1;
        int count = CountIn(filter, layer, place.First & mask, place.Fingerprint, max);
        return count >= max || ((place.First ^ place.Second) & mask) == 0 ? count : count + CountIn(filter, layer, place.Second & mask, place.Fingerprint, max);
    }

    private static int CountIn(Sketch filter, int layer, ulong bucket, byte fingerprint, int max)
    {
        int places = BucketSize(filter), count = 0;
        for (int i = 0; i < places && count < max; i++) count += filter.Read<byte>(layer, ((long)bucket * places) + i) == fingerprint ? 1 : 0;
        return count;
    }

    private static bool TryReplace(Sketch filter, int layer, Place place, byte old, byte replacement) =>
        TryReplace(filter, layer, place.First, old, replacement) || TryReplace(filter, layer, place.Second, old, replacement);

    private static bool TryReplace(Sketch filter, int layer, ulong position, byte old, byte replacement)
    {
        int places = BucketSize(filter);
        long start = (long)(position & ((ulong)Buckets(filter, layer) - 1)) * places;
        for (int i = 0; i < places; i++)
        {
            if (filter.Read<byte>(layer, start + i) != old) continue;
            filter.At<byte>(layer, start + i) = replacement;
            return true;
        }

        return false;
    }

    private static ref byte PlaceAt(Sketch filter, int layer, ulong position, int place) =>
        ref filter.At<byte>(layer, ((long)(position & ((ulong)Buckets(filter, layer) - 1)) * BucketSize(filter)) + place);

    // For a number of buckets that is a power of two, the other bucket of the other bucket is the first one.
    private static ulong Other(ulong bucket, byte fingerprint) => bucket ^ (fingerprint * FingerprintSpread);

    /// <summary>An element's fingerprint, and its two buckets among any number of them.</summary>
    private readonly struct Place
    {
        internal Place(ReadOnlySpan<byte> element)
        {
            SketchHash hash = SketchHash.Of(element);
            Fingerprint = (byte)(1 + (hash.First % Fingerprints));
            First = hash.Step >> 1;
            Second = Other(First, Fingerprint);
        }

        internal Place(ulong bucket, byte fingerprint) => (Fingerprint, First, Second) = (fingerprint, bucket, Other(bucket, fingerprint));

        internal byte Fingerprint { get; }

        internal ulong First { get; }

        internal ulong Second { get; }
    }
}
