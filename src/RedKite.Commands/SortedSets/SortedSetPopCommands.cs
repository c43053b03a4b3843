using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>
/// Sorted set commands that pop members from an end. The table is their single declaration and this file's contents. Members are
/// replied before they are removed, so that a reply that cannot be delivered leaves the set as it is.
/// </summary>
internal static class SortedSetPopCommands
{
    private const string PopComplexity = "O(log(N)*M) with N being the number of elements in the sorted set, and M being the number of elements popped.";

    private static readonly KeySpec[] Popped = KeySpecs.One(1, ReadWrite | Access | Delete);

    internal static readonly CommandFamily Family = new("sorted-set", "sortedset",
    [
        new("ZPOPMIN", -2, Write | Fast, Popped, ZPopMin,
            new("5.0.0", PopComplexity, "Pops the members with the lowest scores from a sorted set.", "key [count]")),
        new("ZPOPMAX", -2, Write | Fast, Popped, ZPopMax,
            new("5.0.0", PopComplexity, "Pops the members with the highest scores from a sorted set.", "key [count]")),
        new("ZMPOP", -4, Write, [new(2, 2, 1, ReadWrite | Access | Delete, CountAt: 1)], ZMPop,
            new("7.0.0", "O(K) + O(M*log(N)) where K is the number of provided keys, N being the number of elements in the sorted set, and M being the number of elements popped.",
                "Pops members from the first of several sorted sets that exists.", "numkeys key [key ...] where:<MIN | MAX> [COUNT count]")),
    ]);

    // ZPOPMIN key [count]
    private static void ZPopMin(ref CommandContext cmd) => Pop(ref cmd, fromMax: false);

    // ZPOPMAX key [count]
    private static void ZPopMax(ref CommandContext cmd) => Pop(ref cmd, fromMax: true);

    private static void Pop(ref CommandContext cmd, bool fromMax)
    {
        if (cmd.Count > 3)
        {
            cmd.ReplySyntaxError();
            return;
        }

        bool hasCount = cmd.Count == 3;
        long count = 1;
        if (hasCount && !cmd.TryCountOrReply(2, out count)) return;
        if (!cmd.OpenToWriteSortedSetOrReply(1, out SortedSetValue set)) return;

        // In RESP3, a reply without a count is one pair, and one with a count an array of pairs.
        count = Math.Min(count, set.Count);
        bool arePairs = hasCount && cmd.Reply.Resp3;
        cmd.Reply.Array((int)Math.Min(int.MaxValue, arePairs ? count : count * 2));
        TryReplyAndRemove(cmd, 1, ref set, fromMax, count, arePairs);
    }

    // ZMPOP numkeys key [key ...] MIN | MAX [COUNT count]
    private static void ZMPop(ref CommandContext cmd)
    {
        if (!TryParseMultipleOrReply(cmd, 1, out int firstKey, out int keys, out bool fromMax, out long count)) return;
        if (!TryPopFirstOrReply(cmd, firstKey, keys, fromMax, count)) cmd.Reply.NullArray();
    }

    /// <summary>Reads the arguments that ZMPOP and BZMPOP have in common, from the number of keys on.</summary>
    internal static bool TryParseMultipleOrReply(scoped in CommandContext cmd, int numberOfKeys, out int firstKey, out int keys, out bool fromMax, out long count)
    {
        firstKey = numberOfKeys + 1;
        keys = 0;
        fromMax = false;
        count = 1;
        if (!cmd.TryPositiveOrReply(numberOfKeys, "ERR numkeys should be greater than 0"u8, out long given)) return false;

        // MIN or MAX must follow the keys.
        if (given >= cmd.Count - firstKey)
        {
            cmd.ReplySyntaxError();
            return false;
        }

        keys = (int)given;
        var options = new OptionReader(cmd, firstKey + keys);
        bool hasCount = false;
        if (options.Take("MAX"u8)) fromMax = true;
        else if (!options.Take("MIN"u8)) return SyntaxError(cmd);
        while (options.More)
        {
            if (hasCount || !options.TakeWithValue("COUNT"u8, out int value)) return SyntaxError(cmd);
            if (!cmd.TryPositiveOrReply(value, "ERR count should be greater than 0"u8, out count)) return false;
            hasCount = true;
        }

        return true;
    }

    /// <summary>
    /// Pops from the first of several keys that exists, and replies the key and pairs of members and scores, or WRONGTYPE.
    /// </summary>
    /// <returns>Whether something was replied; otherwise all keys are missing.</returns>
    internal static bool TryPopFirstOrReply(scoped in CommandContext cmd, int firstKey, int keys, bool fromMax, long count)
    {
        for (int i = firstKey; i < firstKey + keys; i++)
        {
            if (!cmd.OpenToWriteSortedSetOrReply(i, out SortedSetValue set)) return true;
            if (!set.Exists) continue;
            count = Math.Min(count, set.Count);
            cmd.Reply.Array(2);
            cmd.Reply.Bulk(cmd[i]);
            cmd.Reply.Array((int)Math.Min(int.MaxValue, count));
            if (TryReplyAndRemove(cmd, i, ref set, fromMax, count, arePairs: true))
            {
                cmd.Effect(fromMax ? "ZPOPMAX"u8 : "ZPOPMIN"u8, 3).Argument(cmd[i]).Argument(count);
            }

            return true;
        }

        return false;
    }

    /// <summary>Replies members from an end of a set, which has at least that many, and removes them, with the key if none is left.</summary>
    /// <returns>Whether members were removed: not if the count is 0 or the reply became larger than allowed.</returns>
    internal static bool TryReplyAndRemove(scoped in CommandContext cmd, int key, ref SortedSetValue set, bool fromMax, long count, bool arePairs)
    {
        if (count == 0) return false;
        long total = set.Count;
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        SortedSetCursor cursor = set.At(fromMax ? total - 1 : 0, digits);
        for (long i = 0; i < count && !cmd.Reply.Overflowed; i++, cursor.Move(fromMax)) cmd.Reply.MemberAndScore(cursor.Member, cursor.Score, arePairs);
        if (cmd.Reply.Overflowed) return false;
        set.RemoveRange(fromMax ? total - count : 0, count);
        cmd.Changed(key, fromMax ? KeyEvent.ZPopMax : KeyEvent.ZPopMin, count);
        return true;
    }

    private static bool SyntaxError(scoped in CommandContext cmd)
    {
        cmd.ReplySyntaxError();
        return false;
    }
}
