using RedKite.Net;
using RedKite.Server.Durability;

namespace RedKite.Server.Loops;

/// <summary>
/// One loop's gate for output that must wait for the append-only file. When the log fails, the clients whose output waits are closed: they
/// must not take for granted what is not on the disk. What was executed up to then is not waited for any more, so that reads go on.
/// </summary>
/// <remarks>On the loop's thread.</remarks>
internal sealed class LoopGate(EventLoop loop)
{
    private AppendOnlyLog? _log;
    private long _abandoned; // up to here nothing is waited for

    /// <summary>Makes output wait for a log; null: no longer.</summary>
    internal void Use(AppendOnlyLog? log)
    {
        _log = log;
        _abandoned = 0;
        loop.SetOutputGate(log is null ? null : AwaitedPosition, log is null ? null : log.Writer.Ask);
    }

    /// <summary>Closes the clients whose output waits, and does not wait for anything up to a position.</summary>
    internal void Abandon(AppendOnlyLog log, long position)
    {
        if (_log != log) return;
        loop.CloseAwaiting();
        _abandoned = position;
    }

    /// <summary>At the end of a turn that holds no output: asks for the sync of what was executed without a reply.</summary>
    internal void EndTurn()
    {
        if (_log is { } log && !loop.HasHeldOutput && AwaitedPosition() is > 0 and long position) log.Writer.Ask(position);
    }

    private long AwaitedPosition()
    {
        long position = _log!.AwaitedPosition();
        return position <= _abandoned ? 0 : position;
    }
}
