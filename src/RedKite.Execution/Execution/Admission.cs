using RedKite.Scripting;
using RedKite.Server.Acl;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Execution;

/// <summary>
/// Decides whether a command whose row and arity are known may execute, in one executor: by its client's permissions, the state of the server, its
/// role, and its memory. All callers ask here: requests, in process or not (<see cref="AdmitsOrReply"/>), EXEC for what was queued
/// (<see cref="AdmitsQueuedOrReply"/>), blocked clients (<see cref="IsPermittedOrReply"/>), scripts and hosts' commands for themselves
/// (<see cref="RefusalOfScript"/>) and for what they call (<see cref="RefusalOfCall"/>). The order of the rules is Redis's. What makes a command
/// wait comes after all of them: <see cref="ClientPause"/>, <see cref="PausedWrites"/>.
/// </summary>
internal sealed class Admission(ExecutorCore core, CommandAccount account) : IAdmission
{
    internal const string LastSave = "ERR The server is saving its data for the last time and will stop.";
    internal const string ReadOnlyReplica = "READONLY You can't write against a read only replica.";
    private const string IsLoading = "LOADING Redis is loading the dataset in memory";
    private const string OutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";

    private readonly Engine _engine = core.Engine;
    private readonly CommandEnvironment _environment = core.Environment;
    private readonly SlotCheck _slots = new(core, account);

    // The primary's stream may do everything.
    private bool IsReadOnly => _engine.Replication.IsReplica && _engine.Settings.ReplicaReadOnly && !core.IsTrusted;

    private bool RefusesStale => _engine.RefusesStale && !core.IsTrusted;

    public string? WriteRefusal => core.Origin == CommandOrigin.Primary ? null : _engine.WriteGate.NestedRefusal;

    /// <summary>Whether a request may execute or be queued; otherwise replies why not, and counts it.</summary>
    /// <param name="cmd">The request.</param>
    /// <param name="command">Its row.</param>
    /// <param name="isOutOfMemory">Whether memory is over its limit and nothing can be evicted.</param>
    internal bool AdmitsOrReply(ref CommandContext cmd, Command command, bool isOutOfMemory)
    {
        if (core.Origin == CommandOrigin.Primary)
        {
            cmd.Resolve(command);
            return IsQueued(cmd, command) || KeepsRoleOrReply(cmd);
        }

        string? refusal = RefusalOfConnection(cmd, command);
        if (refusal is null && _engine.RequiresLogin(cmd.Session) && !command.Is(CommandFlags.NoAuth))
        {
            RejectUnauthenticated(cmd, command);
            return false;
        }

        if (refusal is null)
        {
            cmd.Resolve(command);
            if (!IsPermittedOrReply(cmd)) return false;
            if (_slots.Refusal(cmd, command) is { } elsewhere) return RejectElsewhere(cmd, command, elsewhere);
            refusal = RefusalOfServer(cmd, command) ?? RefusalOfData(cmd, command, isOutOfMemory) ?? RefusalOfHost(cmd, command) ?? RefusalOfState(cmd, command);
        }

        if (refusal is null) return core.Origin == CommandOrigin.Client || KeepsRoleOrReply(cmd);
        account.Reject(command, cmd.Reply, refusal);
        return false;
    }

    /// <summary>Whether the command that was admitted just now waits, because its slot, or this node's role, is about to be another node's.</summary>
    internal bool TryPauseForMove(scoped in CommandContext cmd)
    {
        if (!_slots.Waits) return false;
        cmd.Session.IsPaused = true;
        return true;
    }

    /// <summary>The same for a command that has locked its stripes since.</summary>
    internal bool TryPauseLate(scoped in CommandContext cmd, Command command)
    {
        if (!_slots.WaitsWithLocks(cmd, command)) return false;
        cmd.Session.IsPaused = true;
        return true;
    }

    /// <summary>Whether EXEC may execute a command that was queued; otherwise replies why not, and counts it. The rest was asked when it was queued, or of EXEC.</summary>
    internal bool AdmitsQueuedOrReply(scoped in CommandContext cmd) =>
        KeepsRoleOrReply(cmd) && IsPermittedOrReply(cmd) && (_slots.RefusalOfQueued(cmd) is not { } elsewhere || RejectElsewhere(cmd, cmd.Command, elsewhere));

