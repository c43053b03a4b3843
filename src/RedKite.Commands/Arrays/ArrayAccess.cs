using System.Buffers.Text;
using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Packed;

namespace RedKite.Server.Commands.Arrays;

/// <summary>Opens arrays for handlers, reads indexes, and replies what the family's commands have in common.</summary>
internal static class ArrayAccess
{
    private const int DigitsMax = 20;

    /// <summary>Opens a key's array to read it, one without elements for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToReadArrayOrReply(this scoped in CommandContext cmd, out ArrayValue array) =>
        TryOpenOrReply(cmd, cmd.Environment.Blocking.IsServing ? cmd.Peek(1) : cmd.Find(1), out array); // a client that has waited was counted before

    /// <summary>Opens a key's array to change it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToWriteArrayOrReply(this scoped in CommandContext cmd, out ArrayValue array) => TryOpenOrReply(cmd, cmd.FindToWrite(1), out array);

    /// <summary>Creates an empty array at the key, which is missing. The caller adds an element at once.</summary>
    internal static ArrayValue CreateArray(this scoped in CommandContext cmd) =>
        ArrayValue.Create(cmd.Database, cmd[1], cmd.HashOf(1), cmd.Accesses.NewClock);

    /// <summary>
    /// Runs a walk. One that takes longer than a slice goes on while the client waits; then the command executes again, and gets it complete by
    /// <see cref="CompleteWalk"/>.
    /// </summary>
    /// <returns>False: the client waits, or has an error because nothing may wait and the walk would take too long.</returns>
    internal static bool TryCompleteOrReply(this scoped in CommandContext cmd, scoped ArrayValue array, ArrayWalk walk)
    {
        bool isComplete = walk.Run(array, cmd.StepsOfSlice(ArrayWalk.SliceSteps));
        cmd.EndSlice(ArrayWalk.SliceSteps, walk.Steps);
        if (isComplete) return true;
        var work = new ArrayWalkWork(cmd.Database, cmd.HashOf(1), walk);
        if (cmd.BlockOnWork(work))
        {
            work.Stop();
            return false;
        }

        long before = walk.Steps;
        isComplete = walk.Run(array, cmd.StepsAtOnce());
        return cmd.EndAtOnceOrReply(walk.Steps - before, isComplete);
    }

    /// <summary>The walk that the client has waited for, if it is complete; otherwise null.</summary>
    internal static ArrayWalk? CompleteWalk(this scoped in CommandContext cmd) => (cmd.Environment.Blocking.CompleteWork as ArrayWalkWork)?.Walk;

    /// <summary>Reads an index of an element.</summary>
    internal static bool TryIndexOrReply(this scoped in CommandContext cmd, int argument, out ulong index)
    {
        if (TryUnsigned(cmd[argument], out index) && index <= ArrayData.IndexMax) return true;
        cmd.ReplyInvalidIndex();
        return false;
    }

    /// <summary>Whether all arguments from one on, each of a number, are indexes.</summary>
    internal static bool AreIndexesOrReply(this scoped in CommandContext cmd, int first, int step = 1)
    {
        for (int i = first; i < cmd.Count; i += step)
        {
            if (!cmd.TryIndexOrReply(i, out _)) return false;
        }

        return true;
    }

    /// <summary>An index that was read before.</summary>
    internal static ulong IndexAt(this scoped in CommandContext cmd, int argument) => TryUnsigned(cmd[argument], out ulong index) ? index : 0;

    /// <summary>Reads the two ends of a range, in any order.</summary>
    internal static bool TryRangeOrReply(this scoped in CommandContext cmd, int argument, out ulong from, out ulong to)
    {
        to = 0;
        return cmd.TryIndexOrReply(argument, out from) && cmd.TryIndexOrReply(argument + 1, out to);
    }

    /// <summary>Reads a number of 64 bits without a sign, in its only form.</summary>
    internal static bool TryUnsigned(ReadOnlySpan<byte> text, out ulong value)
    {
        value = 0;
        if (text.Length is 0 or > DigitsMax || (text[0] == '0' && text.Length > 1)) return false;
        return text[0] != '+' && Utf8Parser.TryParse(text, out value, out int read) && read == text.Length;
    }

    internal static void ReplyInvalidIndex(this scoped in CommandContext cmd) => cmd.Reply.Error("ERR invalid array index"u8);

    internal static void ReplyWrongCount(this scoped in CommandContext cmd) =>
        cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");

    /// <summary>Replies an index. One that is no integer of the protocol is a big number, or a text in RESP2.</summary>
    internal static void Unsigned(this ReplyWriter reply, ulong value)
    {
        if (value <= long.MaxValue)
        {
            reply.Integer((long)value);
            return;
        }

        Span<byte> digits = stackalloc byte[DigitsMax];
        Utf8Formatter.TryFormat(value, digits, out int length);
        if (!reply.Resp3)
        {
            reply.Bulk(digits[..length]);
            return;
        }

        reply.Raw("("u8);
        reply.Raw(digits[..length]);
        reply.Raw("\r\n"u8);
    }

    /// <summary>Replies the elements from one index to another, null where there is none. The caller has replied how many.</summary>
    internal static void Elements(this ReplyWriter reply, scoped ArrayValue array, ulong from, ulong to)
    {
        bool descends = from > to;
        ArrayCursor cursor = array.Between(from, to);
        ulong at = from;
        while (cursor.MoveNext())
        {
            for (; at != cursor.Index; at = descends ? at - 1 : at + 1) reply.Null();
            reply.Element(cursor.Element);
            if (at == to) return;
            at = descends ? at - 1 : at + 1;
        }

        reply.Null();
        for (; at != to; at = descends ? at - 1 : at + 1) reply.Null();
    }

    /// <summary>Replies an index with its element.</summary>
    internal static void Pair(this ReplyWriter reply, ulong index, PackedElement element)
    {
        reply.Array(2);
        reply.Unsigned(index);
        reply.Element(element);
    }

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, out ArrayValue array)
    {
        array = default;
        if (!cmd.IsTypeOrReply(entry, DataType.Array)) return false;
        array = ArrayValue.Of(cmd.Database, entry);
        return true;
    }
}
