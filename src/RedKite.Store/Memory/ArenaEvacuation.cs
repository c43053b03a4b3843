using System.Diagnostics;
using System.Numerics;

namespace RedKite.Store.Memory;

/// <content>
/// The arena's part of active defragmentation: it finds sparse slabs, allocates new blocks for their contents, and returns free
/// space, whole slabs or the pages at a slab's end. Only the caller knows the references to a block.
/// </content>
/// <remarks>
/// Pages matter as much as slabs: 64 stripes with 50 size classes each have 3,200 slabs that are partly full, 100 MiB if each had
/// its pages. So the blocks of a class's last slab are moved to its beginning, and the pages behind them are released.
/// </remarks>
internal sealed unsafe partial class Arena
{
    private const int PageBytes = DividedSlabs.PageBytes;

    // A slab whose blocks cannot be moved is skipped in this number of searches.
    private const short SearchesSkipped = 100;

    /// <summary>Bytes of released pages in slabs that are in use.</summary>
    internal long ReleasedBytes => ReleasedInSlabs + _divided.ReleasedBytes;

    // Those behind the last blocks of slabs.
    private long ReleasedInSlabs { get; set; }

    /// <summary>Bytes of free space in the slabs. Read without the lock, it may be a moment old.</summary>
    internal long FragmentedBytes => _guard is not null ? 0 : Math.Max(0, HeldBytes - _largeBytes - _blockBytes);

    private void NoteTouched(Slab* slab)
    {
        byte* touched = PageAfter(slab->Next);
        ReleasedInSlabs -= touched - slab->Touched;
        slab->Touched = touched;
    }

    private static byte* PageAfter(byte* address) => (byte*)(((nuint)address + PageBytes - 1) & ~(nuint)(PageBytes - 1));

    /// <summary>
    /// Moves the blocks of one slab to others of its class or, if those are full, to the slab's beginning: from the last block to the first.
    /// Between <see cref="TryBegin"/> and <see cref="End"/> the stripe stays locked, and nothing else uses the arena.
    /// </summary>
    internal sealed class Evacuation
    {
        // If none of this number of blocks is an entry, the others probably aren't.
        private const int LookedMin = 64;

        private readonly ulong[] _live = new ulong[SlabSource.SlabBytes / 8 / 64]; // a bit for each carved block in use
        private Arena _arena = null!;
        private Slab* _slab;
        private int _index;     // the current block
        private int _looked;    // blocks
        private bool _isSearched; // every block was looked at, or there is no better place
        private int _firstFree; // no block before it is free
        private long _freeElsewhere; // blocks in the class's slabs, without those that the remaining slabs will need

        /// <summary>The bytes of each block.</summary>
        internal int BlockBytes => _slab->BlockBytes;

        /// <summary>The number of blocks moved since <see cref="TryBegin"/>.</summary>
        internal int Moved { get; private set; }

        /// <summary>Begins with the sparsest slab of a class if the class's slabs have that many bytes of free space or more.</summary>
        internal bool TryBegin(Arena arena, int sizeClass, long freeMin)
        {
            if (arena._guard is not null) return false;
            Slab* sparsest = null;
            Slab* densest = null;
            long free = 0;
            _freeElsewhere = 0;
            for (Slab* slab = arena._open[sizeClass], next; slab != null; slab = next)
            {
                next = slab->NextOpen;
                if (slab->Used == 0)
                {
                    arena.Unlink(slab, sizeClass);
                    arena.ReleaseEmpty(slab);
                    continue;
                }

                if (slab->IsLeft)
                {
                    _freeElsewhere -= slab->Used;
                    continue;
                }

                _freeElsewhere += ((slab->End - (byte*)slab - SlabHeaderBytes) / slab->BlockBytes) - slab->Used;
                if (slab->Skipped > 0)
                {
                    slab->Skipped--;
                    continue;
                }

                free += slab->Touched - (byte*)slab - SlabHeaderBytes - ((long)slab->Used * slab->BlockBytes);
                if (sparsest == null || slab->Used < sparsest->Used) sparsest = slab;
                if (densest == null || slab->Used > densest->Used) densest = slab;
            }

            if (free < freeMin || sparsest == null) return false;
            if (densest != sparsest && arena._open[sizeClass] != densest)
            {
                arena.Unlink(densest, sizeClass);
                arena.Link(densest, sizeClass); // Allocate takes the first
            }

            arena.Unlink(sparsest, sizeClass);
            Begin(arena, sparsest);
            return true;
        }