    /// <summary>
    /// Whether the client's user may execute a request; otherwise replies the error, and logs and counts the denial. Asked again of what was
    /// queued, or waited while its client was blocked, because the user may have lost the permission since.
    /// </summary>
    internal bool IsPermittedOrReply(scoped in CommandContext cmd)
    {
        Session session = cmd.Session;
        AccessDenial denial = session.User.Check(cmd);
        if (!denial.IsDenied) return true;
        bool isNew = !_environment.IsInUnit && !_environment.Blocking.IsServing; // it has just been read
        if (isNew && session is { User.Permissions.AreGone: true, Connection: not null })
        {
            session.CloseAfterReply(); // the loop has not come to it yet
            return false;
        }

        DenialContext context = _environment.IsInScript ? DenialContext.Script : _environment.IsInUnit || session.Transaction is not null ? DenialContext.Transaction : DenialContext.TopLevel;
        _engine.Users.NoteDenied(cmd, denial, context);
        account.Reject(cmd.Command, cmd.Reply, DenialText.Of(cmd, denial, context, isQueued: !isNew && context == DenialContext.Transaction));
        return false;
    }

    public void BeginScript(scoped in CommandContext cmd, int keys, bool mayCrossSlots) => _slots.BeginScript(cmd, keys, mayCrossSlots);

    /// <summary>Why a command may not execute in the script that calls it, which holds its stripes: its keys are elsewhere. Null: it may.</summary>
    internal string? RefusalOfScripted(scoped in CommandContext cmd) => _slots.RefusalOfScripted(cmd);

    public string? RefusalOfScript(ScriptFlags flags, bool isReadOnly)
    {
        if ((flags & ScriptFlags.NoCluster) != 0 && _engine.Routing.Value is not null) return "ERR Can not run script on cluster, 'no-cluster' flag is set.";
        if ((flags & ScriptFlags.AllowStale) == 0 && RefusesStale) return "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and 'allow-stale' flag is not set on the script.";
        if ((flags & ScriptFlags.NoWrites) != 0) return null;
        if (IsReadOnly) return "READONLY Can not run script with write flag on readonly replica.";
        if (WriteRefusal is { } refusal) return refusal;
        if (isReadOnly) return "ERR Can not execute a script with write flag using *_ro command.";
        if ((flags & ScriptFlags.AllowOom) == 0 && _engine.Keyspace.Budget.IsExceeded) return "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'";
        return null;
    }

    public string? RefusalOfCall(Command command, ScriptRights rights)
    {
        if (RefusesStale && !command.Is(CommandFlags.Stale)) return "ERR Can not execute the command on a stale replica";
        if (!command.Is(CommandFlags.Write | CommandFlags.MayReplicate | CommandFlags.PausedAsWrite)) return null;
        if ((rights & ScriptRights.Write) == 0) return "ERR Write commands are not allowed from read-only scripts.";
        if (command.Is(CommandFlags.Write))
        {
            if (IsReadOnly) return ReadOnlyReplica;
            if (WriteRefusal is { } refusal) return refusal;
        }

        return command.Is(CommandFlags.DenyOom) && (rights & ScriptRights.UseMemory) == 0 ? OutOfMemory : null;
    }

    /// <summary>Whether a command may not execute any more, although it was admitted, because it writes and the server is a replica now.</summary>
    internal bool RefusesWrite(scoped in CommandContext cmd, Command command) => IsReadOnly && Writes(cmd, command);

    /// <summary>
    /// Refuses a command that was admitted and has locked its stripes since: the slot of its keys is elsewhere, the server has become a replica, or it has begun to save its data for the
    /// last time. What it wrote would be lost. False: it executes.
    /// </summary>
    internal bool RejectsLate(scoped in CommandContext cmd, Command command)
    {
        if (_slots.RefusalWithLocks(cmd, command) is { } elsewhere) return !RejectElsewhere(cmd, command, elsewhere);
        if (RefusalOfLateWrite(cmd, command) is not { } refusal) return false;
        account.Reject(command, cmd.Reply, refusal);
        return true;
    }

