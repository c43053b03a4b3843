using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Arrays;

namespace RedKite.Server.Commands.Arrays;

/// <summary>Commands of arrays that read ranges of indexes. The table is their single declaration and this file's contents.</summary>
internal static class ArrayRangeCommands
{
    /// <summary>The indexes that ARGETRANGE returns at most.</summary>
    internal const int RangeMax = 1_000_000;

    internal static readonly CommandFamily Family = new(ArrayCommands.Group, ArrayCommands.Category,
    [
        new("ARGETRANGE", 4, CommandFlags.ReadOnly, ArrayCommands.Read, ArGetRange,
            new("8.8.0", "O(N) where N is the number of indexes.", "Returns what an array has in a range of indexes.", "key start:integer end:integer")),
        new("ARSCAN", -4, CommandFlags.ReadOnly, ArrayCommands.Read, ArScan,
            new("8.8.0", "O(N) where N is the number of elements in the range, at most the limit.", "Returns the elements of an array in a range of indexes, with their indexes.", "key start:integer end:integer [LIMIT limit:integer]")),
        new("AROP", -5, CommandFlags.ReadOnly, ArrayCommands.Read, ArOp,
            new("8.8.0", "O(N) where N is the number of elements in the range.", "Computes a value from the elements of an array in a range of indexes.",
                "key start:integer end:integer operation:<SUM | MIN | MAX | AND | OR | XOR | MATCH value | USED>")),
    ]);

    // ARGETRANGE key start end
    private static void ArGetRange(ref CommandContext cmd)
    {
        if (!cmd.TryRangeOrReply(2, out ulong from, out ulong to)) return;
        ulong indexes = Math.Max(from, to) - Math.Min(from, to) + 1;
        if (indexes > RangeMax)
        {
            cmd.Reply.Error($"ERR range exceeds maximum of {RangeMax} items");
            return;
        }

        if (!cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        cmd.Reply.Array((int)indexes);
        cmd.Reply.Elements(array, from, to);
    }

    // ARSCAN key start end [LIMIT limit]
    private static void ArScan(ref CommandContext cmd)
    {
        if (!cmd.TryRangeOrReply(2, out ulong from, out ulong to)) return;
        long limit = int.MaxValue;
        var options = new OptionReader(cmd, first: 4);
        while (options.More)
        {
            if (options.TakeWithValue("LIMIT"u8, out int value))
            {
                if (!cmd.TryPositiveOrReply(value, "ERR LIMIT must be a positive integer"u8, out limit)) return;
            }
            else
            {
                cmd.ReplySyntaxError();
                return;
            }
        }

        if (!cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        limit = array.CountBetween(from, to, limit);
        cmd.Reply.Array((int)Math.Min(limit, int.MaxValue));
        ArrayCursor cursor = array.Between(from, to);
        for (; limit > 0 && cursor.MoveNext(); limit--) cmd.Reply.Pair(cursor.Index, cursor.Element);
    }

    // AROP key start end SUM | MIN | MAX | AND | OR | XOR | MATCH value | USED
    private static void ArOp(ref CommandContext cmd)
    {
        if (cmd.CompleteWalk() is ArrayFold complete)
        {
            complete.Reply(cmd.Reply);
            return;
        }

        if (!cmd.TryRangeOrReply(2, out ulong from, out ulong to)) return;
        if (!ArrayAggregate.TryRead(cmd, 4, out ArrayAggregate.Kind kind))
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (!cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        if (kind == ArrayAggregate.Kind.Used)
        {
            cmd.Reply.Integer(array.CountBetween(from, to));
            return;
        }

        var fold = ArrayFold.Begin(kind, kind == ArrayAggregate.Kind.Match ? cmd[5] : default, array.Version, Math.Min(from, to), Math.Max(from, to));
        if (!cmd.TryCompleteOrReply(array, fold)) return;
        fold.Reply(cmd.Reply);
        fold.Keep();
    }
}
