using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.VectorSets;

/// <summary>
/// A distance with a node's number in one word, so that comparing words compares distances, and numbers where those are equal: the order of
/// results does not depend on the way to them.
/// </summary>
internal static class DistanceKey
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static ulong Of(float distance, int number)
    {
        int bits = BitConverter.SingleToInt32Bits(distance);
        uint ordered = (uint)(bits ^ ((bits >> 31) | int.MinValue));
        return ((ulong)ordered << 32) | (uint)number;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static int Number(ulong key) => (int)(uint)key;

    internal static float Distance(ulong key)
    {
        int ordered = (int)(uint)(key >> 32);
        return BitConverter.Int32BitsToSingle(ordered ^ ((~ordered >> 31) | int.MinValue));
    }
}

/// <summary>
/// A binary heap of keys, the lowest first. Complements of keys make it one with the highest first. It is outside the managed heap, because a client chooses its size;
/// its owner frees it.
/// </summary>
internal sealed unsafe class DistanceHeap
{
    /// <summary>The memory for each key, which may be twice as much as it needs.</summary>
    internal const int BytesForEach = 2 * sizeof(ulong);

    private const int KeptMax = 1 << 16;

    private const int FirstCapacity = 256;

    private ulong* _keys;
    private int _capacity;

    internal DistanceHeap() => Grow();

    internal int Count { get; private set; }

    internal ulong Lowest => _keys[0];

    /// <summary>The keys in no order.</summary>
    internal Span<ulong> Keys => new(_keys, Count);

    internal void Clear()
    {
        Count = 0;
        if (_capacity > KeptMax) Trim();
    }

    /// <summary>Removes all keys and releases their memory.</summary>
    internal void Trim()
    {
        Free();
        Grow();
    }

    /// <summary>Ends the heap.</summary>
    internal void Free()
    {
        NativeMemory.Free(_keys);
        _keys = null;
        Count = _capacity = 0;
    }

    internal void Push(ulong key)
    {
        if (Count == _capacity) Grow();
        ulong* keys = _keys;
        int at = Count++;
        while (at > 0)
        {
            int parent = (at - 1) >> 1;
            if (keys[parent] <= key) break;
            keys[at] = keys[parent];
            at = parent;
        }

        keys[at] = key;
    }

    internal ulong Pop()
    {
        ulong lowest = _keys[0];
        ulong last = _keys[--Count];
        if (Count > 0) Sink(last);
        return lowest;
    }

    /// <summary>Replaces the lowest key.</summary>
    internal void ReplaceLowest(ulong key) => Sink(key);

    private void Grow()
    {
        int capacity = Math.Max(FirstCapacity, checked(_capacity * 2));
        _keys = (ulong*)SystemMemory.Reallocate((byte*)_keys, (nuint)capacity * sizeof(ulong));
        _capacity = capacity;
    }

    private void Sink(ulong key)
    {
        ulong* keys = _keys;
        int at = 0;
        while (true)
        {
            int child = (at * 2) + 1;
            if (child >= Count) break;
            if (child + 1 < Count && keys[child + 1] < keys[child]) child++;
            if (keys[child] >= key) break;
            keys[at] = keys[child];
            at = child;
        }

        keys[at] = key;
    }
}