    /// <summary>The refusal of a command that has worked in slices, and now executes; null: it does. A replica may have begun to load other data in between.</summary>
    internal string? RefusalOfWorked(scoped in CommandContext cmd, Command command) =>
        _slots.RefusalOfWorked(cmd, command) ?? (IsRefusedWhileLoading(cmd, command) ? IsLoading : null);

    /// <summary>The refusal of a command of the short path, which has come by the slots without this; null: it executes.</summary>
    internal string? RefusalOfLateShort(scoped in CommandContext cmd, Command command) => _slots.RefusalOfShort(cmd, command) ?? RefusalOfLateWrite(cmd, command);

    // EXEC too replies it as it is, so that its client finds the other node.
    private bool RejectElsewhere(scoped in CommandContext cmd, Command command, string redirect)
    {
        cmd.Reply.Error(redirect);
        account.NoteRejected(command);
        return false;
    }

    private string? RefusalOfLateWrite(scoped in CommandContext cmd, Command command)
    {
        if (RefusesWrite(cmd, command)) return ReadOnlyReplica;
        return _engine.Pause.IsLastSave && !core.IsTrusted && ClientPause.MayWrite(cmd.Session, command) ? LastSave : null;
    }

    /// <summary>Whether a client that is blocked waits on whatever comes: it would write, and the server is a replica now. Its wait is about to end.</summary>
    internal bool KeepsWaiting(Command command) => command.Is(CommandFlags.Write) && _engine.Replication.IsReplica && _engine.Settings.ReplicaReadOnly;

    /// <summary>Whether a command, or one of those that EXEC executes, writes.</summary>
    internal static bool Writes(scoped in CommandContext cmd, Command command) => HasOrQueues(cmd, command, CommandFlags.Write);

    /// <summary>Whether a request becomes a part of its client's transaction.</summary>
    internal static bool IsQueued(scoped in CommandContext cmd, Command command) => cmd.Session.Transaction is not null && !command.Is(CommandFlags.NotQueued);

    // Rules for the kind of connection; the user does not matter.
    private string? RefusalOfConnection(scoped in CommandContext cmd, Command command)
    {
        if (command.Is(CommandFlags.Protected) && !_engine.AllowsProtected(cmd.Session, command) && !IsUnprotected(cmd, command))
        {
            string name = (command.Parent ?? command).Name;
            return $"ERR {name.ToUpperInvariant()} command not allowed. If the enable-{name}-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server.";
        }

        bool hasNoData = cmd.Session.IsMonitor || cmd.Session.Type == ClientType.Replica;
        return hasNoData && command.Is(CommandFlags.Write | CommandFlags.ReadOnly | CommandFlags.MayReplicate | CommandFlags.PausedAsWrite) ? "ERR Replica can't interact with the keyspace" : null;
    }

    // What the server cannot do at the moment.
    private string? RefusalOfServer(scoped in CommandContext cmd, Command command)
    {
        if (IsRefusedWhileLoading(cmd, command)) return IsLoading;
        ServerAttention flags = _engine.Attention.Flags;
        if ((flags & ServerAttention.ChangesRequested) != 0) _engine.Changes.ApplyUnlessBusy();
        if ((flags & ServerAttention.ScriptBusy) != 0 && !command.Is(CommandFlags.AllowBusy) && _engine.Script.BusyReply is { } busy) return busy;
        return cmd.Session.Transaction is not null && command.Is(CommandFlags.NoMulti) ? "ERR Command not allowed inside a transaction" : null;
    }

