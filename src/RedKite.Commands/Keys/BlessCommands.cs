using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Keys;

/// <summary>
/// BLESS as in Redis 8.12: keys that must not be evicted. The flag is in the key's entry; a new value of the key keeps it, and so does a new name.
/// </summary>
internal static class BlessCommands
{
    private const long CountDefault = 1024;

    private static readonly KeySpec[] Changed = KeySpecs.One(2, KeyFlags.ReadWrite);
    private static readonly KeySpec[] Inspected = KeySpecs.One(2, KeyFlags.ReadOnly);

    internal static readonly CommandFamily Family = new("generic", "keyspace",
    [
        new("BLESS", -2, None, KeySpecs.None, Help, new("8.12.0", "Depends on subcommand.", "A container for commands that protect keys from eviction."),
        [
            new("CLEAR", 4, Write | Fast, Changed, Clear, new("8.12.0", "O(1)", "Allows a key to be evicted again.", "key NO-EVICT")) { Categories = AclCategory.Dangerous },
            new("GET", 3, Fast, Inspected, Get, new("8.12.0", "O(1).", "Returns what a key is protected from.", "key")),
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("8.12.0", "O(1)", "Lists the subcommands.")),
            new("SCAN", -4, WalksStripes, KeySpecs.None, Scan, new("8.12.0", "O(1) for every call. O(N) for a complete iteration, where N is the number of keys.", "Iterates over the protected keys of the selected database.", "cursor:integer NO-EVICT [COUNT count:integer]")) { Tips = ["nondeterministic_output", "request_policy:special", "response_policy:special"] },
            new("SET", 4, Write | DenyOom | Fast, Changed, Set, new("8.12.0", "O(1)", "Protects a key from eviction.", "key NO-EVICT")) { Categories = AclCategory.Dangerous },
        ]),
    ]);

    // BLESS SET key NO-EVICT
    private static void Set(ref CommandContext cmd) => Change(ref cmd, isPinned: true, KeyEvent.Bless);

    // BLESS CLEAR key NO-EVICT
    private static void Clear(ref CommandContext cmd) => Change(ref cmd, isPinned: false, KeyEvent.Unbless);

    private static void Change(ref CommandContext cmd, bool isPinned, KeyEvent keyEvent)
    {
        if (!cmd.Is(3, "NO-EVICT"u8))
        {
            cmd.ReplySyntaxError();
            return;
        }

        Entry entry = cmd.Peek(2);
        if (!entry.Exists)
        {
            ReplyNoKey(cmd);
            return;
        }

        bool changes = entry.IsPinned != isPinned;
        if (changes)
        {
            cmd.Database.Pin(entry, isPinned);
            cmd.Changed(2, keyEvent);
        }

        cmd.Reply.Integer(changes ? 1 : 0);
    }

    // BLESS GET key
    private static void Get(ref CommandContext cmd)
    {
        Entry entry = cmd.Peek(2);
        if (!entry.Exists)
        {
            ReplyNoKey(cmd);
            return;
        }

        cmd.Reply.Array(entry.IsPinned ? 1 : 0);
        if (entry.IsPinned) cmd.Reply.Bulk("NO-EVICT"u8);
    }

    // BLESS SCAN cursor NO-EVICT [COUNT count]
    private static void Scan(ref CommandContext cmd)
    {
        if (!CursorArgument.TryReadOrReply(cmd, 2, out ulong position)) return;
        long count = CountDefault;
        var options = new OptionReader(cmd, first: 3);
        bool isNamed = options.Take("NO-EVICT"u8);
        if (options.TakeWithValue("COUNT"u8, out int value) && !cmd.TryIntegerOrReply(value, out count)) return;
        if (!isNamed || options.More || count < 1) cmd.ReplySyntaxError();
        else ScanCommands.ReplyPinned(cmd, position, count);
    }

    private static void ReplyNoKey(scoped in CommandContext cmd) => cmd.Reply.Error("ERR no such key"u8);

    // BLESS HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "CLEAR <key> NO-EVICT",
        "    Allow a key to be evicted again.",
        "GET <key>",
        "    Return what a key is protected from.",
        "SCAN <cursor> NO-EVICT [COUNT <count>]",
        "    Iterate over the protected keys.",
        "SET <key> NO-EVICT",
        "    Protect a key from eviction.");
}
