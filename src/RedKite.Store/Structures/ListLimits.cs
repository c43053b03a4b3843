namespace RedKite.Store.Structures;

/// <summary>How large a packed list of a list's elements may get, by list-max-listpack-size.</summary>
internal readonly record struct ListLimits
{
    // Where elements are counted, their bytes have a limit all the same.
    private const int CountedBytesMax = 8192;

    /// <param name="setting">Elements if positive; -1 to -5: 4, 8, 16, 32, 64 KiB.</param>
    internal ListLimits(int setting)
    {
        BytesMax = setting >= 0 ? CountedBytesMax : 2048 << Math.Min(-setting, 5);
        CountMax = setting < 0 ? ushort.MaxValue : Math.Clamp(setting, 1, ushort.MaxValue);
    }

    internal int BytesMax { get; }

    internal int CountMax { get; }

    /// <summary>Whether a packed list of so many bytes and elements is allowed. A single element may be as large as it is.</summary>
    internal bool Allow(long bytes, long count) => bytes <= BytesMax && count <= CountMax;

    /// <summary>Whether a list has become so small that it is kept as a single packed list again: half of what it may be.</summary>
    internal bool AreFarAway(long bytes, long count) => bytes <= BytesMax / 2 && count <= CountMax / 2;
}
