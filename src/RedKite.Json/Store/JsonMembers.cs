using System.Numerics;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using RedKite.Store.Memory;

namespace RedKite.Json.Store;

/// <summary>
/// The names that the larger objects of a text have had so far, by their hash: a text may have a name twice, and a large object is not searched for each. The
/// hash has a secret, so that no text has many names that collide.
/// </summary>
internal sealed unsafe class JsonMembers
{
    /// <summary>Objects whose items take no more bytes are searched.</summary>
    internal const int ScannedBytesMax = 256;

    private const int CapacityFirst = 1024;
    private const int CapacityKept = 64 * 1024;

    private static readonly ulong Secret = BitConverter.ToUInt64(RandomNumberGenerator.GetBytes(sizeof(ulong)));

    private ulong* _slots;
    private int _capacity;
    private int _count;
    private int _objects;

    ~JsonMembers() => NativeMemory.Free(_slots);

    internal void Clear()
    {
        _objects = 0;
        if (_count == 0) return;
        _count = 0;
        if (_capacity > CapacityKept)
        {
            NativeMemory.Free(_slots);
            _slots = null;
            _capacity = 0;
            return;
        }

        new Span<ulong>(_slots, _capacity).Clear();
    }

    /// <summary>Begins an object.</summary>
    /// <returns>Its number.</returns>
    internal int BeginObject() => ++_objects;

    /// <summary>Whether no name of an object was added.</summary>
    internal bool IsEmptyOf(int objectNumber) => _count == 0 || *Find(Mark(objectNumber)) == 0;

    /// <summary>Adds a name of an object.</summary>
    /// <returns>Whether it may have been there.</returns>
    internal bool Add(int objectNumber, ReadOnlySpan<byte> name)
    {
        if (_count + 2 > _capacity / 2) Grow();
        Insert(Mark(objectNumber));
        return !Insert(Mix(Hash(name), (ulong)objectNumber) | 1);
    }

    internal static ulong Hash(ReadOnlySpan<byte> name)
    {
        ulong hash = Secret ^ (ulong)name.Length;
        while (name.Length >= sizeof(ulong))
        {
            hash = Mix(hash, MemoryMarshal.Read<ulong>(name));
            name = name[sizeof(ulong)..];
        }

        ulong last = 0;
        for (int i = 0; i < name.Length; i++) last |= (ulong)name[i] << (8 * i);
        return Mix(hash, last ^ 0x9E37_79B9_7F4A_7C15);
    }

    private static ulong Mark(int objectNumber) => Mix(Secret, ~(ulong)objectNumber) & ~1UL | 2;

    private static ulong Mix(ulong hash, ulong word)
    {
        ulong high = Math.BigMul((hash ^ word) | (1UL << 63), 0xA076_1D64_78BD_642F ^ Secret | 1, out ulong low);
        return high ^ low ^ BitOperations.RotateLeft(word, 23);
    }

    private bool Insert(ulong key)
    {
        ulong* slot = Find(key);
        if (*slot == key) return false;
        *slot = key;
        _count++;
        return true;
    }

    private ulong* Find(ulong key)
    {
        uint mask = (uint)_capacity - 1;
        for (uint i = (uint)(key >> 17) & mask; ; i = (i + 1) & mask)
        {
            if (_slots[i] == key || _slots[i] == 0) return _slots + i;
        }
    }

    private void Grow()
    {
        ulong* old = _slots;
        int oldCapacity = _capacity;
        _capacity = Math.Max(CapacityFirst, oldCapacity * 2);
        _slots = (ulong*)SystemMemory.Allocate((nuint)_capacity * sizeof(ulong));
        new Span<ulong>(_slots, _capacity).Clear();
        for (int i = 0; i < oldCapacity; i++)
        {
            if (old[i] != 0) *Find(old[i]) = old[i];
        }

        NativeMemory.Free(old);
    }
}
