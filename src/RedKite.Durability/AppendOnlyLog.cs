using RedKite.Persistence.Files;
using RedKite.Persistence.Log;
using RedKite.Server.Changes;
using RedKite.Server.Sessions;

namespace RedKite.Server.Durability;

/// <summary>
/// The append-only log of a running server: it takes the effects of every invocation and unit into the log's chain while their stripes are
/// locked, and says what output must wait until it is on the disk.
/// </summary>
/// <remarks>
/// With `appendfsync always`, a reply must not leave before everything that was executed before it is synced. So at the end of a loop's
/// turn its output waits for the log's end of that moment (<see cref="AwaitedPosition"/>), and an in-process caller waits in the same way
/// (<see cref="WaitUntilSynced"/>). Reads wait, too: they may show what is not on the disk yet.
/// </remarks>
internal sealed class AppendOnlyLog : IEffectConsumer, ISyncedLog, IDisposable
{
    /// <summary>Commands that write wait while more than this is in memory and not written yet.</summary>
    internal const long PendingBytesMax = 256L << 20;

    // Redis's rule: then writes wait for the sync.
    private static readonly TimeSpan SlowSync = TimeSpan.FromSeconds(2);

    private readonly WriteGate _gate;
    private readonly object _waiting = new(); // a monitor: callers in the process wait on it
    private readonly LogTotals _totals;
    private TaskCompletionSource? _nextSync; // completes at the next sync or failure; null: no task waits for it
    private long _failures;
    private long _refusing;
    private readonly bool _isOfBackup;

    /// <param name="gate">Holds or refuses commands that write.</param>
    /// <param name="totals">Counts what the server's logs have written.</param>
    /// <param name="suspendsSyncs">Whether the policy's syncs are left out for now: then nothing waits for them.</param>
    /// <param name="isOfBackup">Whether it is a backup's: its failure concerns no command.</param>
    internal AppendOnlyLog(WriteGate gate, LogTotals totals, Func<bool> suspendsSyncs, bool isOfBackup = false)
    {
        _gate = gate;
        _isOfBackup = isOfBackup;
        _totals = totals;
        Chain = new LogChain();
        Writer = new LogWriter(Chain, TimeProvider.System, isOfBackup ? FsyncPolicy.No : FsyncPolicy.EverySecond)
        {
            SuspendsSyncs = suspendsSyncs,
            Iterated = OnWriterIterated,
            Synced = OnSynced,
            Failed = OnFailed,
            Recovered = OnRecovered,
            WriteTimed = OnWritten,
            SyncTimed = totals.NoteSync,
        };
    }

    internal LogChain Chain { get; }

    internal LogWriter Writer { get; }

    /// <summary>Called on a thread of the log when everything up to a position is on the disk.</summary>
    internal Action<long>? Synced { get; init; }

    /// <summary>Called on a thread of the log when writing or syncing begins to fail; the flag says that a sync did.</summary>
    internal Action<FileFailure, bool>? Failed { get; init; }

    /// <summary>Called on the log's thread when it works again.</summary>
    internal Action? Recovered { get; init; }

    /// <summary>How often writing or syncing began to fail.</summary>
    public long Failures => Volatile.Read(ref _failures);

    /// <summary>
    /// Since which of its <see cref="Failures"/> it has been failing, so that commands that write are refused; 0: it works. What began to be executed
    /// afterwards waits for nothing: reads go on, although keys that expire are appended.
    /// </summary>
    public long Refusing => Volatile.Read(ref _refusing);

    public long End => Chain.Reserved;

    public string? FailureText => Writer.Failure?.Message;

    public void Ask(long position) => Writer.Ask(position);

    public bool TakesRequests => true;

    public void PublishedRequests(int database, int slot, ReadOnlySpan<byte> requests) => Appended(Chain.Append(database, requests));

    public void Published(scoped in EffectRecord record)
    {
        long end = record.AppendTo(Chain, EffectTargets.Log, out long bytes);
        if (bytes > 0) Appended(end);
    }

    /// <summary>
    /// The position that output of now must wait for; 0: it may leave. The writer has to be asked for it (<see cref="LogWriter.Ask"/>).
    /// From any thread.
    /// </summary>
    public long AwaitedPosition()
    {
        if (!RequiresSync) return 0;
        long end = Chain.Reserved;
        return end <= Writer.SyncedPosition ? 0 : end;
    }

