namespace RedKite.Store.Memory;

/// <summary>
/// Hands out slabs of 64 and of 256 KiB, aligned to their size, to the arenas and tables of one keyspace.
/// Ranges stay mapped until the keyspace ends, because lookups are prefetched without a lock: a slab that was given
/// back may still be read (never written) by such a prefetch, so its pages may go but its addresses may not.
/// Who returns a slab asks nothing of the system; the background sweep gives the pages back, one slab at a time.
/// </summary>
/// <remarks>
/// Beyond the first 32 MiB memory is taken by the huge page: one page walk less for each random lookup. The first touch
/// of a huge page clears 2 MiB, which was measured at 0.1 to 5 ms and would stall the command that hits it, so the next
/// one is always made ready ahead by another thread; a taker that comes too early gets ordinary pages.
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

    private const int RangeBytes = 64 << 20;
    private const int RegionBytes = 2 << 20; // a huge page

    // A small database must stay small: a huge page is 32 slabs.
    private const int OrdinaryRegions = 16;

    private readonly Lock _lock = new();
    private readonly List<nint> _ranges = [];
    private readonly FreeSlabs _free = new(SlabBytes);
    private readonly FreeSlabs _freeLarge = new(LargeSlabBytes);
    private byte* _next; // in the current region
    private byte* _end;
    private byte* _rangeNext;
    private byte* _rangeEnd;
    private byte* _ready; // a region whose huge page is there
    private int _regions;
    private volatile bool _preparing;
    private long _heldBytes;

    /// <summary>Bytes of slabs that are in use or kept for reuse.</summary>
    internal long HeldBytes => Volatile.Read(ref _heldBytes);

    internal byte* Take()
    {
        lock (_lock)
        {
            if (_free.TryTakeKept(out nint slab)) return (byte*)slab;
            if (!_free.TryTakeDiscarded(out slab)) slab = Carve(SlabBytes);
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
                while (((nint)_next & (LargeSlabBytes - 1)) != 0) _free.NoteDiscarded(Carve(SlabBytes));
                slab = Carve(LargeSlabBytes);
            }

            _heldBytes += LargeSlabBytes;
            return (byte*)slab;
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

    public void Dispose()
    {
        while (_preparing) Thread.Yield(); // Its touch would hit an unmapped page.
        foreach (nint range in _ranges) SystemMemory.Unmap((byte*)range, RangeBytes);
        _ranges.Clear();
        _next = _end = _rangeNext = _rangeEnd = _ready = null;
        _heldBytes = 0;
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

    private nint Carve(int bytes)
    {
        if (_next == _end) BeginRegion();
        byte* slab = _next;
        _next += bytes;
        return (nint)slab;
    }

    private void BeginRegion()
    {
        _next = _ready != null ? _ready : CarveRegion();
        _end = _next + RegionBytes;
        _ready = null;
        if (++_regions < OrdinaryRegions || _preparing) return;
        _preparing = true;
        ThreadPool.UnsafeQueueUserWorkItem(static source => source.Prepare(), this, preferLocal: false);
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

    // On another thread: the touch is outside the lock.
    private void Prepare()
    {
        byte* region;
        try
        {
            lock (_lock) region = CarveRegion();
        }
        catch (InsufficientMemoryException)
        {
            _preparing = false; // Whoever needs the region meets the same refusal, on a thread that can tell of it.
            return;
        }

        SystemMemory.TouchHugePage(region, RegionBytes);
        lock (_lock) _ready = region;
        _preparing = false;
    }
}
