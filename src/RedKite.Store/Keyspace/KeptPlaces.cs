namespace RedKite.Store.Keyspace;

/// <summary>
/// The places of work in slices that keeps what it has found between slices. There are only so many in a server, because each may have a share of the memory; other work begins when some of it has ended.
/// </summary>
internal sealed class KeptPlaces
{
    internal const int CountMax = 4;

    private int _count;

    internal bool TryTake()
    {
        if (Interlocked.Increment(ref _count) <= CountMax) return true;
        GiveBack();
        return false;
    }

    internal void GiveBack() => Interlocked.Decrement(ref _count);
}

/// <summary>Whether work in slices has one of these places.</summary>
internal struct KeptPlace(KeptPlaces places)
{
    private bool _isTaken;

    /// <summary>Takes one, unless it has one.</summary>
    /// <returns>False: there is none.</returns>
    internal bool TryKeep() => _isTaken || (_isTaken = places.TryTake());

    internal void Release()
    {
        if (_isTaken) places.GiveBack();
        _isTaken = false;
    }
}
