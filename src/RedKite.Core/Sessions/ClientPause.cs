using RedKite.Server.Model;

namespace RedKite.Server.Sessions;

/// <summary>Why the server itself makes commands that write wait.</summary>
[Flags]
internal enum PauseReason
{
    None = 0,

    /// <summary>FAILOVER hands the role over.</summary>
    Handover = 1,

    /// <summary>SHUTDOWN waits for replicas.</summary>
    Shutdown = 2,

    /// <summary>The data is saved for the last time: all commands wait.</summary>
    LastSave = 4,

    /// <summary>Slots are given to another node.</summary>
    SlotMove = 8,
}

/// <summary>
/// CLIENT PAUSE: until a time, commands of all clients wait, or those that write. Callers in the process do not, unless the role is handed over or the data
/// saved for the last time: what they write then would be lost. No key expires or is
/// evicted meanwhile: expired ones are missing for commands, and stay until the pause has ended. Any
/// thread may begin or end a pause: it is one immutable object, replaced as a whole under a lock, together with the server's
/// attention flag. All times are steady ones.
/// </summary>
internal sealed class ClientPause(AttentionWord attention)
{
    private readonly Lock _changing = new();
    private volatile Interval? _current;
    private volatile PauseReason _reasons;

    /// <summary>Commands that write, or all, wait until the same reason ends, whatever clients pause and resume.</summary>
    internal void Hold(PauseReason reason)
    {
        lock (_changing)
        {
            _reasons |= reason;
            Apply();
        }
    }

    /// <summary>Ends a reason. The clients that waited are resumed by the caller.</summary>
    internal void Release(PauseReason reason)
    {
        lock (_changing)
        {
            _reasons &= ~reason;
            Apply();
        }
    }

    /// <summary>Whether the server itself makes commands that write wait.</summary>
    internal bool HoldsForServer => _reasons != PauseReason.None;

    /// <summary>Whether the role is being handed over.</summary>
    internal bool IsHandover => (_reasons & PauseReason.Handover) != 0;

    /// <summary>Whether the data is being saved for the last time, or was: what is written now is lost.</summary>
    internal bool IsLastSave => (_reasons & PauseReason.LastSave) != 0;

    /// <summary>Begins a pause. This never shortens or weakens a pause in progress.</summary>
    internal void Begin(long untilMs, bool writesOnly, long nowMs)
    {
        lock (_changing)
        {
            Set(_current is { } running && running.UntilMs > nowMs
                ? new Interval(Math.Max(untilMs, running.UntilMs), writesOnly && running.WritesOnly)
                : new Interval(untilMs, writesOnly));
        }
    }

    internal void End()
    {
        lock (_changing) Set(null);
    }

    /// <summary>Ends a pause that has timed out, and says whether there is none.</summary>
    internal bool EndIfOver(long nowMs)
    {
        if (_reasons != PauseReason.None) return false;
        if (_current is not { } running) return true;
        if (nowMs < running.UntilMs) return false;
        lock (_changing)
        {
            if (ReferenceEquals(_current, running)) Set(null); // another thread may have begun a new one
        }

        return true;
    }

    /// <summary>Whether this command must wait.</summary>
    /// <param name="cmd">The request.</param>
    /// <param name="command">Its row.</param>
    /// <param name="nowMs">The steady time.</param>
    /// <param name="isOfClient">Whether it comes from a client, or the host; not from a log, or the server itself.</param>
    internal bool TryPause(scoped in CommandContext cmd, Command command, long nowMs, bool isOfClient)
    {
        Session session = cmd.Session;
        if (session.Type == ClientType.Master)
        {
            // As in Redis, a pause is for a replica's primary, too; what the server itself waits for is not.
            if (_current is null || EndIfOver(nowMs) || _current is not { } running || (running.WritesOnly && !MayWrite(session, command))) return false;
        }
        else if ((session.Attention & SessionAttention.ReceivesSlots) != 0 && _current is null && _reasons == PauseReason.SlotMove)
        {
            return false; // two nodes that give each other slots would wait for each other
        }
        else if (!isOfClient || !IsHolding(session, command, nowMs))
        {
            return false;
        }

        if (!HoldsAll(nowMs) && command.OnlyReads?.Invoke(cmd) == true) return false;
        session.IsPaused = true;
        return true;
    }

    /// <summary>Whether a command that has begun must wait before it continues.</summary>
    internal bool IsHolding(Session session, Command command, long nowMs)
    {
        if (EndIfOver(nowMs)) return false;
        if (session.Connection is null) return (_reasons & (PauseReason.Handover | PauseReason.LastSave | PauseReason.SlotMove)) != 0 && MayWrite(session, command);
        if (session.Type == ClientType.Replica && !MayWrite(session, command)) return false; // its acknowledgements may be what others wait for
        if (command.Is(CommandFlags.AllowBusy) && _current is null) return false; // SCRIPT KILL, SHUTDOWN NOSAVE: the last save may wait for a script
        return HoldsAll(nowMs) || MayWrite(session, command);
    }

    private bool HoldsAll(long nowMs) => (_reasons & PauseReason.LastSave) != 0 || (_current is { WritesOnly: false } running && nowMs < running.UntilMs);

    /// <summary>Whether a command, or what EXEC executes, may write or reach replicas. A script may declare that it does not.</summary>
    internal static bool MayWrite(Session session, Command command)
    {
        const CommandFlags Writes = CommandFlags.Write | CommandFlags.MayReplicate | CommandFlags.PausedAsWrite;
        return command.Is(Writes) || (command.RunsQueued && session.Transaction is { } transaction && (transaction.Flags & Writes) != 0);
    }

    /// <summary>How many clients wait for the end of the pause.</summary>
    internal int Paused(ClientRegistry clients) => _current is null && _reasons == PauseReason.None ? 0 : clients.All.Count(session => session.IsPaused);

    private void Set(Interval? interval)
    {
        _current = interval;
        Apply();
    }

    private void Apply() => attention.Set(ServerAttention.Paused, _current is not null || _reasons != PauseReason.None);

    private sealed record Interval(long UntilMs, bool WritesOnly);
}
