using System.Diagnostics;
using RedKite.Protocol;
using RedKite.Scripting;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Scripting;

/// <summary>EVAL and its variants, and SCRIPT.</summary>
internal sealed class ScriptCommands(ScriptCache cache, ScriptInvocation invocation, RunningScript running)
{
    internal const string UnknownUse = "We cannot tell how the keys will be used so we assume the worst, RW and UPDATE";
    internal const string UnknownReads = "We cannot tell how the keys will be used so we assume the worst, RO and ACCESS";

    private const CommandFlags Runs = NoScript | Stale | SkipMonitor | NoMandatoryKeys | RunsScript;
    private const string ScriptSyntax = "script numkeys:integer [key ...] [arg ...]";
    private const string NameSyntax = "sha1 numkeys:integer [key ...] [arg ...]";
    private const string Complexity = "Depends on the script that is executed.";

    internal CommandFamily Family => new("scripting", "scripting",
    [
        new("EVAL", -3, Runs | PausedAsWrite, Keys(KeyFlags.ReadWrite | KeyFlags.Access | KeyFlags.Update, UnknownUse), (ref CommandContext cmd) => Eval(ref cmd, readOnly: false), new("2.6.0", Complexity, "Runs a Lua script.", ScriptSyntax)) { OnlyReads = SaysThatItOnlyReads, NeedsMemory = SaysThatItNeedsMemory, ScriptFlagsOf = FlagsOfText },
        new("EVAL_RO", -3, Runs | ReadOnly, Keys(KeyFlags.ReadOnly | KeyFlags.Access, UnknownReads), (ref CommandContext cmd) => Eval(ref cmd, readOnly: true), new("7.0.0", Complexity, "Runs a Lua script that may not write.", ScriptSyntax)) { NeedsMemory = SaysThatItNeedsMemory, ScriptFlagsOf = FlagsOfText },
        new("EVALSHA", -3, Runs | PausedAsWrite, Keys(KeyFlags.ReadWrite | KeyFlags.Access | KeyFlags.Update, ""), (ref CommandContext cmd) => EvalSha(ref cmd, readOnly: false), new("2.6.0", Complexity, "Runs a cached Lua script, by the SHA-1 of its text.", NameSyntax)) { OnlyReads = IsCachedToOnlyRead, NeedsMemory = IsCachedToNeedMemory, ScriptFlagsOf = FlagsOfCached },
        new("EVALSHA_RO", -3, Runs | ReadOnly, Keys(KeyFlags.ReadOnly | KeyFlags.Access, ""), (ref CommandContext cmd) => EvalSha(ref cmd, readOnly: true), new("7.0.0", Complexity, "Runs a cached Lua script that may not write, by the SHA-1 of its text.", NameSyntax)) { NeedsMemory = IsCachedToNeedMemory, ScriptFlagsOf = FlagsOfCached },
        new("SCRIPT", -2, None, KeySpecs.None, (ref _) => { }, new("2.6.0", "Depends on subcommand.", "Manages cached Lua scripts."),
        [
            new("DEBUG", 3, NoScript, KeySpecs.None, Debug, new("3.2.0", "O(1)", "Sets the debug mode of scripts.", "mode:<YES | SYNC | NO>")),
            new("EXISTS", -3, NoScript | RunsScript, KeySpecs.None, Exists, new("2.6.0", "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation).", "Tells which scripts are cached.", "sha1 [sha1 ...]")) { Tips = ["request_policy:all_shards", "response_policy:agg_logical_and"] },
            new("FLUSH", -2, NoScript | RunsScript, KeySpecs.None, Flush, new("2.6.0", "O(N) with N being the number of scripts in cache", "Forgets all cached scripts.", "flush-type:[ASYNC | SYNC]@6.2.0") { History = [("6.2.0", "Added the modes `ASYNC` and `SYNC`.")] }) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("KILL", 2, NoScript | AllowBusy, KeySpecs.None, Kill, new("2.6.0", "O(1)", "Ends the script that is running, if it has not written.")) { Tips = ["request_policy:all_shards", "response_policy:one_succeeded"] },
            new("LOAD", 3, NoScript | Stale | RunsScript, KeySpecs.None, Load, new("2.6.0", "O(N) with N being the length in bytes of the script body.", "Caches a script without running it.", "script")) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("SHOW", 3, NoScript | RunsScript, KeySpecs.None, Show, new("8.0.0", "O(1).", "Returns the text of a cached script.", "sha1")),
        ]),
    ]);