        /// <summary>The next block, from the slab's end to its beginning.</summary>
        internal bool TryNext(out byte* block)
        {
            int word = _index >> 6;
            ulong bits = (_index & 63) == 0 ? 0 : _live[word] & (ulong.MaxValue >> (64 - (_index & 63)));
            while (bits == 0 && word > 0) bits = _live[--word];
            _index = bits == 0 ? 0 : (word << 6) + BitOperations.Log2(bits);
            block = BlockAt(_index);
            _isSearched = bits == 0;
            _looked++;
            return bits != 0;
        }

        /// <summary>Allocates the block to which the caller moves the current one, followed by <see cref="Free"/>.</summary>
        /// <returns>Null if the class has no better block.</returns>
        internal byte* Allocate()
        {
            if (_arena._open[_slab->SizeClass] != null) return _arena.Allocate(_slab->BlockBytes);
            while (_firstFree < _index && IsLive(_firstFree)) _firstFree++;
            if (_firstFree >= _index)
            {
                _isSearched = true;
                return null;
            }

            _live[_firstFree >> 6] |= 1UL << (_firstFree & 63);
            _slab->Used++;
            _arena._blockBytes += _slab->BlockBytes;
            return BlockAt(_firstFree);
        }

        /// <summary>Frees the current block, which was moved.</summary>
        internal void Free()
        {
            _live[_index >> 6] &= ~(1UL << (_index & 63));
            _slab->Used--;
            _arena._blockBytes -= _slab->BlockBytes;
            Moved++;
        }

        /// <summary>Returns the slab if it is empty, and otherwise the pages behind its last block.</summary>
        internal void End()
        {
            Slab* slab = _slab;
            if (slab->Used == 0)
            {
                _arena.ReleaseEmpty(slab);
                return;
            }

            RebuildFreeList();
            byte* kept = PageAfter(slab->Next);
            if (kept < slab->Touched)
            {
                SystemMemory.Discard(kept, (nuint)(slab->Touched - kept));
                _arena.ReleasedInSlabs += slab->Touched - kept;
                slab->Touched = kept;
            }
            else if (Moved == 0 && (_isSearched || _looked >= LookedMin))
            {
                Leave(slab);
            }

            if (slab->Free != null || slab->Next != slab->End) _arena.LinkLast(slab);
        }

        // Blocks that cannot be moved from here are left to the walk over values, if the class's other slabs can take them.
        private void Leave(Slab* slab)
        {
            long ownFree = ((slab->End - (byte*)slab - SlabHeaderBytes) / slab->BlockBytes) - slab->Used;
            if (_freeElsewhere - ownFree < slab->Used)
            {
                slab->Skipped = SearchesSkipped;
                return;
            }

            slab->IsLeft = true;
            _arena.SlabsLeft++;
        }

        private void Begin(Arena arena, Slab* slab)
        {
            _arena = arena;
            _slab = slab;
            Moved = 0;
            _isSearched = false;
            _looked = 0;
            _firstFree = 0;
            _index = IndexOf(slab->Next);
            _live.AsSpan().Clear();
            _live.AsSpan(0, _index >> 6).Fill(ulong.MaxValue);
            if ((_index & 63) != 0) _live[_index >> 6] = ulong.MaxValue >> (64 - (_index & 63));
            for (byte* free = slab->Free; free != null; free = *(byte**)free)
            {
                int index = IndexOf(free);
                _live[index >> 6] &= ~(1UL << (index & 63));
            }
        }

