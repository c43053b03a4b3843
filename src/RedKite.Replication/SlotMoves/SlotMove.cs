using RedKite.Store.Keyspace;

namespace RedKite.Server.SlotMoves;

/// <summary>How far a move is.</summary>
internal enum SlotMoveState
{
    Waiting,
    Connecting,
    Snapshot,
    Streaming,
    Handover,

    /// <summary>The destination may have taken the slots: it is asked.</summary>
    InDoubt,
    Completed,
    Failed,
    Canceled,
}

/// <summary>A move of slots from this node or to it. Its thread changes it; others read it, where a value may be a moment old.</summary>
#pragma warning disable CA1001 // What waits by the token may do so for a moment longer than the move; without a timer there is nothing to release.
internal sealed class SlotMove(string id, bool isExport, SlotSet slots, string sourceId, string targetId, long nowMs)
#pragma warning restore CA1001
{
    private readonly Lock _changing = new();
    private readonly CancellationTokenSource _cancellation = new();
    private Action? _close;

    internal string Id => id;

    internal bool IsExport => isExport;

    internal SlotSet Slots => slots;

    internal string SourceId => sourceId;

    internal string TargetId => targetId;

    internal long CreatedMs { get; } = nowMs;

    internal long StartedMs { get; private set; } = nowMs;

    internal long UpdatedMs { get; private set; } = nowMs;

    internal long AckedMs { get; private set; } = nowMs;

    internal long EndedMs { get; private set; }

    /// <summary>How long commands that write have waited.</summary>
    internal long PauseMs { get; private set; }

    /// <summary>How often the owner could not be changed in time.</summary>
    internal int Retries { get; private set; }

    /// <summary>Bytes of effects that wait for the destination.</summary>
    internal long WaitingBytes { get; private set; }

    /// <summary>Bytes that were sent to the destination.</summary>
    internal long SentBytes { get; private set; }

    internal volatile SlotMoveState State;

    internal string Message { get; private set; } = "";

    internal bool HasEnded => State >= SlotMoveState.Completed;

    internal CancellationToken Cancellation => _cancellation.Token;

    /// <summary>Why it is to end; null: it goes on.</summary>
    internal string? Reason { get; private set; }

    internal bool IsCanceled { get; private set; }

    internal void NoteStarted(long atMs) => StartedMs = atMs;

    internal void NoteAcknowledged(long atMs) => AckedMs = atMs;

    internal void NotePause(long milliseconds) => PauseMs = Math.Max(PauseMs, milliseconds);

    internal void NoteWaiting(long bytes) => WaitingBytes = bytes;

    internal void NoteSent(long bytes) => SentBytes += bytes;

    internal void NoteRetry() => Retries++;

    internal void Enter(SlotMoveState state, long atMs)
    {
        lock (_changing)
        {
            if (HasEnded) return;
            State = state;
            UpdatedMs = atMs;
        }
    }

    /// <summary>The owner is about to be changed, unless it is to end: nothing stops it from here on.</summary>
    internal bool TryEnterDoubt(long atMs)
    {
        lock (_changing)
        {
            if (HasEnded || Reason is not null) return false;
            (State, UpdatedMs) = (SlotMoveState.InDoubt, atMs);
            return true;
        }
    }

    /// <summary>Has it end as soon as it can, unless the owner is being changed. From any thread.</summary>
    internal bool Stop(string reason, bool isCanceled = false, bool closes = true)
    {
        Action? close;
        lock (_changing)
        {
            if (HasEnded || State == SlotMoveState.InDoubt) return false;
            if (Reason is null) (Reason, IsCanceled) = (reason, isCanceled);
            close = _close;
        }

        if (!closes) return true; // it looks before each of its steps
        _cancellation.Cancel();
        close?.Invoke();
        return true;
    }

    /// <summary>Names what ends a wait of its thread.</summary>
    internal void CloseBy(Action? close)
    {
        lock (_changing) _close = close;
        if (Reason is not null) close?.Invoke();
    }

    internal void End(SlotMoveState state, string message, long atMs)
    {
        lock (_changing)
        {
            if (HasEnded) return;
            (Message, EndedMs, UpdatedMs) = (message, atMs, atMs);
            WaitingBytes = 0;
            State = state;
        }
    }
}
