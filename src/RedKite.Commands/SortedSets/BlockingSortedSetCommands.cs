using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>
/// Sorted set commands that block until there is a member to pop. The table is their single declaration and this file's
/// contents. A blocked command is executed again when one of its keys may have a member.
/// </summary>
internal static class BlockingSortedSetCommands
{
    private const CommandFlags Usual = Write | CommandFlags.Blocking | Fast;

    internal static readonly CommandFamily Family = new("sorted-set", "sortedset",
    [
        new("BZPOPMIN", -3, Usual, KeySpecs.Range(1, -2, 1, ReadWrite | Access | Delete), BZPopMin,
            new("5.0.0", "O(log(N)) with N being the number of elements in the sorted set.", "Pops the member with the lowest score from the first of several sorted sets that exists. Blocks while none does.", "key [key ...] timeout:double") { History = [("6.0.0", "The timeout may have a fraction.")] }),
        new("BZPOPMAX", -3, Usual, KeySpecs.Range(1, -2, 1, ReadWrite | Access | Delete), BZPopMax,
            new("5.0.0", "O(log(N)) with N being the number of elements in the sorted set.", "Pops the member with the highest score from the first of several sorted sets that exists. Blocks while none does.", "key [key ...] timeout:double") { History = [("6.0.0", "The timeout may have a fraction.")] }),
        new("BZMPOP", -5, Write | CommandFlags.Blocking, [new KeySpec(3, -1, 1, ReadWrite | Access | Delete, CountAt: 2)], BZMPop,
            new("7.0.0", "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in the sorted set, and M being the number of elements popped.", "Pops members from the first of several sorted sets that exists. Blocks while none does.", "timeout:double numkeys key [key ...] where:<MIN | MAX> [COUNT count]")),
    ]);

    // BZPOPMIN key [key ...] timeout
    private static void BZPopMin(ref CommandContext cmd) => Pop(ref cmd, fromMax: false);

    // BZPOPMAX key [key ...] timeout
    private static void BZPopMax(ref CommandContext cmd) => Pop(ref cmd, fromMax: true);

    private static void Pop(ref CommandContext cmd, bool fromMax)
    {
        int timeout = cmd.Count - 1;
        if (!TimeoutArgument.TrySecondsOrReply(cmd, timeout, out long deadlineMs)) return;
        for (int key = 1; key < timeout; key++)
        {
            Entry entry = cmd.FindToWrite(key);
            if (!entry.Exists) continue;
            if (!cmd.IsTypeOrReply(entry, DataType.SortedSet)) return;
            var set = new SortedSetValue(cmd.Database, entry);
            cmd.Reply.Array(3);
            cmd.Reply.Bulk(cmd[key]);
            if (SortedSetPopCommands.TryReplyAndRemove(cmd, key, ref set, fromMax, count: 1, arePairs: false))
            {
                cmd.Effect(fromMax ? "ZPOPMAX"u8 : "ZPOPMIN"u8, 2).Argument(cmd[key]);
            }

            return;
        }

        if (!cmd.BlockOnKeys(DataType.SortedSet, deadlineMs)) cmd.Reply.NullArray();
    }

    // BZMPOP timeout numkeys key [key ...] MIN | MAX [COUNT count]
    private static void BZMPop(ref CommandContext cmd)
    {
        if (!SortedSetPopCommands.TryParseMultipleOrReply(cmd, 2, out int firstKey, out int keys, out bool fromMax, out long count)) return;
        if (!TimeoutArgument.TrySecondsOrReply(cmd, 1, out long deadlineMs)) return;
        if (SortedSetPopCommands.TryPopFirstOrReply(cmd, firstKey, keys, fromMax, count)) return;
        if (!cmd.BlockOnKeys(DataType.SortedSet, deadlineMs)) cmd.Reply.NullArray();
    }
}