    /// <summary>
    /// Waits until everything that was executed so far is on the disk, if the policy requires it. While the log fails, nothing is written
    /// any more, and what was executed before is not waited for: reads go on.
    /// </summary>
    /// <param name="failures">The count of <see cref="Failures"/> before the caller's command began.</param>
    /// <returns>False if the log has failed since then.</returns>
    public bool WaitUntilSynced(long failures)
    {
        long position = AwaitedPosition();
        if (position == 0) return true;
        Writer.Ask(position);
        lock (_waiting)
        {
            while (Writer.SyncedPosition < position)
            {
                bool refuses = Refusing != 0; // before the count: it was counted first
                if (Failures != failures) return false;
                if (refuses || !RequiresSync) return true;
                Monitor.Wait(_waiting, WaitMs);
            }
        }

        return true;
    }

    /// <inheritdoc/>
    public async ValueTask<bool> WhenSyncedAsync(long? failures, CancellationToken cancellation)
    {
        long before = failures ?? Failures;
        long position = AwaitedPosition();
        if (position == 0) return true;
        Writer.Ask(position);
        while (Writer.SyncedPosition < position)
        {
            TaskCompletionSource next = Volatile.Read(ref _nextSync) ?? NewSignal();
            bool refuses = Refusing != 0; // before the count: it was counted first
            if (Failures != before || (refuses && failures is null)) return false;
            if (refuses || !RequiresSync) return true;
            if (Writer.SyncedPosition >= position) return true;
            await Task.WhenAny(next.Task, Task.Delay(WaitMs, cancellation)).ConfigureAwait(false);
            cancellation.ThrowIfCancellationRequested();
        }

        return true;
    }

    public void Dispose()
    {
        Writer.Dispose();
        _gate.Open(Hold);
        if (Writer.Failure is not null && !_isOfBackup) _gate.Accept(WriteRefusal.Log);
    }

    private const int WaitMs = 100; // the policy may change meanwhile

    private bool RequiresSync => Writer.Policy == FsyncPolicy.Always && !Writer.SuspendsSyncs();

    private WriteHold Hold => _isOfBackup ? WriteHold.Backup : WriteHold.Log;

    // With `always` the writer waits until it is asked, which is at the end of an iteration: a group of commands shares a sync.
    private void Appended(long end)
    {
        if (!RequiresSync) Writer.Wake();
        if (end - Writer.WrittenPosition > PendingBytesMax && !_gate.IsClosedBy(Hold)) _gate.Close(Hold); // too late: the next iteration opens it
    }

    // On the writer's thread, in each of its iterations: writes wait while too much is in memory, or while a sync takes too long. Whether they
    // do is known to the gate alone: a flag of its own, set before the gate and seen by this thread in between, would leave it closed.
    private void OnWriterIterated()
    {
        bool isSlow = Writer.Policy == FsyncPolicy.EverySecond && Writer.Syncs.Current > SlowSync;
        bool isPaused = _gate.IsClosedBy(Hold);
        if (isSlow && !isPaused)
        {
            _totals.NoteDelayedSync();
            _gate.Close(Hold);
        }
        else if (isPaused && !isSlow && Writer.PendingBytes < PendingBytesMax / 2)
        {
            _gate.Open(Hold);
        }
    }

    private void OnWritten(long bytes, TimeSpan elapsed) => _totals.NoteWrite(bytes, elapsed, Writer.Syncs);

    private void OnRecovered()
    {
        Volatile.Write(ref _refusing, 0); // before a command that writes may begin
        if (!_isOfBackup) _gate.Accept(WriteRefusal.Log);
        Recovered?.Invoke();
    }

    private void OnSynced(long position)
    {
        lock (_waiting) Monitor.PulseAll(_waiting);
        Interlocked.Exchange(ref _nextSync, null)?.TrySetResult();
        Synced?.Invoke(position);
    }

    private void OnFailed(FileFailure failure, bool isSync)
    {
        if (!_isOfBackup) _gate.Refuse(WriteRefusal.Log, failure.Reason);
        long count = Interlocked.Increment(ref _failures);
        if (Refusing == 0) Volatile.Write(ref _refusing, count);
        lock (_waiting) Monitor.PulseAll(_waiting);
        Interlocked.Exchange(ref _nextSync, null)?.TrySetResult();
        Failed?.Invoke(failure, isSync);
    }

    private TaskCompletionSource NewSignal()
    {
        var signal = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        return Interlocked.CompareExchange(ref _nextSync, signal, null) ?? signal;
    }
}
