namespace RedKite.Store.Memory;

/// <summary>
/// Hands out slabs of 64 and of 256 KiB, aligned to their size, to the arenas and tables of one keyspace.
/// Ranges stay mapped until the keyspace ends, because lookups are prefetched without a lock: a slab that was given
/// back may still be read (never written) by such a prefetch, so its pages may go but its addresses may not.
/// Who returns a slab asks nothing of the system; the background sweep gives the pages back, one slab at a time.
/// </summary>
/// <remarks>
/// Slabs of tables and of entries lie in regions of their own: lookups go to tables at random, and what lies side by side shares
/// the upper levels of the page table. Beyond the first 32 MiB the next region of each is made ready ahead by another thread,
/// and of huge pages, which spare each random lookup a page walk. Its first touch clears 2 MiB: 0.1 ms where the memory is
/// there, 5 to 8 ms in a virtual machine whose host has to supply it (as ordinary pages it is 1 to 2 ms there). So where that
/// takes long, entries get ordinary pages, and a huge one is tried now and then; tables always get huge ones. A taker that
/// comes too early gets pages that nobody made ready. If the server is set to do so, it makes regions of ordinary pages huge when
/// it has time, also the first ones, once a quarter of a region was carved.
///
/// Giving a slab's pages back was measured at 15 to 20 microseconds. Blocks that are freed in no order empty a hundred slabs
/// within as many frees, which under the stripe's lock made 2 ms of a slice that was meant to take 10 microseconds.
///
/// The two sizes share regions, but a slab keeps its size: what is free of the one is not made into the other.
/// </remarks>
internal sealed unsafe class SlabSource : IDisposable
{
    internal const int SlabBytes = 64 << 10;
    internal const int LargeSlabBytes = 256 << 10;
    internal const int RegionBytes = 2 << 20; // a huge page

    private const int RangeBytes = 64 << 20;

    // A small database must stay small, and begin fast: a huge page is 32 slabs.
    private const int UnpreparedRegions = 16;

    // A huge page that took more CPU than this is followed by so many regions of ordinary ones.
    private const long HugePageNsMax = 1_000_000;
    private const int OrdinaryRegions = 63;

    // A huge page brings back what was given back of its region; that must not be much.
    private const int DiscardedPartMax = 16;

    private readonly Lock _lock = new();
    private readonly List<nint> _ranges = [];
    private readonly FreeSlabs _free = new(SlabBytes);
    private readonly FreeSlabs _freeLarge = new(LargeSlabBytes);
    private readonly Supply _tables = new(alwaysHuge: true);
    private readonly Supply _entries = new(alwaysHuge: false);
    private readonly Queue<nint> _ordinary = new(); // regions of ordinary pages that slabs were carved from
    private Arena[] _arenas = [];
    private byte* _rangeNext;
    private byte* _rangeEnd;
    private int _regions;
    private long _heldBytes;

    /// <summary>The budget of the keyspace.</summary>
    internal MemoryBudget Budget { get; } = new();

    /// <summary>Regions that <see cref="MakeOneHuge"/> has made huge.</summary>
    internal long RegionsMadeHuge { get; private set; }

    /// <summary>CPU that this took, including refused attempts.</summary>
    internal long MakingHugeCpuNs { get; private set; }

    /// <summary>Bytes of slabs that are in use or kept for reuse.</summary>
    internal long HeldBytes => Volatile.Read(ref _heldBytes);

    /// <summary>Gives an arena an id, by which its slabs name it.</summary>
    internal int Register(Arena arena)
    {
        lock (_lock)
        {
            _arenas = [.. _arenas, arena];
            return _arenas.Length - 1;
        }
    }

    /// <summary>The arena that a slab belongs to. Needs no lock: arenas are registered before a keyspace is used.</summary>
    internal Arena ArenaOf(int id) => _arenas[id];