    // Memory, disk, replicas and role.
    private string? RefusalOfData(scoped in CommandContext cmd, Command command, bool isOutOfMemory)
    {
        if (isOutOfMemory && (HasOrQueues(cmd, command, CommandFlags.DenyOom) || command.NeedsMemory?.Invoke(cmd) == true) && command.NeedsNoMemory?.Invoke(cmd) != true)
        {
            _engine.MemoryRefusals.Note((cmd.Session.Id, cmd.Session.Name), _engine.Clock.SteadyMs);
            return OutOfMemory;
        }

        bool writes = Writes(cmd, command);
        if (_engine.WriteGate.Refusal is { } refusal && (writes || command.IsRefusedWithWrites)) return refusal;
        if (writes && _engine.WriteGate.LacksReplicas) return WriteGate.TooFewReplicas;
        return IsReadOnly && (writes || (command.ScriptFlagsOf?.Invoke(cmd) is { } flags && (flags & ScriptFlags.NoWrites) == 0)) ? ReadOnlyReplica : null;
    }

    private string? RefusalOfHost(scoped in CommandContext cmd, Command command)
    {
        if (command.Is(CommandFlags.AllStripes)) _engine.WholeDatabaseCalls.Note((command.FullName, cmd.Session.Id), _engine.Clock.SteadyMs);
        return _engine.DangerousCommands.Refusal(cmd, command);
    }

    private string? RefusalOfState(scoped in CommandContext cmd, Command command)
    {
        if (cmd.Session.IsSubscriber && !command.Is(CommandFlags.AllowedToSubscribers)) return $"ERR Can't execute '{command.FullName}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context";
        return RefusesStale && !AllowsStale(cmd, command) ? "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'." : null;
    }

    private bool IsRefusedWhileLoading(scoped in CommandContext cmd, Command command)
    {
        ServerAttention loading = _engine.Attention.Flags & (ServerAttention.Loading | ServerAttention.LoadingBeside);
        if (loading == 0 || core.IsTrusted) return false;
        if ((loading & ServerAttention.Loading) != 0) return !command.Is(CommandFlags.Loading);
        return HasOrQueues(cmd, command, CommandFlags.NoAsyncLoading);
    }

    // A subcommand of a protected command that is open to clients of this machine, and to all where a password is required.
    private bool IsUnprotected(scoped in CommandContext cmd, Command command)
    {
        if (command.UnprotectedArgument is not { } argument || cmd.Count < 2 || !cmd.Is(1, argument)) return false;
        return cmd.Session.Connection is not { RemoteAddress.IsLoopback: false } || !_engine.Users.DefaultNeedsNoPassword;
    }

    // The primary's stream, or a log, changes neither this server's role nor ends the server.
    private bool KeepsRoleOrReply(scoped in CommandContext cmd)
    {
        Command command = cmd.Command;
        if (core.Origin == CommandOrigin.Client || !command.ChangesRole) return true;
        if (core.Origin == CommandOrigin.Log)
        {
            _engine.Log.Warning(LogEvents.LogFrameIgnored, $"The append-only file has '{command.FullName}', which no server writes: it is ignored.");
            account.Reject(command, cmd.Reply, "ERR a log cannot change the role of its server");
            return false;
        }

        _engine.Log.Warning(LogEvents.StreamError, $"== CRITICAL == The primary's stream has '{command.FullName}', which no primary sends: it is refused. The replica's role changes by its own clients alone.");
        account.Reject(command, cmd.Reply, "ERR a primary's stream cannot change the role of its replica");
        return false;
    }

    // Allocates nothing: a client can send millions of requests that end here without logging in.
    private void RejectUnauthenticated(scoped in CommandContext cmd, Command command)
    {
        if (command.RunsQueued) cmd.Reply.Error("EXECABORT Transaction discarded because of: NOAUTH Authentication required."u8);
        else cmd.Reply.Error("NOAUTH Authentication required."u8);
        account.NoteRejected(command);
    }

    private static bool AllowsStale(scoped in CommandContext cmd, Command command) =>
        command.Is(CommandFlags.Stale)
        && (command.ScriptFlagsOf is not { } flagsOf || (flagsOf(cmd) is { } flags && (flags & ScriptFlags.AllowStale) != 0))
        && (!command.RunsQueued || cmd.Session.Transaction is not { } transaction || transaction.AllowsStale);

    private static bool HasOrQueues(scoped in CommandContext cmd, Command command, CommandFlags flags) =>
        command.Is(flags) || (command.RunsQueued && cmd.Session.Transaction is { } transaction && (transaction.Flags & flags) != 0);
}
