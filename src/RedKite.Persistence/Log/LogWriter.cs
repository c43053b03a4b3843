using RedKite.Persistence.Files;

namespace RedKite.Persistence.Log;

/// <summary>
/// Writes a <see cref="LogChain"/> to append-only files, on a thread of its own: it takes what is complete, writes it, and syncs it as the
/// policy says. Syncs of once a second run beside it (<see cref="LogSyncer"/>), so that a slow one does not keep records in memory.
/// </summary>
/// <remarks>
/// <para>Writes state their position in the file. A write that failed is repeated at the same place, a second later and until it
/// succeeds, and nothing is lost meanwhile: the chain keeps the bytes. After a failed sync the system may have dropped what it had accepted, and
/// a later sync would not say so. Then the file is abandoned: records are discarded until <see cref="SwitchAt"/> names a position from
/// which a new file goes on, whose base holds everything before it. Until that base is committed, the log still counts as failed.</para>
/// <para>What is asked of the writer, a flush or a switch, is always answered: by its end at the latest (<see cref="_asking"/>).</para>
/// <para>What is visible ends at a boundary between records, so a line with the time (`#TS:`) is never within one.</para>
/// </remarks>
internal sealed class LogWriter : IDisposable
{
    /// <summary>How long after a failed write it is repeated.</summary>
    internal const int RetryMs = 1000;

    // With no output waiting for it, the writer gathers for this long: some 200 system calls a second at most.
    private const int GatherMs = 5;
    private const int GatheredBytesMax = 1 << 20; // more than this is written at once
    private const int IdleMs = 100; // also bounds how long a wake-up that was lost goes unnoticed

    private readonly LogChain _chain;
    private readonly TimeProvider _clock;
    private readonly LogSyncer _syncer;
    private readonly Thread _thread;
    private readonly AutoResetEvent _wakes = new(false);
    private readonly Lock _asking = new();
    private volatile PendingSwitch? _switch;
    private IOpenFile? _file;
    private long _written; // position in the chain
    private long _fileLength;
    private long _synced;
    private long _asked; // up to here output waits for a sync
    private long _annotatedSecond;
    private long _retryAtMs;
    private int _sleeps;
    private volatile bool _stopping;
    private bool _hasEnded; // nothing is asked any more
    private readonly LogHealth _health;
    private volatile TaskCompletionSource<bool>? _flush; // asked for, until an iteration begins
    private TaskCompletionSource<bool>? _flushing; // of the current iteration

    /// <param name="chain">What to write.</param>
    /// <param name="clock">The time, for annotations and intervals.</param>
    /// <param name="policy">When to sync, until <see cref="Apply"/> says otherwise.</param>
    internal LogWriter(LogChain chain, TimeProvider clock, FsyncPolicy policy)
    {
        Policy = policy;
        _chain = chain;
        _clock = clock;
        _written = _synced = chain.Reserved;
        _health = new LogHealth((failure, isSync) => Failed?.Invoke(failure, isSync), () => Recovered?.Invoke());
        _syncer = new LogSyncer(clock, OnSynced, _health.SyncFailed, elapsed => SyncTimed?.Invoke(elapsed));
        _thread = new Thread(Run) { Name = "redkite-log", IsBackground = true };
    }

    /// <summary>When to sync. From any thread.</summary>
    internal FsyncPolicy Policy { get; private set; }

    /// <summary>
    /// Whether the policy's syncs are left out for now (no-appendfsync-on-rewrite); read in each iteration. A file that ends is synced nevertheless.
    /// </summary>
    internal Func<bool> SuspendsSyncs { get; init; } = static () => false;

    /// <summary>Whether a line with the time precedes the first record of each second (aof-timestamp-enabled).</summary>
    internal bool WritesTimestamps { get; private set; }

    /// <summary>
    /// Called on a thread of the log with each position up to which output may leave: everything is synced, or written if syncs are suspended.
    /// </summary>
    internal Action<long>? Synced { get; init; }

    /// <summary>Called when writing or syncing fails for the first time. After a failed sync only a new file goes on.</summary>
    internal Action<FileFailure, bool>? Failed { get; init; }

