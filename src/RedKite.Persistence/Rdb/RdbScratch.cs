using RedKite.Store.Memory;

namespace RedKite.Persistence.Rdb;

/// <summary>Room for the strings of one value that are being read or written and are not kept as they are. Used by one thread at a time.</summary>
internal sealed class RdbScratch : IDisposable
{
    /// <summary>For a packed list, a field's or an element's text.</summary>
    internal NativeBuffer First { get; } = new();

    /// <summary>For what belongs to it.</summary>
    internal NativeBuffer Second { get; } = new();

    /// <summary>Gives large room back, once a value is done.</summary>
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
