using RedKite.Store.Keyspace;
using static RedKite.Server.Commands.CommandFlags;
using static RedKite.Server.Commands.KeyFlags;

namespace RedKite.Server.Commands;

/// <summary>String commands. The table is their single declaration and this file's contents.</summary>
internal static class StringCommands
{
    internal static readonly CommandFamily Family = new("string", "string",
    [
        new("GET", 2, CommandFlags.ReadOnly | Fast, Keys.One(1, KeyFlags.ReadOnly | Access), Get, new("1.0.0", "O(1)", "Returns a key's string.", "key")),
        new("SET", -3, Write | DenyOom | Fast, Keys.One(1, ReadWrite | Access | Update | VariableFlags), Set, new("1.0.0", "O(1)", "Sets a key to a string.", "key value")),
    ]);

    // GET key
    private static void Get(ref CommandContext cmd)
    {
        if (!cmd.FindStringOrReplyNull(1, out Entry entry)) return;
        cmd.Reply.Bulk(entry.Value);
    }

    // SET key value
    private static void Set(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToWrite(1);
        cmd.WriteString(1, entry, cmd[2], Database.NoExpiry);
        cmd.Changed();
        cmd.Reply.Ok();
    }
}
