using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Decides whether a command waits at the <see cref="WriteGate"/> before it begins, in one executor. A script waits for the keys that
/// it declares; one that changes another key while a snapshot writes it makes the snapshot complete it.
/// </summary>
internal sealed class PausedWrites(ExecutorCore core)
{
    private readonly Keyspace _keyspace = core.Keyspace;
    private readonly WriteGate _gate = core.Engine.WriteGate;
    private KeyWriteRule? _rule; // at the last look

    /// <summary>Holds a client whose command must wait. No stripe is locked.</summary>
    /// <returns>Whether it must: it has executed nothing.</returns>
    internal bool TryPause(scoped in CommandContext cmd, Command command)
    {
        _rule = _gate.KeyRule;
        if (!_gate.Waits && _rule is null) return false;
        if (!ClientPause.MayWrite(cmd.Session, command) || command.OnlyReads?.Invoke(cmd) == true) return false;
        if (!_gate.Waits && !HasPausedKey(cmd, command, isLocked: false)) return false;
        cmd.Session.IsPaused = true;
        return true;
    }

    /// <summary>
    /// Looks once more at a command whose stripes are locked now, if a snapshot has begun since <see cref="TryPause"/>: otherwise the command
    /// would have to complete a large value.
    /// </summary>
    internal bool TryPauseSinceSnapshotPoint(scoped in CommandContext cmd, Command command)
    {
        if (ReferenceEquals(_gate.KeyRule, _rule) || command.OnlyReads?.Invoke(cmd) == true || !HasPausedKey(cmd, command, isLocked: true)) return false;
        cmd.Session.IsPaused = true;
        return true;
    }

    /// <summary>Holds a client whose command of the batch's short path must wait for its key. The key's stripe is locked.</summary>
    internal bool TryPauseShort(scoped in CommandContext cmd, Command command, ulong hash)
    {
        if (!command.Is(CommandFlags.Write)) return false;
        var keys = new KeyExtraction(command);
        if (!keys.MoveNext(cmd) || !ChangesInPlace(command, keys.FlagsOf(cmd)) || _gate.KeyRule?.Invoke(cmd.Database, hash) != false) return false;
        cmd.Session.IsPaused = true;
        return true;
    }

    private bool HasPausedKey(scoped in CommandContext cmd, Command command, bool isLocked)
    {
        if (!command.RunsQueued) return NamesPausedKey(cmd, command, isLocked);
        if (cmd.Session.Transaction is not { } transaction) return false;
        foreach (QueuedCommand request in transaction.Commands)
        {
            var queued = new CommandContext(core.Environment, cmd.Session, request.Input, core.Reply, request.DatabaseIndex);
            queued.Begin(request.Command, request.Arguments, request.FirstKeyHash);
            if (NamesPausedKey(queued, request.Command, isLocked)) return true;
        }

        return false;
    }

    // One stripe at a time, unless they are locked.
    private bool NamesPausedKey(scoped in CommandContext cmd, Command command, bool isLocked)
    {
        if (!command.Is(CommandFlags.Write | CommandFlags.RunsScript)) return false;
        var keys = new KeyExtraction(command);
        while (keys.MoveNext(cmd))
        {
            if (!ChangesInPlace(command, keys.FlagsOf(cmd))) continue;
            ulong hash = _keyspace.Hash(cmd[keys.Argument]);
            Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(hash)];
            if (!isLocked && !stripe.EnterOrGiveWay(core.Environment.GivesUpWaiting))
            {
                // A script is busy. The command is refused at this stripe, or looks again when it has locked it.
                _rule = null;
                return false;
            }

            bool isPaused = _gate.KeyRule?.Invoke(cmd.Database, hash) == false;
            if (!isLocked) stripe.Exit();
            if (isPaused) return true;
        }

        return false;
    }

    // Not what is only read, and not what is replaced or removed: that belongs to the snapshot then. A command that writes and names only keys
    // to read changes those: XREADGROUP.
    private static bool ChangesInPlace(Command command, KeyFlags flags) =>
        (flags & KeyFlags.ReadWrite) != 0 || (command.Is(CommandFlags.Write) && command.Keys is [{ Flags: var only }] && (only & KeyFlags.ReadOnly) != 0);
}
