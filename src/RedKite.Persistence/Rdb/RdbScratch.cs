using RedKite.Store.Memory;

namespace RedKite.Persistence.Rdb;

/// <summary>Buffers for the strings of one value that are decoded or encoded. Used by one thread at a time.</summary>
internal sealed class RdbScratch : IDisposable
{
    /// <summary>A packed list, or the text of a field or element.</summary>
    internal NativeBuffer First { get; } = new();

    /// <summary>The value that belongs to it.</summary>
    internal NativeBuffer Second { get; } = new();

    /// <summary>
    /// Set when a number that was stored with a value is not what its entries say: such values are loaded, and what can be counted is counted again.
    /// </summary>
    internal bool HasRecounted { get; set; }

    /// <summary>Releases large buffers after a value.</summary>
    internal void Clear()
    {
        First.Clear();
        Second.Clear();
    }

    public void Dispose()
    {
        First.Dispose();
        Second.Dispose();
    }
}
