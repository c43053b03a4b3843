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

    /// <summary>The places of a cuckoo filter that one CF.COMPACT looks at: about 20 ms. The next one goes on.</summary>
    internal const int CompactionStepsMax = 1 << 22;

    /// <summary>The places of sketches that one command looks at, by what it is given and what the sketch is like: about a second. It is refused beyond that.</summary>
    internal const long PlacesMax = 1L << 28;

    /// <summary>How often one command makes counters of a top-k decay: about 0.2 s. Then those of other elements stay as they are.</summary>
    internal const int DecaysMax = 1 << 22;

    /// <summary>The elements that a top-k sketch lists, among which each element is searched.</summary>
    internal const int TopMax = 100_000;

    /// <summary>The rows of a top-k or count-min sketch.</summary>
    internal const int DepthMax = 4096;

    /// <summary>The compression of a t-digest: a merge sorts six times as many centroids.</summary>
    internal const int CompressionMax = 10_000;
}
