namespace RedKite.Store.Memory;

/// <summary>
/// The free slabs of one size: those kept for reuse with their pages, and those whose pages are released.
/// Used with the source's lock held.
/// </summary>
/// <param name="slabBytes">Bytes of a slab.</param>
internal sealed class FreeSlabs(int slabBytes)
{
    private const int KeptBytesMax = 4 << 20;

    // The maximum of unneeded slabs that a round releases.
    private const int TrimmedBytesMax = 1 << 20;

    private readonly Stack<nint> _kept = new();
    private readonly Stack<nint> _discarded = new();
    private int _keptLeast; // the minimum since the last round: slabs that were not needed
    private int _keptMax = KeptBytesMax / slabBytes;

    /// <summary>Bytes of slabs whose pages are released.</summary>
    internal long DiscardedBytes => (long)_discarded.Count * slabBytes;

    /// <summary>Takes a slab that has its pages.</summary>
    internal bool TryTakeKept(out nint slab)
    {
        if (!_kept.TryPop(out slab)) return false;
        _keptLeast = Math.Min(_keptLeast, _kept.Count);
        return true;
    }

    /// <summary>Takes a slab whose pages are faulted in on first access.</summary>
    internal bool TryTakeDiscarded(out nint slab) => _discarded.TryPop(out slab);

    internal void Keep(nint slab) => _kept.Push(slab);

    internal void NoteDiscarded(nint slab) => _discarded.Push(slab);

    /// <summary>Begins a round of releasing: the excess, and some of the slabs that were not taken since the last round.</summary>
    internal void BeginGivingBack()
    {
        _keptMax = Math.Min(KeptBytesMax / slabBytes, _kept.Count - Math.Min(_keptLeast, TrimmedBytesMax / slabBytes));
        _keptLeast = _keptMax;
    }

    /// <summary>Takes a slab whose pages are to be released: one of this round, or any slab if all are to be released.</summary>
    internal bool TryTakeSurplus(bool all, out nint slab)
    {
        slab = 0;
        return _kept.Count > (all ? 0 : _keptMax) && TryTakeKept(out slab);
    }
}
