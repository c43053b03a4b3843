namespace RedKite.Sketches.Store;

/// <summary>What one sketch may have. See docs/bounds.md.</summary>
internal static class SketchLimits
{
    /// <summary>The bytes of a sketch's parts, those included that are zero and take no memory.</summary>
    internal const long BytesMax = 1L << 34;

    /// <summary>The bytes of a count-min sketch's counters, all of which a merge reads.</summary>
    internal const long CountMinBytesMax = 1L << 28;

    /// <summary>The layers of a Bloom filter, each of which is looked at for an element that is new.</summary>
    internal const int BloomLayersMax = 256;

    /// <summary>The layers of a cuckoo filter.</summary>
    internal const int CuckooLayersMax = 1 << 16;

    /// <summary>How often one command pushes elements of a cuckoo filter to their other buckets: about 20 ms.</summary>
    internal const int PushesMax = 1 << 20;

    /// <summary>The elements that a top-k sketch lists, among which each element is searched.</summary>
    internal const int TopMax = 100_000;

    /// <summary>The rows of a top-k or count-min sketch.</summary>
    internal const int DepthMax = 4096;

    /// <summary>The compression of a t-digest: a merge sorts six times as many centroids.</summary>
    internal const int CompressionMax = 10_000;
}
