using System.Numerics;
using RedKite.Sketches.Bloom;
using RedKite.Sketches.Store;

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

    private const int Items = 0, Deleted = 1, BucketPlaces = 2, Iterations = 3, ExpansionRate = 4;
    private const int LayerBuckets = 0;
    private const int Fingerprints = 255;
    private const ulong FingerprintSpread = 0x5BD1_E995_9E37_79B1;

    internal static long Count(Sketch filter) => (long)filter.Number(Items);

    internal static long DeletedCount(Sketch filter) => (long)filter.Number(Deleted);

    internal static int BucketSize(Sketch filter) => (int)filter.Number(BucketPlaces);

    internal static int MaxIterations(Sketch filter) => (int)filter.Number(Iterations);

    internal static int Expansion(Sketch filter) => (int)filter.Number(ExpansionRate);

    internal static long Buckets(Sketch filter, int layer = 0) => (long)filter.PartNumber(layer, LayerBuckets);

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
            if (!TryReplace(filter, layer, place.First, place.Fingerprint, 0) && !TryReplace(filter, layer, place.Second, place.Fingerprint, 0)) continue;
            filter.Number(Items)--;
            filter.Number(Deleted)++;
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
        if (addition == Addition.Added) filter.Number(Items)++;
        return addition;
    }

    /// <summary>Whether the numbers, which came from outside, fit each other.</summary>
    internal static bool IsValid(Sketch filter)
    {
        if (filter.PartCount is 0 or > SketchLimits.CuckooLayersMax || filter.Number(BucketPlaces) is 0 or > BucketSizeMax) return false;
        if (filter.Number(Iterations) is 0 or > IterationsMax || filter.Number(ExpansionRate) > ExpansionMax) return false;
        if (filter.Number(ExpansionRate) != 0 && !BitOperations.IsPow2(filter.Number(ExpansionRate))) return false;
        ulong places = 0;
        for (int layer = 0; layer < filter.PartCount; layer++)
        {
            ulong buckets = filter.PartNumber(layer, LayerBuckets);
            if (buckets > SketchLimits.BytesMax || !BitOperations.IsPow2(buckets) || filter.PartBytes(layer) != (long)buckets * BucketSize(filter) || filter.IsWhole(layer)) return false;
            places += buckets * filter.Number(BucketPlaces);
        }

        return filter.Number(Items) <= places && filter.Number(Deleted) <= long.MaxValue;
    }

    private static bool TryPlace(Sketch filter, Place place)
    {
        for (int layer = filter.PartCount - 1; layer >= 0; layer--)
        {
            if (TryReplace(filter, layer, place.First, 0, place.Fingerprint) || TryReplace(filter, layer, place.Second, 0, place.Fingerprint)) return true;
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

        internal byte Fingerprint { get; }

        internal ulong First { get; }

        internal ulong Second { get; }
    }
}