    /// <summary>Called when a write has succeeded again, or the base of a file that goes on after an abandoned one is committed.</summary>
    internal Action? Recovered { get; init; }

    /// <summary>Called on the writer's thread in each of its iterations, at least every 100 ms.</summary>
    internal Action? Iterated { get; init; }

    /// <summary>Called on the writer's thread when it has written what was complete: how many bytes, and how long that took.</summary>
    internal Action<long, TimeSpan>? WriteTimed { get; init; }

    /// <summary>Called with the duration of each sync, one at a time.</summary>
    internal Action<TimeSpan>? SyncTimed { get; init; }

    /// <summary>Called between the writer's looks at what is visible and at the next file. For tests.</summary>
    internal Action? Looking { get; init; }

    /// <summary>Settings have changed. From any thread.</summary>
    internal void Apply(FsyncPolicy policy, bool writesTimestamps)
    {
        Policy = policy;
        WritesTimestamps = writesTimestamps;
    }

    /// <summary>The position up to which the system has accepted everything.</summary>
    internal long WrittenPosition => Volatile.Read(ref _written);

    /// <summary>The position up to which everything is on the disk.</summary>
    internal long SyncedPosition => Volatile.Read(ref _synced);

    /// <summary>The length of the current file.</summary>
    internal long FileLength => Volatile.Read(ref _fileLength);

    /// <summary>What is wrong; null: nothing.</summary>
    internal FileFailure? Failure => _health.Failure;

    /// <summary>Whether a sync has failed and no new file has begun since: what is executed is not written.</summary>
    internal bool IsAbandoned => _health.IsAbandoned;

    /// <summary>Whether records are in no file, so that a rewrite must succeed.</summary>
    internal bool LacksRecords => _health.LacksRecords;

    /// <summary>Syncs that were completed, their time, and how long the current one takes.</summary>
    internal LogSyncFigures Syncs => _syncer.Figures;

    /// <summary>Bytes that wait in memory.</summary>
    internal long PendingBytes => _chain.Reserved - WrittenPosition;

    /// <summary>Starts with a file that is appended to, from the chain's end of now.</summary>
    /// <param name="file">The file, which the writer now owns.</param>
    /// <param name="length">Its length.</param>
    internal void Start(IOpenFile file, long length)
    {
        (_file, _fileLength) = (file, length);
        _written = _synced = _chain.Released;
        _syncer.Use(file, static () => { });
        _thread.Start();
    }

    /// <summary>
    /// Writes what follows a position to another file. When everything before it is written and synced, the writer's thread calls the
    /// function, which creates the file and records its name, and goes on there. If that fails, the current file goes on.
    /// </summary>
    /// <param name="position">The position.</param>
    /// <param name="open">Creates the file; told whether records before it are missing, so that the file must not be used without its base.</param>
    /// <returns>Completes when the new file is in use; faulted with a <see cref="FileFailure"/> if there is none.</returns>
    internal Task SwitchAt(long position, Func<bool, IOpenFile> open)
    {
        var next = new PendingSwitch(position, open, new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously));
        lock (_asking)
        {
            if (_hasEnded) return Task.FromException(Ended());
            if (_switch is not null) throw new InvalidOperationException("a file switch is in progress");
            _switch = next;
        }

