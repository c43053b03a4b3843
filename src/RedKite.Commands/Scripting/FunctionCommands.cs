using RedKite.Persistence.Rdb;
using RedKite.Protocol;
using RedKite.Scripting;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using System.Diagnostics;
using System.Text;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Scripting;

/// <summary>FCALL, FCALL_RO and FUNCTION.</summary>
internal sealed class FunctionCommands(FunctionLibraries libraries, ScriptInvocation invocation, ScriptCallHost host, RunningScript running, ServerRun run, Func<int> streamVersion)
{
    private const CommandFlags Runs = NoScript | Stale | SkipMonitor | NoMandatoryKeys | RunsScript;
    private const long LoadNsMax = 500_000_000; // as in Redis
    private const int BytesOfText = 64; // what a library's text takes besides
    private const string CallSyntax = "function numkeys:integer [key ...] [arg ...]";

    private static readonly string[] AllSucceed = ["request_policy:all_shards", "response_policy:all_succeeded"];

    internal CommandFamily Family => new("scripting", "scripting",
    [
        new("FCALL", -3, Runs | PausedAsWrite, ScriptCommands.Keys(KeyFlags.ReadWrite | KeyFlags.Access | KeyFlags.Update, ScriptCommands.UnknownUse), (ref CommandContext cmd) => Call(ref cmd, readOnly: false), new("7.0.0", "Depends on the function that is executed.", "Calls a function of a library.", CallSyntax)) { OnlyReads = IsToOnlyRead, NeedsMemory = IsToNeedMemory, ScriptFlagsOf = FlagsOf },
        new("FCALL_RO", -3, Runs | ReadOnly, ScriptCommands.Keys(KeyFlags.ReadOnly | KeyFlags.Access, ScriptCommands.UnknownReads), (ref CommandContext cmd) => Call(ref cmd, readOnly: true), new("7.0.0", "Depends on the function that is executed.", "Calls a function of a library that may not write.", CallSyntax)) { NeedsMemory = IsToNeedMemory, ScriptFlagsOf = FlagsOf },
        new("FUNCTION", -2, None, KeySpecs.None, (ref _) => { }, new("7.0.0", "Depends on subcommand.", "Manages libraries of functions."),
        [
            new("DELETE", 3, Write | NoScript | RunsScript, KeySpecs.None, Delete, new("7.0.0", "O(1)", "Removes a library and its functions.", "library-name")) { Tips = AllSucceed },
            new("DUMP", 2, NoScript | RunsScript, KeySpecs.None, Dump, new("7.0.0", "O(N) where N is the number of functions", "Returns all libraries as one payload.")),
            new("FLUSH", -2, Write | NoScript | RunsScript, KeySpecs.None, Flush, new("7.0.0", "O(N) where N is the number of functions deleted", "Removes all libraries.", "flush-type:[ASYNC | SYNC]")) { Tips = AllSucceed },
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("7.0.0", "O(1)", "Lists the subcommands.")),
            new("KILL", 2, NoScript | AllowBusy, KeySpecs.None, Kill, new("7.0.0", "O(1)", "Ends the function that is running, if it has not written.")) { Tips = ["request_policy:all_shards", "response_policy:one_succeeded"] },
            new("LIST", -2, NoScript | RunsScript, KeySpecs.None, List, new("7.0.0", "O(N) where N is the number of functions", "Lists libraries and their functions.", "[LIBRARYNAME library-name-pattern{library-name-pattern}:string] [WITHCODE]")) { Tips = ["nondeterministic_output_order"] },
            new("LOAD", -3, Write | DenyOom | NoScript | RunsScript, KeySpecs.None, Load, new("7.0.0", "O(1) (considering compilation time is redundant)", "Loads a library.", "[REPLACE] function-code")) { Tips = AllSucceed },
            new("RESTORE", -3, Write | DenyOom | NoScript | RunsScript, KeySpecs.None, Restore, new("7.0.0", "O(N) where N is the number of functions on the payload", "Loads all libraries of a payload.", "serialized-value policy:[FLUSH | APPEND | REPLACE]")) { Tips = AllSucceed },
            new("STATS", 2, NoScript | AllowBusy, KeySpecs.None, Stats, new("7.0.0", "O(1)", "Describes the function that is running, and the engine.")) { Tips = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"] },
        ]),
    ]);

