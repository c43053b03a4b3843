namespace RedKite.Store.Keyspace;

/// <summary>The work of active defragmentation.</summary>
internal record struct DefragmentationCounts
{
    /// <summary>Blocks that were moved.</summary>
    internal long Hits { get; private set; }

    /// <summary>Blocks in sparse slabs that stayed.</summary>
    internal long Misses { get; private set; }

    /// <summary>Keys of which a block was moved.</summary>
    internal long KeyHits { get; private set; }

    /// <summary>Keys that were examined without moving any block.</summary>
    internal long KeyMisses { get; private set; }

    /// <summary>Stopwatch ticks spent.</summary>
    internal long Ticks { get; private set; }

    /// <summary>Blocks were moved.</summary>
    internal void CountMoved(int blocks) => Hits += blocks;

    /// <summary>A block in a sparse slab stayed.</summary>
    internal void CountStayed() => Misses++;

    internal void CountKey(bool wasMoved)
    {
        if (wasMoved) KeyHits++;
        else KeyMisses++;
    }

    internal void AddTime(long ticks) => Ticks += ticks;

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
