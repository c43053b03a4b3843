using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Lists;

namespace RedKite.Server.Commands.Lists;

/// <summary>LPOS: the indexes of an element in a list.</summary>
internal static class ListPositions
{
    // LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]
    internal static void LPos(ref CommandContext cmd)
    {
        if (!TryOptionsOrReply(cmd, out long rank, out long countMax, out bool hasCount, out long lengthMax)) return;
        if (!cmd.OpenToReadListOrReply(1, out ListValue list)) return;

        long length = list.Count;
        bool backwards = rank < 0;
        long skipped = Math.Abs(rank) - 1;
        long compared = lengthMax == 0 ? length : Math.Min(lengthMax, length);
        var needle = new ListNeedle(cmd[2]);
        ListReader elements = list.Read(backwards ? length - 1 : 0, compared, backwards);
        ReplyWriter reply = cmd.Reply;
        long start = reply.Length;
        long found = 0;
        long index = -1;
        while (found < countMax && elements.MoveTo(needle) is > 0 and long passed)
        {
            index += passed;
            if (skipped > 0)
            {
                skipped--;
                continue;
            }

            reply.Integer(backwards ? length - 1 - index : index);
            found++;
        }

        if (hasCount)
        {
            long end = reply.Length;
            reply.Array((int)found);
            reply.MoveToFront(start, end);
        }
        else if (found == 0)
        {
            reply.Null();
        }
    }

    private static bool TryOptionsOrReply(scoped in CommandContext cmd, out long rank, out long countMax, out bool hasCount, out long lengthMax)
    {
        rank = countMax = 1;
        lengthMax = 0;
        hasCount = false;
        var options = new OptionReader(cmd, first: 3);
        while (options.More)
        {
            if (options.TakeWithValue("RANK"u8, out int value))
            {
                if (!cmd.TrySignedOrReply(value, out rank)) return false;
                if (rank != 0) continue;
                cmd.Reply.Error("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list"u8);
                return false;
            }

            if (options.TakeWithValue("COUNT"u8, out value))
            {
                if (!cmd.TryCountOrReply(value, "ERR COUNT can't be negative"u8, out countMax)) return false;
                hasCount = true;
                if (countMax == 0) countMax = long.MaxValue;
            }
            else if (options.TakeWithValue("MAXLEN"u8, out value))
            {
                if (!cmd.TryCountOrReply(value, "ERR MAXLEN can't be negative"u8, out lengthMax)) return false;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;
    }
}