    // FCALL function numkeys [key ...] [arg ...]
    private void Call(ref CommandContext cmd, bool readOnly)
    {
        if (libraries.Find(cmd[1]) is not { } loaded)
        {
            cmd.Reply.Error("ERR Function not found"u8);
            return;
        }

        RegisteredFunction function = loaded.Function;
        if (!ScriptCommands.TryKeysOrReply(cmd, "ERR Bad number of keys provided", out int keys)) return;
        if (!ScriptCommands.IsAllowedOrReply(cmd, function.Flags, readOnly)) return;
        var callable = new CallableScript(function.Name, IsFunction: true, function.Position, function.Flags, function.OnlyReadsParameters, loaded.Use);
        invocation.Run(cmd, libraries.Interpreter(cmd.Settings.ScriptMemoryBytesMax), callable, keys, readOnly);
    }

    // FCALL's function with the flag no-writes. A pause asks before anything is locked.
    private bool IsToOnlyRead(scoped in CommandContext cmd)
    {
        return cmd.Environment.ScriptMutexHold.Begin(Stopwatch.GetTimestamp()) && libraries.Find(cmd[1]) is { } loaded && (loaded.Function.Flags & ScriptFlags.NoWrites) != 0;
    }

    private bool IsToNeedMemory(scoped in CommandContext cmd) =>
        cmd.Environment.ScriptMutexHold.Begin(Stopwatch.GetTimestamp()) && libraries.Find(cmd[1]) is { } loaded && ScriptCommands.NeedsMemory(loaded.Function.Flags);

    private ScriptFlags? FlagsOf(scoped in CommandContext cmd) =>
        cmd.Environment.ScriptMutexHold.Begin(Stopwatch.GetTimestamp()) ? libraries.Find(cmd[1])?.Function.Flags : null;

    // FUNCTION LOAD [REPLACE] function-code
    private void Load(ref CommandContext cmd)
    {
        bool replaces = false;
        for (int i = 2; i < cmd.Count - 1; i++)
        {
            if (!cmd.Is(i, "REPLACE"u8))
            {
                cmd.Reply.Error($"ERR Unknown option given: {cmd.ShownText(i)}");
                return;
            }

            replaces = true;
        }

        string? error = LoadOne(cmd, libraries, cmd[cmd.Count - 1], replaces, out string name);
        if (error is not null)
        {
            cmd.Reply.Error(error);
            return;
        }

        cmd.ChangedLibraries();
        cmd.Reply.Bulk(name);
    }

    private string? LoadOne(scoped in CommandContext cmd, FunctionLibraries target, ReadOnlySpan<byte> code, bool replaces, out string name)
    {
        RunningScript.Run run = running.Begin("", isFunction: true, target.Interpreter(cmd.Settings.ScriptMemoryBytesMax), cmd.Settings.BusyReplyThresholdMs);
        run.EndsAfterNs = LoadNsMax;
        host.Begin(cmd, run, deniesWrites: true, allowsOom: false);
        string? error = target.Load(host, code, replaces, cmd.Settings, out name, out Limit? broken);
        running.End(run);
        if (broken is { } limit) cmd.Metrics.Limits.Note(limit);
        return error;
    }

    // FUNCTION DELETE library-name
    private void Delete(ref CommandContext cmd)
    {
        if (!libraries.Delete(cmd.Text(2)))
        {
            cmd.Reply.Error("ERR Library not found"u8);
            return;
        }

        cmd.ChangedLibraries();
        cmd.Reply.Ok();
    }

    // FUNCTION FLUSH [ASYNC | SYNC]
    private void Flush(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");
            return;
        }

        if (cmd.Count == 3 && !cmd.Is(2, "SYNC"u8) && !cmd.Is(2, "ASYNC"u8))
        {
            cmd.Reply.Error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"u8);
            return;
        }

