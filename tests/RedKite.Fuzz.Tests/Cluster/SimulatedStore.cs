using System.Runtime.CompilerServices;
using RedKite.Server.Cluster.Store;

namespace RedKite.Fuzz.Tests.Cluster;

/// <summary>A store in virtual time, which each process reaches over a network of its own: requests and answers take time, are lost, or meet a process that stands still.</summary>
internal sealed class SimulatedStore(VirtualTime time, Random random)
{
    private static readonly TimeSpan RequestTimeout = TimeSpan.FromSeconds(2);

    private readonly SortedDictionary<string, (StoreEntry Entry, long Lease)> _entries = new(StringComparer.Ordinal);
    private readonly List<StoreEvent> _events = [];
    private readonly Dictionary<long, (TimeSpan Time, long Renewal)> _leases = [];
    private readonly List<Action> _watchers = [];
    private long _revision;
    private long _lastLease;

    internal long Revision => _revision;

    internal IEnumerable<StoreEntry> Entries => _entries.Values.Select(static each => each.Entry);

    internal StoreEntry? Find(string key) => _entries.TryGetValue(key, out (StoreEntry Entry, long Lease) found) ? found.Entry : null;

    internal Client For(VirtualTime.Process process) => new(this, process);

    internal long? TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts)
    {
        foreach (StoreCondition condition in conditions)
        {
            if ((Find(condition.Key)?.Revision ?? 0) != condition.Revision) return null;
        }

        if (puts.FirstOrDefault(put => put.Lease != 0 && !_leases.ContainsKey(put.Lease)) is not null) throw new StoreException("the lease has ended");
        _revision++;
        foreach (StorePut put in puts) Write(put);
        foreach (Action watcher in _watchers.ToArray()) watcher();
        return _revision;
    }

    private void Write(StorePut put)
    {
        if (put.Value is { } value)
        {
            var entry = new StoreEntry(put.Key, value, _revision);
            _entries[put.Key] = (entry, put.Lease);
            _events.Add(new StoreEvent(put.Key, entry, _revision));
        }
        else if (_entries.Remove(put.Key))
        {
            _events.Add(new StoreEvent(put.Key, null, _revision));
        }
    }

    private (long Lease, TimeSpan Time) Grant(TimeSpan wanted)
    {
        long lease = ++_lastLease;
        Extend(lease, wanted);
        return (lease, wanted);
    }

    private TimeSpan? Renew(long lease)
    {
        if (!_leases.TryGetValue(lease, out (TimeSpan Time, long Renewal) known)) return null;
        Extend(lease, known.Time);
        return known.Time;
    }

    private void Extend(long lease, TimeSpan wanted)
    {
        long renewal = time.Now;
        _leases[lease] = (wanted, renewal);
        time.After(wanted, process: null, () =>
        {
            if (_leases.TryGetValue(lease, out (TimeSpan Time, long Renewal) known) && known.Renewal == renewal) Revoke(lease);
        });
    }

    private void Revoke(long lease)
    {
        if (!_leases.Remove(lease)) return;
        StorePut[] removed = [.. _entries.Where(each => each.Value.Lease == lease).Select(static each => new StorePut(each.Key, null))];
        if (removed.Length > 0) TryCommit([], removed);
    }

    /// <summary>The store as one process reaches it.</summary>
    internal sealed class Client(SimulatedStore store, VirtualTime.Process process) : IClusterStore
    {
        /// <summary>Requests do not arrive.</summary>
        internal bool LosesRequests { get; set; }

        /// <summary>Answers and changes do not arrive.</summary>
        internal bool LosesAnswers { get; set; }

        internal TimeSpan DelayMax { get; set; } = TimeSpan.FromMilliseconds(20);

        public Task<StoreSnapshot> Read(string keysFrom, CancellationToken cancellation) => Ask(() => new StoreSnapshot(store._revision, [.. store.Entries.Where(entry => entry.Key.StartsWith(keysFrom, StringComparison.Ordinal))]), cancellation);

        public Task<long?> TryCommit(IReadOnlyList<StoreCondition> conditions, IReadOnlyList<StorePut> puts, CancellationToken cancellation) => Ask(() => store.TryCommit(conditions, puts), cancellation);

        public Task<(long Lease, TimeSpan Time)> Grant(TimeSpan time, CancellationToken cancellation) => Ask(() => store.Grant(time), cancellation);

        public Task<TimeSpan?> Renew(long lease, CancellationToken cancellation) => Ask(() => store.Renew(lease), cancellation);

        public Task Revoke(long lease, CancellationToken cancellation) => Ask(
            () =>
            {
                store.Revoke(lease);
                return true;
            },
            cancellation);

        public async IAsyncEnumerable<StoreEvent> Watch(string keysFrom, long behindRevision, [EnumeratorCancellation] CancellationToken cancellation)
        {
            while (true)
            {
                // A change, or the proof that there is none.
                StoreEvent[] events = await Ask(() => store._events.SkipWhile(change => change.Revision <= behindRevision).Where(change => change.Key.StartsWith(keysFrom, StringComparison.Ordinal)).ToArray(), cancellation);
                foreach (StoreEvent change in events)
                {
                    behindRevision = change.Revision;
                    yield return change;
                }

                if (events.Length == 0) await Changed(cancellation);
            }
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;

        private Task Changed(CancellationToken cancellation)
        {
            var changed = new TaskCompletionSource();
            void Tell()
            {
                store._watchers.Remove(Tell);
                Later(() => changed.TrySetResult());
            }

            store._watchers.Add(Tell);
            Time.After(TimeSpan.FromSeconds(1), process: null, Tell); // a watch whose network is gone notices it at some time
            cancellation.Register(() =>
            {
                store._watchers.Remove(Tell);
                changed.TrySetCanceled(cancellation);
            });
            return changed.Task;
        }

        private VirtualTime Time => store.OwnTime;

        private void Later(Action action) => Time.After(Delay(), process, action);

        private TimeSpan Delay() => TimeSpan.FromTicks(1 + store.OwnRandom.NextInt64(DelayMax.Ticks));

        private Task<T> Ask<T>(Func<T> answer, CancellationToken cancellation)
        {
            var asked = new TaskCompletionSource<T>();
            cancellation.Register(() => asked.TrySetCanceled(cancellation));
            if (cancellation.IsCancellationRequested) return asked.Task;
            Time.After(RequestTimeout, process, () => asked.TrySetException(new StoreException("no answer")));
            if (LosesRequests) return asked.Task;
            Time.After(Delay(), process: null, () =>
            {
                T? result = default;
                Exception? failure = null;
                try
                {
                    result = answer();
                }
                catch (StoreException refused)
                {
                    failure = refused;
                }

                if (LosesAnswers) return;
                Later(() =>
                {
                    if (failure is not null) asked.TrySetException(failure);
                    else asked.TrySetResult(result!);
                });
            });
            return asked.Task;
        }
    }

    private VirtualTime OwnTime => time;

    private Random OwnRandom => random;
}
