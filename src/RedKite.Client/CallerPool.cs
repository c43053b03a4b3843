using RedKite.Server.Execution;

namespace RedKite.Server.Client;

/// <summary>Has callers that are for one call each.</summary>
internal interface ITemporaryCallers
{
    /// <summary>Removes a caller after its call.</summary>
    void Remove(Caller caller);
}

/// <summary>
/// The callers of a server's clients, one for each call that executes at the same time. A thread finds the one that it has used last without a
/// shared counter; if another call has it, the next one. Beyond the kept ones, a call gets one of its own.
/// </summary>
internal sealed class CallerPool(Engine engine) : ITemporaryCallers
{
    /// <summary>What has been disposed when a call comes too late.</summary>
    internal static ObjectDisposedException ServerStopped() => new("RedKiteServer");

    // A power of two. Each has a buffer for replies, 64 KiB.
    private static readonly int KeptMax = (int)System.Numerics.BitOperations.RoundUpToPowerOf2((uint)Math.Max(4, 2 * Environment.ProcessorCount));

    // Where a thread begins to look.
    [ThreadStatic]
    private static int _hint;

    private static int _threads;

    private readonly Lock _adding = new();
    private readonly Caller?[] _kept = new Caller?[KeptMax];
    private readonly List<Caller> _others = [];
    private volatile bool _ended;

    /// <summary>The callers that exist now.</summary>
    internal int Count
    {
        get
        {
            lock (_adding) return _kept.Count(caller => caller is not null) + _others.Count;
        }
    }

    /// <summary>Takes a caller for one call, which returns it.</summary>
    /// <exception cref="ObjectDisposedException">The server has stopped.</exception>
    /// <exception cref="InvalidOperationException">The thread executes a custom command, which has keys locked.</exception>
    internal Caller Take(int database)
    {
        Caller? caller = _kept[_hint & (KeptMax - 1)];
        if (_hint == 0 || caller is null || !caller.TryTake()) caller = Find();
        caller.Session.DatabaseIndex = database;
        return caller;
    }

    /// <summary>Ends all callers with the server: waits for calls in progress, and later ones throw.</summary>
    internal void End()
    {
        Caller?[] callers;
        lock (_adding)
        {
            _ended = true;
            callers = [.. _kept, .. _others];
        }

        foreach (Caller? caller in callers) caller?.BeginEnd();
        foreach (Caller? caller in callers)
        {
            if (caller is not null) SpinWait.SpinUntil(caller.TryTake);
        }
    }

    /// <summary>Makes the thread's next call look whether it may be made.</summary>
    internal static void ForgetThread() => _hint = 0;

    void ITemporaryCallers.Remove(Caller caller)
    {
        lock (_adding) _others.Remove(caller);
        caller.Remove();
    }

    private Caller Find()
    {
        LockedKeys.ThrowIfHeld();
        if (_hint == 0) _hint = Interlocked.Increment(ref _threads) | int.MinValue; // never 0
        for (int i = 0; i < KeptMax; i++)
        {
            int index = (_hint + i) & (KeptMax - 1);
            if (_kept[index] is { } kept)
            {
                if (!kept.TryTake()) continue;
                _hint = index | int.MinValue;
                return kept;
            }

            lock (_adding)
            {
                if (_ended) throw ServerStopped();
                if (_kept[index] is not null) continue;
                var caller = new Caller(engine) { IsPooled = true };
                caller.TryTake();
                _kept[index] = caller;
                return caller;
            }
        }

        lock (_adding)
        {
            if (_ended) throw ServerStopped();
            var caller = new Caller(engine) { IsPooled = true, Temporary = this };
            _others.Add(caller);
            return caller;
        }
    }
}
