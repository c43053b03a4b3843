using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Lists;

/// <summary>
/// What takes elements from one of several lists or hands one over to another list: LMOVE, RPOPLPUSH, LMPOP. The cores
/// serve the commands that wait for elements as well.
/// </summary>
internal static class ListMoves
{
    internal static readonly KeySpec[] SourceAndDestination =
    [
        new(1, 1, 1, ReadWrite | Access | Delete),
        new(2, 2, 1, ReadWrite | Insert),
    ];

    // LMOVE source destination LEFT | RIGHT LEFT | RIGHT
    internal static void LMove(ref CommandContext cmd)
    {
        if (!TryEndsOrReply(cmd, out bool fromLast, out bool toLast)) return;
        if (!TryMove(ref cmd, fromLast, toLast)) cmd.Reply.Null();
    }

    // RPOPLPUSH source destination
    internal static void RPopLPush(ref CommandContext cmd)
    {
        if (!TryMove(ref cmd, fromLast: true, toLast: false)) cmd.Reply.Null();
    }

    // LMPOP numkeys key [key ...] LEFT | RIGHT [COUNT count]
    internal static void LMPop(ref CommandContext cmd)
    {
        if (!TryKeysOrReply(cmd, 1, out PopRequest request)) return;
        if (!TryPopFirst(ref cmd, request)) cmd.Reply.NullArray();
    }

    /// <summary>Reads from which end to which, from argument 3 on.</summary>
    internal static bool TryEndsOrReply(scoped in CommandContext cmd, out bool fromLast, out bool toLast)
    {
        var options = new OptionReader(cmd, first: 3);
        toLast = false;
        if (TryTakeEnd(ref options, out fromLast) && TryTakeEnd(ref options, out toLast)) return true;
        cmd.ReplySyntaxError();
        return false;
    }

    /// <summary>
    /// Moves an element from the list of argument 1 to that of argument 2, and replies it, or WRONGTYPE; false when the
    /// source has none: nothing was replied.
    /// </summary>
    internal static bool TryMove(ref CommandContext cmd, bool fromLast, bool toLast)
    {
        Entry source = cmd.FindToWrite(1);
        if (!source.Exists) return false;
        if (!cmd.IsTypeOrReply(source, DataType.List)) return true;
        Entry destination = cmd.FindToWrite(2);
        if (!cmd.IsTypeOrReply(destination, DataType.List)) return true;

        // The reply holds the element while both lists change.
        ReplyWriter reply = cmd.Reply;
        long start = reply.Length;
        ListValue from = cmd.ListOf(source);
        Span<byte> digits = stackalloc byte[ListValue.DigitsMax];
        scoped ReadOnlySpan<byte> element = from.ReadEnd(fromLast, digits);
        int length = element.Length;
        reply.Bulk(element);
        if (reply.Overflowed) return true; // the client is closed
        element = reply.WrittenFrom(start)[^(length + 2)..^2];

        // In one list it goes from end to end, and the list must not lose its key on the way.
        bool isOneList = cmd[1].SequenceEqual(cmd[2]);
        if (isOneList)
        {
            if (from.Count > 1) from.Remove(fromLast ? from.Count - 1 : 0, 1);
            else return MovedAlone(cmd);
            Push(ref from, element, toLast);
        }
        else
        {
            from.Remove(fromLast ? from.Count - 1 : 0, 1);
            destination = cmd.Peek(2);
            ListValue to = destination.Exists ? cmd.ListOf(destination) : cmd.NewList(2);
            Push(ref to, element, toLast);
        }

        cmd.Changed();
        return true;
    }

    /// <summary>Reads LMPOP's arguments from the number of keys on.</summary>
    internal static bool TryKeysOrReply(scoped in CommandContext cmd, int countAt, out PopRequest request)
    {
        request = new PopRequest { FirstKey = countAt + 1, Most = 1 };
        if (!TryAboveZeroOrReply(cmd, countAt, "ERR numkeys should be greater than 0"u8, out long keys)) return false;

        // Behind the keys there is at least one more argument.
        if (keys >= cmd.Count - request.FirstKey) return SyntaxError(cmd);
        request.Keys = (int)keys;
        var options = new OptionReader(cmd, request.FirstKey + request.Keys);
        if (!TryTakeEnd(ref options, out request.Last)) return SyntaxError(cmd);
        bool hasCount = false;
        while (options.More)
        {
            if (hasCount || !options.TakeWithValue("COUNT"u8, out int value)) return SyntaxError(cmd);
            hasCount = true;
            if (!TryAboveZeroOrReply(cmd, value, "ERR count should be greater than 0"u8, out request.Most)) return false;
        }

        return true;
    }

    /// <summary>
    /// Takes elements from the first key that has a list, and replies its name and them, or WRONGTYPE; false when there is
    /// none: nothing was replied.
    /// </summary>
    internal static bool TryPopFirst(ref CommandContext cmd, in PopRequest request)
    {
        for (int key = request.FirstKey; key < request.FirstKey + request.Keys; key++)
        {
            Entry entry = cmd.FindToWrite(key);
            if (!entry.Exists) continue;
            if (entry.Type != DataType.List && cmd.IsServed) continue; // another type came while it waited for this key
            if (!cmd.IsTypeOrReply(entry, DataType.List)) return true;
            ListValue list = cmd.ListOf(entry);
            cmd.Reply.Array(2);
            cmd.Reply.Bulk(cmd[key]);
            ListCommands.PopSeveral(ref cmd, ref list, request.Most, request.Last);
            return true;
        }

        return false;
    }

    private static void Push(ref ListValue list, scoped ReadOnlySpan<byte> element, bool last)
    {
        list.PrepareFor(element.Length, 1);
        if (last) list.PushLast(element);
        else list.PushFirst(element);
    }

    // The only element of a list goes from one end to the other: the list stays as it is, and counts as changed.
    private static bool MovedAlone(scoped in CommandContext cmd)
    {
        cmd.Changed();
        return true;
    }

    private static bool TryTakeEnd(ref OptionReader options, out bool last)
    {
        last = options.Take("RIGHT"u8);
        return last || options.Take("LEFT"u8);
    }

    private static bool TryAboveZeroOrReply(scoped in CommandContext cmd, int argument, ReadOnlySpan<byte> error, out long value)
    {
        if (RespNumber.TryParseInt64(cmd[argument], out value) && value > 0) return true;
        cmd.Reply.Error(error);
        return false;
    }

    private static bool SyntaxError(scoped in CommandContext cmd)
    {
        cmd.ReplySyntaxError();
        return false;
    }

    /// <summary>What LMPOP and BLMPOP ask for.</summary>
    internal struct PopRequest
    {
        internal int FirstKey;
        internal int Keys;
        internal bool Last;
        internal long Most;
    }
}
