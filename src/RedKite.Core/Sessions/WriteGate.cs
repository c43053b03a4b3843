using System.Diagnostics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Sessions;

/// <summary>Decides, while a snapshot is written, whether a command may begin to change a key. The key's stripe is locked.</summary>
internal delegate bool KeyWriteRule(Database database, ulong hash);

/// <summary>Who closes the gate. It is open when none of them does.</summary>
[Flags]
internal enum WriteHold
{
    None = 0,

    /// <summary>A snapshot: too many old values wait to be written.</summary>
    Snapshot = 1,

    /// <summary>The append-only file: too much of it is in memory, or a sync takes too long.</summary>
    Log = 2,

    /// <summary>The log of a backup: too much of it is in memory.</summary>
    Backup = 4,

    /// <summary>MIGRATE sends keys that have changed each time before they could be removed.</summary>
    Migration = 8,
}

/// <summary>Why commands that write are refused.</summary>
internal enum WriteRefusal
{
    None,

    /// <summary>The last snapshot failed, and stop-writes-on-bgsave-error is on.</summary>
    Snapshot,

    /// <summary>The last write to the append-only file failed.</summary>
    Log,

    /// <summary>The append-only file could not begin at the start.</summary>
    NoLog,
}

/// <summary>
/// Whether commands that write may begin: they may, they wait, or they are refused. What keeps the data on disk changes it from any
/// thread; the invoker asks it before it locks anything, so a command that waits has executed nothing. Commands that only read
/// go on.
/// </summary>
/// <remarks>
/// While the gate is open and no snapshot has a rule, it costs nothing: otherwise an attention flag keeps commands off the batch's short
/// path. Commands that are executing or behind the check when the gate closes are completed, so the caller that closes it keeps a reserve for them.
/// </remarks>
/// <param name="attention">Has commands look at the gate.</param>
/// <param name="changing">Called by a thread that is about to close or open the gate, with nothing of it locked: a model test lets others get in between there.</param>
internal sealed class WriteGate(AttentionWord attention, Action? changing = null) : IDisposable
{
    /// <summary>The error of a command that writes while <see cref="LacksReplicas"/>.</summary>
    internal const string TooFewReplicas = "NOREPLICAS Not enough good replicas to write.";

    private const int GateWaitMs = 100; // then a caller looks whether the server stops
    private const int KeyWaitMs = 1;

    private readonly Lock _changing = new();
    private readonly ManualResetEventSlim _opened = new(initialState: true);
    private volatile WriteHold _holds;
    private volatile string? _snapshotError;
    private volatile string? _logError;
    private volatile string? _noLogError;
    private volatile bool _lacksReplicas;
    private long _closedTimestamp; // 0: it is open
    private bool _waitsForDisk; // since it was closed, a holder other than MIGRATE has closed it
    private long _pausedTicks;

    /// <summary>Called when clients that wait may try again: the gate has opened, or a key may be written. From any thread.</summary>
    internal event Action? Opened;

    /// <summary>Called when refusing begins, with its cause, or ends: <see cref="WriteRefusal.None"/>. From any thread, under the gate's lock: it takes no lock but that of the timeline and of the log.</summary>
    internal event Action<WriteRefusal>? RefusalChanged;

    /// <summary>Called when commands that write need not wait any more, with how long they had to. From any thread.</summary>
    internal event Action<TimeSpan>? Paused;

    /// <summary>Whether commands that write must wait.</summary>
    internal bool Waits => _holds != WriteHold.None;

    /// <summary>For how long commands that write had to wait for the disk so far.</summary>
    internal TimeSpan PausedTime
    {
        get
        {
            lock (_changing) return TimeSpan.FromTicks(_pausedTicks) + (!_waitsForDisk ? TimeSpan.Zero : Stopwatch.GetElapsedTime(_closedTimestamp));
        }
    }

    /// <summary>Why commands that write are refused.</summary>
    internal WriteRefusal Cause => _snapshotError is not null ? WriteRefusal.Snapshot : _logError is not null ? WriteRefusal.Log : _noLogError is not null ? WriteRefusal.NoLog : WriteRefusal.None;

    /// <summary>
    /// The error with which commands that write, and PING, are refused; null: they are not. As in Redis, a failed snapshot comes first.
    /// </summary>
    internal string? Refusal => _snapshotError ?? _logError ?? _noLogError;

    /// <summary>Whether commands that write are refused because too few replicas would get them (min-replicas-to-write).</summary>
    internal bool LacksReplicas
    {
        get => _lacksReplicas;
        set
        {
            if (_lacksReplicas == value) return;
            lock (_changing)
            {
                _lacksReplicas = value;
                Apply();
            }
        }
    }

