namespace RedKite.Store.Memory;

/// <summary>
/// Work on the thread pool that runs once at a time and ends before the memory that it uses: <see cref="End"/> waits for it, and none
/// begins afterwards.
/// </summary>
/// <remarks>
/// One word is all its state, so no thread sees work as idle that is about to run (PoolTaskModelTests). Work that is only queued is
/// cancelled instead of waited for: if all threads of the pool are busy, perhaps with callers of <see cref="End"/>, it would not start.
/// </remarks>
internal sealed class PoolTask : IThreadPoolWorkItem
{
    private const int Idle = 0;
    private const int Queued = 1;
    private const int Running = 2;
    private const int Ended = 3;

    private int _state;
    private Action? _work; // of the thread that has changed the state to queued, and then of the pool's

    /// <summary>Whether work is queued or runs. From any thread.</summary>
    internal bool IsBusy => Volatile.Read(ref _state) is Queued or Running;

    /// <summary>Begins the work; false: other work is not done, or the task has ended.</summary>
    internal bool TryBegin(Action work)
    {
        if (Interlocked.CompareExchange(ref _state, Queued, Idle) != Idle) return false;
        _work = work;
        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        return true;
    }

    /// <summary>Waits for work that runs; later work does not begin.</summary>
    internal void End()
    {
        SpinWait wait = default;
        while (true)
        {
            int state = Volatile.Read(ref _state);
            if (state == Ended) return;
            if (state == Running) wait.SpinOnce();
            else if (Interlocked.CompareExchange(ref _state, Ended, state) == state) return;
        }
    }

    void IThreadPoolWorkItem.Execute()
    {
        if (Interlocked.CompareExchange(ref _state, Running, Queued) != Queued) return; // cancelled
        _work!();
        Volatile.Write(ref _state, Idle);
    }
}
