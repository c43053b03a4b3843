using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Transactions;

/// <summary>MULTI, EXEC, DISCARD, WATCH and UNWATCH. The invoker queues a client's commands after MULTI.</summary>
internal sealed class TransactionCommands(WatchedKeys watched, TransactionFigures figures)
{
    internal CommandFamily Family => new("transactions", "transaction",
    [
        new("DISCARD", 1, NoScript | Loading | Stale | Fast | AllowBusy | NotQueued, KeySpecs.None, Discard, new("2.0.0", "O(N), when N is the number of queued commands", "Ends a transaction without executing its commands.")) { UsesStripes = WatchedStripes },
        new("EXEC", 1, NoScript | Loading | Stale | SkipSlowLog | NotQueued, KeySpecs.None, Exec, new("1.2.0", "Depends on commands in the transaction", "Executes the commands of a transaction.")) { UsesStripes = TransactionStripes, RunsQueued = true },
        new("MULTI", 1, NoScript | Loading | Stale | Fast | AllowBusy | NotQueued, KeySpecs.None, Multi, new("1.2.0", "O(1)", "Begins a transaction: commands are queued until EXEC.")) { BeginsUnit = true },
        new("UNWATCH", 1, NoScript | Loading | Stale | Fast | AllowBusy, KeySpecs.None, Unwatch, new("2.2.0", "O(1)", "Watches no key any more.")) { UsesStripes = WatchedStripes },
        new("WATCH", -2, NoScript | Loading | Stale | Fast | AllowBusy | NotQueued, KeySpecs.Range(1, -1, 1, KeyFlags.ReadOnly), Watch, new("2.2.0", "O(1) for every key.", "Makes EXEC refuse if one of the keys changes until then.", "key [key ...]")),
    ]);

    // MULTI
    private static void Multi(ref CommandContext cmd)
    {
        if (cmd.Session.Transaction is not null)
        {
            cmd.Reply.Error("ERR MULTI calls can not be nested"u8);
            return;
        }

        cmd.Session.Transaction = new Transaction();
        cmd.Reply.Ok();
    }

    // EXEC
    private void Exec(ref CommandContext cmd)
    {
        Session session = cmd.Session;
        if (session.Transaction is not { } transaction)
        {
            cmd.Reply.Error("ERR EXEC without MULTI"u8);
            return;
        }

        bool changed = HasChanged(cmd);
        watched.Forget(session.Watch);
        if (transaction.IsAborted)
        {
            figures.NoteRefused();
            cmd.Reply.Error("EXECABORT Transaction discarded because of previous errors."u8);
        }
        else if (changed)
        {
            figures.NoteRefused();
            cmd.Reply.NullArray();
        }
        else
        {
            figures.NoteExecuted(transaction.Count);
            cmd.Reply.Array(transaction.Count);
            ExecuteQueued(ref cmd, transaction);
        }

        session.Transaction = null;
    }

    // Executes the commands that the client has queued, one after the other; each adds its reply.
    private static void ExecuteQueued(ref CommandContext cmd, Transaction transaction)
    {
        INestedExecutor nested = cmd.Environment.Nested;
        nested.BeginUnit();
        foreach (QueuedCommand request in transaction.Commands) nested.RunQueued(cmd.Session, request, cmd.Reply);
        nested.EndUnit();
        cmd.Select(cmd.Session.DatabaseIndex); // SELECT may have been among them
    }

    // DISCARD
    private void Discard(ref CommandContext cmd)
    {
        if (cmd.Session.Transaction is null)
        {
            cmd.Reply.Error("ERR DISCARD without MULTI"u8);
            return;
        }

        watched.Forget(cmd.Session.Watch);
        cmd.Session.Transaction = null;
        cmd.Reply.Ok();
    }

    // WATCH key [key ...]
    private void Watch(ref CommandContext cmd)
    {
        if (cmd.Session.Transaction is not null)
        {
            cmd.Reply.Error("ERR WATCH inside MULTI is not allowed"u8);
            return;
        }

        // The transaction would fail in any case.
        if (cmd.Session.Watch is not { IsDirty: true })
        {
            if ((cmd.Session.Watch?.Keys.Count ?? 0) + cmd.Count - 1 > cmd.Settings.WatchedKeysMax)
            {
                cmd.ReplyOverLimit(Limit.KeysWatched, "ERR too many watched keys, see max-watched-keys");
                return;
            }

            if (!cmd.IsStateWithinLimitOrReply(cmd.Arguments.Bytes, cmd.Count - 1)) return;
            for (int i = 1; i < cmd.Count; i++) watched.Watch(cmd, i);
        }

        cmd.Reply.Ok();
    }

    // UNWATCH
    private void Unwatch(ref CommandContext cmd)
    {
        watched.Forget(cmd.Session.Watch);
        cmd.Reply.Ok();
    }

    // Whether a watched key has changed, or has expired without having been looked at.
    private static bool HasChanged(scoped in CommandContext cmd)
    {
        if (cmd.Session.Watch is not { } watch) return false;
        if (watch.IsDirty) return true;
        foreach (WatchedKey key in watch.Keys)
        {
            if (key.Existed && !cmd.Keyspace.Databases[key.Identity.Database].Find(key.Name, key.Identity.Hash, cmd.Expiry).Exists) return true;
        }

        return false;
    }

    /// <summary>The stripes of the keys that the client watches, for commands that end its watches.</summary>
    internal static StripeSet WatchedStripes(scoped in CommandContext cmd) => cmd.Session.Watch?.Stripes ?? default;

    private static StripeSet TransactionStripes(scoped in CommandContext cmd) =>
        WatchedStripes(cmd).With(cmd.Session.Transaction is { IsAborted: false } transaction ? transaction.Stripes : default);
}
