using RedKite.Protocol;
using RedKite.Scripting;
using RedKite.Server.Changes;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Commands.Scripting;

/// <summary>
/// The server's functions that a script uses: commands, the log, the check whether it must stop. One per server, because one script
/// runs at a time.
/// </summary>
internal sealed class ScriptCallHost(RunningScript running, ServerLog log, ServerRun serverRun) : ScriptHost
{
    private const string KilledText = "ERR Script killed by user with SCRIPT KILL..."; // as in Redis, a function's, too

    private INestedExecutor _nested = null!;
    private Session _session = null!;
    private CommandTable _commands = null!;
    private RunningScript.Run _run = null!;
    private Command _command = null!;
    private ExecutorMetrics _metrics = null!;
    private bool _hasFailed; // by the error of a command
    private bool _hasOwnError;
    private ScriptRights _rights;

    /// <summary>Begins an execution for a client.</summary>
    internal void Begin(scoped in CommandContext cmd, RunningScript.Run run, bool deniesWrites, bool allowsOom)
    {
        _nested = cmd.Environment.Nested;
        _nested.EffectTargets = EffectTargets.All;
        _session = cmd.Session;
        _command = cmd.Command;
        _metrics = cmd.Metrics;
        _hasFailed = _hasOwnError = false;
        _commands = cmd.Environment.Commands;
        _run = run;
        _rights = deniesWrites ? ScriptRights.None : ScriptRights.Write;
        if (allowsOom || !cmd.Keyspace.Budget.IsExceeded) _rights |= ScriptRights.UseMemory;
    }

    internal override void Stop(Exception failure) => _nested.Stop(failure);

    internal override void Call(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply)
    {
        Command? command = Find(input, arguments);
        if (command is null)
        {
            Refuse(null, "ERR Unknown Redis command called from script", reply);
            return;
        }

        if (!command.Accepts(arguments.Length))
        {
            Refuse(command, "ERR Wrong number of args calling Redis command from script", reply);
            return;
        }

        if (command.Is(CommandFlags.NoScript) && !MayCallAnyway(command))
        {
            Refuse(command, "ERR This Redis command is not allowed from script", reply);
            return;
        }

        ScriptRights rights = _run.HasWritten ? _rights | ScriptRights.UseMemory : _rights;
        if (_nested.Admission.RefusalOfCall(command, rights) is { } refusal)
        {
            Refuse(command, refusal, reply);
            return;
        }

        // A script that was killed meanwhile ends at its next check, before it has written. Publishing, and the count that
        // PFCOUNT caches, are not writes.
        if (command.Is(CommandFlags.Write) && !running.TryWrite(_run))
        {
            reply.Error(KilledText);
            return;
        }

        _nested.Call(_session, command, input, arguments, reply);
        if (reply.Length == 0) reply.Null(); // CLIENT REPLY OFF, by DEBUG SET-DISABLE-DENY-SCRIPTS
    }

    // DEBUG SET-DISABLE-DENY-SCRIPTS: every command but those that need the script's turn, belong to transactions or don't reply once.
    private bool MayCallAnyway(Command command) =>
        serverRun.AllowsAnyCommandInScripts && !command.Is(CommandFlags.RunsScript | CommandFlags.NotQueued | CommandFlags.NoMulti | CommandFlags.PubSub);

    private void Refuse(Command? command, string error, ReplyWriter reply)
    {
        reply.Error(error);
        _nested.NoteRejected(command, reply);
    }

    internal override CommandPermission MayExecute(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
    {
        if (Find(input, arguments) is not { } command) return CommandPermission.NoCommand;
        if (!command.Accepts(arguments.Length)) return CommandPermission.WrongArguments;
        return _nested.MayExecute(_session, command, input, arguments) ? CommandPermission.Allowed : CommandPermission.Denied;
    }

    // As in Redis, each error of a command that the script returns makes it fail once more; all others together make it fail once.
    internal override void NoteError(string code, bool wasCounted)
    {
        if (!wasCounted) _metrics.CountError(code);
        bool isFirst = !_hasFailed && !_hasOwnError; // which the script's command counts itself
        if (!isFirst && (wasCounted || !_hasOwnError)) _metrics.Of(_command.Index).CountFailed();
        if (wasCounted) _hasFailed = true;
        else _hasOwnError = true;
    }

    internal override void SetReplication(bool toLog, bool toReplicas) => _nested.EffectTargets = (toLog ? EffectTargets.Log : 0) | (toReplicas ? EffectTargets.Replicas : 0);

    internal override void Log(int level, string text) => log.OfClient(LogEvents.ScriptMessage, isWarning: level >= 3, "", text);

    internal override string? Tick()
    {
        if (_run.IsKilled) return KilledText;
        if (running.EndsForStop) return "ERR Script ended because the server stops.";
        if (_run.IsOverdue) return "ERR FUNCTION LOAD timeout";
        if (_run.BusyNs > 0 && !_run.IsBusy && _run.ElapsedNs > _run.BusyNs) running.NoteBusy(_run);
        return null;
    }

    private Command? Find(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
    {
        Command? command = _commands.Find(input.Slice(arguments[0].Start, arguments[0].Length));
        if (command is null || command.Subcommands.Length == 0 || arguments.Length < 2) return command;
        return CommandTable.FindSubcommand(command, input.Slice(arguments[1].Start, arguments[1].Length));
    }
}
