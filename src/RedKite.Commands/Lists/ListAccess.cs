using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;

namespace RedKite.Server.Commands.Lists;

/// <summary>Opens the lists of keys. The list of a missing key has no elements.</summary>
internal static class ListAccess
{
    /// <summary>Opens a key's list to read it, which counts a hit or miss; replies WRONGTYPE for another type.</summary>
    internal static bool OpenToReadListOrReply(this scoped in CommandContext cmd, int argument, out ListValue list) =>
        TryOpenOrReply(cmd, cmd.Find(argument), out list);

    /// <summary>Opens a key's list to change it; replies WRONGTYPE for another type.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="argument">The key's argument.</param>
    /// <param name="list">The list.</param>
    /// <param name="createIfMissing">Whether a missing key gets an empty list, to which the caller adds elements at once.</param>
    internal static bool OpenToWriteListOrReply(this scoped in CommandContext cmd, int argument, out ListValue list, bool createIfMissing = false)
    {
        Entry entry = cmd.FindToWrite(argument);
        if (!TryOpenOrReply(cmd, entry, out list)) return false;
        if (createIfMissing && !entry.Exists) list = cmd.CreateList(argument);
        return true;
    }

    /// <summary>The list of an entry of that type, or without elements if the entry doesn't exist.</summary>
    internal static ListValue ListOf(this scoped in CommandContext cmd, scoped in Entry entry) => new(cmd.Database, entry, Limits(cmd));

    /// <summary>Creates an empty list for a key, in place of any value that it holds. The caller adds elements at once.</summary>
    internal static ListValue CreateList(this scoped in CommandContext cmd, int argument, Entry existing = default) =>
        ListValue.Create(cmd.Database, cmd[argument], cmd.HashOf(argument), Limits(cmd), cmd.Accesses.ClockOfRewritten(existing), existing);

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, out ListValue list)
    {
        list = cmd.ListOf(entry);
        return cmd.IsTypeOrReply(entry, DataType.List);
    }

    private static ListLimits Limits(scoped in CommandContext cmd) => new(cmd.Settings.ListMaxListpackSize, cmd.Settings.ListCompressDepth);
}
