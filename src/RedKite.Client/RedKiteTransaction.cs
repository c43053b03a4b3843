using System.Diagnostics;
using RedKite.Server.Client;
using RedKite.Server.Diagnostics.Export;

namespace RedKite;

/// <summary>
/// Commands that are executed without any other in between, and all of them or none. If watched keys have changed since <see cref="Watch"/>, none is. One thread at a
/// time. It is executed once; create another one for the next attempt. Dispose it if it watches keys and is not executed.
/// </summary>
public sealed class RedKiteTransaction : RedKiteQueue, IDisposable
{
    private readonly Server.Model.Session _session;
    private bool _wasExecuted;

    internal RedKiteTransaction(ClientParts parts, int database)
        : base(parts, database)
    {
        _session = parts.Engine.Clients.AddCaller(parts.Engine.Clock.SteadyMs, parts.Engine.Users.InProcess);
        _session.DatabaseIndex = database;
    }

    /// <summary>From now on, changes of these keys make <see cref="Execute"/> return false. Read them afterwards. WATCH.</summary>
    public void Watch(params ReadOnlySpan<string> keys)
    {
        ThrowIfExecuted();
        if (keys.IsEmpty) return;
        Caller caller = Parts.Callers.Take(Database);
        try
        {
            ClientCall.Begin(caller, "WATCH"u8).Add(keys);
            caller.ExecuteForWithSpan(_session);
            RedKiteReply.Parse(caller.Reply).OrThrow();
        }
        finally
        {
            caller.End();
        }
    }

    /// <summary>Executes what was queued, and watches nothing more. MULTI, EXEC.</summary>
    /// <returns>False: a watched key has changed, and nothing was executed.</returns>
    /// <exception cref="InvalidOperationException">It was executed before.</exception>
    /// <exception cref="RedKiteException">A command was refused when it was queued, for an unknown name or a wrong number of arguments: nothing was executed.</exception>
    public bool Execute()
    {
        ThrowIfExecuted();
        _wasExecuted = true;
        Caller caller = Parts.Callers.Take(Database);
        using Activity? span = caller.MakesSpans ? CommandSpans.Begin(CommandSpans.Multi, Parts.Engine.Commands, Requests, Database) : null;
        try
        {
            List<RedKiteReply> replies = caller.RunAll(_session, [.. "MULTI\r\n"u8, .. Requests, .. "EXEC\r\n"u8]);
            RedKiteReply executed = replies[^1];
            IReadOnlyList<RedKiteQueued> queued = [.. Queued];
            Clear();
            NoteFirstError(span, executed.IsError ? replies : executed.Items);
            if (executed.IsError)
            {
                bool wasExecuted = executed.Text!.StartsWith("NOREPLICAS ", StringComparison.Ordinal) && !replies.Take(replies.Count - 1).Any(static reply => reply.IsError); // min-replicas-to-write refuses a queued command
                Refuse(queued, wasExecuted ? "The transaction was executed, but too few replicas have acknowledged it (replica-acks)." : "The transaction was refused, so the command was not executed.");
                throw (replies.Find(static reply => reply.IsError) ?? executed).ToException();
            }

            if (executed.IsNull)
            {
                Refuse(queued, "A watched key has changed, so the transaction did not execute the command.");
                return false;
            }

            for (int i = 0; i < executed.Items.Count; i++) queued[i].Reply = executed.Items[i];
            return true;
        }
        finally
        {
            caller.End();
        }
    }

    /// <summary>Watches nothing more.</summary>
    public void Dispose() => Parts.Engine.Watched.Closed(_session);

    private protected override void ThrowIfExecuted()
    {
        if (_wasExecuted) throw new InvalidOperationException("The transaction was executed already: create another one.");
    }

    private static void Refuse(IReadOnlyList<RedKiteQueued> queued, string reason)
    {
        foreach (RedKiteQueued command in queued) command.Refuse(reason);
    }
}
