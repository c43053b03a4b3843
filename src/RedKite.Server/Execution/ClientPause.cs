using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>
/// CLIENT PAUSE: until a time, commands of all clients wait, or those that write. Callers in the process do not. Any
/// thread may begin or end a pause: it is one immutable object, exchanged whole.
/// </summary>
internal sealed class ClientPause
{
    private volatile Interval? _current;

    /// <summary>Whether commands may have to wait: one read on the short path.</summary>
    internal bool IsActive => _current is not null;

    /// <summary>Whether only commands that write wait.</summary>
    internal bool WritesOnly => _current is { WritesOnly: true };

    /// <summary>Begins a pause. One that runs never gets shorter or weaker by it.</summary>
    internal void Begin(long untilMs, bool writesOnly, long nowMs)
    {
        Interval? running;
        Interval next;
        do
        {
            running = _current;
            next = running is not null && running.UntilMs > nowMs
                ? new Interval(Math.Max(untilMs, running.UntilMs), writesOnly && running.WritesOnly)
                : new Interval(untilMs, writesOnly);
        }
        while (Interlocked.CompareExchange(ref _current, next, running) != running);
    }

    internal void End() => _current = null;

    /// <summary>Whether there is no pause; ends one whose time is over.</summary>
    internal bool HasEnded(long nowMs)
    {
        Interval? running = _current;
        if (running is not null && nowMs < running.UntilMs) return false;

        // Only this one: another thread may have begun a new one.
        if (running is not null) Interlocked.CompareExchange(ref _current, null, running);
        return true;
    }

    /// <summary>Whether this command must wait.</summary>
    internal bool Holds(Session session, Command command, long nowMs)
    {
        if (_current is not { } running || session.Connection is null || HasEnded(nowMs)) return false;
        if (running.WritesOnly && !command.Is(CommandFlags.Write | CommandFlags.MayReplicate)) return false;
        session.IsPaused = true;
        return true;
    }

    private sealed record Interval(long UntilMs, bool WritesOnly);
}
