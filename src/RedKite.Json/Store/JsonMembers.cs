using System.Numerics;
using System.Runtime.CompilerServices;
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
    private const int CapacityFirst = 1024;
    private const int CapacityKept = 64 * 1024;

    private static readonly ulong Secret = BitConverter.ToUInt64(RandomNumberGenerator.GetBytes(sizeof(ulong)));

    private ulong* _slots;
    private int _capacity;
    private int _count;
    private ulong _objects;

    ~JsonMembers() => NativeMemory.Free(_slots);

    /// <summary>Begins a text. Names of earlier ones may stay: objects have other numbers.</summary>
    internal void Clear()
    {
        if (_count <= _capacity / 4) return;
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
    internal ulong BeginObject() => ++_objects;

    /// <summary>Adds a name of an object by its hash.</summary>
    /// <returns>Whether it may have been there.</returns>
    internal bool Add(ulong objectNumber, ulong hash)
    {
        if (_count >= _capacity / 2) Grow();
        ulong key = Mix(hash, objectNumber) | 1;
        ulong* slot = Find(key);
        if (*slot == key) return true;
        *slot = key;
        _count++;
        return false;
    }

    internal static ulong Hash(byte* name, int length)
    {
        ulong hash = Secret ^ (ulong)length;
        byte* end = name + length;
        for (; end - name > sizeof(ulong); name += sizeof(ulong)) hash = Mix(hash, Unsafe.ReadUnaligned<ulong>(name));
        return Mix(hash, Last(name, end, length) ^ 0x9E37_79B9_7F4A_7C15);
    }

    // The last bytes, of which some may have been in the hash before.
    private static ulong Last(byte* name, byte* end, int length)
    {
        if (length >= sizeof(ulong)) return Unsafe.ReadUnaligned<ulong>(end - sizeof(ulong));
        if (length >= sizeof(uint)) return Unsafe.ReadUnaligned<uint>(name) | ((ulong)Unsafe.ReadUnaligned<uint>(end - sizeof(uint)) << 32);
        return length == 0 ? 0 : *name | ((ulong)name[length >> 1] << 8) | ((ulong)end[-1] << 16);
    }

    private static ulong Mix(ulong hash, ulong word)
    {
        ulong high = Math.BigMul((hash ^ word) | (1UL << 63), 0xA076_1D64_78BD_642F ^ Secret | 1, out ulong low);
        return high ^ low ^ BitOperations.RotateLeft(word, 23);
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
