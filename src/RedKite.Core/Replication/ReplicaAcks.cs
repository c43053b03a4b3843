using RedKite.Server.Model;

namespace RedKite.Server.Replication;

/// <summary>Replies that wait for replicas on one loop. From any thread, a moment old.</summary>
internal interface IWaitingReplies
{
    /// <summary>How many there are.</summary>
    long Replies { get; }

    /// <summary>Since when the oldest waits, by the steady clock; 0: none does.</summary>
    long OldestMs { get; }

    /// <summary>The waits that have ended, and how long they took together, in microseconds: replies that a client is sent at once are one.</summary>
    (long Count, long Microseconds) Waits { get; }

    /// <summary>The lowest offset for which a reply waits; 0: none.</summary>
    long Awaited { get; }

    /// <summary>Has the loop look at its replies. Perhaps with stripes locked.</summary>
    void ReleaseSoon();
}

/// <summary>Asks replicas to acknowledge.</summary>
internal interface IAckAsker
{
    /// <summary>Asks for an offset, unless they are asked already. From any thread that has no stripe locked.</summary>
    void AskForAck(long offset);
}

/// <summary>Replies that wait for replicas, and those that have waited.</summary>
/// <param name="Replies">How many wait, callers in the process included.</param>
/// <param name="OldestMs">For how long the oldest has waited; 0: none does.</param>
/// <param name="Waits">Waits that have ended.</param>
/// <param name="Microseconds">How long they took together.</param>
/// <param name="Failed">Replies that became the error NOREPLICAS.</param>
/// <param name="Position">The offset that enough replicas have acknowledged; -1: nothing waits.</param>
internal readonly record struct AckFigures(long Replies, long OldestMs, long Waits, long Microseconds, long Failed, long Position);

/// <summary>
/// The offset that enough replicas have acknowledged, as those see it whose replies wait for it: with replica-acks, a reply to a command that wrote
/// leaves when that many replicas have its offset. From any thread.
/// </summary>
/// <remarks>
/// A waiter first publishes what it waits for (<see cref="IWaitingReplies.Awaited"/>) and then reads the position once more; an acknowledgement first sets the
/// position and then looks for waiters. So at least one of the two sees the other.
/// </remarks>
internal sealed class ReplicaAcks
{
    internal static ReadOnlySpan<byte> TimeoutError => "-NOREPLICAS The write was executed, but too few replicas have acknowledged it within replica-acks-timeout: a failover may lose it\r\n"u8;

    private const int WaitMs = 100; // the timeout may change meanwhile

    private static readonly byte[] RoleError = "-NOREPLICAS The write was executed, but this server became a replica before enough replicas had acknowledged it: it may be lost\r\n"u8.ToArray();
    private static readonly byte[] StopError = "-NOREPLICAS The write was executed, but the server stops before enough replicas have acknowledged it: a failover may lose it\r\n"u8.ToArray();

    private readonly Lock _lock = new();
    private readonly object _waiting = new(); // a monitor: callers in the process wait on it
    private volatile IWaitingReplies[] _loops = [];
    private volatile IAckAsker? _asker;
    private TaskCompletionSource? _next; // completes when something has changed; null: no task waits for it
    private volatile AckTerm? _term;
    private volatile int _replicas;
    private long _asked = -1;
    private long _failedReplies;
    private int _callers;
    private long _callersWaits;
    private long _callersMicroseconds;

    /// <summary>The term of now; null: no reply waits. One that was lost stays until nothing more can have been written in it.</summary>
    internal AckTerm? Term => _term;

    /// <summary>How many replicas must acknowledge.</summary>
    internal int Replicas => _replicas;

    /// <summary>The offset for which replicas were asked last; -1: for none.</summary>
    internal long Asked => Volatile.Read(ref _asked);

    /// <summary>Replies that became an error so far.</summary>
    internal long FailedReplies => Interlocked.Read(ref _failedReplies);

    /// <summary>Callers in the process that wait.</summary>
    internal int WaitingCallers => Volatile.Read(ref _callers);

    /// <summary>Adds a loop to the figures.</summary>
    internal void Add(IWaitingReplies loop)
    {
        lock (_lock) _loops = [.. _loops, loop];
    }

    /// <summary>The figures of now. From any thread.</summary>
    internal AckFigures Figures(long steadyMs)
    {
        long replies = WaitingCallers, oldestMs = 0, failed = FailedReplies;
        long waits = Interlocked.Read(ref _callersWaits), microseconds = Interlocked.Read(ref _callersMicroseconds);
        foreach (IWaitingReplies loop in _loops)
        {
            replies += loop.Replies;
            if (loop.OldestMs is > 0 and long since) oldestMs = Math.Max(oldestMs, steadyMs - since);
            (long ended, long took) = loop.Waits;
            waits += ended;
            microseconds += took;
        }

        return new AckFigures(replies, oldestMs, waits, microseconds, failed, _term?.Position ?? -1);
    }

    /// <summary>Asks replicas to acknowledge an offset, unless they are asked already.</summary>
    internal void Ask(long offset) => _asker?.AskForAck(offset);

    /// <summary>Names what asks, once.</summary>
    internal void Use(IAckAsker asker) => _asker = asker;

