using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>Which labels are replied with a series: none, all or some.</summary>
internal struct ShownLabels
{
    private int _first;
    private int _end;

    /// <summary>Whether all are.</summary>
    internal bool All { get; private set; }

    /// <summary>Whether some are.</summary>
    internal readonly bool Some => _end > _first;

    /// <summary>Takes WITHLABELS, or SELECTED_LABELS with the names behind it.</summary>
    internal bool TryTakeOrReply(scoped in CommandContext cmd, ref int at, out bool isOption)
    {
        isOption = false;
        if (at >= cmd.Count) return true;
        if (cmd.Is(at, "WITHLABELS"u8))
        {
            (All, isOption) = (true, true);
            at++;
        }
        else if (cmd.Is(at, "SELECTED_LABELS"u8))
        {
            isOption = true;
            _first = ++at;
            while (at < cmd.Count && !IsWord(cmd, at)) at++;
            _end = at;
            if (!Some)
            {
                cmd.Reply.Error("ERR TSDB: SELECTED_LABELS should have at least 1 parameter"u8);
                return false;
            }
        }

        if (!All || !Some) return true;
        cmd.Reply.Error("ERR TSDB: cannot accept WITHLABELS and SELECT_LABELS together"u8);
        return false;
    }

    internal readonly void Reply(scoped in CommandContext cmd, SeriesLabels labels)
    {
        if (All)
        {
            cmd.Reply.Labels(labels);
            return;
        }

        Begin(cmd.Reply, _end - _first);
        for (int i = _first; i < _end; i++)
        {
            bool exists = labels.TryFind(cmd[i], out ReadOnlySpan<byte> value);
            cmd.Reply.Label(cmd[i], value, exists);
        }
    }

    internal static void Begin(ReplyWriter reply, int count)
    {
        if (reply.Resp3) reply.Map(count);
        else reply.Array(count);
    }

    private static bool IsWord(scoped in CommandContext cmd, int at) =>
        cmd.Is(at, "FILTER"u8) || cmd.Is(at, "LATEST"u8) || cmd.Is(at, "FILTER_BY_TS"u8) || cmd.Is(at, "FILTER_BY_VALUE"u8) || cmd.Is(at, "COUNT"u8)
        || cmd.Is(at, "ALIGN"u8) || cmd.Is(at, "AGGREGATION"u8) || cmd.Is(at, "WITHLABELS"u8);
}
