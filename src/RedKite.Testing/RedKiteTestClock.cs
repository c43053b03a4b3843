namespace RedKite.Testing;

/// <summary>
/// A clock that stands still until the test advances it. It is a <see cref="TimeProvider"/>, so the code under test can use the same one; timers that it
/// creates fire when it is advanced. Thread-safe.
/// </summary>
public sealed class RedKiteTestClock : TimeProvider
{
    private static readonly DateTimeOffset Start = new(2030, 1, 1, 0, 0, 0, TimeSpan.Zero);

    private readonly Lock _changing = new();
    private readonly List<Timer> _timers = [];
    private long _ticks; // since the start
    private RedKiteServer? _server;

    internal RedKiteTestClock()
    {
    }

    /// <summary>The time. It begins at 2030-01-01 00:00:00 UTC.</summary>
    public DateTimeOffset Now => Start + new TimeSpan(Volatile.Read(ref _ticks));

    /// <inheritdoc/>
    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    /// <summary>A server does what is due when the clock was advanced; null: none does any more.</summary>
    internal void Drive(RedKiteServer? server) => _server = server;

    /// <inheritdoc/>
    public override DateTimeOffset GetUtcNow() => Now;

    /// <inheritdoc/>
    public override long GetTimestamp() => Volatile.Read(ref _ticks);

    /// <summary>
    /// Advances the clock. When the method returns, the server has done everything that was due by then: keys have expired, blocked commands have timed out, delayed
    /// ones were executed, and timers have fired, each once.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">The time is negative.</exception>
    public void Advance(TimeSpan time)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(time, TimeSpan.Zero);
        Timer[] due;
        lock (_changing)
        {
            long now = _ticks + time.Ticks;
            Volatile.Write(ref _ticks, now);
            due = [.. _timers.Where(timer => timer.DueTicks <= now).OrderBy(static timer => timer.DueTicks)];
            foreach (Timer timer in due) timer.Rearm(now);
        }

        foreach (Timer timer in due) timer.Fire();
        _server?.RunDue();
    }

    /// <inheritdoc/>
    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        ArgumentNullException.ThrowIfNull(callback);
        var timer = new Timer(this, callback, state);
        timer.Change(dueTime, period);
        lock (_changing) _timers.Add(timer);
        return timer;
    }

    private sealed class Timer(RedKiteTestClock clock, TimerCallback callback, object? state) : ITimer
    {
        private long _periodTicks;

        internal long DueTicks { get; private set; } = long.MaxValue;

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (clock._changing)
            {
                DueTicks = dueTime == Timeout.InfiniteTimeSpan ? long.MaxValue : clock._ticks + dueTime.Ticks;
                _periodTicks = period == Timeout.InfiniteTimeSpan ? 0 : period.Ticks;
            }

            return true;
        }

        public void Dispose()
        {
            lock (clock._changing) clock._timers.Remove(this);
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }

        internal void Rearm(long now) => DueTicks = _periodTicks > 0 ? now + _periodTicks : long.MaxValue;

        internal void Fire() => callback(state);
    }
}
