using RedKite.Sketches.Store;

namespace RedKite.Sketches.CountMin;

/// <summary>The sums of one page's counters, of which each thread that merges has one.</summary>
internal static class CountMinSums
{
    [ThreadStatic]
    private static long[]? _ofThread;

    internal static Span<long> OfThread() => _ofThread ??= new long[SketchData.PageBytes / sizeof(uint)];
}