    // EVAL's script with the flag no-writes.
    private static bool SaysThatItOnlyReads(scoped in CommandContext cmd) =>
        ScriptShebang.ReadScript(cmd[1], out ScriptFlags? flags, out _) is null && flags is { } stated && (stated & ScriptFlags.NoWrites) != 0;

    // EVALSHA's script with the flag no-writes. A pause asks before anything is locked.
    private bool IsCachedToOnlyRead(scoped in CommandContext cmd)
    {
        return cmd.Environment.ScriptMutexHold.Begin(Stopwatch.GetTimestamp()) && cache.Find(cmd[1])?.Flags is { } flags && (flags & ScriptFlags.NoWrites) != 0;
    }

    // EVAL's script with flags, but neither allow-oom nor no-writes.
    private static bool SaysThatItNeedsMemory(scoped in CommandContext cmd) =>
        ScriptShebang.ReadScript(cmd[1], out ScriptFlags? flags, out _) is null && flags is { } stated && NeedsMemory(stated);

    private bool IsCachedToNeedMemory(scoped in CommandContext cmd) =>
        cmd.Environment.ScriptMutexHold.Begin(Stopwatch.GetTimestamp()) && cache.Find(cmd[1])?.Flags is { } flags && NeedsMemory(flags);

    private static ScriptFlags? FlagsOfText(scoped in CommandContext cmd) =>
        ScriptShebang.ReadScript(cmd[1], out ScriptFlags? flags, out _) is null ? flags : null;

    private ScriptFlags? FlagsOfCached(scoped in CommandContext cmd) =>
        cmd.Environment.ScriptMutexHold.Begin(Stopwatch.GetTimestamp()) ? cache.Find(cmd[1])?.Flags : null;

    internal static bool NeedsMemory(ScriptFlags flags) => (flags & (ScriptFlags.AllowOom | ScriptFlags.NoWrites)) == 0;

    /// <summary>The keys of EVAL and FCALL.</summary>
    internal static KeySpec[] Keys(KeyFlags flags, string notes) => [new(3, -1, 1, flags, CountAt: 2, Notes: notes)];

    /// <summary>Reads the number of keys, or replies what is wrong with it.</summary>
    internal static bool TryKeysOrReply(scoped in CommandContext cmd, string notANumber, out int keys)
    {
        keys = 0;
        if (!RespNumber.TryParseInt64(cmd[2], out long count))
        {
            cmd.Reply.Error(notANumber);
            return false;
        }

        if (count > cmd.Count - 3)
        {
            cmd.Reply.Error("ERR Number of keys can't be greater than number of args"u8);
            return false;
        }

        if (count < 0)
        {
            cmd.Reply.Error("ERR Number of keys can't be negative"u8);
            return false;
        }

        keys = (int)count;
        return true;
    }

    /// <summary>Whether flags allow a run now, or replies why not.</summary>
    internal static bool IsAllowedOrReply(scoped in CommandContext cmd, ScriptFlags flags, bool readOnly)
    {
        if (cmd.Environment.Nested.Admission.RefusalOfScript(flags, readOnly) is not { } refusal) return true;
        cmd.Reply.Error(refusal);
        return false;
    }

