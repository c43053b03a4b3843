using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;

namespace RedKite.Server.Commands.Lists;

/// <summary>How handlers get at a key's list.</summary>
internal static class ListAccess
{
    /// <summary>Finds a list to read: counts a hit or miss. Of a missing key the list has no elements; another type is WRONGTYPE.</summary>
    internal static bool TryReadListOrReply(this scoped in CommandContext cmd, int argument, out ListValue list) =>
        TryListOrReply(cmd, cmd.Find(argument), out list);

    /// <summary>Finds a list to change it. Of a missing key the list has no elements; another type is WRONGTYPE.</summary>
    internal static bool TryWriteListOrReply(this scoped in CommandContext cmd, int argument, out ListValue list) =>
        TryListOrReply(cmd, cmd.FindToWrite(argument), out list);

    /// <summary>The list of an entry, which has one.</summary>
    internal static ListValue ListOf(this scoped in CommandContext cmd, scoped in Entry entry) => new(cmd.Database, entry, Limits(cmd));

    /// <summary>Makes a list for a key that does not exist; it gets its elements at once.</summary>
    internal static ListValue NewList(this scoped in CommandContext cmd, int argument) =>
        ListValue.Create(cmd.Database, cmd[argument], cmd.HashOf(argument), Limits(cmd), cmd.NewAccessClock);

    private static bool TryListOrReply(scoped in CommandContext cmd, Entry entry, out ListValue list)
    {
        list = cmd.ListOf(entry);
        return cmd.IsTypeOrReply(entry, DataType.List);
    }

    private static ListLimits Limits(scoped in CommandContext cmd) => new(cmd.Server.Settings.ListMaxListpackSize, cmd.Server.Settings.ListCompressDepth);
}
