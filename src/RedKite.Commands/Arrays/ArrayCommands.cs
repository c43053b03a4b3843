using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Packed;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Arrays;

/// <summary>
/// Commands of arrays on elements by their indexes, and on an array as a whole. Those that insert are in ArrayInsertCommands, those on ranges in
/// ArrayRangeCommands, and ARGREP is in ArraySearchCommands. The table is their single declaration and this file's contents.
/// </summary>
internal static class ArrayCommands
{
    internal const string Group = "array";
    internal const string Category = "array";

    internal static readonly KeySpec[] Read = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    internal static readonly KeySpec[] Written = KeySpecs.One(1, ReadWrite | Update);
    private static readonly KeySpec[] Removed = KeySpecs.One(1, ReadWrite | Delete);

    internal static readonly CommandFamily Family = new(Group, Category,
    [
        new("ARSET", -4, Write | DenyOom | Fast, Written, ArSet,
            new("8.8.0", "O(N) where N is the number of values.", "Sets the elements of an array from an index on. Creates the key if it doesn't exist.", "key index:integer value [value ...]")),
        new("ARMSET", -4, Write | DenyOom | Fast, Written, ArMSet,
            new("8.8.0", "O(N) where N is the number of pairs.", "Sets elements of an array by their indexes. Creates the key if it doesn't exist.", "key data:(index:integer value [index:integer value ...])")),
        new("ARGET", 3, CommandFlags.ReadOnly | Fast, Read, ArGet,
            new("8.8.0", "O(1)", "Returns an element of an array by its index.", "key index:integer")),
        new("ARMGET", -3, CommandFlags.ReadOnly | Fast, Read, ArMGet,
            new("8.8.0", "O(N) where N is the number of indexes.", "Returns elements of an array by their indexes.", "key index:integer [index:integer ...]")),
        new("ARDEL", -3, Write | Fast, Removed, ArDel,
            new("8.8.0", "O(N) where N is the number of indexes.", "Removes elements of an array. Deletes the key with the last element.", "key index:integer [index:integer ...]")),
        new("ARDELRANGE", -4, Write, Removed, ArDelRange,
            new("8.8.0", "O(N) where N is the number of slices of 256 indexes that have elements in the ranges.", "Removes the elements of an array in ranges of indexes. Deletes the key with the last element.", "key range:(start:integer end:integer [start:integer end:integer ...])")),
        new("ARCOUNT", 2, CommandFlags.ReadOnly | Fast, Read, ArCount,
            new("8.8.0", "O(1)", "Returns the number of elements of an array.", "key")),
        new("ARLEN", 2, CommandFlags.ReadOnly | Fast, Read, ArLen,
            new("8.8.0", "O(1)", "Returns the length of an array: its highest index plus one.", "key")),
        new("ARINFO", -2, CommandFlags.ReadOnly, Read, ArInfo,
            new("8.8.0", "O(1), or with FULL O(N) where N is the number of slices of 256 indexes that have elements.", "Returns how an array is stored.", "key [FULL]")),
    ]);

    // ARSET key index value [value ...]
    private static void ArSet(ref CommandContext cmd)
    {
        if (!cmd.TryIndexOrReply(2, out ulong index)) return;
        int values = cmd.Count - 3;
        if ((ulong)(values - 1) > ArrayData.IndexMax - index)
        {
            cmd.ReplyInvalidIndex();
            return;
        }

        if (!cmd.OpenToWriteArrayOrReply(out ArrayValue array)) return;
        if (!array.Exists) array = cmd.CreateArray();
        int added = 0;
        for (int i = 0; i < values; i++)
        {
            if (array.Set(index + (ulong)i, cmd[3 + i])) added++;
        }

        cmd.Changed(1, KeyEvent.ArSet, values);
        cmd.Reply.Integer(added);
    }

    // ARMSET key index value [index value ...]
    private static void ArMSet(ref CommandContext cmd)
    {
        if (cmd.Count % 2 != 0)
        {
            cmd.ReplyWrongCount();
            return;
        }

        if (!cmd.AreIndexesOrReply(2, step: 2) || !cmd.OpenToWriteArrayOrReply(out ArrayValue array)) return;
        if (!array.Exists) array = cmd.CreateArray();
        int added = 0;
        for (int i = 2; i < cmd.Count; i += 2)
        {
            if (array.Set(cmd.IndexAt(i), cmd[i + 1])) added++;
        }

        cmd.Changed(1, KeyEvent.ArMSet, (cmd.Count - 2) / 2);
        cmd.Reply.Integer(added);
    }

