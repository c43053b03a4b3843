using RedKite.Server.Cluster.Store;

namespace RedKite.Server.Tests.Cluster;

/// <summary>The store in memory keeps the contract, and its leases end by its clock alone.</summary>
public sealed class MemoryClusterStoreTests : ClusterStoreContract, IDisposable
{
    private static readonly TimeSpan Tick = TimeSpan.FromTicks(1);

    private readonly TimersClock _clock = new();
    private readonly MemoryClusterData _data;

    public MemoryClusterStoreTests() => _data = new MemoryClusterData(_clock);

    public void Dispose() => _data.Dispose();

    [Fact]
    public async Task Leases_end_to_the_tick_and_renewals_count_from_their_moment()
    {
        await using IClusterStore store = Open("");
        TimeSpan time = TimeSpan.FromSeconds(10);
        (long a, TimeSpan granted) = await store.Grant(time, Cancellation);
        (long b, _) = await store.Grant(time, Cancellation);
        Assert.Equal(time, granted);
        await Commit(store, Put("a", "1", a), Put("b", "2", b));
        PassTime(time - Tick);
        Assert.Equal(time, await store.Renew(a, Cancellation));
        PassTime(Tick);
        Assert.Equal(["a=1"], await Keys(store));
        Assert.Null(await store.Renew(b, Cancellation));
        PassTime(time - (2 * Tick));
        Assert.Equal(["a=1"], await Keys(store));
        PassTime(Tick);
        Assert.Empty(await Keys(store));
        Assert.Null(await store.Renew(a, Cancellation));
    }

    [Fact]
    public async Task A_timer_ends_leases_without_an_operation()
    {
        await using IClusterStore store = Open("");
        (long first, _) = await store.Grant(TimeSpan.FromSeconds(3), Cancellation);
        (long second, _) = await store.Grant(TimeSpan.FromSeconds(2), Cancellation);
        long revision = await Commit(store, Put("a", "1", first), Put("b", "2", second));
        await using IAsyncEnumerator<StoreEvent> watch = store.Watch("", revision, Cancellation).GetAsyncEnumerator(Cancellation);
        Task<bool> waiting = watch.MoveNextAsync().AsTask();
        PassTime(TimeSpan.FromSeconds(1));
        await store.Renew(second, Cancellation); // until 3
        PassTime(TimeSpan.FromSeconds(1));
        Assert.False(waiting.IsCompleted);
        await store.Renew(first, Cancellation); // until 5
        PassTime(TimeSpan.FromSeconds(1));
        Assert.True(await waiting);
        Assert.Equal("b removed", Text(watch.Current));
        waiting = watch.MoveNextAsync().AsTask();
        PassTime(TimeSpan.FromSeconds(2));
        Assert.True(await waiting);
        Assert.Equal("a removed", Text(watch.Current));
    }

    [Fact]
    public async Task A_lease_without_time_is_refused()
    {
        await using IClusterStore store = Open("");
        await Assert.ThrowsAsync<StoreException>(() => store.Grant(TimeSpan.Zero, Cancellation));
    }

    [Fact]
    public async Task The_history_has_a_bound()
    {
        await using IClusterStore store = Open("");
        long first = await Commit(store, Put("k", "0"));
        for (int i = 0; i < MemoryClusterData.HistoryMax; i++) await Commit(store, Put("k", "1"));
        await Assert.ThrowsAsync<StoreException>(async () => await Events(store, "", first - 1, count: 1));
        long last = _data.Revision;
        Assert.Equal(last - (MemoryClusterData.HistoryMax / 4), (await Events(store, "", last - (MemoryClusterData.HistoryMax / 4) - 1, count: 1)).Single().Revision);
    }

    [Fact]
    public async Task The_history_has_a_bound_of_bytes()
    {
        await using IClusterStore store = Open("");
        var value = new byte[StoreLimits.TransactionBytesMax - 10];
        long first = await Commit(store, new StorePut("k", value));
        int count = (int)(MemoryClusterData.HistoryBytesMax / value.Length);
        for (int i = 1; i < count; i++) await Commit(store, new StorePut("k", value));
        Assert.Equal(first, (await Events(store, "", first - 1, count: 1)).Single().Revision);
        await Commit(store, new StorePut("k", value));
        await Assert.ThrowsAsync<StoreException>(async () => await Events(store, "", first - 1, count: 1));
    }

    [Fact]
    public async Task A_watch_that_has_seen_everything_survives_what_is_forgotten()
    {
        await using IClusterStore store = Open("");
        await using IAsyncEnumerator<StoreEvent> watch = store.Watch("quiet", await Commit(store, Put("loud", "0")), Cancellation).GetAsyncEnumerator(Cancellation);
        Task<bool> waiting = watch.MoveNextAsync().AsTask();
        for (int i = 0; i < MemoryClusterData.HistoryMax; i++) await Commit(store, Put("loud", "1"));
        Assert.False(waiting.IsCompleted); // changes of other keys do not wake it
        await Commit(store, Put("quiet", "2"));
        Assert.True(await waiting);
        Assert.Equal("quiet=2", Text(watch.Current));
    }

    private protected override IClusterStore Open(string prefix) => new MemoryClusterStore(_data, prefix);

    private protected override void PassTime(TimeSpan time) => _clock.Advance(time);

    private protected override Task Compact(long revision)
    {
        _data.Compact(revision);
        return Task.CompletedTask;
    }

    /// <summary>A clock that the test advances; timers fire before that returns.</summary>
    private sealed class TimersClock : TimeProvider
    {
        private readonly List<Timer> _timers = [];
        private long _ticks;

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => Volatile.Read(ref _ticks);

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            var timer = new Timer(this, () => callback(state));
            timer.Change(dueTime, period);
            _timers.Add(timer);
            return timer;
        }

        internal void Advance(TimeSpan time)
        {
            Volatile.Write(ref _ticks, _ticks + time.Ticks);
            foreach (Timer timer in _timers) timer.FireIfDue();
        }

        private sealed class Timer(TimersClock clock, Action fire) : ITimer
        {
            private long _due;

            public bool Change(TimeSpan dueTime, TimeSpan period)
            {
                _due = dueTime < TimeSpan.Zero ? long.MaxValue : clock._ticks + dueTime.Ticks;
                return true;
            }

            public void Dispose() => _due = long.MaxValue;

            public ValueTask DisposeAsync()
            {
                Dispose();
                return default;
            }

            internal void FireIfDue()
            {
                if (_due > clock._ticks) return;
                _due = long.MaxValue;
                fire();
            }
        }
    }
}
