using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Arrays;

namespace RedKite.Server.Commands.Arrays;

/// <summary>A walk in slices, each of which finds the key's array again. It is stale when the array has changed, or the key has another one or none.</summary>
internal sealed class ArrayWalkWork(Database database, ulong key, ArrayWalk walk) : SlicedWork
{
    /// <summary>
    /// So many walks keep what they have found between slices. Any more begin when one of them has ended.
    /// </summary>
    internal const int StoppedMax = 16;

    private static int _stopped;

    /// <summary>The steps that a walk may take beyond what the elements' length explains, which tests lower.</summary>
    internal long ExcessMax { get; set; } = UnitWork.WaitingExcessMax;

    private bool _isStopped;

    internal ArrayWalk Walk { get; } = walk;

    /// <summary>Keeps what was found while the client waits, or forgets it.</summary>
    internal void Stop()
    {
        if (!TryKeep()) Walk.Restart();
    }

    internal override bool RunSlice()
    {
        Entry entry = database.FindByHash(key);
        ArrayValue array = entry.Exists && entry.Type == DataType.Array ? ArrayValue.Of(database, entry) : default;
        IsStale = !array.Exists || array.Version != Walk.Version;
        if (IsStale || !TryKeep()) return false;
        IsComplete = Walk.Run(array, ArrayWalk.SliceSteps);
        TakesTooLong = !IsComplete && Walk.ExcessSteps >= ExcessMax;
        return IsComplete;
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
