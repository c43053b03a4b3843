using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Lists;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Lists;

/// <summary>
/// Commands that move an element between lists or pop elements of the first nonempty list: LMOVE, RPOPLPUSH, LMPOP. The commands
/// that block share their implementation.
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

    /// <summary>Parses from which end to which end to move, from argument 3 on.</summary>
    internal static bool TryEndsOrReply(scoped in CommandContext cmd, out bool fromLast, out bool toLast)
    {
        var options = new OptionReader(cmd, first: 3);
        toLast = false;
        if (TryTakeEnd(ref options, out fromLast) && TryTakeEnd(ref options, out toLast)) return true;
        cmd.ReplySyntaxError();
        return false;
    }

    /// <summary>
    /// Moves an element from the list of argument 1 to the list of argument 2 and replies it, or WRONGTYPE. Returns false if there is
    /// no source; then nothing is replied.
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

        // Within one list, the list must not lose its key between the pop and the push.
        bool isOneList = cmd[1].SequenceEqual(cmd[2]);
        if (isOneList)
        {
            // A single element moves to where it is, which counts as a change.
            if (from.Count > 1)
            {
                from.Remove(fromLast ? from.Count - 1 : 0, 1);
                Push(ref from, element, toLast);
            }
        }
        else
        {
            from.Remove(fromLast ? from.Count - 1 : 0, 1);
            destination = cmd.Peek(2);
            ListValue to = destination.Exists ? cmd.ListOf(destination) : cmd.CreateList(2);
            Push(ref to, element, toLast);
        }

        cmd.Changed(2, toLast ? KeyEvent.RPush : KeyEvent.LPush, count: 0);
        cmd.Changed(1, fromLast ? KeyEvent.RPop : KeyEvent.LPop);

        if (cmd.Recording.TakesEffects) Record(cmd);
        return true;
    }

    /// <summary>Parses LMPOP's arguments from the number of keys on.</summary>
    internal static bool TryKeysOrReply(scoped in CommandContext cmd, int countAt, out PopRequest request)
    {
        request = new PopRequest { FirstKey = countAt + 1, CountMax = 1 };
        if (!TryAboveZeroOrReply(cmd, countAt, "ERR numkeys should be greater than 0"u8, out long keys)) return false;

        // At least one argument follows the keys.
        if (keys >= cmd.Count - request.FirstKey) return SyntaxError(cmd);
        request.Keys = (int)keys;
        var options = new OptionReader(cmd, request.FirstKey + request.Keys);
        if (!TryTakeEnd(ref options, out request.Last)) return SyntaxError(cmd);
        bool hasCount = false;
        while (options.More)
        {
            if (hasCount || !options.TakeWithValue("COUNT"u8, out int value)) return SyntaxError(cmd);
            hasCount = true;
            if (!TryAboveZeroOrReply(cmd, value, "ERR count should be greater than 0"u8, out request.CountMax)) return false;
        }

        return true;
    }

    /// <summary>
    /// Pops elements from the first list that exists and replies its key and the elements, or WRONGTYPE. Returns false if there is
    /// no list; then nothing is replied.
    /// </summary>
    internal static bool TryPopFirst(ref CommandContext cmd, in PopRequest request)
    {
        for (int key = request.FirstKey; key < request.FirstKey + request.Keys; key++)
        {
            Entry entry = cmd.FindToWrite(key);
            if (!entry.Exists) continue;
            if (!cmd.IsTypeOrReply(entry, DataType.List)) return true;
            ListValue list = cmd.ListOf(entry);
            cmd.Reply.Array(2);
            cmd.Reply.Bulk(cmd[key]);
            long count = ListCommands.PopSeveral(ref cmd, key, ref list, request.CountMax, request.Last);
            if (count > 0 && cmd.Recording.TakesEffects) cmd.Effect(request.Last ? "RPOP"u8 : "LPOP"u8, 3).Argument(cmd[key]).Argument(count);
            return true;
        }

        return false;
    }

    // Without blocking, which a replica must not, and otherwise with the client's own words, as Redis writes it.
    private static void Record(scoped in CommandContext cmd)
    {
        const int CountWithEnds = 5; // of LMOVE; RPOPLPUSH and BRPOPLPUSH name no ends
        if (cmd.Count >= CountWithEnds) cmd.Effect("LMOVE"u8, CountWithEnds).Argument(cmd[1]).Argument(cmd[2]).Argument(cmd[3]).Argument(cmd[4]);
        else cmd.Effect("RPOPLPUSH"u8, 3).Argument(cmd[1]).Argument(cmd[2]);
    }

    private static void Push(ref ListValue list, scoped ReadOnlySpan<byte> element, bool last)
    {
        list.PrepareFor(element.Length, 1);
        if (last) list.PushLast(element);
        else list.PushFirst(element);
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

    /// <summary>The request of LMPOP and BLMPOP.</summary>
    internal struct PopRequest
    {
        internal int FirstKey;
        internal int Keys;
        internal bool Last;
        internal long CountMax;
    }
}
