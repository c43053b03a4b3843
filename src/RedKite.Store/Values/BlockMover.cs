using RedKite.Store.Memory;

namespace RedKite.Store.Values;

/// <summary>
/// Moves the blocks of values out of slabs that are to be emptied. The owner of a block copies it, updates all references to it, and frees the
/// old one; until then both are valid.
/// </summary>
internal sealed unsafe class BlockMover(Arena arena)
{
    /// <summary>The cost of a move, in blocks that are only examined.</summary>
    internal const int WorkPerMove = 4;

    /// <summary>Blocks that were moved.</summary>
    internal int Moved { get; private set; }

    /// <returns>The copy, or null if the block stays.</returns>
    internal byte* Copy(byte* block, long bytes) => arena.TryCopyElsewhere(block, bytes);

    internal void Free(byte* block, long bytes)
    {
        arena.Free(block, bytes);
        Moved++;
    }
}

/// <summary>The progress of a walk over a large value's blocks: it stays valid whatever happens to the value between two slices.</summary>
internal readonly record struct MoveCursor(ulong Position, ulong Position2, bool IsSecondPart)
{
    internal bool IsAtStart => Position == 0 && !IsSecondPart;

    internal MoveCursor At(ulong position, ulong position2 = 0) => this with { Position = position, Position2 = position2 };
}
