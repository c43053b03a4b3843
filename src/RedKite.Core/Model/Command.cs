using RedKite.Scripting;
using RedKite.Server.Config;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>Executes one command. The keys that its row names are locked. All arguments are parsed before anything changes.</summary>
internal delegate void CommandHandler(ref CommandContext cmd);

/// <summary>Answers a yes-or-no question about one request of a command.</summary>
internal delegate bool RequestRule(scoped in CommandContext cmd);

/// <summary>The flags that the script of a request states; null: it states none, or there is no such script.</summary>
internal delegate ScriptFlags? StatedFlags(scoped in CommandContext cmd);

/// <summary>The stripes that one request needs beyond those of its keys.</summary>
internal delegate StripeSet FurtherStripes(scoped in CommandContext cmd);

/// <summary>
/// The documentation that COMMAND DOCS returns. <paramref name="Syntax"/> is the documented command line without the
/// command's name; the argument tree is parsed from it (see <see cref="CommandSyntax"/>). Summaries and changes are in
/// RedKite's own words; all other parts are those of Redis.
/// </summary>
internal sealed record CommandDoc(string Since, string Complexity, string Summary, string Syntax = "")
{
    /// <summary>The version that deprecated the command; empty: it is not deprecated.</summary>
    internal string DeprecatedSince { get; init; } = "";

    /// <summary>The replacement for a deprecated command.</summary>
    internal string ReplacedBy { get; init; } = "";

    /// <summary>Later changes of the command, oldest first.</summary>
    internal (string Version, string Change)[] History { get; init; } = [];

    /// <summary>Whether <see cref="Since"/> is a version of Valkey, whose command it is.</summary>
    internal bool IsOfValkey { get; init; }

    /// <summary>Intended for servers and their developers, not for applications.</summary>
    internal bool IsSystemCommand { get; init; }
}

/// <summary>What a command does with sharded channels.</summary>
internal enum ShardChannelUse : byte
{
    None,

    /// <summary>It publishes to them, or subscribes.</summary>
    Uses,

    /// <summary>It ends subscriptions, which are here whichever node has the slots.</summary>
    Leaves,
}

/// <summary>
/// One row of a family's table: the single description of a command. Routing, locking, COMMAND INFO, DOCS and GETKEYS,
/// access categories and statistics read it.
/// </summary>
internal sealed class Command
{
    private CommandArgument[]? _arguments;

    /// <param name="name">In capitals, as in documentation.</param>
    /// <param name="arity">The number of arguments, including the name; negative: the minimum.</param>
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
        Channels = ChannelSpec.Of(Name);
        FirstKey = KeyRange.First;
        EarlyKey = FirstKey == 0 && keys is [{ CountAt: > 0, Keyword: "" } counted, ..] ? counted.First : FirstKey;
        bool hasRange = keys is [{ IsFixedRange: true, Last: -1 }] && (keys[0].Flags & KeyFlags.NotKey) == 0 && subcommands is null;
        bool mayBeShort = Is(CommandFlags.Fast | CommandFlags.Short) && !Is(CommandFlags.AllStripes | CommandFlags.Protected);
        IsShort = HasOneKey && mayBeShort;

        // A command that neither reads nor writes values, such as WATCH, concerns the client; the invoker checks the client's state.
        ShortAccess = keys.Length == 0 ? KeyAccess.None : KeyAccesses.MostOf(keys[0]);
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

    /// <summary>The group of COMMAND DOCS: its family's.</summary>
    internal string Group { get; private set; } = "";

    /// <summary>Its family's access category; empty: none.</summary>
    internal string Category { get; private set; } = "";

    /// <summary>The setting that opens a protected command; null: nothing does.</summary>
    internal Func<Settings, ProtectedAccess>? Gate { get; init; }

    /// <summary>The subcommand of a protected command that is open to clients on this machine and to clients that have logged in; null: none.</summary>
    internal byte[]? UnprotectedArgument { get; init; }

    /// <summary>The channels among the arguments; null: none, or none that need permission.</summary>
    internal ChannelSpec? Channels { get; init; }

    /// <summary>Access categories beyond those that the family and the flags imply.</summary>
    internal AclCategory Categories { get; init; }

    /// <summary>
    /// The module that has the command in Redis; null: none has. Such a command's documentation names the module and no complexity, and its name is written as the module writes it.
    /// </summary>
    internal ServerModule? Module
    {
        get;
        init
        {
            field = value;
            if (value is { HasLowerNames: false }) FullName = Name.ToUpperInvariant();
        }
    }

    /// <summary>All access categories.</summary>
    internal AclCategory AllCategories => AclCategories.Of(this);

    /// <summary>Whether a request uses keys that its arguments do not name, which requires every stripe; null: never.</summary>
    internal RequestRule? NeedsAllStripes { get; init; }

    /// <summary>Whether a request must not run beside scripts, as one of a command that runs them; null: never.</summary>
    internal RequestRule? ExcludesScripts { get; init; }

    /// <summary>Whether a request of a command that may write declares that it does not; null: none can.</summary>
    internal RequestRule? OnlyReads { get; init; }

    /// <summary>
    /// Whether a request is refused above maxmemory although the command itself is not: a script whose flags do not allow it; null: never.
    /// </summary>
    internal RequestRule? NeedsMemory { get; init; }