    // ARGET key index
    private static void ArGet(ref CommandContext cmd)
    {
        if (!cmd.TryIndexOrReply(2, out ulong index) || !cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        ReplyElement(cmd.Reply, array, index);
    }

    // ARMGET key index [index ...]
    private static void ArMGet(ref CommandContext cmd)
    {
        if (!cmd.AreIndexesOrReply(2) || !cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) ReplyElement(cmd.Reply, array, cmd.IndexAt(i));
    }

    // ARDEL key index [index ...]
    private static void ArDel(ref CommandContext cmd)
    {
        if (!cmd.AreIndexesOrReply(2) || !cmd.OpenToWriteArrayOrReply(out ArrayValue array)) return;
        long removed = 0;
        for (int i = 2; array.Exists && i < cmd.Count; i++)
        {
            ulong index = cmd.IndexAt(i);
            removed += array.Remove(index, index);
        }

        EndRemoving(cmd, array, removed, KeyEvent.ArDel);
    }

    // ARDELRANGE key start end [start end ...]
    private static void ArDelRange(ref CommandContext cmd)
    {
        if (cmd.Count % 2 != 0)
        {
            cmd.ReplyWrongCount();
            return;
        }

        if (!cmd.AreIndexesOrReply(2) || !cmd.OpenToWriteArrayOrReply(out ArrayValue array)) return;
        long removed = 0;
        for (int i = 2; array.Exists && i < cmd.Count; i += 2) removed += array.Remove(cmd.IndexAt(i), cmd.IndexAt(i + 1));
        EndRemoving(cmd, array, removed, KeyEvent.ArDelRange);
    }

    // ARCOUNT key
    private static void ArCount(ref CommandContext cmd)
    {
        if (cmd.OpenToReadArrayOrReply(out ArrayValue array)) cmd.Reply.Integer(array.Count);
    }

    // ARLEN key
    private static void ArLen(ref CommandContext cmd)
    {
        if (cmd.OpenToReadArrayOrReply(out ArrayValue array)) cmd.Reply.Unsigned(array.Length);
    }

    // ARINFO key [FULL]
    private static void ArInfo(ref CommandContext cmd)
    {
        bool isFull = cmd.Count == 3 && cmd.Is(2, "FULL"u8);
        if (cmd.Count > 2 && !isFull)
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (!cmd.OpenToReadArrayOrReply(out ArrayValue array)) return;
        if (!array.Exists)
        {
            cmd.Reply.Error("ERR no such key"u8);
            return;
        }

        ReplyWriter reply = cmd.Reply;
        reply.Map(isFull ? 12 : 7);
        Number(reply, "count"u8, (ulong)array.Count);
        Number(reply, "len"u8, array.Length);
        Number(reply, "next-insert-index"u8, array.Next == ArrayData.Exhausted ? 0 : array.Next);
        Number(reply, "slices"u8, (ulong)array.Slices);
        Number(reply, "directory-size"u8, (ulong)array.Slices);
        Number(reply, "super-dir-entries"u8, 0);
        Number(reply, "slice-size"u8, ArraySlice.Size);
        if (!isFull) return;
        ArrayLayout layout = array.ReadLayout();
        Number(reply, "dense-slices"u8, (ulong)layout.DenseSlices);
        Number(reply, "sparse-slices"u8, (ulong)layout.SparseSlices);
        Average(reply, "avg-dense-size"u8, layout.DenseElements, layout.DenseSlices);
        Average(reply, "avg-dense-fill"u8, layout.DenseElements, layout.DenseSlices * ArraySlice.Size);
        Average(reply, "avg-sparse-size"u8, layout.SparseElements, layout.SparseSlices);
    }

    private static void ReplyElement(ReplyWriter reply, scoped ArrayValue array, ulong index)
    {
        if (array.TryGet(index, out PackedElement element)) reply.Element(element);
        else reply.Null();
    }

    private static void EndRemoving(scoped in CommandContext cmd, scoped ArrayValue array, long removed, KeyEvent keyEvent)
    {
        if (removed > 0)
        {
            array.EndRemoving();
            cmd.Changed(1, keyEvent, removed);
        }

        cmd.Reply.Integer(removed);
    }

    private static void Number(ReplyWriter reply, ReadOnlySpan<byte> name, ulong value)
    {
        reply.Bulk(name);
        reply.Unsigned(value);
    }

    private static void Average(ReplyWriter reply, ReadOnlySpan<byte> name, long sum, long count)
    {
        reply.Bulk(name);
        reply.Double(count == 0 ? 0 : (double)sum / count);
    }
}
