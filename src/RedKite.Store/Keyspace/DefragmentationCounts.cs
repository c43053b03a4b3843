namespace RedKite.Store.Keyspace;

/// <summary>The work of active defragmentation.</summary>
internal record struct DefragmentationCounts
{
    /// <summary>Blocks that were moved.</summary>
    internal long Hits { get; set; }

    /// <summary>Blocks in sparse slabs that stayed.</summary>
    internal long Misses { get; set; }

    /// <summary>Keys of which a block was moved.</summary>
    internal long KeyHits { get; set; }

    /// <summary>Keys that were examined without moving any block.</summary>
    internal long KeyMisses { get; set; }

    /// <summary>Stopwatch ticks spent.</summary>
    internal long Ticks { get; set; }

    public override readonly string ToString() => $"{Hits} blocks of {KeyHits} keys moved, {Misses} of {KeyMisses} not";

    public static DefragmentationCounts operator +(DefragmentationCounts left, DefragmentationCounts right) => new()
    {
        Hits = left.Hits + right.Hits,
        Misses = left.Misses + right.Misses,
        KeyHits = left.KeyHits + right.KeyHits,
        KeyMisses = left.KeyMisses + right.KeyMisses,
        Ticks = left.Ticks + right.Ticks,
    };
}
