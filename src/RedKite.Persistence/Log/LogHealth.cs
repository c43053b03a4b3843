using RedKite.Persistence.Files;

namespace RedKite.Persistence.Log;

/// <summary>
/// Whether a log works: it is well, a write has failed, a sync has, or it goes on in a new file that is worth nothing without its base. The log's
/// two threads report to it, and the one that commits bases. Only a write ends a write's failure; a sync's ends by a new file and then the commit of
/// the base that holds everything before it. So a write that was in progress while a sync failed changes nothing.
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

    /// <summary>Whether a sync has failed and no new file has begun since: what is executed is not written.</summary>
    internal bool IsAbandoned => _state.Condition == Condition.SyncFailed;

    /// <summary>Whether records are in no file, and only the commit of a base that holds everything ends that.</summary>
    internal bool LacksRecords => _state.Condition is Condition.SyncFailed or Condition.LacksBase;

    /// <summary>A write has failed.</summary>
    internal void WriteFailed(FileFailure failure)
    {
        lock (_changing)
        {
            if (_state.Failure is null) Fail(failure, Condition.WriteFailed);
        }
    }

    /// <summary>A sync has failed.</summary>
    internal void SyncFailed(FileFailure failure)
    {
        lock (_changing)
        {
            if (!IsAbandoned) Fail(failure, Condition.SyncFailed);
        }
    }

    /// <summary>A write has succeeded.</summary>
    internal void Wrote()
    {
        if (_state.Failure is null) return; // a failure that comes later is not ended by this write
        lock (_changing)
        {
            if (_state.Condition == Condition.WriteFailed) Recover();
        }
    }

    /// <summary>Another file goes on.</summary>
    /// <param name="lacksRecords">Whether what precedes it is in no file, so that it needs its base.</param>
    internal void Switched(bool lacksRecords)
    {
        lock (_changing)
        {
            if (lacksRecords) _state = new State(_state.Failure, Condition.LacksBase);
            else Recover(); // all of the last file was synced before, so a sync of it that fails afterwards loses nothing
        }
    }

    /// <summary>The base of the current file is in force: nothing is missing. A sync of that file that has failed meanwhile is another matter.</summary>
    internal void BaseCommitted()
    {
        lock (_changing)
        {
            if (_state.Condition == Condition.LacksBase) Recover();
        }
    }

    private void Fail(FileFailure failure, Condition condition)
    {
        _state = new State(failure, condition);
        failed(failure, condition == Condition.SyncFailed);
    }

    private void Recover()
    {
        if (_state.Failure is null) return;
        _state = State.Well;
        recovered();
    }

    private enum Condition
    {
        Well,
        WriteFailed,
        SyncFailed,
        LacksBase,
    }

    // Replaced as a whole, so that no reader sees half of a change.
    private sealed record State(FileFailure? Failure, Condition Condition)
    {
        internal static readonly State Well = new(null, Condition.Well);
    }
}
