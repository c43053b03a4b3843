using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// COMMAND and its subcommands, which report the rows of the families' tables. The table is their single declaration and
/// this file's contents.
/// </summary>
internal static class IntrospectionCommands
{
    private const string ListComplexity = "O(N) where N is the total number of Redis commands";
    private const string LookUpComplexity = "O(N) where N is the number of commands to look up";
    private const string ArgumentsComplexity = "O(N) where N is the number of arguments to the command";

    // Each command's once. A name takes some bytes, what it replies up to 20 KB.
    private const int NamesMax = 1024;

    private static readonly string[] AnyOrder = ["nondeterministic_output_order"];

    internal static readonly CommandFamily Family = new("server", "connection",
    [
        new("COMMAND", -1, Loading | Stale, KeySpecs.None, All, new("2.8.13", ListComplexity, "Returns the arity, flags and keys of every command."),
        [
            new("COUNT", 2, Loading | Stale, KeySpecs.None, Count, new("2.8.13", "O(1)", "Returns the number of commands.")),
            new("DOCS", -2, Loading | Stale, KeySpecs.None, Docs, new("7.0.0", LookUpComplexity, "Returns the documentation of commands.", "[command-name ...]")) { Tips = AnyOrder },
            new("GETKEYS", -3, Loading | Stale, KeySpecs.None, GetKeys, new("2.8.13", ArgumentsComplexity, "Returns the keys of a command line.", "command [arg ...]")),
            new("GETKEYSANDFLAGS", -3, Loading | Stale, KeySpecs.None, GetKeysAndFlags, new("7.0.0", ArgumentsComplexity, "Returns the keys of a command line and how the command uses each.", "command [arg ...]")),
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("INFO", -2, Loading | Stale, KeySpecs.None, Info, new("2.8.13", LookUpComplexity, "Returns the arity, flags and keys of commands.", "[command-name ...]") { History = [("7.0.0", "Without a name, returns the entries of all commands.")] }) { Tips = AnyOrder },
            new("LIST", -2, Loading | Stale, KeySpecs.None, List, new("7.0.0", ListComplexity, "Returns the names of commands, optionally filtered.", "[FILTERBY filterby:<MODULE module-name | ACLCAT category | PATTERN pattern>]")) { Tips = AnyOrder },
        ])
        {
            Categories = AclCategory.Connection,
            Tips = AnyOrder,
        },
    ]);

    private delegate bool CommandFilter(Command command, ReadOnlySpan<byte> argument);

    // COMMAND
    private static void All(ref CommandContext cmd)
    {
        IReadOnlyList<Command> commands = cmd.Environment.Commands.Listed;
        cmd.Reply.Array(commands.Count);
        foreach (Command command in commands) CommandInfo.Write(cmd.Reply, command);
    }

    // COMMAND COUNT
    private static void Count(ref CommandContext cmd) => cmd.Reply.Integer(cmd.Environment.Commands.Listed.Count);

