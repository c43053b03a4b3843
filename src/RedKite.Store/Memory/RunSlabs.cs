using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RedKite.Store.Memory;

/// <summary>
/// One arena's blocks of over 4 and up to 16 KiB: runs of 256-byte units in slabs of 256 KiB. A growing block extends into the
/// following units if these are free, and a shrinking block frees its last units, so that neither moves.
/// Used with the stripe's lock held.
/// </summary>
/// <remarks>
/// A slab: a header in the first unit, with a bit for each free unit, then the other 1,023 units. Each slab has an index in a
/// list, which stores the length of its longest free run; a new slab takes the first empty index. A block goes to the first slab
/// in which it fits, so that old slabs fill up and young ones become empty and return to the source. That matters for long lists,
/// whose packed nodes are compacted in the order in which they were created: a best fit would put one compact node after the
/// packed ones of each slab and keep all slabs. Size classes were rejected: sizes between 4 and 16 KiB would need 64 classes for
/// as little rounding, and each stripe would hold a slab of each.
/// </remarks>
internal sealed unsafe class RunSlabs(SlabSource source, int owner) : IDisposable
{
    private const int Units = SlabSource.LargeSlabBytes / BlockSize.RunUnitBytes;
    private const int Words = Units / 64;
    private const int RunUnitsMax = BlockSize.RunBlockMax / BlockSize.RunUnitBytes;
    private const int SlabsMin = 16;

    private Slab** _slabs;  // null: an empty index
    private byte* _longest; // for each index, the units of the slab's longest free run, at most those of the largest block
    private int _listed;
    private int _capacity;
    private int _movesFrom = int.MaxValue; // the place of the first slab that is to be emptied

    /// <summary>The number of slabs in use.</summary>
    internal int Count { get; private set; }

    /// <summary>The id of the arena that allocated a block.</summary>
    internal static int OwnerOf(byte* block) => SlabOf(block)->Owner;

    /// <param name="bytes">The block's size, rounded to units.</param>
    internal byte* Allocate(int bytes)
    {
        int units = bytes / BlockSize.RunUnitBytes;
        Debug.Assert(units is > 0 and <= RunUnitsMax, "A block of runs has a size between theirs.");
        int index = new ReadOnlySpan<byte>(_longest, _listed).IndexOfAnyInRange((byte)units, byte.MaxValue);
        return AllocateAt(index < 0 ? AddSlab() : index, units);
    }

    /// <summary>Selects the slabs to empty: the last ones, as far as the others have space for their blocks.</summary>
    /// <returns>Whether there are any.</returns>
    internal bool BeginMoves()
    {
        const int UnitsPerSlab = Units - 1;
        long used = 0;
        for (int index = 0; index < _listed; index++)
        {
            if (_slabs[index] != null) used += _slabs[index]->Used;
        }

        // A sixteenth more than the blocks need: holes of the wrong size remain.
        long needed = (used + (used / 16) + UnitsPerSlab - 1) / UnitsPerSlab;
        _movesFrom = int.MaxValue;
        if (needed >= Count) return false;
        int kept = 0;
        for (_movesFrom = 0; kept < needed; _movesFrom++)
        {
            if (_slabs[_movesFrom] != null) kept++;
        }

        return true;
    }

    internal void EndMoves() => _movesFrom = int.MaxValue;

    /// <summary>Allocates a new block to replace one in a slab that is to be emptied.</summary>
    internal bool TryAllocateBefore(byte* block, int bytes, out byte* moved)
    {
        moved = null;
        if (SlabOf(block)->ListIndex < _movesFrom) return false;
        int units = bytes / BlockSize.RunUnitBytes;
        int index = new ReadOnlySpan<byte>(_longest, Math.Min(_listed, _movesFrom)).IndexOfAnyInRange((byte)units, byte.MaxValue);
        if (index < 0) return false;
        moved = AllocateAt(index, units);
        return true;
    }

    private byte* AllocateAt(int index, int units)
    {
        Slab* slab = _slabs[index];
        int start = FindRun(slab->Free, units, out int longest);
        Toggle(slab->Free, start, units);
        slab->Used += units;
        _longest[index] = (byte)longest;
        return (byte*)slab + (start * BlockSize.RunUnitBytes);
    }

    internal void Free(byte* block, int bytes) => Release(SlabOf(block), UnitOf(block), bytes / BlockSize.RunUnitBytes);

    /// <summary>Resizes a block without moving it.</summary>
    /// <returns>False if the following units are not free; the block is unchanged.</returns>
    internal bool TryResize(byte* block, int bytes, int newBytes)
    {
        Slab* slab = SlabOf(block);
        int units = bytes / BlockSize.RunUnitBytes;
        int newUnits = newBytes / BlockSize.RunUnitBytes;
        int end = UnitOf(block) + units;
        if (newUnits <= units)
        {
            if (newUnits < units) Release(slab, end + newUnits - units, units - newUnits);
            return true;
        }

        int added = newUnits - units;
        if (NextUsed(slab->Free, end) - end < added) return false;
        Toggle(slab->Free, end, added);
        slab->Used += added;
        _ = FindRun(slab->Free, units: 0, out int longest);
        _longest[slab->ListIndex] = (byte)longest;
        return true;
    }