    internal byte* Take()
    {
        lock (_lock)
        {
            if (_free.TryTakeKept(out nint slab)) return (byte*)slab;
            if (!_free.TryTakeDiscarded(out slab)) slab = Carve(_entries, SlabBytes);
            _heldBytes += SlabBytes;
            return (byte*)slab;
        }
    }

    /// <summary>A slab of <see cref="LargeSlabBytes"/>.</summary>
    internal byte* TakeLarge()
    {
        lock (_lock)
        {
            if (_freeLarge.TryTakeKept(out nint slab)) return (byte*)slab;
            if (!_freeLarge.TryTakeDiscarded(out slab))
            {
                // What lies before the next place where one may begin.
                while (((nint)_entries.Next & (LargeSlabBytes - 1)) != 0) _free.NoteDiscarded(Carve(_entries, SlabBytes));
                slab = Carve(_entries, LargeSlabBytes);
            }

            _heldBytes += LargeSlabBytes;
            return (byte*)slab;
        }
    }

    /// <summary>A slab for the segments of tables, which is never returned.</summary>
    internal byte* TakeForTables()
    {
        lock (_lock)
        {
            _heldBytes += SlabBytes;
            return (byte*)Carve(_tables, SlabBytes);
        }
    }

    internal void Return(byte* slab)
    {
        lock (_lock) _free.Keep((nint)slab);
    }

    internal void ReturnLarge(byte* slab)
    {
        lock (_lock) _freeLarge.Keep((nint)slab);
    }

    /// <summary>
    /// Begins a round of giving back, which is due now and then: of what is too much, and of some slabs that nobody took
    /// since the last round.
    /// </summary>
    internal void BeginGivingBack()
    {
        lock (_lock)
        {
            _free.BeginGivingBack();
            _freeLarge.BeginGivingBack();
        }
    }

    /// <summary>Gives the pages of one slab back if the round is not over.</summary>
    /// <returns>Whether it did.</returns>
    internal bool GiveBack() => GiveBack(_freeLarge, LargeSlabBytes, all: false) || GiveBack(_free, SlabBytes, all: false);

    /// <summary>Gives the pages of every free slab back.</summary>
    internal void ReleaseKept()
    {
        while (GiveBack(_freeLarge, LargeSlabBytes, all: true) || GiveBack(_free, SlabBytes, all: true))
        {
        }
    }

    /// <summary>
    /// Replaces the ordinary pages of a region by a huge one: milliseconds of CPU, and for less than one of them whoever touches
    /// the region waits. On a thread that has the time, one at a time.
    /// </summary>
    /// <returns>Whether there was one.</returns>
    internal bool MakeOneHuge()
    {
        nint region;
        lock (_lock)
        {
            if ((_free.DiscardedBytes + _freeLarge.DiscardedBytes) * DiscardedPartMax > _heldBytes) return false;
            if (!_ordinary.TryDequeue(out region) && !_entries.TryTakeCurrent(out region) && !_tables.TryTakeCurrent(out region)) return false;
        }

        long start = SystemMemory.ThreadCpuNs();
        bool made = SystemMemory.TryMakeHugePage((byte*)region, RegionBytes);
        MakingHugeCpuNs += SystemMemory.ThreadCpuNs() - start;
        if (made)
        {
            RegionsMadeHuge++;
            return true;
        }

        lock (_lock) _ordinary.Clear(); // A system that refuses one refuses the others.
        return false;
    }

    public void Dispose()
    {
        while (_tables.IsPreparing || _entries.IsPreparing) Thread.Yield(); // Its touch would hit an unmapped page.
        lock (_lock)
        {
            foreach (nint range in _ranges) SystemMemory.Unmap((byte*)range, RangeBytes);
            _ranges.Clear();
            _ordinary.Clear();
            _rangeNext = _rangeEnd = null;
            _tables.Clear();
            _entries.Clear();
            _heldBytes = 0;
        }
    }

