using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Decides whether a command waits at the <see cref="WriteGate"/> before it begins, in one executor. A script waits for the keys that
/// it declares; one that changes another key while a snapshot writes it makes the snapshot complete it.
/// </summary>
internal sealed class HeldWrites(Engine engine, CommandEnvironment environment, ReplyWriter reply)
{
    private const KeyFlags ChangesInPlace = KeyFlags.ReadWrite;

    private readonly Keyspace _keyspace = engine.Keyspace;
    private readonly WriteGate _gate = engine.WriteGate;

    /// <summary>Holds a client whose command must wait. No stripe is locked.</summary>
    /// <returns>Whether it must: it has executed nothing.</returns>
    internal bool Holds(scoped in CommandContext cmd, Command command)
    {
        if (!_gate.Waits && _gate.KeyRule is null) return false;
        if (!ClientPause.MayWrite(cmd.Session, command) || command.OnlyReads?.Invoke(cmd) == true) return false;
        if (!_gate.Waits && !HasHeldKey(cmd, command)) return false;
        cmd.Session.IsPaused = true;
        return true;
    }

    /// <summary>Holds a client whose command of the batch's short path must wait for its key. The key's stripe is locked.</summary>
    internal bool HoldsShort(Session session, Command command, ulong hash)
    {
        if (!command.Is(CommandFlags.Write) || _gate.KeyRule?.Invoke(_keyspace.Databases[session.DatabaseIndex], hash) != false) return false;
        session.IsPaused = true;
        return true;
    }

    private bool HasHeldKey(scoped in CommandContext cmd, Command command)
    {
        if (!command.RunsQueued) return NamesHeldKey(cmd, command);
        foreach (SavedRequest request in cmd.Session.Transaction?.Commands ?? [])
        {
            var queued = new CommandContext(environment, cmd.Session, request.Input, reply, request.DatabaseIndex);
            queued.Begin(request.Command, request.Arguments, request.FirstKeyHash);
            if (NamesHeldKey(queued, request.Command)) return true;
        }

        return false;
    }

    // One stripe at a time. A snapshot that takes up a key behind this look completes it when the command changes it.
    private bool NamesHeldKey(scoped in CommandContext cmd, Command command)
    {
        if (!command.Is(CommandFlags.Write | CommandFlags.RunsScript)) return false;
        var keys = new KeyExtraction(command);
        while (keys.MoveNext(cmd))
        {
            if ((keys.FlagsOf(cmd) & ChangesInPlace) == 0) continue;
            ulong hash = _keyspace.Hash(cmd[keys.Argument]);
            Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(hash)];
            stripe.Enter();
            bool isHeld = _gate.KeyRule?.Invoke(cmd.Database, hash) == false;
            stripe.Exit();
            if (isHeld) return true;
        }

        return false;
    }
}
