namespace RedKite.Server.Metrics;

/// <summary>The kinds of events on the timeline.</summary>
internal enum TimelineKind
{
    /// <summary>A command executed for long.</summary>
    SlowCommand,

    /// <summary>A command waited for long for its turn on the loop.</summary>
    LongWait,

    /// <summary>A command waited for long for keys that another command had locked.</summary>
    LockWait,

    /// <summary>The client left replies unread, so that nothing more was read from it.</summary>
    NotReading,

    /// <summary>The client read again.</summary>
    ReadsAgain,

    /// <summary>CLIENT PAUSE held the client's command.</summary>
    Paused,

    /// <summary>The client was closed because its output limit was reached.</summary>
    OverLimit,

    /// <summary>The client was closed because all clients together reached maxmemory-clients.</summary>
    Evicted,

    /// <summary>The client was closed because a request was too large.</summary>
    QueryTooLarge,

    /// <summary>The client was closed because it was idle.</summary>
    Idle,

    /// <summary>CLIENT KILL closed the client.</summary>
    Killed,

    /// <summary>The client was closed because its user was deleted.</summary>
    UserDeleted,

    /// <summary>The client was closed because its user lost access to one of its channels.</summary>
    ChannelDenied,

    /// <summary>The client was closed because it sent an invalid request.</summary>
    ProtocolError,

    /// <summary>The client was closed because its TLS handshake took too long.</summary>
    HandshakeTimeout,

    /// <summary>The whole process was stalled.</summary>
    Stall,

    /// <summary>A garbage collection stopped all threads.</summary>
    GarbageCollection,

    /// <summary>A setting was changed.</summary>
    SettingChanged,

    /// <summary>The server started.</summary>
    Started,

    /// <summary>The server took an action by itself.</summary>
    Action,

    /// <summary>A save to the dump file began.</summary>
    SaveBegan,

    /// <summary>The data was saved.</summary>
    Saved,

    /// <summary>It could not be saved.</summary>
    SaveFailed,

    /// <summary>A rewrite of the append-only file began.</summary>
    RewriteBegan,

    /// <summary>The append-only file was rewritten.</summary>
    Rewritten,

    /// <summary>It could not be rewritten.</summary>
    RewriteFailed,

    /// <summary>All stripes were locked for a snapshot's point.</summary>
    SnapshotPoint,

    /// <summary>The append-only file began.</summary>
    LogBegan,

    /// <summary>The append-only file ended.</summary>
    LogEnded,

    /// <summary>The append-only file could not be written or synced.</summary>
    LogFailed,

    /// <summary>The append-only file can be written again.</summary>
    LogRecovered,

    /// <summary>A sync of the append-only file took long.</summary>
    SlowSync,

    /// <summary>Commands that write are refused from now on.</summary>
    WritesRefused,

    /// <summary>Commands that write are accepted again.</summary>
    WritesAccepted,

    /// <summary>Commands that write waited for the disk.</summary>
    WritesHeld,
}

internal static class TimelineKinds
{
    /// <summary>Whether the server has closed the client.</summary>
    internal static bool ClosesClient(this TimelineKind kind) => kind is TimelineKind.OverLimit or TimelineKind.Evicted or TimelineKind.QueryTooLarge or TimelineKind.Idle
        or TimelineKind.Killed or TimelineKind.UserDeleted or TimelineKind.ChannelDenied or TimelineKind.ProtocolError or TimelineKind.HandshakeTimeout;
}

/// <summary>Something that may have delayed a client, or all.</summary>
/// <param name="UnixMs">When it ended.</param>
/// <param name="DurationMicroseconds">How long it took; 0: a moment.</param>
/// <param name="ClientId">The client; 0: it concerns all.</param>
/// <param name="Detail">A command's or setting's name, or why something failed; never a key or value.</param>
internal readonly record struct TimelineEvent(long UnixMs, TimelineKind Kind, long DurationMicroseconds, long ClientId, string Address, string Name, string Detail);

/// <summary>
/// The last events that may have delayed clients, on one timeline: it answers why a client timed out. Any thread adds events, under
/// a lock because they are rare.
/// </summary>
internal sealed class Timeline
{
    internal const int EventsMax = 4096;

    /// <summary>Waits and executions of at least this time are events.</summary>
    internal const long NoticeableNs = 10_000_000;

    private readonly Lock _lock = new();
    private readonly TimelineEvent[] _events = new TimelineEvent[EventsMax];
    private long _count;

    /// <summary>Called with each event, on the thread that adds it, without the lock.</summary>
    internal event Action<TimelineEvent>? Added;

    internal void Add(in TimelineEvent item)
    {
        lock (_lock) _events[_count++ % EventsMax] = item;
        Added?.Invoke(item);
    }

    /// <summary>Adds an event that concerns all clients.</summary>
    internal void Add(TimelineKind kind, long unixMs, long durationMicroseconds, string detail) => Add(new(unixMs, kind, durationMicroseconds, 0, "", "", detail));

    /// <summary>All events that are kept, the oldest first; a copy.</summary>
    internal TimelineEvent[] Events
    {
        get
        {
            lock (_lock)
            {
                long kept = Math.Min(_count, EventsMax);
                var events = new TimelineEvent[kept];
                for (long i = 0; i < kept; i++) events[i] = _events[(_count - kept + i) % EventsMax];
                return events;
            }
        }
    }
}
