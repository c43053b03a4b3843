namespace RedKite.Server.Migration;

/// <summary>A command's ticket to send keys, or its wait for one, or for a key that another command sends. Its state changes under the service's lock.</summary>
internal sealed class MigrationTicket
{
    private volatile TaskCompletionSource _come = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private ITimer? _timer; // of the wait for a key
    private bool _isTaken;

    internal MigrationTicket() => Node = new LinkedListNode<MigrationTicket>(this);

    /// <summary>Completes when the command has its ticket, or no longer wants it.</summary>
    internal Task Come => _come.Task;

    /// <summary>Its place among those that wait; in no list when it does not.</summary>
    internal LinkedListNode<MigrationTicket> Node { get; }

    /// <summary>The names of the keys that it has claimed.</summary>
    internal List<ulong> Keys { get; } = [];

    /// <summary>Whether it waits for a key that another command sends.</summary>
    internal bool WaitsForKey { get; private set; }

    /// <summary>Whether the wait for a key took too long, or the server stops.</summary>
    internal bool HasExpired { get; private set; }

    /// <summary>Waits for a key behind others.</summary>
    internal void WaitIn(LinkedList<MigrationTicket> line)
    {
        WaitsForKey = true;
        line.AddLast(Node);
    }

    /// <summary>Has claimed a key, for which it has waited or not.</summary>
    internal void Claim(ulong key)
    {
        WaitsForKey = false;
        Keys.Add(key);
    }

    /// <summary>Begins another wait.</summary>
    internal void Renew() => _come = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Has the wait for a key reported after a time.</summary>
    internal void StartTimer(TimeProvider clock, TimeSpan timeout, Action<MigrationTicket> overdue) =>
        _timer = clock.CreateTimer(ticket => overdue((MigrationTicket)ticket!), this, timeout, Timeout.InfiniteTimeSpan);

    internal void StopTimer()
    {
        _timer?.Dispose();
        _timer = null;
    }

    /// <summary>Ends the wait for a key without it.</summary>
    internal void Expire()
    {
        WaitsForKey = false;
        HasExpired = true;
        _come.TrySetResult();
    }

    /// <summary>Ends the wait: the command's client has gone. From any thread, without the lock.</summary>
    internal void Abandon() => _come.TrySetResult();

    /// <summary>Gives it to the command.</summary>
    internal void Take()
    {
        _isTaken = true;
        _come.TrySetResult();
    }

    /// <summary>The command wants it no longer.</summary>
    /// <returns>Whether it had it.</returns>
    internal bool Leave()
    {
        bool had = _isTaken;
        _isTaken = false;
        return had;
    }
}
