using RedKite.Server.Commands;
using RedKite.Server.Sessions;

namespace RedKite.Server.Execution;

/// <summary>CLIENT PAUSE: until a time, commands of all clients wait, or those that write.</summary>
internal sealed class ClientPause
{
    private long _untilMs;
    private volatile bool _active;

    /// <summary>Whether commands may have to wait: one read on the short path.</summary>
    internal bool IsActive => _active;

    internal bool WritesOnly { get; private set; }

    internal void Begin(long untilMs, bool writesOnly, long nowMs)
    {
        bool running = IsActive && Volatile.Read(ref _untilMs) > nowMs;

        // A pause never gets shorter or weaker by another one.
        WritesOnly = running ? WritesOnly && writesOnly : writesOnly;
        Volatile.Write(ref _untilMs, running ? Math.Max(untilMs, Volatile.Read(ref _untilMs)) : untilMs);
        _active = true;
    }

    internal void End() => _active = false;

    /// <summary>Ends the pause when its time is over.</summary>
    internal bool HasEnded(long nowMs)
    {
        if (_active && nowMs >= Volatile.Read(ref _untilMs)) _active = false;
        return !_active;
    }

    /// <summary>Whether a client may not execute anything now.</summary>
    internal bool HoldsEverything(Session session, long nowMs)
    {
        if (!_active || session.Connection is null || WritesOnly || HasEnded(nowMs)) return false;
        session.IsPaused = true;
        return true;
    }

    /// <summary>Whether this command must wait.</summary>
    internal bool Holds(Session session, Command command, long nowMs)
    {
        if (!_active || session.Connection is null || HasEnded(nowMs)) return false;
        if (WritesOnly && !command.Is(CommandFlags.Write | CommandFlags.MayReplicate)) return false;
        session.IsPaused = true;
        return true;
    }
}
