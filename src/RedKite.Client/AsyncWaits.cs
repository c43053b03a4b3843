using System.Collections.Concurrent;
using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Client;

/// <summary>A wait that ends with the server, and may be over its deadline.</summary>
internal interface IEndableWait : IEndsWithServer
{
    long DeadlineMs { get; }
}

/// <summary>The commands of a server's host that wait without a thread.</summary>
internal sealed class AsyncWaits(Engine engine, CallerPool callers)
{
    private readonly ConcurrentDictionary<IEndableWait, bool> _waits = new();
    private volatile bool _ended;
    private int _working;

    internal Engine Engine => engine;

    internal CallerPool Callers => callers;

    internal bool HasEnded => _ended;

    /// <summary>Whether a wait whose deadline has passed has not ended yet.</summary>
    internal bool HasOverdue
    {
        get
        {
            long nowMs = engine.Clock.SteadyMs;
            return _waits.Keys.Any(wait => wait.DeadlineMs <= nowMs);
        }
    }

    /// <summary>How many wait.</summary>
    internal int Count => _waits.Count;

    /// <summary>Executes the request of a caller that was taken for it, and waits for its reply if it blocks. Ends the call.</summary>
    internal ValueTask<RedKiteReply> Run(Caller caller, int database, out Session session, CancellationToken cancellation)
    {
        try
        {
            cancellation.ThrowIfCancellationRequested();
            var wait = new AsyncWait(this, database, cancellation);
            session = wait.Session;
            caller.ExecuteFor(wait.Session);
            if (wait.Session.Blocked is not { } blocked) return AfterAcks(RedKiteReply.Parse(caller.Reply), wait.Session);
            Task<RedKiteReply> reply = wait.Begin(blocked); // before the call ends: the server's end waits for calls, and then for waits
            if (blocked.Work is not null) Work(caller, blocked);
            return new ValueTask<RedKiteReply>(reply);
        }
        finally
        {
            caller.End();
        }
    }

    /// <summary>Ends all waits with the server.</summary>
    internal void End()
    {
        _ended = true;
        foreach (IEndableWait wait in _waits.Keys) wait.Stop();
        Join();
    }

    /// <summary>Waits for the last of them, which calls in progress may have begun meanwhile: each ends at once.</summary>
    internal void Join() => SpinWait.SpinUntil(() => _waits.IsEmpty && Volatile.Read(ref _working) == 0);

    /// <summary>The reply when enough replicas have acknowledged what the command has written; an error if they have not.</summary>
    internal ValueTask<RedKiteReply> AfterAcks(RedKiteReply reply, Session session)
    {
        long offset = session.Own.UnackedOffset;
        ReplicaAcks acks = engine.Replication.Acks;
        return offset == 0 || session.Own.UnackedTerm is not { } term ? new ValueTask<RedKiteReply>(reply) : Wait();

        async ValueTask<RedKiteReply> Wait()
        {
            ReadOnlyMemory<byte> error = await acks.WhenAckedAsync(term, offset, () => engine.Settings.ReplicaAcksTimeoutMs).ConfigureAwait(false);
            return error.IsEmpty ? reply : RedKiteReply.Error(System.Text.Encoding.ASCII.GetString(error.Span[1..^2]));
        }
    }

    internal void Add(IEndableWait wait) => _waits[wait] = true;

    internal void Remove(IEndableWait wait) => _waits.TryRemove(wait, out _);

    // Slices of work are run on the call's thread, as those of a synchronous call. While it is pending outside of the data, no thread has it.
    private void Work(Caller caller, BlockedClient blocked)
    {
        if (caller.WorkFor(blocked) is not { } pending) return;
        Interlocked.Increment(ref _working);
        pending.ContinueWith(_ => GoOn(blocked), CancellationToken.None, TaskContinuationOptions.None, TaskScheduler.Default);
    }

    private void GoOn(BlockedClient blocked)
    {
        try
        {
            Caller caller = callers.Take(blocked.Session.DatabaseIndex);
            try
            {
                Work(caller, blocked);
            }
            finally
            {
                caller.End();
            }
        }
        catch (ObjectDisposedException)
        {
            // The server has stopped, and with it the wait.
        }
        finally
        {
            Interlocked.Decrement(ref _working);
        }
    }
}
