using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>The keys with the largest sums of what is added for them, among any number of keys: a space-saving sketch. Its owner locks it.</summary>
/// <remarks>
/// <para>
/// It has a fixed number of keys. A key that is not among them replaces the one with the smallest sum, and continues from that sum. So a key with more
/// than 1/n of what is added in all is always among its n keys, and its sum is at most that share too high. A heap has the smallest sum on top.
/// </para>
/// <para>
/// The entries stay where they are; the heap orders their numbers, so that a swap moves no entry and needs no lookup.
/// </para>
/// </remarks>
/// <param name="keysMax">How many keys it has.</param>
internal sealed class KeyRanking(int keysMax)
{
    private readonly Dictionary<KeyIdentity, int> _numbers = new(keysMax);
    private readonly Entry[] _entries = new Entry[keysMax];
    private readonly int[] _heap = new int[keysMax];

    internal int Count { get; private set; }

    /// <summary>Memory of the entries and of their keys.</summary>
    internal long Bytes { get; private set; } = (long)keysMax * EntryBytes;

    private const int EntryBytes = 96; // with its places in the heap and in the dictionary
    private const int KeyBytesMin = 16;
    private const int ArrayBytes = 24;

    /// <summary>Adds to a key's sum.</summary>
    internal void Add(KeyIdentity identity, ReadOnlySpan<byte> key, long weight)
    {
        if (!_numbers.TryGetValue(identity, out int number))
        {
            number = Count < keysMax ? Append() : ForgetSmallest();
            ref Entry added = ref _entries[number];
            added.Identity = identity;
            added.KeyLength = key.Length;
            if (added.Key is null || added.Key.Length < key.Length)
            {
                Bytes -= added.Key is null ? 0 : ArrayBytes + added.Key.Length;
                added.Key = new byte[Math.Max(KeyBytesMin, key.Length)];
                Bytes += ArrayBytes + added.Key.Length;
            }

            key.CopyTo(added.Key);
            _numbers[identity] = number;
        }

        _entries[number].Uses += weight;
        SiftDown(_entries[number].HeapIndex);
    }

    /// <summary>Adds the sums to those of other rankings.</summary>
    internal void AddTo(Dictionary<KeyIdentity, (byte[] Key, double Uses)> sum)
    {
        foreach (Entry entry in _entries.AsSpan(0, Count))
        {
            ref (byte[] Key, double Uses) total = ref CollectionsMarshal.GetValueRefOrAddDefault(sum, entry.Identity, out bool exists);
            if (!exists) total.Key = entry.Key![..entry.KeyLength];
            total.Uses += entry.Uses;
        }
    }

    internal void Clear()
    {
        _numbers.Clear();
        Count = 0;
    }

    // A new key has no uses yet, so it belongs on top of the heap.
    private int Append()
    {
        int number = Count++;
        _entries[number].Uses = 0;
        int index = number;
        for (; index > 0; index = (index - 1) / 2) Put(_heap[(index - 1) / 2], index);
        Put(number, 0);
        return number;
    }

    private int ForgetSmallest()
    {
        _numbers.Remove(_entries[_heap[0]].Identity);
        return _heap[0];
    }

    private void SiftDown(int index)
    {
        int number = _heap[index];
        long uses = _entries[number].Uses;
        while (true)
        {
            int child = (2 * index) + 1;
            if (child >= Count) break;
            long smaller = _entries[_heap[child]].Uses;
            if (child + 1 < Count && _entries[_heap[child + 1]].Uses is var other && other < smaller) (child, smaller) = (child + 1, other);
            if (uses <= smaller) break;
            Put(_heap[child], index);
            index = child;
        }

        Put(number, index);
    }

    private void Put(int number, int index)
    {
        _heap[index] = number;
        _entries[number].HeapIndex = index;
    }

    private struct Entry
    {
        internal KeyIdentity Identity;
        internal byte[]? Key;
        internal int KeyLength;
        internal int HeapIndex; // in the heap
        internal long Uses;
    }
}
