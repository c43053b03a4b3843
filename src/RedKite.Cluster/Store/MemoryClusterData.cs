namespace RedKite.Server.Cluster.Store;

/// <summary>
/// The keys and leases of stores in memory, and the last changes. A commit, and the end of a lease, makes one revision. Time passes by the clock: a timer of it ends
/// leases, and so does every operation, whichever comes first. Thread-safe.
/// </summary>
internal sealed class MemoryClusterData : IDisposable
{
    /// <summary>Changes that are remembered for watches; one that is further behind has to read anew.</summary>
    internal const int HistoryMax = 16_384;

    /// <summary>Bytes of the values of these changes.</summary>
    internal const long HistoryBytesMax = 64L * 1024 * 1024;

    private readonly TimeProvider _clock;
    private readonly Lock _changing = new();
    private readonly SortedDictionary<string, (StoreEntry Entry, long Lease)> _entries = new(StringComparer.Ordinal);
    private readonly Dictionary<long, Lease> _leases = [];

    // Each lease once, at the earliest time at which it may end: a renewal leaves it where it is.
    private readonly PriorityQueue<long, long> _deadlines = new();
    private readonly List<StoreEvent> _history = [];
    private readonly ITimer _timer;

    // Watches that wait for a change of a key that begins with a text. Those of the same text share one; its result is the revision of the change.
    private readonly Dictionary<string, TaskCompletionSource<long>> _waiting = new(StringComparer.Ordinal);
    private long _revision = 1;
    private long _forgotten; // changes up to this revision are no longer known
    private long _lastLease;
    private long _historyBytes;

