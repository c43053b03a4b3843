using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Arrays;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// Commands that insert elements behind the one that was inserted last, in an array or in a ring, and that read the last ones. The table is their
/// single declaration and this file's contents.
/// </summary>
internal static class ArrayInsertCommands
{
    internal static readonly CommandFamily Family = new(ArrayCommands.Group, ArrayCommands.Category,
    [
        new("ARINSERT", -3, Write | DenyOom | Fast, ArrayCommands.Written, ArInsert,
            new("8.8.0", "O(N) where N is the number of values.", "Inserts elements in an array, each behind the one that was inserted last. Creates the key if it doesn't exist.", "key value [value ...]")),
        new("ARRING", -4, Write | DenyOom, ArrayCommands.Written, ArRing,
            new("8.8.0", "O(M) where M is the number of values; O(N+M) if the ring had another size, where N is the number of its elements.", "Inserts elements in an array that is a ring, in which the newest ones replace the oldest. Creates the key if it doesn't exist.", "key size:integer value [value ...]")),
        new("ARSEEK", 3, Write | Fast, ArrayCommands.Written, ArSeek,
            new("8.8.0", "O(1)", "Sets the index of an array at which the next element is inserted.", "key index:integer")),
        new("ARNEXT", 2, CommandFlags.ReadOnly | Fast, ArrayCommands.Read, ArNext,
            new("8.8.0", "O(1)", "Returns the index of an array at which the next element is inserted.", "key")),
        new("ARLASTITEMS", -3, CommandFlags.ReadOnly, ArrayCommands.Read, ArLastItems,
            new("8.8.0", "O(N) where N is the number of returned elements.", "Returns the elements of an array that were inserted last.", "key count [REV]")),
    ]);

    // ARINSERT key value [value ...]
    private static void ArInsert(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteArrayOrReply(out ArrayValue array)) return;
        int values = cmd.Count - 2;
        ulong next = array.Next;
        if (next > ArrayData.IndexMax || (ulong)(values - 1) > ArrayData.IndexMax - next)
        {
            cmd.Reply.Error("ERR insert index overflow"u8);
            return;
        }

        if (!array.Exists) array = cmd.CreateArray();
        for (int i = 0; i < values; i++) array.Set(next++, cmd[2 + i]);
        array.Seek(next);
        cmd.Changed(1, KeyEvent.ArInsert, values);
        cmd.Reply.Unsigned(next - 1);
    }

    // ARRING key size value [value ...]
    private static void ArRing(ref CommandContext cmd)
    {
        if (!ArrayAccess.TryUnsigned(cmd[2], out ulong size) || size == 0)
        {
            cmd.Reply.Error("ERR invalid ring size"u8);
            return;
        }

        if (!cmd.OpenToWriteArrayOrReply(out ArrayValue array)) return;
        if (!array.Exists) array = cmd.CreateArray();
        array.MakeRing(size);
        ulong last = 0;
        for (int i = 3; i < cmd.Count; i++) last = array.Push(cmd[i]);
        cmd.Changed(1, KeyEvent.ArRing, cmd.Count - 3);
        cmd.Reply.Unsigned(last);
    }

    // ARSEEK key index
    private static void ArSeek(ref CommandContext cmd)
    {
        // One more than the highest index, so that nothing can be inserted any more.
        if (!ArrayAccess.TryUnsigned(cmd[2], out ulong index))
        {
            cmd.ReplyInvalidIndex();
            return;
        }

        if (!cmd.OpenToWriteArrayOrReply(out ArrayValue array)) return;
        if (array.Exists)
        {
            array.Seek(index);
            cmd.Changed(1, KeyEvent.ArSeek);
        }

        cmd.Reply.Integer(array.Exists ? 1 : 0);
    }

    // ARNEXT key
    private static void ArNext(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        if (array.Next == ArrayData.Exhausted) cmd.Reply.Null();
        else cmd.Reply.Unsigned(array.Next);
    }

    // ARLASTITEMS key count [REV]
    private static void ArLastItems(ref CommandContext cmd)
    {
        if (!cmd.TryCountOrReply(2, out long count)) return;
        bool isReversed = cmd.Count == 4 && cmd.Is(3, "REV"u8);
        if (cmd.Count > 3 && !isReversed)
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (!cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        ulong next = array.Next;
        var positions = (ulong)Math.Min(Math.Min(count, array.Count), int.MaxValue);
        if (positions == 0)
        {
            cmd.Reply.Array(0);
            return;
        }

        // Backwards from the last one; behind index 0 the ring goes on at the array's end, where it also begins before anything is inserted.
        ulong direct = Math.Min(next, positions);
        ulong wrapped = positions - direct;
        ulong length = array.Length;
        ReplyWriter reply = cmd.Reply;
        reply.Array((int)positions);
        if (isReversed && direct > 0) reply.Elements(array, next - 1, next - direct);
        if (wrapped > 0) reply.Elements(array, isReversed ? length - 1 : length - wrapped, isReversed ? length - wrapped : length - 1);
        if (!isReversed && direct > 0) reply.Elements(array, next - direct, next - 1);
    }
}
