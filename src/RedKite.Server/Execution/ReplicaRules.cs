using RedKite.Scripting;
using RedKite.Server.Logging;
using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>
/// What the commands of one executor may not do because the server follows a primary. The primary's own stream may do everything.
/// </summary>
internal sealed class ReplicaRules(Engine engine, CommandExecutor executor)
{
    internal const string RoleOfStream = "ERR a primary's stream cannot change the role of its replica";

    /// <summary>Whether commands may only read.</summary>
    internal bool IsReadOnly => engine.Replication.IsReplica && engine.Settings.ReplicaReadOnly && !executor.IsTrusted;

    /// <summary>Whether only commands that allow stale data may be executed: the link to the primary is down.</summary>
    internal bool RefusesStale => engine.RefusesStale && !executor.IsTrusted;

    /// <summary>Why a nested command may not write at the moment; null: it may.</summary>
    internal string? NestedRefusal => executor.Origin == CommandOrigin.Primary ? null : engine.WriteGate.NestedRefusal;

    /// <summary>Why a command is refused that writes; null: it is not.</summary>
    internal string? Refusal(scoped in CommandContext cmd, Command command) =>
        IsReadOnly && (Invoker.Writes(cmd, command) || (command.ScriptFlagsOf?.Invoke(cmd) is { } flags && (flags & ScriptFlags.NoWrites) == 0)) ? "READONLY You can't write against a read only replica." : null;

    /// <summary>Refuses a command of the primary's stream that would change this server's role, or end the server.</summary>
    internal bool RefusesRoleChange(Command command)
    {
        if (executor.Origin != CommandOrigin.Primary || !command.ChangesRole) return false;
        engine.Log.Warning(LogEvents.StreamError, $"== CRITICAL == The primary's stream has '{command.FullName}', which no primary sends: it is refused. The replica's role changes by its own clients alone.");
        return true;
    }

    /// <summary>Whether a command, or all that EXEC executes, may be executed on stale data.</summary>
    internal static bool AllowsStale(scoped in CommandContext cmd, Command command) =>
        command.Is(CommandFlags.Stale)
        && (command.ScriptFlagsOf is not { } flagsOf || (flagsOf(cmd) is { } flags && (flags & ScriptFlags.AllowStale) != 0))
        && (!command.RunsQueued || cmd.Session.Transaction is not { } transaction || transaction.AllowsStale);
}