    // COMMAND INFO [name ...]
    private static void Info(ref CommandContext cmd)
    {
        if (cmd.Count == 2)
        {
            All(ref cmd);
            return;
        }

        if (!HasFewNamesOrReply(cmd)) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++)
        {
            if (Find(cmd, cmd[i]) is { } command) CommandInfo.Write(cmd.Reply, command);
            else cmd.Reply.Null();
        }
    }

    // COMMAND DOCS [name ...]
    private static void Docs(ref CommandContext cmd)
    {
        if (cmd.Count == 2)
        {
            IReadOnlyList<Command> commands = cmd.Environment.Commands.Listed;
            cmd.Reply.Map(commands.Count);
            foreach (Command command in commands) WriteDocumentation(cmd.Reply, command);
            return;
        }

        if (!HasFewNamesOrReply(cmd)) return;
        int found = 0;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (Find(cmd, cmd[i]) is not null) found++;
        }

        cmd.Reply.Map(found);
        for (int i = 2; i < cmd.Count; i++)
        {
            if (Find(cmd, cmd[i]) is { } command) WriteDocumentation(cmd.Reply, command);
        }
    }

    /// <summary>Whether a request names few commands. Each reply of one may be long, and they may be named again and again.</summary>
    internal static bool HasFewNamesOrReply(scoped in CommandContext cmd)
    {
        if (cmd.Count - 2 <= NamesMax) return true;
        cmd.Reply.Error($"ERR more than {NamesMax} names of commands");
        return false;
    }

    // COMMAND LIST [FILTERBY <MODULE name | ACLCAT category | PATTERN pattern>]
    private static void List(ref CommandContext cmd)
    {
        CommandFilter filter = (_, _) => true;
        if (cmd.Count != 2 && !TryFilter(cmd, out filter))
        {
            cmd.ReplySyntaxError();
            return;
        }

        ReadOnlySpan<byte> argument = cmd.Count > 2 ? cmd[4] : default;
        var names = new List<string>();
        foreach (Command command in cmd.Environment.Commands.Listed)
        {
            if (filter(command, argument)) names.Add(command.FullName);
            foreach (Command subcommand in command.Subcommands)
            {
                if (filter(subcommand, argument)) names.Add(subcommand.FullName);
            }
        }

        if (cmd.Count > 2 && !cmd.Environment.UnitWork.Patterns.EndPatternsOrReply(cmd.Reply, cmd.Reply.Length)) return;
        cmd.Reply.Array(names.Count);
        foreach (string name in names) cmd.Reply.Bulk(name);
    }

    // COMMAND GETKEYS command [argument ...]
    private static void GetKeys(ref CommandContext cmd) => ReplyKeys(ref cmd, withFlags: false);

    // COMMAND GETKEYSANDFLAGS command [argument ...]
    private static void GetKeysAndFlags(ref CommandContext cmd) => ReplyKeys(ref cmd, withFlags: true);

    // COMMAND HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "(no subcommand)",
        "    Return the arity, flags and keys of every command.",
        "COUNT",
        "    Return the number of commands.",
        "LIST",
        "    Return the names of all commands.",
        "INFO [<command-name> ...]",
        "    Return the arity, flags and keys of the given commands (default: all).",
        "DOCS [<command-name> ...]",
        "    Return the documentation of the given commands (default: all).",
        "GETKEYS <full-command>",
        "    Return the keys of a command line.",
        "GETKEYSANDFLAGS <full-command>",
        "    Return the keys of a command line and how the command uses each.");

    private static void ReplyKeys(ref CommandContext cmd, bool withFlags)
    {
        const int Start = 2;
        if (FindRequested(cmd, Start) is not { } command)
        {
            cmd.Reply.Error("ERR Invalid command specified"u8);
            return;
        }

        if (!Array.Exists(command.Keys, keys => (keys.Flags & KeyFlags.NotKey) == 0))
        {
            cmd.Reply.Error("ERR The command has no key arguments"u8);
            return;
        }

        if (!command.Accepts(cmd.Count - Start))
        {
            cmd.Reply.Error("ERR Invalid number of arguments specified for command"u8);
            return;
        }

        int count = 0;
        var counting = new KeyExtraction(command, Start);
        while (counting.MoveNext(cmd)) count++;
        if (counting.HasMisfit) count = 0;
        if (count == 0 && !command.Is(NoMandatoryKeys))
        {
            cmd.Reply.Error("ERR Invalid arguments specified for command"u8);
            return;
        }

        cmd.Reply.Array(count);
        var keys = new KeyExtraction(command, Start);
        while (count-- > 0 && keys.MoveNext(cmd))
        {
            if (withFlags) cmd.Reply.Array(2);
            cmd.Reply.Bulk(cmd[keys.Argument]);
            if (withFlags) CommandInfo.Write(cmd.Reply, keys.FlagsOf(cmd) & ~(KeyFlags.VariableFlags | KeyFlags.Incomplete));
        }
    }

    private static bool TryFilter(scoped in CommandContext cmd, out CommandFilter filter)
    {
        filter = (_, _) => false;
        if (cmd.Count != 5 || !cmd.Is(2, "FILTERBY"u8)) return false;
        if (cmd.Is(3, "MODULE"u8))
        {
            filter = (command, module) => command.Module is { } own && own == ServerModule.Find(module);
            return true;
        }

        if (cmd.Is(3, "ACLCAT"u8))
        {
            AclCategory category = AclCategories.Find(cmd[4]);
            filter = (command, _) => (command.AllCategories & category) != 0;
            return true;
        }

        GlobBudget patterns = cmd.BeginPatterns();
        filter = (command, pattern) => !patterns.IsUsedUp && patterns.IsMatch(pattern, System.Text.Encoding.ASCII.GetBytes(command.FullName), ignoreCase: true);
        return cmd.Is(3, "PATTERN"u8);
    }

    private static void WriteDocumentation(ReplyWriter reply, Command command)
    {
        reply.Bulk(command.FullName);
        CommandDocumentation.Write(reply, command);
    }

    // A command by its name, "get" or "client|list".
    private static Command? Find(scoped in CommandContext cmd, ReadOnlySpan<byte> name)
    {
        int bar = name.IndexOf((byte)'|');
        if (bar < 0) return cmd.Environment.Commands.Find(name);
        return cmd.Environment.Commands.Find(name[..bar]) is { } container ? CommandTable.FindSubcommand(container, name[(bar + 1)..]) : null;
    }

    // The command of a request that starts at an argument; null if there is none.
    private static Command? FindRequested(scoped in CommandContext cmd, int start)
    {
        Command? command = cmd.Environment.Commands.Find(cmd[start]);
        if (command is null || command.Subcommands.Length == 0 || cmd.Count == start + 1) return command;
        return CommandTable.FindSubcommand(command, cmd[start + 1]);
    }
}
