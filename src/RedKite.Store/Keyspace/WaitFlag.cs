namespace RedKite.Store.Keyspace;

/// <summary>Requests threads that wait for a lock to stop waiting, if they can. The code that sets it wakes the sleeping ones.</summary>
internal sealed class WaitFlag
{
    private int _up;

    internal bool IsUp => Volatile.Read(ref _up) != 0;

    /// <summary>Sets the flag, before the threads are woken.</summary>
    internal void Raise() => Interlocked.Exchange(ref _up, 1);

    internal void Lower() => Volatile.Write(ref _up, 0);
}
