namespace RedKite.Store.Keyspace;

/// <summary>
/// Requests threads that wait for a lock to stop waiting, if they can. It is up as long as one of those that raised it has not lowered it.
/// The code that raises it wakes the sleeping threads.
/// </summary>
internal sealed class WaitFlag
{
    private int _raised;

    internal bool IsUp => Volatile.Read(ref _raised) != 0;

    /// <summary>Raises the flag, before the threads are woken.</summary>
    internal void Raise() => Interlocked.Increment(ref _raised);

    internal void Lower() => Interlocked.Decrement(ref _raised);
}