        _wakes.Set();
        return next.Done.Task;
    }

    /// <summary>The base of the pending switch is on the disk: what cannot be written to the current file is in it and need not be.</summary>
    internal void CompleteSwitch()
    {
        lock (_asking)
        {
            if (_switch is { } next) next.HasBase = true;
        }

        _wakes.Set();
    }

    /// <summary>There will be no base: the pending switch does not happen, unless it is happening already.</summary>
    internal void CancelSwitch()
    {
        PendingSwitch? canceled;
        lock (_asking) (canceled, _switch) = (_switch, null);
        canceled?.Done.SetException(Ended());
    }

    /// <summary>The base of the current file is in force, and with it everything up to a position is on the disk.</summary>
    internal void BaseCommitted(long position)
    {
        _health.BaseCommitted();
        Advance(position);
        _wakes.Set();
    }

    private static FileFailure Ended() => new("write", "the append-only file", FileFailure.Canceled);

    /// <summary>Wakes the writer if it sleeps: there are records to write.</summary>
    internal void Wake()
    {
        if (Volatile.Read(ref _sleeps) != 0 && Interlocked.Exchange(ref _sleeps, 0) != 0) _wakes.Set();
    }

    /// <summary>
    /// Asks for a position to be synced, because output waits for it. With <see cref="FsyncPolicy.Always"/> the writer syncs when it is asked, so that
    /// those who ask decide how much shares a sync. From any thread.
    /// </summary>
    internal void Ask(long position)
    {
        long asked = Volatile.Read(ref _asked);
        while (asked < position)
        {
            long seen = Interlocked.CompareExchange(ref _asked, position, asked);
            if (seen == asked) break;
            asked = seen;
        }

        WakeSurely();
    }

    /// <summary>As <see cref="Wake"/>, behind a barrier: the wake-up must not be lost.</summary>
    internal void WakeSurely()
    {
        Interlocked.MemoryBarrier();
        Wake();
    }

    /// <summary>Writes and syncs everything that is complete now, whatever the policy.</summary>
    /// <returns>Whether it succeeded.</returns>
    internal Task<bool> Flush()
    {
        TaskCompletionSource<bool> flush;
        lock (_asking)
        {
            if (_hasEnded) return Task.FromResult(false);
            flush = _flush ??= new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        _wakes.Set();
        return flush.Task;
    }

    /// <summary>Ends the threads without writing what waits: <see cref="Flush"/> comes before.</summary>
    public void Dispose()
    {
        _stopping = true;
        _wakes.Set();
        if (_thread.IsAlive) _thread.Join();
        else End(); // it has not begun
        _syncer.Dispose();
        _file?.Dispose(); // not the event: a thread that has appended, or asked for something, may still set it
    }

    private void Run()
    {
        while (!_stopping)
        {
            bool hasMore = false;
            try
            {
                hasMore = Work();
            }
            catch (FileFailure failure)
            {
                _retryAtMs = NowMs + RetryMs;
                if (!_health.IsAbandoned) _health.WriteFailed(failure); // a failed sync has been reported by the syncer
                EndFlush(false);
            }

            Iterated?.Invoke();
            if (!hasMore) Sleep();
        }

        End();
    }

    // What is asked for completes or fails. From here on nothing can be asked.
    private void End()
    {
        TaskCompletionSource<bool>? flush;
        lock (_asking)
        {
            _hasEnded = true;
            (flush, _flush) = (_flush, null);
        }

        EndFlush(false);
        flush?.SetResult(false);
        CancelSwitch();
    }

    private void EndFlush(bool succeeded)
    {
        _flushing?.SetResult(succeeded);
        _flushing = null;
    }

    private long NowMs => _clock.GetTimestamp() * 1000 / _clock.TimestampFrequency;

    // Returns whether there is more to do at once.
    private bool Work()
    {
        if (Failure is not null && !IsAsked && NowMs < _retryAtMs) return false;

        // Before what is visible: a flush covers what was complete when it was asked for.
        lock (_asking)
        {
            if (_flushing is null) (_flushing, _flush) = (_flush, null);
        }

        long end = _chain.Visible;
        Looking?.Invoke();
        PendingSwitch? next = _switch; // behind what is visible: a cut that is not seen here lies at its end or beyond
        if (next is not null && next.Position <= end)
        {
            Switch(next);
            return true;
        }

        if (IsAbandoned) Discard(end);
        else Write(end);
        if (_flushing is not null)
        {
            bool lacksRecords = LacksRecords;
            if (!lacksRecords) Sync(); // throws if the other thread's has failed meanwhile
            EndFlush(!lacksRecords);
        }

        return IsDue(_written + GatheredBytesMax) || _flush is not null;
    }

    // Whether the next iteration must not wait until a failed write is repeated.
    private bool IsAsked => _flush is not null || _flushing is not null || _switch is { } next && (next.HasBase || IsAbandoned);

    // Whether there is something to write now: it is asked for, or, if nothing waits for a sync, it ends beyond a position.
    private bool IsDue(long beyond) => Policy == FsyncPolicy.Always && !SuspendsSyncs()
        ? Volatile.Read(ref _asked) > Volatile.Read(ref _synced) && _chain.Visible > _written
        : _chain.Visible > beyond;

    private void Write(long end)
    {
        if (end > _written)
        {
            long start = _clock.GetTimestamp(), lengthBefore = _fileLength;
            if (WritesTimestamps) Annotate();
            long position = _written, length = _fileLength;
            while (position < end)
            {
                ReadOnlyMemory<byte> piece = _chain.Read(position, end - position);
                _file!.Write(length, piece.Span);
                position += piece.Length;
                length += piece.Length;
            }

            Volatile.Write(ref _fileLength, length);
            Volatile.Write(ref _written, end);
            _chain.Release(end);
            WriteTimed?.Invoke(length - lengthBefore, _clock.GetElapsedTime(start));
            _health.Wrote();
        }

        if (LacksRecords) return; // nothing waits for a sync, which would not make them certain
        if (SuspendsSyncs() || Policy == FsyncPolicy.No) Synced?.Invoke(_written); // output that has waited since before
        else if (Policy == FsyncPolicy.Always && _written > _synced) Sync();
        else if (Policy == FsyncPolicy.EverySecond) _syncer.SyncEverySecond(_written);
    }

    private void Annotate()
    {
        long second = _clock.GetUtcNow().ToUnixTimeSeconds();
        if (second == _annotatedSecond) return;
        byte[] line = System.Text.Encoding.ASCII.GetBytes(FormattableString.Invariant($"#TS:{second}\r\n"));
        _file!.Write(_fileLength, line);
        Volatile.Write(ref _fileLength, _fileLength + line.Length);
        _annotatedSecond = second;
    }

    private void Sync()
    {
        _syncer.SyncNow();
        OnSynced(_written);
    }

    // From both threads. A file that needs its base makes nothing certain.
    private void OnSynced(long position)
    {
        if (!LacksRecords) Advance(position);
    }

    // From any thread. A loop that begins to wait for a position looks at it again behind a barrier, as this is.
    private void Advance(long position)
    {
        long synced = Volatile.Read(ref _synced);
        while (synced < position)
        {
            long seen = Interlocked.CompareExchange(ref _synced, position, synced);
            if (seen == synced) break;
            synced = seen;
        }

        Synced?.Invoke(position);
    }

    private void Discard(long end)
    {
        Volatile.Write(ref _written, end);
        _chain.Release(end);
    }

    private void Switch(PendingSwitch next)
    {
        bool lacksRecords = LacksRecords; // then the base of this switch holds them, and what this file holds is not needed
        try
        {
            if (!lacksRecords)
            {
                Write(next.Position);
                Sync();
            }
        }
        catch (FileFailure failure) when (next.HasBase)
        {
            if (!IsAbandoned) _health.WriteFailed(failure);
            lacksRecords = true;
        }

        lock (_asking)
        {
            if (_switch != next) return; // canceled
            _switch = null;
        }

        IOpenFile file;
        try
        {
            file = next.Open(lacksRecords);
        }
        catch (FileFailure failure)
        {
            next.Done.SetException(failure); // the current file goes on
            return;
        }

        if (lacksRecords) Discard(next.Position);
        _syncer.Use(file, () => _health.Switched(lacksRecords));
        _file?.Dispose();
        _file = file;
        Volatile.Write(ref _fileLength, file.Length);
        _annotatedSecond = 0;
        next.Done.SetResult();
    }

    private void Sleep()
    {
        if (Policy != FsyncPolicy.Always && _flush is null && _flushing is null && !_stopping) Thread.Sleep(GatherMs);
        Interlocked.Exchange(ref _sleeps, 1);
        if (IsDue(_written) && Failure is null && !_stopping)
        {
            Volatile.Write(ref _sleeps, 0);
            return;
        }

        _wakes.WaitOne(IdleMs);
        Volatile.Write(ref _sleeps, 0);
    }

    private sealed record PendingSwitch(long Position, Func<bool, IOpenFile> Open, TaskCompletionSource Done)
    {
        internal volatile bool HasBase;
    }
}