    /// <summary>The error of a script's or a host's command that writes; null: it is not refused.</summary>
    internal string? NestedRefusal => Refusal ?? (_lacksReplicas ? TooFewReplicas : null);

    /// <summary>
    /// The rule of the snapshot that is being written; null: there is none. Changes only while all stripes are locked, together with
    /// <see cref="StripeObservers.Snapshot"/>.
    /// </summary>
    internal KeyWriteRule? KeyRule { get; private set; }

    /// <summary>A snapshot has begun, by whose rule commands wait. All stripes are locked.</summary>
    internal void BeginRule(KeyWriteRule rule) => KeyRule = rule;

    /// <summary>It has ended. All stripes are locked.</summary>
    internal void EndRule() => KeyRule = null;

    /// <summary>Whether a holder has closed the gate.</summary>
    internal bool IsClosedBy(WriteHold hold) => (_holds & hold) != 0;

    /// <summary>
    /// Makes commands that write wait, until the same holder opens the gate. Its holder looks at it again and again; otherwise it uses
    /// <see cref="CloseIf"/>.
    /// </summary>
    internal void Close(WriteHold hold) => CloseIf(hold, static () => true);

    /// <summary>
    /// As <see cref="Close"/>, if the cause still exists, which is decided under the gate's lock: a thread that ends the cause and then calls
    /// <see cref="Open"/> leaves the gate open.
    /// </summary>
    internal void CloseIf(WriteHold hold, Func<bool> isCaused)
    {
        changing?.Invoke();
        lock (_changing)
        {
            if (!isCaused()) return;
            if (!Waits) _closedTimestamp = Stopwatch.GetTimestamp();
            _holds |= hold;
            _waitsForDisk |= hold != WriteHold.Migration;
            _opened.Reset();
            Apply();
        }
    }

    /// <summary>Lets commands that write begin again, unless another holder has closed the gate, too, or they are refused.</summary>
    internal void Open(WriteHold hold)
    {
        TimeSpan paused;
        changing?.Invoke();
        lock (_changing)
        {
            if (!IsClosedBy(hold)) return;
            _holds &= ~hold;
            if (Waits) return;
            paused = Stopwatch.GetElapsedTime(_closedTimestamp);
            if (_waitsForDisk) _pausedTicks += paused.Ticks;
            _waitsForDisk = false;
            _closedTimestamp = 0;
            _opened.Set();
            Apply();
        }

        Resume();
        Paused?.Invoke(paused);
    }

    /// <summary>Lets clients that wait for a key try again.</summary>
    internal void Resume() => Opened?.Invoke();

    /// <summary>Refuses commands that write.</summary>
    /// <param name="cause">Why.</param>
    /// <param name="detail">For a failed write to the log: the system's text for its error.</param>
    internal void Refuse(WriteRefusal cause, string detail = "")
    {
        lock (_changing)
        {
            WriteRefusal before = Cause;
            if (cause == WriteRefusal.Snapshot)
            {
                _snapshotError = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.";
            }
            else
            {
                SetLogError(cause, $"MISCONF Errors writing to the AOF file: {detail}");
            }

            Apply();
            Announce(before);
        }
    }

    /// <summary>Ends a refusal.</summary>
    internal void Accept(WriteRefusal cause)
    {
        lock (_changing)
        {
            WriteRefusal before = Cause;
            if (cause == WriteRefusal.Snapshot) _snapshotError = null;
            else SetLogError(cause, null);
            Apply();
            Announce(before);
        }
    }

    /// <summary>How often one of its waits has begun. For tests.</summary>
    internal long Retries { get; private set; }

    /// <summary>Sleeps until it is worth to try again. For callers in the process, with nothing locked.</summary>
    internal void WaitToRetry()
    {
        Retries++;
        if (Waits) _opened.Wait(GateWaitMs);
        else Thread.Sleep(KeyWaitMs);
    }

    public void Dispose() => _opened.Dispose();

    private void SetLogError(WriteRefusal cause, string? error)
    {
        if (cause == WriteRefusal.Log) _logError = error;
        else _noLogError = error;
    }

    // Under the lock: the last report is the state.
    private void Announce(WriteRefusal before)
    {
        if (Cause is var now && now != before) RefusalChanged?.Invoke(now);
    }

    private void Apply() => attention.Set(ServerAttention.WritesGated, Waits || Refusal is not null || _lacksReplicas);
}