    // EVAL script numkeys [key ...] [arg ...]
    private void Eval(ref CommandContext cmd, bool readOnly)
    {
        if (!TryKeysOrReply(cmd, "ERR value is not an integer or out of range", out int keys)) return;
        if (cache.AddOrReply(cmd, cmd[1], stays: false) is { } script) Run(ref cmd, script, keys, readOnly);
    }

    // EVALSHA sha1 numkeys [key ...] [arg ...]
    private void EvalSha(ref CommandContext cmd, bool readOnly)
    {
        int keys = 0;
        if (cmd[1].Length == CachedScript.NameLength && !TryKeysOrReply(cmd, "ERR value is not an integer or out of range", out keys)) return;
        if (cache.Find(cmd[1]) is { } script) Run(ref cmd, script, keys, readOnly);
        else cmd.Reply.Error("NOSCRIPT No matching script. Please use EVAL."u8);
    }

    private void Run(ref CommandContext cmd, CachedScript script, int keys, bool readOnly)
    {
        if (script.Flags is { } flags && !IsAllowedOrReply(cmd, flags, readOnly)) return;
        var callable = new CallableScript(script.Name, IsFunction: false, script.Position, script.Flags ?? ScriptFlags.None, script.OnlyReadsArguments, script.Use) { MayCrossSlots = script.Flags is null || (script.Flags & ScriptFlags.AllowCrossSlotKeys) != 0 };
        invocation.Run(cmd, cache.Interpreter(cmd.Settings.ScriptMemoryBytesMax), callable, keys, readOnly);
    }

    // SCRIPT LOAD script
    private void Load(ref CommandContext cmd)
    {
        if (cache.AddOrReply(cmd, cmd[2], stays: true) is { } script) cmd.Reply.Bulk(script.Name);
    }

    // SCRIPT EXISTS sha1 [sha1 ...]
    private void Exists(ref CommandContext cmd)
    {
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Integer(cache.Contains(cmd[i]) ? 1 : 0);
    }

    // SCRIPT SHOW sha1, as in Valkey 8
    private void Show(ref CommandContext cmd)
    {
        if (cache.Find(cmd[2]) is { } script) cmd.Reply.Bulk(script.Text);
        else cmd.Reply.Error("NOSCRIPT No matching script."u8);
    }

    // SCRIPT FLUSH [ASYNC | SYNC]
    private void Flush(ref CommandContext cmd)
    {
        if (cmd.Count > 3 || (cmd.Count == 3 && !cmd.Is(2, "SYNC"u8) && !cmd.Is(2, "ASYNC"u8)))
        {
            cmd.Reply.Error("ERR SCRIPT FLUSH only support SYNC|ASYNC option"u8);
            return;
        }

        cache.Flush();
        cmd.Reply.Ok();
    }

    // SCRIPT KILL
    private void Kill(ref CommandContext cmd)
    {
        if (running.Kill(isFunction: false) is { } error) cmd.Reply.Error(error);
        else cmd.Reply.Ok();
    }

    // SCRIPT DEBUG YES | SYNC | NO: there is no debugger, so a debugging session is refused.
    private static void Debug(ref CommandContext cmd)
    {
        if (cmd.Is(2, "NO"u8)) cmd.Reply.Ok();
        else if (cmd.Is(2, "YES"u8) || cmd.Is(2, "SYNC"u8)) cmd.Reply.Error("ERR RedKite has no debugger for scripts"u8);
        else cmd.Reply.Error("ERR Use SCRIPT DEBUG YES/SYNC/NO"u8);
    }

    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "DEBUG (YES|SYNC|NO)",
        "    Set the debug mode for subsequent scripts executed.",
        "EXISTS <sha1> [<sha1> ...]",
        "    Tells which of the scripts are cached.",
        "FLUSH [ASYNC|SYNC]",
        "    Forgets all cached scripts and releases their memory.",
        "KILL",
        "    Ends the script that is running, if it has not written.",
        "LOAD <script>",
        "    Caches a script without running it.",
        "SHOW <sha1>",
        "    Returns the text of a cached script.");
}
