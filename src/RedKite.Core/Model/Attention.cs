namespace RedKite.Server.Model;

/// <summary>The properties of a client that keep its commands off the batch's short path. One word per session: zero means none.</summary>
[Flags]
internal enum SessionAttention
{
    None = 0,

    /// <summary>READONLY: the client reads from a replica in a cluster.</summary>
    ReadsReplica = 1 << 11,

    /// <summary>ASKING: the client's next command may use a slot that is being imported.</summary>
    Asks = 1 << 12,

    /// <summary>The client is another node that sends slots.</summary>
    ReceivesSlots = 1 << 13,

    /// <summary>The client is not authenticated.</summary>
    NotAuthenticated = 1 << 0,

    /// <summary>The client doesn't want every reply (CLIENT REPLY).</summary>
    RepliesSelectively = 1 << 1,

    /// <summary>The client's commands are timed individually for a while, because one of them may have been slow.</summary>
    TimedIndividually = 1 << 2,

    /// <summary>The client watches all commands (MONITOR) and may not use keys.</summary>
    Monitors = 1 << 3,

    /// <summary>The client's user is restricted.</summary>
    IsRestricted = 1 << 8,

    /// <summary>The client has subscriptions over RESP2 and may only change them.</summary>
    Subscriber = 1 << 9,

    /// <summary>The client's commands are queued until EXEC.</summary>
    InTransaction = 1 << 4,

    /// <summary>The keys that the client reads are remembered (CLIENT TRACKING).</summary>
    Tracks = 1 << 10,
}

/// <summary>The properties of the server that keep commands off the batch's short path.</summary>
[Flags]
internal enum ServerAttention
{
    None = 0,

    /// <summary>CLIENT PAUSE may suspend commands.</summary>
    Paused = 1 << 0,

    /// <summary>The slow log's threshold is below the time that a whole run of commands takes.</summary>
    TimesEachCommand = 1 << 1,

    /// <summary>The host's behaviors surround every command.</summary>
    HasBehaviors = 1 << 2,

    /// <summary>The log of large replies has a threshold below the size at which replies are noticed by themselves.</summary>
    MeasuresEachReply = 1 << 3,

    /// <summary>MONITOR or the dashboard shows every command.</summary>
    Monitored = 1 << 4,

    /// <summary>A user has changed, and not every loop has seen the change yet.</summary>
    UsersChange = 1 << 8,

    /// <summary>A script runs longer than busy-reply-threshold: other commands are refused.</summary>
    ScriptBusy = 1 << 5,

    /// <summary>Commands that write must wait or are refused, because the data cannot be kept on disk at the moment.</summary>
    WritesGated = 1 << 6,

    /// <summary>Data is being loaded: commands that use it are refused.</summary>
    Loading = 1 << 7,

    /// <summary>The test server may make commands wait.</summary>
    PausedByTest = 1 << 9,

    /// <summary>The server follows a primary: what has expired is hidden, and clients may not write.</summary>
    IsReplica = 1 << 10,

    /// <summary>HOTKEYS adds up every command by its keys.</summary>
    TracksHotKeys = 1 << 11,

    /// <summary>Data is being loaded beside the data that clients use (repl-diskless-load swapdb): commands that would change how it is kept are refused.</summary>
    LoadingBeside = 1 << 12,

    /// <summary>Consumers of changes were requested while a busy script held stripes: the next command adds them before it executes.</summary>
    ChangesRequested = 1 << 13,

    /// <summary>The server is a node of a cluster: the slots of keys decide where commands execute.</summary>
    Clustered = 1 << 14,
}

/// <summary>The server's word of attention flags: read once per batch, changed by any thread.</summary>
internal sealed class AttentionWord
{
    private const int ChangesShift = 32;

    private long _word; // the flags, and above them how often something else has changed that commands are decided by

    internal ServerAttention Flags => (ServerAttention)(int)Volatile.Read(ref _word);

    /// <summary>The flags with the number of changes: two that are equal decide the same.</summary>
    internal long Word => Volatile.Read(ref _word);

    internal void Set(ServerAttention flag, bool on)
    {
        if (on) Interlocked.Or(ref _word, (long)flag);
        else Interlocked.And(ref _word, ~(long)flag);
    }

    /// <summary>The routing of slots is another one, or replies wait for replicas or do not any more. The flags stay; the number passes over its end.</summary>
    internal void NoteChange() => Interlocked.Add(ref _word, 1L << ChangesShift);
}
