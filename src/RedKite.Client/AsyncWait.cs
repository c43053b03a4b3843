using RedKite.Server.Model;

namespace RedKite.Server.Client;

/// <summary>
/// A command of the host that waits without a thread: for a key, a time, or the end of the server. What ends the wait (another client's command, the deadline,
/// the caller's token, the server's end) is whoever sets the blocked client's state first; the thread pool then takes over the reply.
/// </summary>
internal sealed class AsyncWait : IThreadPoolWorkItem, IEndableWait
{
    // How often a deadline by a clock that is no timer's is looked at.
    private static readonly TimeSpan LookAgain = TimeSpan.FromMilliseconds(100);

    private readonly TaskCompletionSource<RedKiteReply> _result = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly AsyncWaits _waits;
    private readonly CancellationToken _cancellation;
    private BlockedClient? _blocked;
    private bool _hasBegun;
    private ITimer? _timer;
    private CancellationTokenRegistration _registration;
    private bool _isCanceled;

    internal AsyncWait(AsyncWaits waits, int database, CancellationToken cancellation)
    {
        _waits = waits;
        _cancellation = cancellation;
        Session = waits.Engine.Clients.AddCaller(waits.Engine.Clock.SteadyMs, waits.Engine.Users.InProcess, () => ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false));
        Session.DatabaseIndex = database;
    }

    /// <inheritdoc/>
    public long DeadlineMs => _blocked!.DeadlineMs;

    /// <summary>The client whose command waits.</summary>
    internal Session Session { get; }

    /// <summary>Begins to wait, after the command has blocked the session.</summary>
    internal Task<RedKiteReply> Begin(BlockedClient blocked)
    {
        _blocked = blocked;
        _waits.Add(this);
        if (blocked.HasDeadline) _timer = _waits.Engine.Clock.Provider.CreateTimer(static wait => ((AsyncWait)wait!).LookAtDeadline(), this, RestOf(blocked), LookAgain);
        _registration = _cancellation.UnsafeRegister(static wait => ((AsyncWait)wait!).Cancel(), this);
        Volatile.Write(ref _hasBegun, true);
        if (_waits.HasEnded) Stop();
        return _result.Task;
    }

    /// <inheritdoc/>
    public void Stop()
    {
        if (_blocked!.TryEnd()) ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    // The wait has ended; no thread has any of its locks.
    void IThreadPoolWorkItem.Execute()
    {
        // A command may be served before the thread that executes it has begun to wait: what that creates is released here.
        SpinWait.SpinUntil(() => Volatile.Read(ref _hasBegun));
        _registration.Unregister();
        _timer?.Dispose();
        try
        {
            if (_isCanceled) Fail(new OperationCanceledException(_cancellation));
            else if (_waits.HasEnded) Fail(CallerPool.ServerStopped());
            else Complete();
        }
#pragma warning disable CA1031 // The waiting task gets whatever it is.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            _result.TrySetException(failure);
        }
        finally
        {
            _waits.Remove(this);
        }
    }

    private void Complete()
    {
        Caller caller = _waits.Callers.Take(Session.DatabaseIndex);
        RedKiteReply reply;
        try
        {
            caller.TakeReply(_blocked!);
            reply = RedKiteReply.Parse(caller.Reply);
        }
        finally
        {
            caller.End();
        }

        ValueTask<RedKiteReply> acknowledged = _waits.AfterAcks(reply, Session);
        if (acknowledged.IsCompletedSuccessfully) _result.TrySetResult(acknowledged.Result);
        else _ = Finish();

        async Task Finish() => _result.TrySetResult(await acknowledged.ConfigureAwait(false));
    }

    private void Fail(Exception failure)
    {
        Session.Blocked = null;
        _waits.Engine.Blocked.Remove(_blocked!);
        _blocked!.Dispose();
        _blocked.ReleaseReply();
        _result.TrySetException(failure);
    }

    private void Cancel()
    {
        if (!_blocked!.TryEnd()) return;
        _isCanceled = true;
        ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    private void LookAtDeadline()
    {
        if (_waits.Engine.Clock.SteadyMs >= _blocked!.DeadlineMs && _blocked.TryEnd()) ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    // The timers of another clock than the system's may be those of the system.
    private TimeSpan RestOf(BlockedClient blocked)
    {
        var rest = TimeSpan.FromMilliseconds(Math.Clamp(blocked.DeadlineMs - _waits.Engine.Clock.SteadyMs, 1, int.MaxValue));
        return rest > LookAgain && !ReferenceEquals(_waits.Engine.Clock.Provider, TimeProvider.System) ? LookAgain : rest;
    }
}
