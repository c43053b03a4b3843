namespace RedKite.Server.Migration;

/// <summary>Ends a transfer that makes no progress for too long, takes too long, or is no longer wanted. By the server's clock.</summary>
internal sealed class TransferTimeout : IDisposable
{
    private readonly CancellationTokenSource _end;
    private readonly TimeSpan _timeout;
    private readonly bool _isOfAll;

    /// <param name="timeout">How long the target may make no progress.</param>
    /// <param name="limit">How long the transfer may take; null: as long as it makes progress.</param>
    /// <param name="clock">The server's clock.</param>
    internal TransferTimeout(TimeSpan timeout, TimeSpan? limit, TimeProvider clock)
    {
        _timeout = timeout;
        _isOfAll = limit is not null;
        _end = new CancellationTokenSource(limit is { } whole ? (whole < timeout ? whole : timeout) : Timeout.InfiniteTimeSpan, clock);
    }

    /// <summary>Whether the transfer is to end.</summary>
    internal bool HasEnded => _end.IsCancellationRequested;

    /// <summary>Begins the time anew for the next step.</summary>
    internal CancellationToken Restart()
    {
        if (!_isOfAll) _end.CancelAfter(_timeout);
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
