using RedKite.Persistence.Files;

namespace RedKite.Persistence.Log;

/// <summary>
/// Whether a log works: it is well, a write has failed, or a sync has. The log's two threads report to it. Only a write ends a write's
/// failure, and only a new file ends a sync's, so a write that was in progress while a sync failed changes nothing.
/// </summary>
/// <remarks>
/// State and reports change together under one lock: who hears of failures and recoveries hears of them in the order in which they
/// happened, and the last report is the state. A reporter may lock stripes; no thread that holds a stripe reports.
/// </remarks>
/// <param name="failed">Called when a failure begins: what it is, and whether a sync failed.</param>
/// <param name="recovered">Called when the log works again.</param>
internal sealed class LogHealth(Action<FileFailure, bool> failed, Action recovered)
{
    private readonly Lock _changing = new();
    private volatile State _state = State.Well;

    /// <summary>What is wrong; null: nothing.</summary>
    internal FileFailure? Failure => _state.Failure;

    /// <summary>Whether a sync has failed and no new file has begun since.</summary>
    internal bool IsAbandoned => _state.IsSync;

    /// <summary>A write has failed.</summary>
    internal void WriteFailed(FileFailure failure)
    {
        lock (_changing)
        {
            if (_state.Failure is null) Fail(failure, isSync: false);
        }
    }

    /// <summary>A sync has failed.</summary>
    internal void SyncFailed(FileFailure failure)
    {
        lock (_changing)
        {
            if (!_state.IsSync) Fail(failure, isSync: true);
        }
    }

    /// <summary>A write has succeeded.</summary>
    internal void Wrote()
    {
        if (_state.Failure is null) return; // a failure that comes later is not ended by this write
        lock (_changing)
        {
            if (!_state.IsSync) Recover();
        }
    }

    /// <summary>Another file goes on, whose base holds everything before it.</summary>
    internal void Began()
    {
        lock (_changing) Recover();
    }

    private void Fail(FileFailure failure, bool isSync)
    {
        _state = new State(failure, isSync);
        failed(failure, isSync);
    }

    private void Recover()
    {
        if (_state.Failure is null) return;
        _state = State.Well;
        recovered();
    }

    // Replaced as a whole, so that no reader sees half of a change.
    private sealed record State(FileFailure? Failure, bool IsSync)
    {
        internal static readonly State Well = new(null, IsSync: false);
    }
}
