using RedKite.Store.Keyspace;
using RedKite.Store.Values.Arrays;

namespace RedKite.Server.Commands.Arrays;

/// <summary>A search in slices, each of which finds the key's array again. It is stale when the array has changed, or the key has another one or none.</summary>
internal sealed class ArraySearchWork(Database database, ulong key, ArraySearch search) : SlicedWork
{
    /// <summary>
    /// So many searches keep what they have found between slices. Any more begin when one of them has ended.
    /// </summary>
    internal const int StoppedMax = 16;

    private static int _stopped;

    private bool _isStopped;

    internal ArraySearch Search { get; } = search;

    /// <summary>Keeps what was found while the client waits, or forgets it.</summary>
    internal void Stop()
    {
        if (!TryKeep()) Search.Restart();
    }

    internal override bool RunSlice()
    {
        Entry entry = database.FindByHash(key);
        ArrayValue array = entry.Exists && entry.Type == DataType.Array ? ArrayValue.Of(database, entry) : default;
        IsStale = !array.Exists || array.Version != Search.Version;
        if (IsStale || !TryKeep()) return false;
        return IsComplete = Search.Run(array, ArraySearch.SliceCost);
    }

    internal override void Discard()
    {
        if (_isStopped) Interlocked.Decrement(ref _stopped);
        _isStopped = false;
    }

    private bool TryKeep()
    {
        if (_isStopped) return true;
        _isStopped = Interlocked.Increment(ref _stopped) <= StoppedMax;
        if (!_isStopped) Interlocked.Decrement(ref _stopped);
        return _isStopped;
    }
}
