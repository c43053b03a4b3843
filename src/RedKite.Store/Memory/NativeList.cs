using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// How much memory a command may take for its own work with keys locked, where an allocation that fails ends the process. What has a client's size is
/// outside the managed heap, and is asked for first.
/// </summary>
internal static class ScratchMemory
{
    /// <summary>What is not worth asking for.</summary>
    internal const int FreeBytes = 64 << 10;

    private const int Share = 16;

    [ThreadStatic]
    private static bool _refuses;

    /// <summary>The most that one command may take: a share of the machine's memory, its container's, or the limit of the managed heap.</summary>
    internal static long BytesMax { get; } = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / Share;

    /// <summary>For tests: lets commands of the current thread have no more than what is free.</summary>
    internal static bool Refuses
    {
        get => _refuses;
        set => _refuses = value;
    }

    internal static bool HasRoom(long bytes) => bytes <= FreeBytes || (bytes <= BytesMax && !_refuses);
}

/// <summary>A list outside the managed heap, of a command. Its owner disposes it, and does not copy it.</summary>
internal unsafe struct NativeList<T> : IDisposable
    where T : unmanaged
{
    private const int FirstCapacity = 64;

    private T* _items;
    private int _capacity;

    /// <summary>Makes a list of so many items, which are undefined.</summary>
    internal NativeList(int count)
    {
        _items = (T*)SystemMemory.Allocate((nuint)Math.Max(1, count) * (nuint)sizeof(T));
        _capacity = Count = count;
    }

    internal int Count { get; private set; }

    internal readonly Span<T> Items => new(_items, Count);

    /// <summary>The most items for which there is room (<see cref="ScratchMemory"/>).</summary>
    internal static long CountMax => ScratchMemory.HasRoom(ScratchMemory.BytesMax) ? ScratchMemory.BytesMax / sizeof(T) : ScratchMemory.FreeBytes / sizeof(T);

    /// <summary>Whether there is room for so many items.</summary>
    internal static bool HasRoom(long count) => ScratchMemory.HasRoom(count * sizeof(T));

    internal void Add(in T item)
    {
        if (Count == _capacity)
        {
            _capacity = Math.Max(FirstCapacity, (int)Math.Min(Array.MaxLength, 2L * _capacity));
            _items = (T*)SystemMemory.Reallocate((byte*)_items, (nuint)_capacity * (nuint)sizeof(T));
        }

        _items[Count++] = item;
    }

    /// <summary>Removes the items behind the first ones.</summary>
    internal void Truncate(int count) => Count = Math.Min(Count, count);

    public void Dispose()
    {
        NativeMemory.Free(_items);
        _items = null;
        _capacity = Count = 0;
    }
}
