using RedKite.Persistence.Files;

namespace RedKite.Persistence.Log;

/// <summary>
/// Syncs the log's current file: at once for its caller (<see cref="SyncNow"/>), or once a second on a thread of its own
/// (<see cref="SyncEverySecond"/>), so that the log's writer goes on meanwhile. One sync runs at a time.
/// </summary>
internal sealed class LogSyncer : IDisposable
{
    private const int PeriodMs = 1000;

    private readonly TimeProvider _clock;
    private readonly Action<long> _synced;
    private readonly Action<FileFailure> _failed;
    private readonly Action<TimeSpan> _timed;
    private readonly Lock _syncing = new();
    private readonly AutoResetEvent _wakes = new(false);
    private readonly Thread _thread;
    private IOpenFile? _file;
    private FileFailure? _fileFailure; // of a sync of this file: the system may have dropped what it had accepted, and a later sync would succeed
    private bool _started;
    private long _requested = -1; // position; -1: none
    private long _last;
    private long _lastStartMs;
    private long _startedMs; // of the sync in progress; 0: none
    private long _count;
    private long _totalTicks;
    private long _longestTicks;
    private volatile bool _stopping;

    /// <param name="clock">The time.</param>
    /// <param name="synced">Called with each position that was synced on the other thread.</param>
    /// <param name="failed">Called when a sync on any thread has failed, before another may begin.</param>
    /// <param name="timed">Called with the duration of each sync, one at a time.</param>
    internal LogSyncer(TimeProvider clock, Action<long> synced, Action<FileFailure> failed, Action<TimeSpan> timed)
    {
        _clock = clock;
        _synced = synced;
        _failed = failed;
        _timed = timed;
        _thread = new Thread(Run) { Name = "redkite-log-sync", IsBackground = true };
    }

    internal LogSyncFigures Figures
    {
        get
        {
            long started = Volatile.Read(ref _startedMs);
            return new LogSyncFigures(
                Volatile.Read(ref _count),
                _clock.GetElapsedTime(0, Volatile.Read(ref _totalTicks)),
                _clock.GetElapsedTime(0, Volatile.Read(ref _longestTicks)),
                TimeSpan.FromMilliseconds(started == 0 ? 0 : Math.Max(0, NowMs - started)));
        }
    }

    private long NowMs => _clock.GetTimestamp() * 1000 / _clock.TimestampFrequency;

    /// <summary>Uses another file from now on. Waits for a sync in progress.</summary>
    /// <param name="file">The file.</param>
    /// <param name="began">Called between the reports of the last file's syncs and those of this one's.</param>
    internal void Use(IOpenFile file, Action began)
    {
        lock (_syncing)
        {
            (_file, _fileFailure) = (file, null);
            began();
        }
    }

    /// <summary>Syncs now, on the caller's thread. Waits for a sync in progress.</summary>
    /// <exception cref="FileFailure">This sync failed, or an earlier one of the same file.</exception>
    internal void SyncNow()
    {
        lock (_syncing) SyncFile();
    }

    /// <summary>Syncs up to a position on the other thread, unless one is in progress or the last began less than a second ago.</summary>
    internal void SyncEverySecond(long position)
    {
        if (position == Volatile.Read(ref _last) || Volatile.Read(ref _requested) >= 0) return;
        long now = NowMs;
        if (now - _lastStartMs < PeriodMs) return;
        _lastStartMs = now;
        Volatile.Write(ref _requested, position);
        if (!_started)
        {
            _started = true;
            _thread.Start();
        }

        _wakes.Set();
    }

    public void Dispose()
    {
        _stopping = true;
        _wakes.Set();
        if (_started) _thread.Join();
        _wakes.Dispose();
    }

    private void Run()
    {
        while (true)
        {
            _wakes.WaitOne();
            if (_stopping) return;
            long position = Volatile.Read(ref _requested);
            if (position < 0) continue;
            try
            {
                lock (_syncing) SyncFile();
                Volatile.Write(ref _last, position);
                _synced(position);
            }
            catch (FileFailure)
            {
                // It has been reported.
            }

            Volatile.Write(ref _requested, -1);
        }
    }

    private void SyncFile()
    {
        if (_fileFailure is { } earlier) throw new FileFailure(earlier.Operation, _file!.Path, earlier.Error);
        long start = _clock.GetTimestamp();
        Volatile.Write(ref _startedMs, Math.Max(1, NowMs));
        try
        {
            _file!.SyncData();
        }
        catch (FileFailure failure)
        {
            _fileFailure = failure;
            _failed(failure);
            throw;
        }
        finally
        {
            long ticks = _clock.GetTimestamp() - start;
            Volatile.Write(ref _startedMs, 0);
            Volatile.Write(ref _count, _count + 1);
            Volatile.Write(ref _totalTicks, _totalTicks + ticks);
            if (ticks > _longestTicks) Volatile.Write(ref _longestTicks, ticks);
            _timed(_clock.GetElapsedTime(0, ticks));
        }
    }
}

/// <summary>Syncs of the log so far.</summary>
/// <param name="Count">Syncs that ended.</param>
/// <param name="Total">Their time.</param>
/// <param name="Longest">The longest.</param>
/// <param name="Current">How long the one in progress has taken; zero: none is.</param>
internal readonly record struct LogSyncFigures(long Count, TimeSpan Total, TimeSpan Longest, TimeSpan Current);
