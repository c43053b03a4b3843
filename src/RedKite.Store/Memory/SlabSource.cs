namespace RedKite.Store.Memory;

/// <summary>
/// Hands out slabs of 64 and of 256 KiB, aligned to their size, to the arenas and tables of one keyspace.
/// Ranges stay mapped until the keyspace ends, because lookups prefetch without a lock: such a prefetch may still read (never
/// write) a returned slab, so its pages may be released but its addresses may not be unmapped. Returning a slab makes no system
/// call; the background sweep releases the pages, one slab at a time.
/// </summary>
/// <remarks>
/// Slabs of tables and of entries have separate regions: lookups access tables at random, and adjacent slabs share the upper levels
/// of the page table. Beyond the first 32 MiB another thread prepares the next region of each kind, with huge pages, which save
/// each random lookup a page walk. The first access clears 2 MiB: 0.1 ms if the memory is available, 5 to 8 ms in a virtual
/// machine whose host has to supply it (1 to 2 ms as ordinary pages). If that is slow, entries get ordinary pages, and a huge page
/// is tried occasionally; tables always get huge pages. A slab that is requested too early has unprepared pages. Unless the server is
/// configured not to, it makes regions of ordinary pages huge in idle time, including the first ones, once a quarter of a region
/// is carved.
///
/// Releasing a slab's pages was measured at 15 to 20 microseconds. Blocks that are freed in random order can empty a hundred slabs
/// with a hundred frees, which turned a slice of 10 microseconds under the stripe's lock into 2 ms.
///
/// The two sizes share regions, but a slab keeps its size: free slabs of one size are not converted to the other.
/// </remarks>
internal sealed unsafe class SlabSource : IDisposable
{
    internal const int SlabBytes = 64 << 10;
    internal const int LargeSlabBytes = 256 << 10;
    internal const int RegionBytes = 2 << 20; // a huge page

    private const int RangeBytes = 64 << 20;

    // A small database must stay small and start fast: a huge page is 32 slabs.
    private const int UnpreparedRegions = 16;

    // A huge page that took more CPU time than this is followed by this number of regions with ordinary pages.
    private const long HugePageNsMax = 1_000_000;
    private const int OrdinaryRegions = 63;

    // With fewer regions of ordinary pages, the processor's caches hold most translations.
    private const int MeasuredRegionsMin = 16;
    private const int MeasuredPairs = 1000;
    private const int Measurements = 5;
    private const int PageBytes = 4096;
    private const int LineBytes = 64;

    // A huge page restores the released pages of its region, so those must be few.
    private const int DiscardedPartMax = 16;

    private readonly Lock _lock = new();
    private readonly List<nint> _ranges = [];
    private readonly FreeSlabs _free = new(SlabBytes);
    private readonly FreeSlabs _freeLarge = new(LargeSlabBytes);
    private readonly Supply _tables = new(alwaysHuge: true);
    private readonly Supply _entries = new(alwaysHuge: false);
    private readonly Queue<nint> _ordinary = new(); // regions with ordinary pages from which slabs were carved
    private readonly PoolTask _idleWork = new();
    private Arena[] _arenas = [];
    private byte* _rangeNext;
    private byte* _rangeEnd;
    private int _regions;
    private long _heldBytes;

    /// <summary>The budget of the keyspace.</summary>
    internal MemoryBudget Budget { get; } = new();

    /// <summary>The number of regions that <see cref="MakeOneHuge"/> has made huge.</summary>
    internal long RegionsMadeHuge { get; private set; }

    /// <summary>The CPU time for that, including refused attempts.</summary>
    internal long MakingHugeCpuNs { get; private set; }

    /// <summary>Bytes of slabs that are in use or kept for reuse.</summary>
    internal long HeldBytes => Volatile.Read(ref _heldBytes);

    /// <summary>Bytes of regions that were made ready and are not handed out yet.</summary>
    internal long PreparedBytes
    {
        get
        {
            lock (_lock) return _tables.PreparedBytes + _entries.PreparedBytes;
        }
    }