    // Without the lock: the slab is nobody's meanwhile, so that no taker waits.
    private bool GiveBack(FreeSlabs free, int slabBytes, bool all)
    {
        nint slab;
        lock (_lock)
        {
            if (!free.TryTakeSurplus(all, out slab)) return false;
        }

        SystemMemory.Discard((byte*)slab, (nuint)slabBytes);
        lock (_lock)
        {
            _heldBytes -= slabBytes;
            free.NoteDiscarded(slab);
        }

        return true;
    }

    private nint Carve(Supply supply, int bytes)
    {
        if (supply.Next == supply.End) BeginRegion(supply);
        byte* slab = supply.Next;
        supply.Next += bytes;
        return (nint)slab;
    }

    private void BeginRegion(Supply supply)
    {
        byte* next = supply.Ready != null ? supply.Ready : CarveRegion();
        if (supply.MayBecomeHuge) _ordinary.Enqueue((nint)supply.End - RegionBytes);
        supply.MayBecomeHuge = supply.Ready == null || !supply.ReadyIsHuge;
        supply.Next = next;
        supply.End = next + RegionBytes;
        supply.Ready = null;
        if (++_regions < UnpreparedRegions) return;
        PrepareIfNeeded(_tables);
        PrepareIfNeeded(_entries);
    }

    private byte* CarveRegion()
    {
        if (_rangeNext == _rangeEnd)
        {
            _rangeNext = SystemMemory.Map(RangeBytes);
            _rangeEnd = _rangeNext + RangeBytes;
            _ranges.Add((nint)_rangeNext);
        }

        byte* region = _rangeNext;
        _rangeNext += RegionBytes;
        return region;
    }

    private void PrepareIfNeeded(Supply supply)
    {
        if (supply.Ready != null || supply.IsPreparing) return;
        supply.IsPreparing = true;
        ThreadPool.UnsafeQueueUserWorkItem(static work => work.Source.Prepare(work.Supply), (Source: this, Supply: supply), preferLocal: false);
    }

    // On another thread: the touch is outside the lock.
    private void Prepare(Supply supply)
    {
        byte* region;
        try
        {
            lock (_lock) region = CarveRegion();
        }
        catch (InsufficientMemoryException)
        {
            supply.IsPreparing = false; // Whoever needs the region meets the same refusal, on a thread that can tell of it.
            return;
        }

        bool huge = supply.OrdinaryLeft == 0;
        if (!huge)
        {
            supply.OrdinaryLeft--;
            SystemMemory.Populate(region, RegionBytes);
        }
        else
        {
            long ns = SystemMemory.PopulateHugePage(region, RegionBytes);
            if (ns > HugePageNsMax && !supply.AlwaysHuge) supply.OrdinaryLeft = OrdinaryRegions;
        }

        lock (_lock)
        {
            supply.Ready = region;
            supply.ReadyIsHuge = huge;
        }

        supply.IsPreparing = false;
    }

    // Where slabs of one purpose are carved from.
    private sealed class Supply(bool alwaysHuge)
    {
        internal byte* Next; // in the current region
        internal byte* End;
        internal bool MayBecomeHuge; // the current region
        internal byte* Ready; // a region whose pages are there
        internal bool ReadyIsHuge;
        internal int OrdinaryLeft; // regions of ordinary pages, before a huge one is tried again; the preparing thread's
        internal volatile bool IsPreparing;

        internal bool AlwaysHuge => alwaysHuge;

        // The current region, once, when at least a quarter of it was carved: the rest is little more memory.
        internal bool TryTakeCurrent(out nint region)
        {
            region = (nint)End - RegionBytes;
            if (!MayBecomeHuge || End - Next > RegionBytes / 4 * 3) return false;
            MayBecomeHuge = false;
            return true;
        }

        internal void Clear()
        {
            Next = End = Ready = null;
            MayBecomeHuge = false;
        }
    }
}
