using System.Collections.Concurrent;
using RedKite.Server.Execution;
using RedKite.Server.Model;

namespace RedKite.Server.Client;

/// <summary>The commands of a server's host that wait without a thread.</summary>
internal sealed class AsyncWaits(Engine engine, CallerPool callers)
{
    private readonly ConcurrentDictionary<AsyncWait, bool> _waits = new();
    private volatile bool _ended;

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
    internal ValueTask<RedKiteReply> Run(Caller caller, int database, CancellationToken cancellation)
    {
        AsyncWait wait;
        BlockedClient? blocked;
        try
        {
            cancellation.ThrowIfCancellationRequested();
            wait = new AsyncWait(this, database, cancellation);
            caller.ExecuteFor(wait.Session);
            blocked = wait.Session.Blocked;
            if (blocked is null) return new ValueTask<RedKiteReply>(RedKiteReply.Parse(caller.Reply));
        }
        finally
        {
            caller.End();
        }

        return new ValueTask<RedKiteReply>(wait.Begin(blocked));
    }

    /// <summary>Ends all waits with the server.</summary>
    internal void End()
    {
        _ended = true;
        foreach (AsyncWait wait in _waits.Keys) wait.Stop();
        SpinWait.SpinUntil(() => _waits.IsEmpty);
    }

    internal void Add(AsyncWait wait) => _waits[wait] = true;

    internal void Remove(AsyncWait wait) => _waits.TryRemove(wait, out _);
}
