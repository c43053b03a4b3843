using System.Numerics;

namespace RedKite.Store.Memory;

/// <summary>
/// The sizes that blocks are rounded to: steps of 8 bytes up to 128, then 8 steps to each doubling, so that no block
/// wastes more than an eighth. A block's capacity follows from the bytes in use, so that nobody has to store it.
/// </summary>
internal static class BlockSize
{
    /// <summary>The largest block that lives in a slab; larger ones come from the system.</summary>
    internal const int SlabBlockMax = 4096;

    internal const int ClassCount = 57;

    internal static long RoundUp(long bytes)
    {
        if (bytes <= 128) return bytes == 0 ? 8 : (bytes + 7) & ~7L;
        int shift = 60 - BitOperations.LeadingZeroCount((ulong)(bytes - 1));
        return (((bytes - 1) >> shift) + 1) << shift;
    }

    /// <summary>The class of a size of at most <see cref="SlabBlockMax"/>.</summary>
    internal static int ClassOf(int bytes)
    {
        if (bytes <= 128) return bytes == 0 ? 1 : (bytes + 7) >> 3;
        int shift = 28 - BitOperations.LeadingZeroCount((uint)(bytes - 1));
        return 16 + ((shift - 4) << 3) + ((bytes - 1) >> shift) - 7;
    }

    internal static int BytesOfClass(int sizeClass)
    {
        if (sizeClass <= 16) return sizeClass << 3;
        int step = sizeClass - 17;
        return (8 + (step & 7) + 1) << (4 + (step >> 3));
    }
}
