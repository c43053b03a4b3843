namespace RedKite.Fuzz.Tests.Cluster;

/// <summary>
/// Time that passes only when everything that is due has been done, on one thread: what happens in it depends on its seed alone. Actions belong to a process, which may stand still or be killed.
/// </summary>
internal sealed class VirtualTime
{
    private readonly PriorityQueue<Due, (long At, long Number)> _due = new();
    private readonly int _thread = Environment.CurrentManagedThreadId;
    private long _number;

    /// <summary>In ticks of 100 ns.</summary>
    internal long Now { get; private set; }

    internal void At(long ticks, Process? process, Action action)
    {
        if (Environment.CurrentManagedThreadId != _thread) Environment.FailFast("Another thread takes part: the schedule would not depend on its seed alone");
        _due.Enqueue(new Due(process, action), (Math.Max(ticks, Now), _number++));
    }

    internal void After(TimeSpan delay, Process? process, Action action) => At(Now + delay.Ticks, process, action);

    /// <summary>Does everything that is due within a time.</summary>
    internal void Run(TimeSpan time)
    {
        long end = Now + time.Ticks;
        SynchronizationContext? before = SynchronizationContext.Current;
        try
        {
            while (_due.TryPeek(out _, out (long At, long Number) next) && next.At <= end)
            {
                Due due = _due.Dequeue();
                Now = next.At;
                if (due.Process is { } process && !process.MayRun(due.Action)) continue;
                SynchronizationContext.SetSynchronizationContext(due.Process);
                due.Action();
            }
        }
        finally
        {
            SynchronizationContext.SetSynchronizationContext(before);
        }

        Now = end;
    }

    private readonly record struct Due(Process? Process, Action Action);

    /// <summary>A process in this time: where its tasks continue, and its clock, which may run faster or slower.</summary>
    internal sealed class Process : SynchronizationContext
    {
        private readonly VirtualTime _time;
        private readonly List<Action> _waiting = []; // while it stands still
        private bool _isStopped;
        private bool _isDead;

        internal Process(VirtualTime time, double rate) => (_time, Clock) = (time, new ProcessClock(this, rate));

        internal TimeProvider Clock { get; }

        internal bool IsDead => _isDead;

        public override void Post(SendOrPostCallback d, object? state) => _time.At(_time.Now, this, () => d(state));

        public override void Send(SendOrPostCallback d, object? state) => throw new NotSupportedException();

        internal void Kill()
        {
            _isDead = true;
            _waiting.Clear();
        }

        internal void Stop() => _isStopped = true;

        internal void Continue()
        {
            _isStopped = false;
            foreach (Action action in _waiting) _time.At(_time.Now, this, action);
            _waiting.Clear();
        }

        internal bool MayRun(Action action)
        {
            if (_isDead) return false;
            if (_isStopped) _waiting.Add(action);
            return !_isStopped;
        }

        /// <summary>Begins a task of the process.</summary>
        internal void Begin(Func<Task> work, Action<Exception> failed) => _time.At(_time.Now, this, () => Observe(work(), failed));

        private static async void Observe(Task task, Action<Exception> failed)
        {
            try
            {
                await task;
            }
#pragma warning disable CA1031 // Told to the test.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                failed(failure);
            }
        }

        private sealed class ProcessClock(Process process, double rate) : TimeProvider
        {
            public override long TimestampFrequency => TimeSpan.TicksPerSecond;

            public override long GetTimestamp() => TimeSpan.TicksPerDay + (long)(process._time.Now * rate);

            public override DateTimeOffset GetUtcNow() => DateTimeOffset.UnixEpoch + TimeSpan.FromTicks(GetTimestamp());

            public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
            {
                if (period != Timeout.InfiniteTimeSpan) throw new NotSupportedException();
                var timer = new OneTimer();
                if (dueTime != Timeout.InfiniteTimeSpan)
                {
                    process._time.After(TimeSpan.FromTicks((long)(dueTime.Ticks / rate)), process, () =>
                    {
                        if (!timer.IsDisposed) callback(state);
                    });
                }

                return timer;
            }
        }

        private sealed class OneTimer : ITimer
        {
            internal bool IsDisposed { get; private set; }

            public bool Change(TimeSpan dueTime, TimeSpan period) => throw new NotSupportedException();

            public void Dispose() => IsDisposed = true;

            public ValueTask DisposeAsync()
            {
                Dispose();
                return ValueTask.CompletedTask;
            }
        }
    }
}