    /// <summary>Registers an arena and returns its id, which its slabs store.</summary>
    internal int Register(Arena arena)
    {
        lock (_lock)
        {
            if (_arenas.Length > ushort.MaxValue) throw new InvalidOperationException("A keyspace has fewer arenas.");
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

    /// <summary>Takes a slab of <see cref="LargeSlabBytes"/>.</summary>
    internal byte* TakeLarge()
    {
        lock (_lock)
        {
            if (_freeLarge.TryTakeKept(out nint slab)) return (byte*)slab;
            if (!_freeLarge.TryTakeDiscarded(out slab))
            {
                // The gap before the next aligned address.
                while (((nint)_entries.Next & (LargeSlabBytes - 1)) != 0) _free.NoteDiscarded(Carve(_entries, SlabBytes));
                slab = Carve(_entries, LargeSlabBytes);
            }

            _heldBytes += LargeSlabBytes;
            return (byte*)slab;
        }
    }

    /// <summary>Takes a slab for the segments of tables, which is never returned.</summary>
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
    /// Begins a periodic round of releasing pages: of the excess, and of some slabs that were not taken since the last round.
    /// </summary>
    internal void BeginGivingBack()
    {
        lock (_lock)
        {
            _free.BeginGivingBack();
            _freeLarge.BeginGivingBack();
        }
    }

    /// <summary>Releases the pages of one slab.</summary>
    /// <returns>False if the round is over.</returns>
    internal bool GiveBack() => GiveBack(_freeLarge, LargeSlabBytes, all: false) || GiveBack(_free, SlabBytes, all: false);

    /// <summary>Releases the pages of every free slab.</summary>
    internal void ReleaseKept()
    {
        while (GiveBack(_freeLarge, LargeSlabBytes, all: true) || GiveBack(_free, SlabBytes, all: true))
        {
        }
    }

    /// <summary>
    /// Replaces the ordinary pages of a region by a huge one. Takes milliseconds of CPU time; threads that access the region wait
    /// for less than one of them. Called by one thread at a time, in idle time.
    /// </summary>
    /// <returns>False if there was no such region.</returns>
    internal bool MakeOneHuge()
    {
        nint region;
        lock (_lock)
        {
            if (HasManyDiscarded) return false;
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

        lock (_lock) _ordinary.Clear(); // A system that refuses one region refuses the others.
        return false;
    }

    /// <summary>
    /// Measures how long a random read waits for the translation of its address in ordinary pages, which it does not in huge ones: some
    /// 50 ns, or more than a microsecond in a virtual machine whose host translates addresses a second time. Takes up to 20 ms of CPU
    /// time, which counts as that of <see cref="MakeOneHuge"/>. Called by one thread at a time, in idle time.
    /// </summary>
    /// <returns>The time in nanoseconds; 0 if there is little to make huge.</returns>
    internal long MeasureTranslationNs()
    {
        nint[] regions;
        lock (_lock)
        {
            if (_ordinary.Count < MeasuredRegionsMin || HasManyDiscarded) return 0;
            regions = [.. _ordinary];
        }

        long start = SystemMemory.ThreadCpuNs();
        var random = new Random();
        Span<long> spent = stackalloc long[Measurements];
        foreach (ref long each in spent)
        {
            // Both read two lines that are in no cache; a second line of the same page needs no other translation.
            each = (ReadPairs(regions, random, ofOnePage: false) - ReadPairs(regions, random, ofOnePage: true)) / MeasuredPairs;
        }

        spent.Sort();
        MakingHugeCpuNs += SystemMemory.ThreadCpuNs() - start;
        return Math.Max(0, spent[Measurements / 2]);
    }

    /// <summary>
    /// Begins work in idle time on another thread, which may use the source's memory: <see cref="MakeOneHuge"/> or <see cref="MeasureTranslationNs"/>.
    /// Nothing happens while such work is in progress, or if the source has ended.
    /// </summary>
    internal void BeginIdleWork(Action work) => _idleWork.TryBegin(work);

    /// <summary>Whether such work is in progress.</summary>
    internal bool HasIdleWork => _idleWork.IsBusy;

    public void Dispose()
    {
        // Their accesses would hit unmapped pages.
        _tables.Preparing.End();
        _entries.Preparing.End();
        _idleWork.End();
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

    // Each read depends on the one before. The values do not matter and may change meanwhile.
    private static long ReadPairs(nint[] regions, Random random, bool ofOnePage)
    {
        long start = SystemMemory.ThreadCpuNs();
        nint last = 0;
        for (int i = 0; i < MeasuredPairs; i++)
        {
            byte* first = RandomLine(regions, random), second = RandomLine(regions, random);
            if (ofOnePage) second = first + (PageBytes / 2);
            last = Volatile.Read(ref *(first + (last >> 8)));
            last = Volatile.Read(ref *(second + (last >> 8)));
        }

        return SystemMemory.ThreadCpuNs() - start;
    }

    // In the first half of a page.
    private static byte* RandomLine(nint[] regions, Random random) =>
        (byte*)regions[random.Next(regions.Length)] + (random.Next(RegionBytes / PageBytes) * PageBytes) + (random.Next(PageBytes / 2 / LineBytes) * LineBytes);

    // With the lock.
    private bool HasManyDiscarded => (_free.DiscardedBytes + _freeLarge.DiscardedBytes) * DiscardedPartMax > _heldBytes;

    // Without the lock, so that requests for slabs don't wait: the slab is in no list meanwhile.
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
        supply.CurrentIsPrepared = supply.Ready != null;
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
        if (supply.Ready == null && !supply.Preparing.IsBusy) supply.Preparing.TryBegin(() => Prepare(supply));
    }

    // On another thread; the first access is outside the lock.
    private void Prepare(Supply supply)
    {
        byte* region;
        try
        {
            lock (_lock) region = CarveRegion();
        }
        catch (InsufficientMemoryException)
        {
            return; // The next request meets the same refusal, on a thread that can report it.
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
    }

    // The regions from which slabs for one purpose are carved.
    private sealed class Supply(bool alwaysHuge)
    {
        internal byte* Next; // in the current region
        internal byte* End;
        internal bool MayBecomeHuge; // the current region
        internal byte* Ready; // a prepared region
        internal bool ReadyIsHuge;
        internal bool CurrentIsPrepared;
        internal int OrdinaryLeft; // regions with ordinary pages until a huge one is tried again; owned by the preparing thread
        internal readonly PoolTask Preparing = new();

        internal bool AlwaysHuge => alwaysHuge;

        // The rest of the current region has pages too if the region was made ready.
        internal long PreparedBytes => (CurrentIsPrepared ? End - Next : 0) + (Ready != null ? RegionBytes : 0);

        // The current region, once, when at least a quarter of it is carved: the rest costs little more memory.
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
