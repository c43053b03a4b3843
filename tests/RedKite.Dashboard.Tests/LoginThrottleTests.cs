namespace RedKite.Dashboard.Tests;

public sealed class LoginThrottleTests
{
    private readonly StepClock _clock = new();

    [Fact]
    public async Task Right_password_gets_in_after_any_number_of_wrong_ones()
    {
        var throttle = new LoginThrottle(_clock);
        for (int i = 0; i < LoginThrottle.FreeFailures; i++) Assert.Equal((true, null), await TryAsync(throttle, "a", null));
        for (int i = 0; i < 20; i++)
        {
            Task<(bool, string?)> wrong = TryAsync(throttle, "a", null);
            Assert.False(wrong.IsCompleted);
            _clock.Advance(LoginThrottle.DelayAfter(LoginThrottle.FreeFailures + i));
            Assert.Equal((true, null), await wrong);
        }

        Task<(bool, string?)> right = TryAsync(throttle, "a", "yes");
        _clock.Advance(LoginThrottle.DelayAfter(int.MaxValue));
        Assert.Equal((true, "yes"), await right);
        Assert.Equal((true, "yes"), await TryAsync(throttle, "b", "yes")); // another source does not wait
    }

    [Fact]
    public async Task Password_is_not_compared_before_its_turn()
    {
        var throttle = new LoginThrottle(_clock);
        for (int i = 0; i < LoginThrottle.FreeFailures; i++) await TryAsync(throttle, "a", null);
        bool isCompared = false;
        using var given = new CancellationTokenSource();
        Task<(bool, string?)> attempt = throttle.TryAsync("a", () => { isCompared = true; return "yes"; }, given.Token);
        await given.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => attempt);
        Assert.False(isCompared);
    }

    [Fact]
    public async Task Only_a_few_attempts_of_a_source_and_in_total_wait()
    {
        var throttle = new LoginThrottle(_clock);
        var waiting = new List<Task>();
        for (int source = 0; source < LoginThrottle.WaitingMax / LoginThrottle.WaitingPerSourceMax; source++)
        {
            for (int i = 0; i < LoginThrottle.FreeFailures; i++) await TryAsync(throttle, $"{source}", null);
            for (int i = 0; i < LoginThrottle.WaitingPerSourceMax; i++) waiting.Add(TryAsync(throttle, $"{source}", null));
            Assert.Equal((false, null), await TryAsync(throttle, $"{source}", "yes"));
        }

        Assert.All(waiting, attempt => Assert.False(attempt.IsCompleted));
        for (int i = 0; i < LoginThrottle.FreeFailures; i++) await TryAsync(throttle, "another", null);
        Assert.Equal((false, null), await TryAsync(throttle, "another", "yes"));
        _clock.Advance(TimeSpan.FromMinutes(1));
        await Task.WhenAll(waiting);
    }

    [Fact]
    public async Task Failures_are_forgotten_and_sources_are_bounded()
    {
        var throttle = new LoginThrottle(_clock);
        await TryAsync(throttle, "right", "yes");
        Assert.Equal(0, throttle.SourceCount);
        for (int i = 0; i <= LoginThrottle.SourcesMax + 100; i++) await TryAsync(throttle, $"{i}", null);
        Assert.Equal(LoginThrottle.SourcesMax, throttle.SourceCount);
        _clock.Advance(TimeSpan.FromSeconds(61));
        await TryAsync(throttle, "new", null);
        Assert.Equal(1, throttle.SourceCount);
    }

    private static Task<(bool Tried, string? Result)> TryAsync(LoginThrottle throttle, string source, string? result) => throttle.TryAsync(source, () => result, TestContext.Current.CancellationToken);

    // Moves only when it is told to, and runs the timers that are due.
    private sealed class StepClock : TimeProvider
    {
        private readonly List<StepTimer> _timers = [];
        private long _ticks = 1;

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => _ticks;

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            var timer = new StepTimer(this, () => callback(state), _ticks + dueTime.Ticks);
            _timers.Add(timer);
            return timer;
        }

        internal void Advance(TimeSpan span)
        {
            _ticks += span.Ticks;
            foreach (StepTimer timer in _timers.Where(timer => timer.Due <= _ticks).ToArray())
            {
                _timers.Remove(timer);
                timer.Run();
            }
        }

        private sealed class StepTimer(StepClock clock, Action run, long due) : ITimer
        {
            internal long Due => due;

            internal void Run() => run();

            public bool Change(TimeSpan dueTime, TimeSpan period) => throw new NotSupportedException();

            public void Dispose() => clock._timers.Remove(this);

            public ValueTask DisposeAsync()
            {
                Dispose();
                return ValueTask.CompletedTask;
            }
        }
    }
}