        libraries.Flush();
        cmd.ChangedLibraries();
        cmd.Reply.Ok();
    }

    // FUNCTION LIST [LIBRARYNAME pattern] [WITHCODE]
    private void List(ref CommandContext cmd)
    {
        bool withCode = false;
        int pattern = 0;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (!withCode && cmd.Is(i, "WITHCODE"u8))
            {
                withCode = true;
            }
            else if (pattern == 0 && cmd.Is(i, "LIBRARYNAME"u8))
            {
                if (i == cmd.Count - 1)
                {
                    cmd.Reply.Error("ERR library name argument was not given"u8);
                    return;
                }

                pattern = ++i;
            }
            else
            {
                cmd.Reply.Error($"ERR Unknown argument {cmd.ShownText(i)}");
                return;
            }
        }

        var shown = new List<FunctionLibrary>();
        GlobBudget patterns = cmd.BeginPatterns();
        foreach (FunctionLibrary library in libraries.All)
        {
            if (patterns.IsUsedUp) break;
            if (pattern == 0 || patterns.IsMatch(cmd[pattern], Encoding.Latin1.GetBytes(library.Name), ignoreCase: true)) shown.Add(library);
        }

        if (!patterns.EndPatternsOrReply(cmd.Reply, cmd.Reply.Length)) return;

        cmd.Reply.Array(shown.Count);
        foreach (FunctionLibrary library in shown) WriteLibrary(cmd.Reply, library, withCode);
    }

    private static void WriteLibrary(ReplyWriter reply, FunctionLibrary library, bool withCode)
    {
        reply.Map(withCode ? 4 : 3);
        reply.Bulk("library_name"u8);
        reply.Bulk(library.Name);
        reply.Bulk("engine"u8);
        reply.Bulk("LUA"u8);
        reply.Bulk("functions"u8);
        reply.Array(library.Functions.Count);
        foreach (RegisteredFunction function in library.Functions)
        {
            reply.Map(3);
            reply.Bulk("name"u8);
            reply.Bulk(function.Name);
            reply.Bulk("description"u8);
            if (function.Description is null) reply.Null();
            else reply.Bulk(function.Description);
            reply.Bulk("flags"u8);
            (string Name, ScriptFlags Flag)[] flags = Array.FindAll(FunctionRegistration.FlagNames, flag => (function.Flags & flag.Flag) != 0);
            reply.Set(flags.Length);
            foreach ((string name, _) in flags) reply.SimpleString(Encoding.Latin1.GetBytes(name));
        }

        if (!withCode) return;
        reply.Bulk("library_code"u8);
        reply.Bulk(library.Code);
    }

    // FUNCTION STATS
    private void Stats(ref CommandContext cmd)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Map(2);
        reply.Bulk("running_script"u8);
        if (running.Current is { IsFunction: true } run)
        {
            reply.Map(3);
            reply.Bulk("name"u8);
            reply.Bulk(run.Name);
            reply.Bulk("command"u8);
            byte[][] request = running.RequestOf(run);
            reply.Array(request.Length);
            foreach (byte[] argument in request) reply.Bulk(argument);
            reply.Bulk("duration_ms"u8);
            reply.Integer(run.ElapsedNs / 1_000_000);
        }
        else
        {
            reply.Null();
        }

        reply.Bulk("engines"u8);
        reply.Map(1);
        reply.Bulk("LUA"u8);
        reply.Map(2);
        reply.Bulk("libraries_count"u8);
        reply.Integer(libraries.LibraryCount);
        reply.Bulk("functions_count"u8);
        reply.Integer(libraries.FunctionCount);
    }

    // FUNCTION KILL
    private void Kill(ref CommandContext cmd)
    {
        if (running.Kill(isFunction: true) is { } error) cmd.Reply.Error(error);
        else cmd.Reply.Ok();
    }

    // FUNCTION DUMP
    private void Dump(ref CommandContext cmd)
    {
        using var output = new RdbOutput { Compresses = cmd.Settings.RdbCompression };
        foreach (FunctionLibrary library in libraries.All)
        {
            output.Byte(RdbFormat.Function);
            output.String(library.Code);
        }

        DumpPayload.End(output);
        cmd.Reply.Bulk(output.Written);
    }

    // FUNCTION RESTORE serialized-value [FLUSH | APPEND | REPLACE]
    private void Restore(ref CommandContext cmd)
    {
        if (cmd.Count > 4)
        {
            cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");
            return;
        }

        bool flushes = cmd.Count == 4 && cmd.Is(3, "FLUSH"u8);
        bool replaces = cmd.Count == 4 && cmd.Is(3, "REPLACE"u8);
        if (cmd.Count == 4 && !flushes && !replaces && !cmd.Is(3, "APPEND"u8))
        {
            cmd.Reply.Error("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."u8);
            return;
        }

        if (!DumpPayload.IsIntact(cmd[2], run.SkipsChecksums))
        {
            cmd.Reply.Error("ERR DUMP payload version or checksum are wrong"u8);
            return;
        }

        List<byte[]> codes = [];
        string? problem = ReadLibraries(cmd[2], codes);
        if (LoadAll(cmd, codes, problem, flushes, replaces) is { } error)
        {
            cmd.Reply.Error(error);
            return;
        }

        cmd.ChangedLibraries();
        if (cmd.Recording.TakesEffects && streamVersion() != ReplicationState.NoStream && !DumpPayload.IsReadableBy(RdbFormat.VersionWithoutFieldExpiries, cmd[2]))
        {
            EffectArguments effect = cmd.Effect("FUNCTION"u8, cmd.Count).Argument(cmd[1]).Argument(DumpPayload.WithVersion(cmd[2], RdbFormat.VersionWithoutFieldExpiries));
            if (cmd.Count == 4) effect.Argument(cmd[3]);
        }

        cmd.Reply.Ok();
    }

    // The libraries before the first that cannot be read, and the error of that one.
    private static string? ReadLibraries(ReadOnlySpan<byte> payload, List<byte[]> codes)
    {
        using var scratch = new RdbScratch();
        RdbInput input = DumpPayload.Contents(payload);
        long bytes = 0;
        while (input.Left > 0)
        {
            if (!input.TryByte(out byte type) || type != RdbFormat.Function) return "ERR given type is not a function";
            if (!input.TryString(scratch.First, out ReadOnlySpan<byte> code)) return "ERR Failed loading library payload";
            if (ScriptSize.ErrorOf(code.Length) is { } tooLong) return "ERR " + tooLong;
            bytes += code.Length + BytesOfText;
            if (bytes > ScriptSize.KeptBytesMax) return $"ERR the text of libraries is too long, the limit by the process's memory is {ScriptSize.KeptBytesMax}";
            codes.Add(code.ToArray());
        }

        return null;
    }

    // Restores all libraries of the payload or none: they are first loaded separately, then checked against the existing ones. An error of an
    // earlier library comes before the problem of a later one that cannot be read.
    private string? LoadAll(scoped in CommandContext cmd, List<byte[]> codes, string? problem, bool flushes, bool replaces)
    {
        var loaded = new FunctionLibraries();
        try
        {
            foreach (byte[] code in codes)
            {
                if (LoadOne(cmd, loaded, code, replaces: false, out _) is { } error) return error;
            }

            if (problem is not null) return problem;
            if (!flushes && ConflictOf(loaded, replaces) is { } conflict) return conflict;
        }
        finally
        {
            loaded.Flush();
        }

        if (flushes) libraries.Flush();
        foreach (byte[] code in codes)
        {
            if (LoadOne(cmd, libraries, code, replaces: true, out _) is { } error) return error;
        }

        return null;
    }

    private string? ConflictOf(FunctionLibraries loaded, bool replaces)
    {
        foreach (FunctionLibrary library in loaded.All)
        {
            if (!replaces && libraries.FindLibrary(library.Name) is not null) return $"ERR Library {library.Name} already exists";
        }

        foreach (FunctionLibrary library in libraries.All)
        {
            if (loaded.FindLibrary(library.Name) is not null) continue; // it is replaced
            foreach (RegisteredFunction function in library.Functions)
            {
                if (loaded.Find(Encoding.Latin1.GetBytes(function.Name)) is not null) return $"ERR Function {function.Name} already exists";
            }
        }

        return null;
    }

    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "LOAD [REPLACE] <FUNCTION CODE>",
        "    Loads a library.",
        "DELETE <LIBRARY NAME>",
        "    Removes a library and its functions.",
        "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
        "    Lists libraries, the engine, their functions, and on demand their code.",
        "STATS",
        "    Describes the function that is running, if one is, and the engine.",
        "KILL",
        "    Ends the function that is running, if it has not written.",
        "FLUSH [ASYNC|SYNC]",
        "    Removes all libraries.",
        "DUMP",
        "    Returns all libraries as one payload for FUNCTION RESTORE.",
        "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
        "    Loads the libraries of a payload: after removing all (FLUSH), beside the others (APPEND, the default),",
        "    or in place of those with the same names (REPLACE).");
}