    internal MemoryClusterData(TimeProvider clock)
    {
        _clock = clock;
        _timer = clock.CreateTimer(static data => ((MemoryClusterData)data!).EndLeases(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    internal long Revision
    {
        get
        {
            lock (_changing) return _revision;
        }
    }

    internal StoreSnapshot Read(string keysFrom, int prefixLength)
    {
        lock (_changing)
        {
            EndLeasesLocked();
            return new StoreSnapshot(_revision, [.. _entries.Where(pair => pair.Key.StartsWith(keysFrom, StringComparison.Ordinal)).Select(pair => Named(pair.Value.Entry, prefixLength))]);
        }
    }

    internal long? TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts)
    {
        lock (_changing)
        {
            EndLeasesLocked();
            foreach (StoreCondition condition in conditions)
            {
                if ((_entries.TryGetValue(condition.Key, out var found) ? found.Entry.Revision : 0) != condition.Revision) return null;
            }

            foreach (StorePut put in puts)
            {
                if (put is { Value: not null, Lease: not 0 } && !_leases.ContainsKey(put.Lease)) throw new StoreException($"The lease of '{put.Key}' has ended.");
            }

            int before = _history.Count;
            foreach (StorePut put in puts)
            {
                if (put.Value is { } value) Put(put.Key, value, put.Lease);
                else Remove(put.Key);
            }

            Publish(before);
            return _revision;
        }
    }

    /// <summary>The changes behind a revision, and the revision up to which they are all; if there are none, what completes with the revision of the next one.</summary>
    internal (IReadOnlyList<StoreEvent> Events, long Revision, Task<long>? Next) ChangesBehind(long revision, string keysFrom, int prefixLength)
    {
        lock (_changing)
        {
            EndLeasesLocked();
            if (revision < _forgotten) throw new StoreException($"The changes behind revision {revision} are forgotten, up to {_forgotten}.");
            var events = new List<StoreEvent>();
            for (int i = FirstBehind(revision); i < _history.Count; i++)
            {
                StoreEvent change = _history[i];
                if (!change.Key.StartsWith(keysFrom, StringComparison.Ordinal)) continue;
                events.Add(change with { Key = change.Key[prefixLength..], Entry = change.Entry is null ? null : Named(change.Entry, prefixLength) });
            }

            return (events, _revision, events.Count > 0 ? null : NextChange(keysFrom));
        }
    }

    internal long Grant(TimeSpan time)
    {
        if (time <= TimeSpan.Zero) throw new StoreException("A lease has no time.");
        lock (_changing)
        {
            EndLeasesLocked();
            long id = ++_lastLease;
            var lease = new Lease(time, DeadlineAfter(time));
            _leases.Add(id, lease);
            _deadlines.Enqueue(id, lease.Deadline);
            SetTimer();
            return id;
        }
    }

    internal TimeSpan? Renew(long id)
    {
        lock (_changing)
        {
            EndLeasesLocked();
            if (!_leases.TryGetValue(id, out Lease? lease)) return null;
            lease.EndAt(DeadlineAfter(lease.Time));
            return lease.Time;
        }
    }

    internal bool Revoke(long id)
    {
        lock (_changing)
        {
            EndLeasesLocked();
            int before = _history.Count;
            bool existed = End(id);
            Publish(before);
            return existed;
        }
    }

    /// <summary>Ends the leases that have expired.</summary>
    internal void EndLeases()
    {
        lock (_changing) EndLeasesLocked();
    }

    /// <summary>Forgets the changes up to a revision, as a store does that is compacted.</summary>
    internal void Compact(long revision)
    {
        lock (_changing) Forget(Math.Min(revision, _revision));
    }

    public void Dispose() => _timer.Dispose();

    private void EndLeasesLocked()
    {
        long now = _clock.GetTimestamp();
        bool looked = false;
        while (_deadlines.TryPeek(out long id, out long deadline) && deadline <= now)
        {
            looked = true;
            _deadlines.Dequeue();
            if (!_leases.TryGetValue(id, out Lease? lease)) continue; // revoked
            if (lease.Deadline > now)
            {
                _deadlines.Enqueue(id, lease.Deadline);
                continue;
            }

            int before = _history.Count;
            End(id);
            Publish(before);
        }

        if (looked) SetTimer();
    }

    private bool End(long id)
    {
        if (!_leases.Remove(id, out Lease? lease)) return false;
        foreach (string key in lease.Keys.Order(StringComparer.Ordinal).ToArray()) Remove(key);
        return true;
    }

    private void Put(string key, ReadOnlyMemory<byte> value, long lease)
    {
        Detach(key);
        var entry = new StoreEntry(key, value.ToArray(), _revision + 1);
        _entries[key] = (entry, lease);
        if (lease != 0) _leases[lease].Keys.Add(key);
        _history.Add(new StoreEvent(key, entry, _revision + 1));
    }

    private void Remove(string key)
    {
        Detach(key);
        if (_entries.Remove(key)) _history.Add(new StoreEvent(key, Entry: null, _revision + 1));
    }

    private void Detach(string key)
    {
        if (_entries.TryGetValue(key, out var found) && _leases.TryGetValue(found.Lease, out Lease? lease)) lease.Keys.Remove(key);
    }

    private Task<long> NextChange(string keysFrom)
    {
        if (!_waiting.TryGetValue(keysFrom, out TaskCompletionSource<long>? next))
        {
            next = new TaskCompletionSource<long>(TaskCreationOptions.RunContinuationsAsynchronously);
            _waiting.Add(keysFrom, next);
        }

        return next.Task;
    }

    // What changes nothing is no revision.
    private void Publish(int historyBefore)
    {
        if (_history.Count == historyBefore) return;
        _revision++;
        for (int i = historyBefore; i < _history.Count; i++)
        {
            _historyBytes += BytesOf(_history[i]);
            if (_waiting.Count > 0) Wake(_history[i].Key);
        }

        if (_history.Count <= HistoryMax && _historyBytes <= HistoryBytesMax) return;
        int count = 0;
        for (long bytes = _historyBytes; count < _history.Count && (_history.Count - count > HistoryMax / 2 || bytes > HistoryBytesMax / 2); count++) bytes -= BytesOf(_history[count]);
        Forget(_history[count - 1].Revision);
    }

    private void Wake(string key)
    {
        foreach ((string keysFrom, TaskCompletionSource<long> next) in _waiting)
        {
            if (!key.StartsWith(keysFrom, StringComparison.Ordinal)) continue;
            _waiting.Remove(keysFrom);
            next.SetResult(_revision);
        }
    }

    // Whole revisions.
    private void Forget(long upTo)
    {
        int count = FirstBehind(upTo);
        for (int i = 0; i < count; i++) _historyBytes -= BytesOf(_history[i]);
        _history.RemoveRange(0, count);
        _forgotten = Math.Max(_forgotten, upTo);
    }

    private static int BytesOf(StoreEvent change) => change.Entry?.Value.Length ?? 0;

    private int FirstBehind(long revision)
    {
        int from = 0, to = _history.Count;
        while (from < to)
        {
            int middle = (from + to) / 2;
            if (_history[middle].Revision <= revision) from = middle + 1;
            else to = middle;
        }

        return from;
    }

    private void SetTimer()
    {
        if (!_deadlines.TryPeek(out _, out long deadline)) return;
        TimeSpan due = _clock.GetElapsedTime(_clock.GetTimestamp(), deadline);

        // Timers count whole milliseconds, and one that fires early would fire again at once.
        _timer.Change(TimeSpan.FromMilliseconds(Math.Max(Math.Ceiling(due.TotalMilliseconds), 1)), Timeout.InfiniteTimeSpan);
    }

    private long DeadlineAfter(TimeSpan time) => _clock.GetTimestamp() + (long)(time.TotalSeconds * _clock.TimestampFrequency);

    private static StoreEntry Named(StoreEntry entry, int prefixLength) => prefixLength == 0 ? entry : entry with { Key = entry.Key[prefixLength..] };

    private sealed class Lease(TimeSpan time, long deadline)
    {
        internal TimeSpan Time => time;

        internal long Deadline { get; private set; } = deadline;

        internal HashSet<string> Keys { get; } = [];

        internal void EndAt(long later) => Deadline = later;
    }
}
