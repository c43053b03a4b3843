namespace RedKite.Store.Memory;

/// <summary>
/// Hands out 64 KiB slabs, aligned to their size, to the arenas and tables of one keyspace.
/// Ranges stay mapped until the keyspace ends, because lookups are prefetched without a lock: a slab that was given
/// back may still be read (never written) by such a prefetch, so its pages may go but its addresses may not.
/// </summary>
internal sealed unsafe class SlabSource : IDisposable
{
    internal const int SlabBytes = 64 << 10;

    private const int RegionBytes = 8 << 20;
    private const int FreeSlabsKeptMax = 64;

    // A small database must stay small: a huge page is 32 slabs, so the first regions use ordinary pages.
    private const int OrdinaryRegions = 4;

    private readonly Lock _lock = new();
    private readonly List<nint> _regions = [];
    private readonly Stack<nint> _kept = new();
    private readonly Stack<nint> _discarded = new();
    private byte* _next;
    private byte* _end;
    private long _heldBytes;

    /// <summary>Bytes of slabs that are in use or kept for reuse.</summary>
    internal long HeldBytes => Volatile.Read(ref _heldBytes);

    internal byte* Take()
    {
        lock (_lock)
        {
            if (_kept.TryPop(out nint kept)) return (byte*)kept;

            _heldBytes += SlabBytes;
            if (_discarded.TryPop(out nint discarded)) return (byte*)discarded;
            if (_next == _end)
            {
                _next = SystemMemory.Map(RegionBytes, hugePages: _regions.Count >= OrdinaryRegions);
                _end = _next + RegionBytes;
                _regions.Add((nint)_next);
            }

            byte* slab = _next;
            _next += SlabBytes;
            return slab;
        }
    }

    internal void Return(byte* slab)
    {
        lock (_lock)
        {
            if (_kept.Count < FreeSlabsKeptMax)
            {
                _kept.Push((nint)slab);
                return;
            }

            // Under the lock: another taker must not get the slab before its pages are gone.
            SystemMemory.Discard(slab, SlabBytes);
            _heldBytes -= SlabBytes;
            _discarded.Push((nint)slab);
        }
    }

    public void Dispose()
    {
        foreach (nint region in _regions) SystemMemory.Unmap((byte*)region, RegionBytes);
        _regions.Clear();
        _kept.Clear();
        _discarded.Clear();
        _next = _end = null;
        _heldBytes = 0;
    }
}
