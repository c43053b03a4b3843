using RedKite.Server.Durability;
using RedKite.Server.Replication;

namespace RedKite.Server.Following;

/// <summary>
/// How far of a history a replica's append-only file has what the stream did. One moment at a time: the offset of then is synced when the log is up to its
/// position of then, and its base is on the disk. Of another history, and with another log, all begins anew. From any thread.
/// </summary>
internal sealed class SyncedOffset
{
    private readonly Lock _lock = new();
    private string _history = "";
    private ISyncedLog? _log;
    private long _offset;
    private long _awaitedOffset = -1; // -1: none
    private long _awaitedPosition;

    /// <summary>The offset that is known to be synced; 0: none is.</summary>
    /// <param name="offset">The stream's offset of now.</param>
    /// <param name="history">Its history.</param>
    /// <param name="data">What knows what is on the disk.</param>
    /// <param name="log">The log of now.</param>
    internal long At(long offset, string history, IReplicatedData data, ISyncedLog log)
    {
        long position = log.End; // behind the offset
        lock (_lock)
        {
            if (history != _history || log != _log || offset < _offset) (_history, _log, _offset, _awaitedOffset) = (history, log, 0, -1);
            if (_awaitedOffset >= 0) Take(data);
            if (_awaitedOffset < 0) (_awaitedOffset, _awaitedPosition) = (offset, position);
            Take(data);
            return _offset;
        }
    }

    private void Take(IReplicatedData data)
    {
        if (_awaitedOffset >= 0 && data.IsSynced(_log, _awaitedPosition)) (_offset, _awaitedOffset) = (_awaitedOffset, -1);
    }
}
