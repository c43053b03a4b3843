namespace RedKite.Server.Sessions;

/// <summary>The counters of transactions. From any thread.</summary>
internal sealed class TransactionFigures
{
    private long _executed;
    private long _refused;
    private int _largest;

    /// <summary>Transactions that EXEC executed.</summary>
    internal long Executed => Volatile.Read(ref _executed);

    /// <summary>Those that it refused: a watched key had changed, or a command could not be queued.</summary>
    internal long Refused => Volatile.Read(ref _refused);

    internal void NoteExecuted(int commands)
    {
        Interlocked.Increment(ref _executed);
        if (commands > _largest) _largest = commands; // if two write at once, either may win
    }

    internal void NoteRefused() => Interlocked.Increment(ref _refused);

    /// <summary>The largest number of commands in a transaction since the last call.</summary>
    internal int TakeLargest() => Interlocked.Exchange(ref _largest, 0);
}
