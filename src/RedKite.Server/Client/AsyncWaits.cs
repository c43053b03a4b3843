using System.Collections.Concurrent;
using RedKite.Server.Execution;

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
        try
        {
            cancellation.ThrowIfCancellationRequested();
            var wait = new AsyncWait(this, database, cancellation);
            caller.ExecuteFor(wait.Session);
            return wait.Session.Blocked is { } blocked
                ? new ValueTask<RedKiteReply>(wait.Begin(blocked)) // before the call ends: the server's end waits for calls, and then for waits
                : new ValueTask<RedKiteReply>(RedKiteReply.Parse(caller.Reply));
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
        foreach (AsyncWait wait in _waits.Keys) wait.Stop();
        Join();
    }

    /// <summary>Waits for the last of them, which calls in progress may have begun meanwhile: each ends at once.</summary>
    internal void Join() => SpinWait.SpinUntil(() => _waits.IsEmpty);

    internal void Add(AsyncWait wait) => _waits[wait] = true;

    internal void Remove(AsyncWait wait) => _waits.TryRemove(wait, out _);
}
