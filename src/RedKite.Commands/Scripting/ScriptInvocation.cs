using RedKite.Protocol;
using RedKite.Scripting;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Commands.Scripting;

/// <summary>A script of EVAL or a function of FCALL, which is loaded in an interpreter and may run.</summary>
/// <param name="Name">Its name: a script's is the SHA-1 of its text.</param>
/// <param name="IsFunction">Whether it is a function of a library: it gets keys and arguments as parameters, not as KEYS and ARGV.</param>
/// <param name="Position">Where the interpreter keeps it.</param>
/// <param name="Flags">What it says about itself; none for a script that says nothing.</param>
/// <param name="OnlyReadsArguments">Whether it cannot change its keys and arguments.</param>
/// <param name="Use">How it was used; null: nothing is counted.</param>
internal readonly record struct CallableScript(string Name, bool IsFunction, int Position, ScriptFlags Flags, bool OnlyReadsArguments, ScriptUse? Use)
{
    /// <summary>Whether it may use keys of several slots: it says so, or it is a script that says nothing.</summary>
    internal bool MayCrossSlots { get; init; } = (Flags & ScriptFlags.AllowCrossSlotKeys) != 0;
}

/// <summary>Runs a script or function for its client: what is registered, begun, ended and counted around it is the same for both.</summary>
internal sealed class ScriptInvocation(ScriptCallHost host, RunningScript running)
{
    // Of EVAL script numkeys [key ...] [arg ...], and of FCALL.
    private const int FirstKey = 3;

    /// <summary>Runs it, and replies what it returns or its error.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="lua">The interpreter that it is loaded in.</param>
    /// <param name="script">The script or function.</param>
    /// <param name="keys">The number of its keys.</param>
    /// <param name="readOnly">Whether the command refuses writes whatever the script says.</param>
    internal void Run(scoped in CommandContext cmd, LuaInterpreter lua, in CallableScript script, int keys, bool readOnly)
    {
        RunningScript.Run run = running.Begin(script.Name, script.IsFunction, lua, cmd.Settings.BusyReplyThresholdMs);
        run.ClientId = cmd.Session.Id;
        if (script.IsFunction) running.KeepRequest(cmd);
        int database = cmd.Session.DatabaseIndex;
        host.Begin(cmd, run, readOnly || (script.Flags & ScriptFlags.NoWrites) != 0, (script.Flags & ScriptFlags.AllowOom) != 0);
        cmd.Environment.Nested.BeginUnit();
        cmd.Environment.Nested.Admission.BeginScript(cmd, keys, script.MayCrossSlots);
        int parameters = Push(cmd, lua, script, keys);
        long refusals = lua.MemoryRefusals;
        bool returned = ScriptRun.Run(lua, parameters, host, script.Name, cmd.Reply);
        if (lua.MemoryRefusals > refusals) cmd.Metrics.Limits.Note(Limit.ScriptMemory);
        cmd.Environment.Nested.EndUnit();
        cmd.Session.DatabaseIndex = database; // SELECT in a script is the script's
        long ns = running.End(run);
        script.Use?.Note(ns, hasFailed: !returned, cmd.NowMs);
    }

    private static int Push(scoped in CommandContext cmd, LuaInterpreter lua, in CallableScript script, int keys)
    {
        ReadOnlySpan<byte> input = cmd.Arguments.Input;
        ReadOnlySpan<ArgumentSlice> names = cmd.Arguments.Slices.Slice(FirstKey, keys);
        ReadOnlySpan<ArgumentSlice> arguments = cmd.Arguments.Slices[(FirstKey + keys)..];
        if (!script.IsFunction) lua.SetArguments(input, names, arguments, script.OnlyReadsArguments);
        lua.PushFunction(script.Position);
        if (!script.IsFunction) return 0;
        lua.PushParameters(input, names, arguments, script.OnlyReadsArguments);
        return 2;
    }
}
