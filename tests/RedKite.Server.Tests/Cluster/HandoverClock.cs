namespace RedKite.Server.Tests.Cluster;

/// <summary>A clock by which the longest wait of clients for a handover passes when the test says so.</summary>
internal sealed class HandoverClock : TimeProvider
{
    private Action _passed = static () => { };

    internal void PassLimit() => _passed();

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        if (dueTime != TimeSpan.FromSeconds(5)) return base.CreateTimer(callback, state, dueTime, period);
        var timer = new LimitTimer();
        _passed = () =>
        {
            if (!timer.IsDisposed) callback(state);
        };
        return timer;
    }

    private sealed class LimitTimer : ITimer
    {
        internal bool IsDisposed { get; private set; }

        public bool Change(TimeSpan dueTime, TimeSpan period) => false;

        public void Dispose() => IsDisposed = true;

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
