using System.Diagnostics;
using RedKite.Server.Client;
using RedKite.Server.Diagnostics.Export;

namespace RedKite;

/// <summary>
/// Commands that are executed one after the other in one call: their keys are prefetched together, and the commands of other clients may come in between. One
/// thread at a time; it can be used again after <see cref="Execute"/>.
/// </summary>
public sealed class RedKiteBatch : RedKiteQueue
{
    internal RedKiteBatch(ClientParts parts, int database)
        : base(parts, database)
    {
    }

    /// <summary>Executes what was queued. A blocking command keeps the calling thread.</summary>
    /// <exception cref="InvalidOperationException">A command among them changes a connection's state (SELECT, MULTI, ...): it has had no effect on others.</exception>
    public void Execute()
    {
        if (Count == 0) return;
        Caller caller = Parts.Callers.Take(Database);
        using Activity? span = caller.MakesSpans ? CommandSpans.Begin(CommandSpans.Pipeline, Parts.Engine.Commands, Requests, Database) : null;
        try
        {
            List<RedKiteReply> replies = caller.RunAll(caller.Session, Requests);
            NoteFirstError(span, replies);
            for (int i = 0; i < Math.Min(replies.Count, Count); i++) Queued[i].Reply = replies[i];
            Clear();
            if (caller.ForgetState(Database)) throw new InvalidOperationException("A batch must not change a connection's state, by SELECT, MULTI, WATCH or the like: use a transaction or a session.");
        }
        finally
        {
            caller.End();
        }
    }
}
