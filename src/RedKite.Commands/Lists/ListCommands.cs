using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Lists;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Lists;

/// <summary>
/// List commands on one key. The table is the single declaration of all list commands that don't block. LPOS is in
/// ListPositions; commands that move or pop elements across keys are in ListMoves.
/// </summary>
internal static class ListCommands
{
    private const string PushComplexity = "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.";

    internal static readonly CommandFamily Family = new("list", "list",
    [
        new("LPUSH", -3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), LPush,
            new("1.0.0", PushComplexity, "Prepends elements to a list. Creates the key if it doesn't exist.", "key element [element ...]") { History = [("2.4.0", "Accepts several elements.")] }),
        new("RPUSH", -3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), RPush,
            new("1.0.0", PushComplexity, "Appends elements to a list. Creates the key if it doesn't exist.", "key element [element ...]") { History = [("2.4.0", "Accepts several elements.")] }),
        new("LPUSHX", -3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), LPushX,
            new("2.2.0", PushComplexity, "Prepends elements to a list only if the list exists.", "key element [element ...]") { History = [("4.0.0", "Accepts several elements.")] }),
        new("RPUSHX", -3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), RPushX,
            new("2.2.0", PushComplexity, "Appends elements to a list only if the list exists.", "key element [element ...]") { History = [("4.0.0", "Accepts several elements.")] }),
        new("LPOP", -2, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Delete), LPop,
            new("1.0.0", "O(N) where N is the number of elements returned", "Removes and returns elements at the head of a list.", "key [count@6.2.0]") { History = [("6.2.0", "Accepts a count.")] }),
        new("RPOP", -2, Write | Fast, KeySpecs.One(1, ReadWrite | Access | Delete), RPop,
            new("1.0.0", "O(N) where N is the number of elements returned", "Removes and returns elements at the tail of a list.", "key [count@6.2.0]") { History = [("6.2.0", "Accepts a count.")] }),
        new("LLEN", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), LLen,
            new("1.0.0", "O(1)", "Returns the number of elements in a list.", "key")),
        new("LRANGE", 4, CommandFlags.ReadOnly | Short, KeySpecs.One(1, KeyFlags.ReadOnly | Access), LRange,
            new("1.0.0", "O(S+N) where S is the distance of start offset from HEAD for small lists, from nearest end (HEAD or TAIL) for large lists; and N is the number of elements in the specified range.", "Returns the elements of a list in a range of indexes.", "key start:integer stop:integer")),
        new("LINDEX", 3, CommandFlags.ReadOnly | Short, KeySpecs.One(1, KeyFlags.ReadOnly | Access), LIndex,
            new("1.0.0", "O(N) where N is the number of elements to traverse to get to the element at index. This makes asking for the first or the last element of the list O(1).", "Returns the element at an index of a list.", "key index:integer")),
        new("LSET", 4, Write | DenyOom | Short, KeySpecs.One(1, ReadWrite | Update), LSet,
            new("1.0.0", "O(N) where N is the length of the list. Setting either the first or the last element of the list is O(1).", "Replaces the element at an index of a list.", "key index:integer element")),
        new("LINSERT", 5, Write | DenyOom | Short, KeySpecs.One(1, ReadWrite | Insert), LInsert,
            new("2.2.0", "O(N) where N is the number of elements to traverse before seeing the value pivot. This means that inserting somewhere on the left end on the list (head) can be considered O(1) and inserting somewhere on the right end (tail) is O(N).", "Inserts an element before or after another element of a list.", "key where:<BEFORE | AFTER> pivot element")),
        new("LREM", 4, Write | Short, KeySpecs.One(1, ReadWrite | Delete), LRem,
            new("1.0.0", "O(N+M) where N is the length of the list and M is the number of elements removed.", "Removes elements that equal a value from a list.", "key count:integer element")),
        new("LTRIM", 4, Write | Short, KeySpecs.One(1, ReadWrite | Delete), LTrim,
            new("1.0.0", "O(N) where N is the number of elements to be removed by the operation.", "Removes the elements of a list that are outside a range of indexes.", "key start:integer stop:integer")),
        new("LPOS", -3, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), ListPositions.LPos,
            new("6.0.6", "O(N) where N is the number of elements in the list, for the average case. When searching for elements near the head or the tail of the list, or when the MAXLEN option is provided, the command may run in constant time.", "Returns the indexes of matching elements in a list.", "key element [RANK rank:integer] [COUNT num-matches:integer] [MAXLEN len:integer]")),
        new("LMOVE", 5, Write | DenyOom, ListMoves.SourceAndDestination, ListMoves.LMove,
            new("6.2.0", "O(1)", "Pops an element from either end of a list, pushes it to either end of another list and returns it.", "source:key destination:key wherefrom:<LEFT | RIGHT> whereto:<LEFT | RIGHT>")),
        new("RPOPLPUSH", 3, Write | DenyOom, ListMoves.SourceAndDestination, ListMoves.RPopLPush,
            new("1.2.0", "O(1)", "Pops the last element of a list, pushes it to the head of another list and returns it.", "source:key destination:key") { DeprecatedSince = "6.2.0", ReplacedBy = "`LMOVE` with the `RIGHT` and `LEFT` arguments" }),
        new("LMOVEM", -5, Write | DenyOom, ListMoves.SourceAndDestination, ListBlockMoves.LMoveM,
            new("8.10.0", "O(N) where N is the number of elements moved.", "Moves several elements from an end of a list to an end of another list and returns them.", ListBlockMoves.Syntax + ListBlockMoves.HowManySyntax)),
        new("LMPOP", -4, Write, [new KeySpec(2, -1, 1, ReadWrite | Access | Delete, CountAt: 1)], ListMoves.LMPop,
            new("7.0.0", "O(N+M) where N is the number of provided keys and M is the number of elements returned.", "Removes and returns elements of the first of several lists that is not empty.", "numkeys key [key ...] where:<LEFT | RIGHT> [COUNT count]")),
    ]);

    // LPUSH key element [element ...]
    private static void LPush(ref CommandContext cmd) => Push(ref cmd, last: false, creates: true);

    // RPUSH key element [element ...]
    private static void RPush(ref CommandContext cmd) => Push(ref cmd, last: true, creates: true);

    // LPUSHX key element [element ...]
    private static void LPushX(ref CommandContext cmd) => Push(ref cmd, last: false, creates: false);

    // RPUSHX key element [element ...]
    private static void RPushX(ref CommandContext cmd) => Push(ref cmd, last: true, creates: false);

    private static void Push(ref CommandContext cmd, bool last, bool creates)
    {
        if (!cmd.OpenToWriteListOrReply(1, out ListValue list, createIfMissing: creates)) return;
        if (!creates && list.Count == 0)
        {
            cmd.Reply.Integer(0);
            return;
        }

        long bytes = 0;
        for (int i = 2; i < cmd.Count; i++) bytes += cmd[i].Length;
        list.PrepareFor(bytes, cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++)
        {
            if (last) list.PushLast(cmd[i]);
            else list.PushFirst(cmd[i]);
        }

        cmd.Changed(1, last ? KeyEvent.RPush : KeyEvent.LPush, cmd.Count - 2);
        cmd.Reply.Integer(list.Count);
    }

    // LPOP key [count]
    private static void LPop(ref CommandContext cmd) => Pop(ref cmd, last: false);

    // RPOP key [count]
    private static void RPop(ref CommandContext cmd) => Pop(ref cmd, last: true);

    private static void Pop(ref CommandContext cmd, bool last)
    {
        if (cmd.Count > 3)
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return;
        }

        long count = 1;
        bool hasCount = cmd.Count == 3;
        if (hasCount && !cmd.TryCountOrReply(2, out count)) return;
        if (!cmd.OpenToWriteListOrReply(1, out ListValue list)) return;
        if (list.Count == 0)
        {
            if (hasCount) cmd.Reply.NullArray();
            else cmd.Reply.Null();
            return;
        }

        if (hasCount) PopSeveral(ref cmd, 1, ref list, count, last);
        else TryPopOne(ref cmd, 1, ref list, last);
    }

    /// <summary>Pops the first or last element of a list, which is not empty, and replies it. Returns false if the reply is too large.</summary>
    internal static bool TryPopOne(ref CommandContext cmd, int key, ref ListValue list, bool last)
    {
        Span<byte> digits = stackalloc byte[ListValue.DigitsMax];
        cmd.Reply.Bulk(list.ReadEnd(last, digits));
        if (cmd.Reply.Overflowed) return false;
        list.Remove(last ? list.Count - 1 : 0, 1);
        cmd.Changed(key, last ? KeyEvent.RPop : KeyEvent.LPop);
        return true;
    }

    /// <summary>Pops up to <paramref name="countMax"/> elements from an end of a list, which is not empty, and replies them as an array.</summary>
    /// <returns>The number of elements.</returns>
    internal static long PopSeveral(ref CommandContext cmd, int key, ref ListValue list, long countMax, bool last)
    {
        long length = list.Count;
        long count = Math.Min(countMax, length);
        cmd.Reply.Array((int)count);
        ReplyElements(cmd, list.Read(last ? length - 1 : 0, count, backwards: last));
        if (count == 0 || cmd.Reply.Overflowed) return 0;
        list.Remove(last ? length - count : 0, count);
        cmd.Changed(key, last ? KeyEvent.RPop : KeyEvent.LPop, count);
        return count;
    }

    // LLEN key
    private static void LLen(ref CommandContext cmd)
    {
        if (cmd.OpenToReadListOrReply(1, out ListValue list)) cmd.Reply.Integer(list.Count);
    }

    // LRANGE key start stop
    private static void LRange(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long start) || !cmd.TryIntegerOrReply(3, out long stop)) return;
        if (!cmd.OpenToReadListOrReply(1, out ListValue list)) return;
        long count = Narrow(ref start, stop, list.Count);
        cmd.Reply.Array((int)count);
        ReplyElements(cmd, list.Read(start, count));
    }

    // LINDEX key index
    private static void LIndex(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadListOrReply(1, out ListValue list)) return;
        long count = list.Count;
        if (count == 0)
        {
            cmd.Reply.Null(); // even if the index is invalid
            return;
        }

        if (!cmd.TryIntegerOrReply(2, out long index)) return;
        if (index < 0) index += count;
        if (index < 0 || index >= count)
        {
            cmd.Reply.Null();
            return;
        }

        ReplyElements(cmd, list.Read(index, 1));
    }

    // LSET key index element
    private static void LSet(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteListOrReply(1, out ListValue list)) return;
        long count = list.Count;
        if (count == 0)
        {
            cmd.Reply.Error("ERR no such key"u8);
            return;
        }

        if (!cmd.TryIntegerOrReply(2, out long index)) return;
        if (index < 0) index += count;
        if (index < 0 || index >= count)
        {
            cmd.Reply.Error("ERR index out of range"u8);
            return;
        }

        list.PrepareFor(cmd[3].Length, 1);
        list.Replace(index, cmd[3]);
        cmd.Changed(1, KeyEvent.LSet);
        cmd.Reply.Ok();
    }

    // LINSERT key BEFORE | AFTER pivot element
    private static void LInsert(ref CommandContext cmd)
    {
        var options = new OptionReader(cmd, first: 2);
        bool after = options.Take("AFTER"u8);
        if (!after && !options.Take("BEFORE"u8))
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (!cmd.OpenToWriteListOrReply(1, out ListValue list)) return;
        if (list.Count == 0)
        {
            cmd.Reply.Integer(0);
            return;
        }

        long index = IndexOf(list, cmd[3]);
        if (index < 0)
        {
            cmd.Reply.Integer(-1);
            return;
        }

        list.PrepareFor(cmd[4].Length, 1);
        list.Insert(index, after, cmd[4]);
        cmd.Changed(1, KeyEvent.LInsert);
        cmd.Reply.Integer(list.Count);
    }

    // LREM key count element
    private static void LRem(ref CommandContext cmd)
    {
        if (!cmd.TrySignedOrReply(2, out long count)) return;
        if (!cmd.OpenToWriteListOrReply(1, out ListValue list)) return;
        bool backwards = count < 0;
        long countMax = count == 0 ? long.MaxValue : Math.Abs(count);
        long removed = list.Count == 0 ? 0 : list.RemoveEqual(cmd[3], countMax, backwards);
        if (removed > 0) cmd.Changed(1, KeyEvent.LRem, removed);
        cmd.Reply.Integer(removed);
    }

    // LTRIM key start stop
    private static void LTrim(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long start) || !cmd.TryIntegerOrReply(3, out long stop)) return;
        if (!cmd.OpenToWriteListOrReply(1, out ListValue list)) return;
        long count = list.Count;
        if (count > 0)
        {
            long kept = Narrow(ref start, stop, count);
            if (kept == 0) start = count;
            list.Remove(start + kept, count - start - kept);
            list.Remove(0, start);

            // As in Redis, a range that keeps every element is an event but not a change.
            cmd.Changed(1, KeyEvent.LTrim, count - kept);
            if (kept == count) cmd.ReplaceEffect();
        }

        cmd.Reply.Ok();
    }

    private static void ReplyElements(scoped in CommandContext cmd, ListReader elements)
    {
        while (elements.MoveNext()) cmd.Reply.Bulk(elements.Current);
    }

    // Resolves a range of indexes, of which negative ones count from the end. Returns the number of elements from start on.
    private static long Narrow(ref long start, long stop, long count)
    {
        if (start < 0) start = Math.Max(0, start + count);
        if (stop < 0) stop += count;
        stop = Math.Min(stop, count - 1);
        return start > stop ? 0 : stop - start + 1;
    }

    private static long IndexOf(in ListValue list, ReadOnlySpan<byte> value)
    {
        ListReader elements = list.Read(0, list.Count);
        return elements.MoveTo(new ListNeedle(value)) - 1;
    }
}