    public void Dispose()
    {
        NativeMemory.Free(_slabs); // The source frees the slabs.
        NativeMemory.Free(_longest);
        _slabs = null;
        _longest = null;
        _listed = _capacity = 0;
    }

    private void Release(Slab* slab, int start, int units)
    {
        Toggle(slab->Free, start, units);
        slab->Used -= units;
        if (slab->Used == 0)
        {
            RemoveSlab(slab);
            return;
        }

        int run = NextUsed(slab->Free, start) - PreviousUsed(slab->Free, start) - 1;
        byte* longest = &_longest[slab->ListIndex];
        *longest = (byte)Math.Max(*longest, Math.Min(run, RunUnitsMax));
    }

    private int AddSlab()
    {
        int index = new ReadOnlySpan<nint>(_slabs, _listed).IndexOf(0);
        if (index < 0)
        {
            if (_listed == _capacity) GrowList();
            index = _listed;
        }

        var slab = (Slab*)source.TakeLarge();
        slab->ListIndex = index;
        slab->Used = 0;
        slab->Owner = owner;
        new Span<ulong>(slab->Free, Words).Fill(ulong.MaxValue);
        slab->Free[0] &= ~1UL; // the header
        _slabs[index] = slab;
        _longest[index] = RunUnitsMax;
        if (index == _listed) _listed++;
        Count++;
        return index;
    }

    private void RemoveSlab(Slab* slab)
    {
        _slabs[slab->ListIndex] = null;
        _longest[slab->ListIndex] = 0;
        while (_listed > 0 && _slabs[_listed - 1] == null) _listed--;
        Count--;
        source.ReturnLarge((byte*)slab);
    }

    private void GrowList()
    {
        int capacity = Math.Max(SlabsMin, _capacity * 2);
        _slabs = (Slab**)NativeMemory.Realloc(_slabs, (nuint)capacity * (nuint)sizeof(Slab*));
        _longest = (byte*)NativeMemory.Realloc(_longest, (nuint)capacity);
        _capacity = capacity;
    }

    private static Slab* SlabOf(byte* block) => (Slab*)((nuint)block & ~(nuint)(SlabSource.LargeSlabBytes - 1));

    private static int UnitOf(byte* block) => (int)((nuint)block & (SlabSource.LargeSlabBytes - 1)) / BlockSize.RunUnitBytes;

    // Finds the first free run of a number of units (0: none), and the longest run that remains without them, capped at the
    // largest block.
    private static int FindRun(ulong* free, int units, out int longest)
    {
        int found = 0;
        longest = 0;
        for (int start = NextFree(free, 1); start < Units;)
        {
            int end = NextUsed(free, start);
            int length = end - start;
            if (units > 0 && found == 0 && length >= units)
            {
                found = start;
                length -= units;
            }

            longest = Math.Max(longest, length);
            if (longest >= RunUnitsMax && (found > 0 || units == 0)) break;
            start = NextFree(free, end);
        }

        longest = Math.Min(longest, RunUnitsMax);
        return found;
    }

    // At most 64 units, so at most two words.
    private static void Toggle(ulong* free, int start, int units)
    {
        ulong mask = ulong.MaxValue >> (64 - units);
        int shift = start & 63;
        free[start >> 6] ^= mask << shift;
        if (shift + units > 64) free[(start >> 6) + 1] ^= mask >> (64 - shift);
    }

    private static int NextFree(ulong* free, int from) => Next(free, from, flipped: 0);

    private static int NextUsed(ulong* free, int from) => Next(free, from, flipped: ulong.MaxValue);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Next(ulong* free, int from, ulong flipped)
    {
        if (from >= Units) return Units;
        int word = from >> 6;
        ulong bits = (free[word] ^ flipped) & (ulong.MaxValue << (from & 63));
        while (bits == 0)
        {
            if (++word == Words) return Units;
            bits = free[word] ^ flipped;
        }

        return (word << 6) + BitOperations.TrailingZeroCount(bits);
    }

    // There is always one: the header.
    private static int PreviousUsed(ulong* free, int before)
    {
        int last = before - 1;
        int word = last >> 6;
        ulong bits = ~free[word] & (ulong.MaxValue >> (63 - (last & 63)));
        while (bits == 0) bits = ~free[--word];
        return (word << 6) + BitOperations.Log2(bits);
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct Slab
    {
        public int ListIndex;
        public int Used; // units, without the header
        public int Owner; // the arena's id
        public fixed ulong Free[Words];
    }
}
