namespace RedKite.Store.Memory;

/// <summary>
/// The free slabs of one size: those that are kept for reuse, with their pages, and those whose pages were given back.
/// Used with the source's lock held.
/// </summary>
/// <param name="slabBytes">Bytes of a slab.</param>
internal sealed class FreeSlabs(int slabBytes)
{
    private const int KeptBytesMax = 4 << 20;

    // In a round, of what nobody needed.
    private const int TrimmedBytesMax = 1 << 20;

    private readonly Stack<nint> _kept = new();
    private readonly Stack<nint> _discarded = new();
    private int _keptLeast; // since the last round: so many were not needed
    private int _keptMax = KeptBytesMax / slabBytes;

    /// <summary>Bytes of those whose pages were given back.</summary>
    internal long DiscardedBytes => (long)_discarded.Count * slabBytes;

    /// <summary>Takes one that has its pages.</summary>
    internal bool TryTakeKept(out nint slab)
    {
        if (!_kept.TryPop(out slab)) return false;
        _keptLeast = Math.Min(_keptLeast, _kept.Count);
        return true;
    }

    /// <summary>Takes one whose pages come with their first touch.</summary>
    internal bool TryTakeDiscarded(out nint slab) => _discarded.TryPop(out slab);

    internal void Keep(nint slab) => _kept.Push(slab);

    internal void NoteDiscarded(nint slab) => _discarded.Push(slab);

    /// <summary>Begins a round of giving back: of what is too much, and of some that nobody took since the last round.</summary>
    internal void BeginGivingBack()
    {
        _keptMax = Math.Min(KeptBytesMax / slabBytes, _kept.Count - Math.Min(_keptLeast, TrimmedBytesMax / slabBytes));
        _keptLeast = _keptMax;
    }

    /// <summary>Takes one whose pages are to be given back, in this round or, if all are to go, in any.</summary>
    internal bool TryTakeSurplus(bool all, out nint slab)
    {
        slab = 0;
        return _kept.Count > (all ? 0 : _keptMax) && TryTakeKept(out slab);
    }
}
