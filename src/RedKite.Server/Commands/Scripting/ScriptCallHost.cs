using RedKite.Protocol;
using RedKite.Scripting;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Commands.Scripting;

/// <summary>What a script gets of the server: commands, the log, its end. One per server, because one script runs at a time.</summary>
internal sealed class ScriptCallHost(RunningScript running, ServerLog log) : ScriptHost
{
    private const int NsPerMs = 1_000_000;

    private INestedExecutor _nested = null!;
    private Session _session = null!;
    private CommandTable _commands = null!;
    private RunningScript.Run _run = null!;
    private bool _deniesWrites;
    private bool _deniesMemory;
    private long _busyNs;

    /// <summary>Begins an execution for a client.</summary>
    internal void Begin(scoped in CommandContext cmd, RunningScript.Run run, bool deniesWrites, bool allowsOom)
    {
        _nested = cmd.Nested;
        _session = cmd.Session;
        _commands = cmd.Commands;
        _run = run;
        _deniesWrites = deniesWrites;
        _deniesMemory = !allowsOom && cmd.Keyspace.Budget.IsExceeded;
        _busyNs = cmd.Settings.BusyReplyThresholdMs * NsPerMs;
    }

    internal override void Call(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply)
    {
        Command? command = Find(input, arguments);
        if (command is null)
        {
            reply.Error("ERR Unknown Redis command called from script"u8);
            return;
        }

        if (!command.Accepts(arguments.Length))
        {
            reply.Error("ERR Wrong number of args calling Redis command from script"u8);
            return;
        }

        if (command.Is(CommandFlags.NoScript))
        {
            reply.Error("ERR This Redis command is not allowed from script"u8);
            return;
        }

        if (command.Is(CommandFlags.Write | CommandFlags.MayReplicate | CommandFlags.PausedAsWrite))
        {
            if (_deniesWrites)
            {
                reply.Error("ERR Write commands are not allowed from read-only scripts."u8);
                return;
            }

            if (command.Is(CommandFlags.DenyOom) && _deniesMemory && !_run.HasWritten)
            {
                reply.Error("OOM command not allowed when used memory > 'maxmemory'."u8);
                return;
            }

            // What was killed meanwhile ends at its next tick, before it has written.
            if (!running.TryWrite(_run))
            {
                reply.Error("ERR Script killed by user with SCRIPT KILL."u8);
                return;
            }
        }

        _nested.Call(_session, command, input, arguments, reply);
    }

    internal override bool? MayExecute(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
    {
        Command? command = Find(input, arguments);
        return command is null ? null : _nested.MayExecute(_session, command, input, arguments);
    }

    internal override void Log(int level, string text) => log.OfClient(isWarning: level >= 3, "", text);

    internal override string? Tick()
    {
        if (_run.IsKilled) return _run.IsFunction ? "ERR Script killed by user with FUNCTION KILL." : "ERR Script killed by user with SCRIPT KILL.";
        if (running.EndsForStop) return "ERR Script ended because the server stops.";
        if (_busyNs > 0 && !_run.IsBusy && _run.ElapsedNs > _busyNs) running.NoteBusy(_run);
        return null;
    }

    private Command? Find(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
    {
        Command? command = _commands.Find(input.Slice(arguments[0].Start, arguments[0].Length));
        if (command is null || command.Subcommands.Length == 0 || arguments.Length < 2) return command;
        return CommandTable.FindSubcommand(command, input.Slice(arguments[1].Start, arguments[1].Length));
    }
}
