
namespace RedKite.Server.Model;

/// <summary>Executes one command. The keys that its row names are locked; everything is parsed before anything changes.</summary>
internal delegate void CommandHandler(ref CommandContext cmd);

/// <summary>Whether one request needs every stripe.</summary>
internal delegate bool StripesRule(scoped in CommandContext cmd);

/// <summary>
/// What COMMAND DOCS tells. <paramref name="Syntax"/> is the command line as documentation writes it, without the
/// command's name; the arguments of COMMAND DOCS are read from it (see <see cref="CommandSyntax"/>).
/// </summary>
internal sealed record CommandDoc(string Since, string Complexity, string Summary, string Syntax = "")
{
    /// <summary>The version that deprecated the command; empty: it is not deprecated.</summary>
    internal string DeprecatedSince { get; init; } = "";

    /// <summary>What to use instead of a deprecated command.</summary>
    internal string ReplacedBy { get; init; } = "";

    /// <summary>Meant for servers and their developers, not for applications.</summary>
    internal bool IsSystemCommand { get; init; }
}

/// <summary>
/// One row of a family's table, and all that the server knows of the command: routing, locking, COMMAND INFO, DOCS and
/// GETKEYS, access categories and statistics read it.
/// </summary>
internal sealed class Command
{
    private CommandArgument[]? _arguments;

    /// <param name="name">In capitals, as documentation writes it.</param>
    /// <param name="arity">Arguments with the name; negative: at least so many.</param>
    internal Command(string name, int arity, CommandFlags flags, KeySpec[] keys, CommandHandler handler, CommandDoc doc, Command[]? subcommands = null)
    {
#pragma warning disable CA1308 // Redis writes command names in lower case wherever it lists them.
        Name = name.ToLowerInvariant();
#pragma warning restore CA1308
        FullName = Name;
        Arity = arity;
        Flags = flags;
        Keys = keys;
        Handler = handler;
        Doc = doc;
        Subcommands = subcommands ?? [];
        foreach (Command subcommand in Subcommands)
        {
            subcommand.Parent = this;
            subcommand.FullName = Name + "|" + subcommand.Name;
        }

        KeyRange = KeyRange.Of(keys, out bool moves);
        if (moves) Flags |= CommandFlags.MovableKeys;
        HasOneKey = keys is [{ IsOneKey: true }] && subcommands is null;
        FirstKey = KeyRange.First;
        bool hasRange = keys is [{ IsFixedRange: true, Last: -1 }] && (keys[0].Flags & KeyFlags.NotKey) == 0 && subcommands is null;
        bool mayBeShort = Is(CommandFlags.Fast | CommandFlags.Brief) && !Is(CommandFlags.AllStripes | CommandFlags.Protected);
        IsShort = HasOneKey && mayBeShort;

        // What neither reads nor writes a value, as WATCH does not, is about the client, whose state the long path looks at anew.
        OneKeyCount = hasRange && mayBeShort && Is(CommandFlags.ReadOnly | CommandFlags.Write) ? keys[0].First + keys[0].Step : 0;
    }

    internal string Name { get; }

    /// <summary>"get", or "client|list" for a subcommand.</summary>
    internal string FullName { get; private set; }

    internal int Arity { get; }

    internal CommandFlags Flags { get; }

    internal KeySpec[] Keys { get; }

    internal CommandHandler Handler { get; }

    internal CommandDoc Doc { get; }

    internal Command[] Subcommands { get; }

    internal Command? Parent { get; private set; }

    /// <summary>The family's group, as COMMAND DOCS names it, and its access category.</summary>
    internal CommandFamily Family { get; set; } = null!;

    /// <summary>Access categories beyond those that the family and the flags imply.</summary>
    internal AclCategory Categories { get; init; }

    /// <summary>All access categories.</summary>
    internal AclCategory AllCategories => AclCategories.Of(this);

    /// <summary>Whether a request uses keys that its arguments do not name, so that every stripe is locked for it; null: none does.</summary>
    internal StripesRule? NeedsAllStripes { get; init; }

    /// <summary>Hints for clients and proxies, as COMMAND INFO tells them: "nondeterministic_output", "request_policy:multi_shard", ...</summary>
    internal string[] Tips { get; init; } = [];

    /// <summary>The arguments, as the syntax in the documentation says.</summary>
    internal CommandArgument[] Arguments => _arguments ??= CommandSyntax.Parse(Doc.Syntax, Keys.Length);

    /// <summary>The command's place in every table of statistics.</summary>
    internal int Index { get; set; }

    /// <summary>Whether the command has exactly one key, at a fixed place: the path of nearly every request.</summary>
    internal bool HasOneKey { get; }

    /// <summary>Whether the executor's short path may take it: fast or brief, one key, nothing to check but the number of arguments.</summary>
    internal bool IsShort { get; }

    /// <summary>With how many arguments a command over a range of keys has just one, and may take the short path as well; 0: it never does.</summary>
    internal int OneKeyCount { get; }

    /// <summary>The keys at fixed places that follow on each other, as COMMAND INFO tells them for old clients.</summary>
    internal KeyRange KeyRange { get; }

    /// <summary>The first key's argument; 0 for a command without keys at fixed places.</summary>
    internal int FirstKey { get; }

    internal bool Is(CommandFlags flags) => (Flags & flags) != 0;

    internal bool Accepts(int argumentCount) => Arity >= 0 ? argumentCount == Arity : argumentCount >= -Arity;
}

/// <summary>A family of commands: the table in one file.</summary>
internal sealed class CommandFamily
{
    /// <param name="group">As COMMAND DOCS names it: string, generic, connection, server, ...</param>
    /// <param name="category">The access category without its at-sign: string, keyspace, connection, ...; empty: none.</param>
    internal CommandFamily(string group, string category, Command[] commands)
    {
        Group = group;
        Category = category;
        Commands = commands;
        foreach (Command command in commands)
        {
            command.Family = this;
            foreach (Command subcommand in command.Subcommands) subcommand.Family = this;
        }
    }

    internal string Group { get; }

    internal string Category { get; }

    internal Command[] Commands { get; }
}
