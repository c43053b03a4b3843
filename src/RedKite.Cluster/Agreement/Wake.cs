namespace RedKite.Server.Cluster.Agreement;

/// <summary>Wakes one task that waits. It may be woken from any thread, also before it waits.</summary>
internal sealed class Wake(TimeProvider time)
{
    private readonly Lock _lock = new();
    private TaskCompletionSource _woken = new();

    internal void Set()
    {
        TaskCompletionSource woken;
        lock (_lock) woken = _woken;
        woken.TrySetResult();
    }

    /// <summary>Waits until it is woken, or for a time.</summary>
    internal async Task Wait(TimeSpan limit, CancellationToken cancellation)
    {
        TaskCompletionSource woken;
        lock (_lock) woken = _woken;
        await WaitFor(woken, time, limit, cancellation);
        lock (_lock)
        {
            if (_woken == woken) _woken = new TaskCompletionSource();
        }
    }

    /// <summary>Waits for a time. It continues where the time passes: Task.Delay continues on another thread when it is cancelled, which a test in virtual time cannot follow.</summary>
    internal static Task Delay(TimeProvider time, TimeSpan delay, CancellationToken cancellation) => WaitFor(new TaskCompletionSource(), time, delay, cancellation);

    private static async Task WaitFor(TaskCompletionSource done, TimeProvider time, TimeSpan limit, CancellationToken cancellation)
    {
        await using ITimer timer = time.CreateTimer(static state => ((TaskCompletionSource)state!).TrySetResult(), done, limit, Timeout.InfiniteTimeSpan);
        using CancellationTokenRegistration cancelled = cancellation.UnsafeRegister(static state => ((TaskCompletionSource)state!).TrySetResult(), done);
        await done.Task;
        cancellation.ThrowIfCancellationRequested();
    }
}
