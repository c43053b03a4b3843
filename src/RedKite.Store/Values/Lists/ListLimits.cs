namespace RedKite.Store.Values.Lists;

/// <summary>The maximum size of a list's packed lists, from list-max-listpack-size, and how many of them stay packed at each end.</summary>
internal readonly record struct ListLimits
{
    // If elements are counted, their bytes are limited as well.
    private const int CountedBytesMax = 8192;

    // Pushes and pops at one end alternate between two nodes.
    private const int PlainNodesMin = 2;

    // What Redis adds to the length of an element to estimate its size: observed.
    private const int ElementOverheadMax = 8;

    private readonly int _shrunkenBytesMax;

    /// <param name="setting">list-max-listpack-size: elements if positive; -1 to -5: 4, 8, 16, 32, 64 KiB.</param>
    /// <param name="compressDepth">list-compress-depth.</param>
    internal ListLimits(int setting, int compressDepth = 0)
    {
        PlainNodes = (ushort)Math.Clamp(compressDepth, PlainNodesMin, ushort.MaxValue);
        BytesMax = setting >= 0 ? CountedBytesMax : 2048 << Math.Min(-setting, 5);
        _shrunkenBytesMax = setting >= 0 ? CountedBytesMax : BytesMax / 2;
        CountMax = setting < 0 ? ushort.MaxValue : Math.Clamp(setting, 1, ushort.MaxValue);
    }

    internal int BytesMax { get; }

    internal int CountMax { get; }

    /// <summary>Nodes at each end of a long list that are never made compact.</summary>
    internal ushort PlainNodes { get; }

    /// <summary>Whether a packed list may have this size and number of elements. A single element may have any size.</summary>
    internal bool Allow(long bytes, long count) => bytes <= BytesMax && count <= CountMax;

    /// <summary>Whether a node may get one more element. As in Redis, the element counts as its text and 8 bytes, however it is encoded.</summary>
    internal bool AllowOneMore(long bytes, int textBytes, int count) => Allow(bytes + textBytes + ElementOverheadMax, count + 1);

    /// <summary>Whether a list has become small enough to be a single packed list again: half of the limit, as it is set.</summary>
    internal bool AreFarAway(long bytes, long count) => bytes <= _shrunkenBytesMax && count <= CountMax / 2;
}
