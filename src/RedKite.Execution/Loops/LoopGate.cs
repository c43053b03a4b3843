using RedKite.Net;
using RedKite.Server.Durability;

namespace RedKite.Server.Loops;

/// <summary>
/// One loop's gate for output that must wait for the append-only file. When the log fails, the clients whose output waits are closed: they
/// must not take for granted what is not on the disk. From then on nothing is waited for until the log works again, so that reads go on.
/// </summary>
/// <remarks>On the loop's thread.</remarks>
internal sealed class LoopGate(EventLoop loop)
{
    private ISyncedLog? _log;
    private long _abandoned; // the failure of the log whose clients are closed; 0: none

    /// <summary>Makes output wait for a log; null: no longer.</summary>
    internal void Use(ISyncedLog? log)
    {
        _log = log;
        _abandoned = log?.Refusing ?? 0;
        loop.SetOutputGate(log is null ? null : AwaitedPosition, log is null ? null : log.Ask);
    }

    /// <summary>Closes the clients whose output waits, and does not wait for anything while the log fails.</summary>
    /// <param name="log">The log.</param>
    /// <param name="failure">Its <see cref="ISyncedLog.Refusing"/>.</param>
    internal void Abandon(ISyncedLog log, long failure)
    {
        if (_log != log) return;
        loop.CloseAwaiting();
        _abandoned = failure;
    }

    /// <summary>At the end of an iteration that holds no output: asks for the sync of what was executed without a reply.</summary>
    internal void EndIteration()
    {
        if (_log is { } log && !loop.HasGatedOutput && AwaitedPosition() is > 0 and long position) log.Ask(position);
    }

    private long AwaitedPosition()
    {
        long refusing = _log!.Refusing;
        return refusing != 0 && refusing == _abandoned ? 0 : _log.AwaitedPosition();
    }
}
