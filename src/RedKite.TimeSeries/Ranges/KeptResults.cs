namespace RedKite.TimeSeries.Ranges;

/// <summary>
/// Whether work in slices may keep what it has found between slices. Only so many do, because each may have a share of the memory; any more begin when one of them
/// has ended.
/// </summary>
internal struct KeptResults
{
    internal const int CountMax = 4;

    private static int _count;

    private bool _isKept;

    internal bool TryKeep()
    {
        if (_isKept) return true;
        _isKept = Interlocked.Increment(ref _count) <= CountMax;
        if (!_isKept) Interlocked.Decrement(ref _count);
        return _isKept;
    }

    internal void Release()
    {
        if (_isKept) Interlocked.Decrement(ref _count);
        _isKept = false;
    }
}
