namespace RedKite.Server.Migration;

/// <summary>Ends a transfer that makes no progress for too long, or that is no longer wanted. By the server's clock.</summary>
internal sealed class TransferTimeout(TimeSpan timeout, TimeProvider clock) : IDisposable
{
    private readonly CancellationTokenSource _end = new(Timeout.InfiniteTimeSpan, clock);

    /// <summary>Whether the transfer is to end.</summary>
    internal bool HasEnded => _end.IsCancellationRequested;

    /// <summary>Begins the time anew for the next step.</summary>
    internal CancellationToken Restart()
    {
        _end.CancelAfter(timeout);
        return _end.Token;
    }

    /// <summary>Ends the transfer. From any thread, also when it has ended.</summary>
    internal void Cancel()
    {
        try
        {
            _end.CancelAsync();
        }
        catch (ObjectDisposedException)
        {
            // The transfer has ended by itself.
        }
    }

    public void Dispose() => _end.Dispose();
}
