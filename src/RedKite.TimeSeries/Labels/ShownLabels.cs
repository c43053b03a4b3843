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

    /// <summary>The labels by their names, for work that outlives the request's arguments.</summary>
    internal readonly NamedLabels Named(scoped in CommandContext cmd)
    {
        byte[][] names = new byte[_end - _first][];
        for (int i = 0; i < names.Length; i++) names[i] = cmd[_first + i].ToArray();
        return new NamedLabels(All, names);
    }

    private static bool IsWord(scoped in CommandContext cmd, int at) =>
        cmd.Is(at, "FILTER"u8) || cmd.Is(at, "LATEST"u8) || cmd.Is(at, "FILTER_BY_TS"u8) || cmd.Is(at, "FILTER_BY_VALUE"u8) || cmd.Is(at, "COUNT"u8)
        || cmd.Is(at, "ALIGN"u8) || cmd.Is(at, "AGGREGATION"u8) || cmd.Is(at, "WITHLABELS"u8);
}

/// <summary>The labels that are replied with a series.</summary>
/// <param name="All">Whether all are.</param>
/// <param name="Names">Otherwise, those with these names.</param>
internal sealed record NamedLabels(bool All, byte[][] Names)
{
    internal void Reply(ReplyWriter reply, SeriesLabels labels)
    {
        if (All)
        {
            reply.Labels(labels);
            return;
        }

        if (reply.Resp3) reply.Map(Names.Length);
        else reply.Array(Names.Length);
        foreach (byte[] name in Names)
        {
            bool exists = labels.TryFind(name, out ReadOnlySpan<byte> value);
            reply.Label(name, value, exists);
        }
    }
}