    /// <summary>Whether a request needs no memory although its row says that the command may; null: none.</summary>
    internal RequestRule? NeedsNoMemory { get; init; }

    /// <summary>The flags that the script of a request states; null: the command runs none.</summary>
    internal StatedFlags? ScriptFlagsOf { get; init; }

    /// <summary>The stripes that a request uses beyond those of its keys; null: none.</summary>
    internal FurtherStripes? UsesStripes { get; init; }

    /// <summary>Whether the command executes what its client has queued: EXEC.</summary>
    internal bool RunsQueued { get; init; }

    /// <summary>
    /// Whether it changes the server's role, or ends the server: then the link to a primary ends, which waits for the command that the link executes. So no
    /// primary's stream may have it.
    /// </summary>
    internal bool ChangesRole { get; init; }

    /// <summary>Whether it begins a transaction.</summary>
    internal bool BeginsUnit { get; init; }

    /// <summary>Whether the command is refused together with those that write: PING, by which clients find out.</summary>
    internal bool IsRefusedWithWrites { get; init; }

    /// <summary>Whether CLIENT CACHING still holds for the command behind this one: for subcommands of CLIENT.</summary>
    internal bool KeepsCaching { get; set; }

    /// <summary>Whether what ASKING allows still holds behind it: it is ASKING itself.</summary>
    internal bool KeepsAsking { get; init; }

    /// <summary>Whether it sends keys to another node, so that it executes whichever of them are here: MIGRATE.</summary>
    internal bool MovesKeys { get; init; }

    /// <summary>Whether it uses a key of another database too, of whose slot it is not known what is here while that moves key by key; null: no. Asked where there are several databases.</summary>
    internal RequestRule? UsesOtherDatabase { get; init; }

    /// <summary>Whether it reads values of keys that its arguments do not name: TS.MGET.</summary>
    internal bool ReadsUnnamedKeys { get; init; }

    /// <summary>How it uses sharded channels among its arguments, which have slots as keys do.</summary>
    internal ShardChannelUse ShardChannels { get; init; }

    /// <summary>Whether its first argument is "0" or a cursor with a hash tag, whose slot is looked at as that of a key: CLUSTERSCAN.</summary>
    internal bool HasSlotCursor { get; init; }

    /// <summary>Hints for clients and proxies in COMMAND INFO: "nondeterministic_output", "request_policy:multi_shard", ...</summary>
    internal string[] Tips { get; init; } = [];

    /// <summary>The argument tree, parsed from the documented syntax on first use.</summary>
    internal CommandArgument[] Arguments => _arguments ??= CommandSyntax.Parse(Doc.Syntax, Keys.Length);

    /// <summary>The command's index in every table of statistics.</summary>
    internal int Index { get; set; }

    /// <summary>Whether the command has exactly one key, at a fixed position, like nearly every request.</summary>
    internal bool HasOneKey { get; }

    /// <summary>
    /// Whether the command takes the batch's short path: its flags are fast or short, and it has one key and nothing to check but the
    /// number of arguments.
    /// </summary>
    internal bool IsShort { get; }

    /// <summary>The number of arguments with which a command over a range of keys has a single key and takes the short path too; 0: none.</summary>
    internal int OneKeyCount { get; }

    /// <summary>The access to the first key that the short path's permission check requires: all that any request of the command may need.</summary>
    internal KeyAccess ShortAccess { get; }

    /// <summary>The range of keys at fixed positions that COMMAND INFO reports to old clients.</summary>
    internal KeyRange KeyRange { get; }

    /// <summary>The first key's argument; 0 for a command without keys at fixed positions.</summary>
    internal int FirstKey { get; }

    /// <summary>
    /// The argument whose entry is prefetched before the command executes; 0: none. Where the command states how many keys it has, it is the
    /// first one, if there are any.
    /// </summary>
    internal int EarlyKey { get; }

    internal bool Is(CommandFlags flags) => (Flags & flags) != 0;

    /// <summary>Makes it and its subcommands part of a family.</summary>
    internal void Join(string group, string category)
    {
        (Group, Category) = (group, category);
        foreach (Command subcommand in Subcommands) subcommand.Join(group, category);
    }

    internal bool Accepts(int argumentCount) => Arity >= 0 ? argumentCount == Arity : argumentCount >= -Arity;
}

/// <summary>A family of commands: the table in one file.</summary>
internal sealed class CommandFamily
{
    /// <summary>Every group. Each has its own metrics.</summary>
    internal static readonly string[] Groups =
    [
        "generic", "string", "bitmap", "hyperloglog", "hash", "list", "set", "sorted-set", "geo", "stream", "array",
        "pubsub", "scripting", "transactions", "connection", "cluster", "server", "module",
    ];

    /// <param name="group">As COMMAND DOCS names it: string, generic, connection, server, ...</param>
    /// <param name="category">The access category without its at-sign: string, keyspace, connection, ...; empty: none.</param>
    internal CommandFamily(string group, string category, Command[] commands)
    {
        Group = group;
        Category = category;
        Commands = commands;
        foreach (Command command in commands) command.Join(group, category);
    }

    internal string Group { get; }

    internal string Category { get; }

    internal Command[] Commands { get; }
}