    /// <summary>Begins to wait, or goes on with another number of replicas. The server is a primary and its stream is kept.</summary>
    internal void Begin(int replicas)
    {
        lock (_lock)
        {
            _replicas = replicas;
            if (_term is not { IsOpen: true }) _term = new AckTerm();
        }
    }

    /// <summary>Ends the wait: replies leave. The setting is 0.</summary>
    /// <param name="isPrimary">Whether the server is a primary, whose commands are in no term that was lost.</param>
    internal void LetGo(bool isPrimary)
    {
        lock (_lock)
        {
            _replicas = 0;
            if (_term is not { IsOpen: true } term)
            {
                if (isPrimary) _term = null;
                return;
            }

            term.EndByLettingGo();
            _term = null;
        }

        NoteChange();
    }

    /// <summary>The server is no primary any more: replies that wait fail, and so do those of commands that still execute.</summary>
    internal void Lose() => End(RoleError);

    /// <summary>The server stops.</summary>
    internal void Stop() => End(StopError);

    /// <summary>All commands have ended that had begun before the term was lost. The server is a replica, whose clients' writes are in no stream.</summary>
    internal void Retire()
    {
        lock (_lock)
        {
            if (_term is { IsOpen: false }) _term = null;
        }
    }

    /// <summary>Enough replicas have acknowledged an offset.</summary>
    /// <param name="term">The term to which the offset belongs.</param>
    /// <param name="position">The offset; if the number of replicas has grown, it may be lower than before.</param>
    internal void Advance(AckTerm term, long position)
    {
        lock (_lock)
        {
            if (!term.IsOpen || position == term.Position) return;
            term.Advance(position);
        }

        NoteChange();
    }

    /// <summary>Replicas are asked for an offset; -1: they will be asked anew.</summary>
    internal void NoteAsked(long offset) => Volatile.Write(ref _asked, offset);

    internal void NoteFailed(int replies) => Interlocked.Add(ref _failedReplies, replies);

    /// <summary>Waits until enough replicas have acknowledged what a caller in the process has written.</summary>
    /// <param name="term">The term in which it was written.</param>
    /// <param name="offset">Its offset.</param>
    /// <param name="timeoutMs">The setting.</param>
    /// <returns>The error's line; empty: they have.</returns>
    internal ReadOnlySpan<byte> Wait(AckTerm term, long offset, Func<long> timeoutMs)
    {
        long begun = Environment.TickCount64;
        if (term.IsOpen) Ask(offset); // another term's offsets are of another history
        Interlocked.Increment(ref _callers);
        try
        {
            lock (_waiting)
            {
                while (true)
                {
                    switch (term.StateOf(offset))
                    {
                        case AckState.Leaves: return [];
                        case AckState.Fails: return Failed(term.Error);
                    }

                    long rest = RestMs(timeoutMs(), begun);
                    if (rest <= 0) return Failed(TimeoutError);
                    Monitor.Wait(_waiting, (int)Math.Min(rest, WaitMs));
                }
            }
        }
        finally
        {
            NoteCaller(begun);
        }
    }

    /// <summary>As <see cref="Wait"/>, without a thread that waits.</summary>
    internal async ValueTask<ReadOnlyMemory<byte>> WhenAckedAsync(AckTerm term, long offset, Func<long> timeoutMs)
    {
        long begun = Environment.TickCount64;
        if (term.IsOpen) Ask(offset); // another term's offsets are of another history
        Interlocked.Increment(ref _callers);
        try
        {
            while (true)
            {
                TaskCompletionSource next = Volatile.Read(ref _next) ?? NewSignal();
                switch (term.StateOf(offset))
                {
                    case AckState.Leaves: return default;
                    case AckState.Fails: return Failed(term.Error).ToArray();
                }

                long rest = RestMs(timeoutMs(), begun);
                if (rest <= 0) return Failed(TimeoutError).ToArray();
                await Task.WhenAny(next.Task, Task.Delay((int)Math.Min(rest, WaitMs))).ConfigureAwait(false);
            }
        }
        finally
        {
            NoteCaller(begun);
        }
    }

    private void NoteCaller(long begun)
    {
        Interlocked.Decrement(ref _callers);
        Interlocked.Increment(ref _callersWaits);
        Interlocked.Add(ref _callersMicroseconds, (Environment.TickCount64 - begun) * 1000);
    }

    private static long RestMs(long timeoutMs, long begun) => timeoutMs == 0 ? long.MaxValue : timeoutMs - (Environment.TickCount64 - begun);

    private ReadOnlySpan<byte> Failed(ReadOnlySpan<byte> error)
    {
        NoteFailed(1);
        return error;
    }

    private void End(byte[] error)
    {
        lock (_lock)
        {
            if (_term is not { IsOpen: true } term) return;
            term.EndByLosing(error);
        }

        NoteChange();
    }

    private void NoteChange()
    {
        Interlocked.MemoryBarrier(); // the position, and then those that wait
        lock (_waiting) Monitor.PulseAll(_waiting);
        Interlocked.Exchange(ref _next, null)?.TrySetResult();
        foreach (IWaitingReplies loop in _loops)
        {
            if (loop.Awaited > 0) loop.ReleaseSoon();
        }
    }

    private TaskCompletionSource NewSignal()
    {
        var signal = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        return Interlocked.CompareExchange(ref _next, signal, null) ?? signal;
    }
}