        // In the order of addresses, so that a slab fills from its beginning. The space behind the last block in use counts as uncarved.
        private void RebuildFreeList()
        {
            int word = _live.Length - 1;
            while (_live[word] == 0) word--;
            int index = (word << 6) + BitOperations.Log2(_live[word]);
            _slab->Next = BlockAt(index + 1);
            byte* first = null;
            while (--index >= 0)
            {
                if (IsLive(index)) continue;
                byte* free = BlockAt(index);
                *(byte**)free = first;
                first = free;
            }

            _slab->Free = first;
        }

        private bool IsLive(int index) => ((_live[index >> 6] >> (index & 63)) & 1) != 0;

        private byte* BlockAt(int index) => (byte*)_slab + SlabHeaderBytes + ((long)index * _slab->BlockBytes);

        private int IndexOf(byte* block) => (int)((uint)(block - (byte*)_slab - SlabHeaderBytes) / (uint)_slab->BlockBytes);
    }

    /// <summary>Slabs whose blocks <see cref="TryCopyElsewhere"/> moves.</summary>
    internal int SlabsLeft { get; private set; }

    /// <summary>For tests: on the guarded arena every block moves.</summary>
    internal bool MovesAll { get; set; }

    /// <summary>Decides which slabs of runs are to be emptied. Ends with <see cref="EndMoves"/>.</summary>
    /// <returns>Whether any block has to move, runs or not.</returns>
    internal bool BeginMoves() => (_runs.BeginMoves() | SlabsLeft > 0) || (_guard is not null && MovesAll);

    /// <summary>Returns slabs that could not be emptied to normal use.</summary>
    internal void EndMoves()
    {
        _runs.EndMoves();
        for (int sizeClass = 0; SlabsLeft > 0 && sizeClass < BlockSize.ClassCount; sizeClass++)
        {
            for (Slab* slab = _open[sizeClass]; slab != null; slab = slab->NextOpen)
            {
                if (!slab->IsLeft) continue;
                slab->IsLeft = false;
                slab->Skipped = SearchesSkipped;
                SlabsLeft--;
            }
        }

        SlabsLeft = 0;
    }

    /// <summary>Copies a block to another slab if its own is to be emptied. The caller frees it once nothing refers to it.</summary>
    /// <returns>The copy; null if the block stays.</returns>
    internal byte* TryCopyElsewhere(byte* block, long bytes)
    {
        long rounded = BlockSize.RoundUp(bytes);
        byte* copy;
        if (_guard is not null)
        {
            if (!MovesAll) return null;
            copy = AllocateGuarded(bytes);
        }
        else if (rounded > BlockSize.RunBlockMax)
        {
            return null;
        }
        else if (rounded > BlockSize.ClassBlockMax)
        {
            if (RunSlabs.OwnerOf(block) != _id || !_runs.TryAllocateBefore(block, (int)rounded, out copy)) return null;
            _blockBytes += rounded;
        }
        else
        {
            Slab* slab = ClassSlabOf(block);
            if (!slab->IsLeft) return null;
            Slab* target = _open[slab->SizeClass];
            while (target != null && target->IsLeft) target = target->NextOpen;
            if (target == null) return null;
            if (target != _open[slab->SizeClass])
            {
                Unlink(target, slab->SizeClass);
                Link(target, slab->SizeClass);
            }

            copy = Allocate(rounded);
        }

        Buffer.MemoryCopy(block, copy, rounded, rounded);
        return copy;
    }

    // A slab that is in no list.
    private void ReleaseEmpty(Slab* slab)
    {
        Debug.Assert(slab->Used == 0, "The slab has no blocks in use.");
        if (_lastEmptied == slab) _lastEmptied = null;
        byte* divided = slab->Pages < SlabPages ? SlabOf((byte*)slab) : null;
        int count = _divided.Count;
        ReturnSlab(slab);
        if (divided != null && _divided.Count == count) _divided.ReleaseFreePages(divided);
    }

    private void LinkLast(Slab* slab)
    {
        Slab* last = _open[slab->SizeClass];
        while (last != null && last->NextOpen != null) last = last->NextOpen;
        slab->NextOpen = null;
        slab->PreviousOpen = last;
        if (last != null) last->NextOpen = slab;
        else _open[slab->SizeClass] = slab;
    }
}
