namespace RedKite.Server.Migration;

/// <summary>A command's turn to send keys, or its wait for one. Its state changes under the service's lock.</summary>
internal sealed class MigrationTurn
{
    private readonly TaskCompletionSource _come = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private bool _isTaken;

    internal MigrationTurn() => Place = new LinkedListNode<MigrationTurn>(this);

    /// <summary>Completes when the command has its turn, or no longer wants it.</summary>
    internal Task Come => _come.Task;

    /// <summary>Its place among those that wait; in no list when it does not.</summary>
    internal LinkedListNode<MigrationTurn> Place { get; }

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
