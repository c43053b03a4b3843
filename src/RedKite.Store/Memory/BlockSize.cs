using System.Numerics;

namespace RedKite.Store.Memory;

/// <summary>
/// The sizes to which blocks are rounded: steps of 8 bytes up to 256, then 16 steps per doubling up to 4 KiB, then steps of 256
/// bytes up to 16 KiB, so that none of these wastes more than a sixteenth; then 8 steps per doubling. A block's capacity follows
/// from the bytes in use and is not stored.
/// </summary>
/// <remarks>
/// A small collection is typically a block of 100 to 300 bytes. With 8 steps per doubling a sorted set of ten members took 3
/// percent more, 0.80 of Redis's memory instead of 0.77. The largest blocks keep the wider steps: a value that grows at its end
/// is moved, and possibly copied, at each step.
/// </remarks>
internal static class BlockSize
{
    /// <summary>The largest block in a slab of its size class.</summary>
    internal const int ClassBlockMax = 4096;

    /// <summary>The largest block that is a run of units (<see cref="RunSlabs"/>); larger ones come from the system.</summary>
    internal const int RunBlockMax = 16 << 10;

    internal const int RunUnitBytes = 256;

    internal const int ClassCount = 97;

    internal static long RoundUp(long bytes)
    {
        if (bytes <= 256) return bytes == 0 ? 8 : (bytes + 7) & ~7L;
        if (bytes is > ClassBlockMax and <= RunBlockMax) return (bytes + RunUnitBytes - 1) & -RunUnitBytes;
        int shift = (bytes <= ClassBlockMax ? 59 : 60) - BitOperations.LeadingZeroCount((ulong)(bytes - 1));
        return (((bytes - 1) >> shift) + 1) << shift;
    }

    /// <summary>The size class of at most <see cref="ClassBlockMax"/> bytes.</summary>
    internal static int ClassOf(int bytes)
    {
        if (bytes <= 256) return bytes == 0 ? 1 : (bytes + 7) >> 3;
        int shift = 27 - BitOperations.LeadingZeroCount((uint)(bytes - 1));
        return 32 + ((shift - 4) << 4) + ((bytes - 1) >> shift) - 15;
    }

    internal static int BytesOfClass(int sizeClass)
    {
        if (sizeClass <= 32) return sizeClass << 3;
        int step = sizeClass - 33;
        return (16 + (step & 15) + 1) << (4 + (step >> 4));
    }
}
