namespace RedKite.Host.Transfer;

/// <summary>How many elements of a value are read at once, so that a page has about a megabyte whatever the elements' size.</summary>
internal sealed class PageSize
{
    private const int First = 128;
    private const int Max = 2_000;
    private const long Bytes = 1024 * 1024;

    /// <summary>How many to read next.</summary>
    internal int Count { get; private set; } = First;

    /// <summary>How many the last page had.</summary>
    internal int Read { get; private set; }

    internal void Adapt(int elements, long bytes)
    {
        Read = elements;
        Count = (int)Math.Clamp(elements * Bytes / Math.Max(bytes, 1), 1, Max);
    }
}
