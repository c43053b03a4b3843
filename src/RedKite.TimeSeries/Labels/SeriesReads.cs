using RedKite.Protocol;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>TS.QUERYINDEX: the keys.</summary>
internal sealed class KeysOfSeries(SeriesQuery query, long replyStart) : SeriesWork(query, replyStart)
{
    private protected override bool TryRead(byte[] key, scoped Series series, ref long steps)
    {
        Reply.Bulk(key);
        Count++;
        return true;
    }

    private protected override void ReplyHead(ReplyWriter reply, int count) => reply.Set(count);
}

/// <summary>TS.MGET: the newest samples.</summary>
internal sealed class NewestOfSeries(SeriesQuery query, long replyStart, NamedLabels labels, bool latest) : SeriesWork(query, replyStart)
{
    private protected override bool TryRead(byte[] key, scoped Series series, ref long steps)
    {
        Count++;
        Reply.BeginSeries(key, parts: 2);
        labels.Reply(Reply, series.Labels);
        Reply.Newest(series, latest);
        return true;
    }

    private protected override void ReplyHead(ReplyWriter reply, int count) => reply.BeginAllSeries(count);
}

/// <summary>TS.MRANGE and TS.MREVRANGE: a range of each series, or of each group.</summary>
/// <param name="query">Which series.</param>
/// <param name="replyStart">Where the reply begins.</param>
/// <param name="labels">Which labels are replied.</param>
/// <param name="options">Which samples.</param>
/// <param name="groups">The groups; null: each series is replied by itself.</param>
internal sealed class RangesOfSeries(SeriesQuery query, long replyStart, NamedLabels labels, RangeOptions options, SeriesGroups? groups) : SeriesWork(query, replyStart)
{
    private const int RestartsMax = 3;

    private RangeQuery? _range;
    private int _restarts;
    private int _written;
    private long _groupStart;

    private protected override bool TryRead(byte[] key, scoped Series series, ref long steps)
    {
        if (_range is not null && _range.IsStaleFor(series))
        {
            Drop();
            _restarts++;
        }

        _range ??= new RangeQuery(options, series);
        if (!_range.Run(series, ref steps))
        {
            // Between two slices it changes each time.
            if (_restarts <= RestartsMax) return false;
            long further = Server.Model.UnitWork.CommandStepsMax;
            if (!_range.Run(series, ref further))
            {
                Error = "ERR the key changes too often for a command that takes so long";
                return true;
            }
        }

        _restarts = 0;
        if (_range.IsTooLarge || (groups is not null && !groups.TryAdd(key, series.Labels, _range.Results)))
        {
            Error = RangeCommands.TooLarge;
            return true;
        }

        if (groups is not null)
        {
            Drop();
            return true;
        }

        Count++;
        Reply.BeginSeries(key, parts: Reply.Resp3 ? 3 : 2);
        labels.Reply(Reply, series.Labels);
        if (Reply.Resp3)
        {
            Reply.Map(1);
            Reply.Bulk("aggregators"u8);
            Reply.Array(options.Aggregator == Aggregator.None ? 0 : 1);
            if (options.Aggregator != Aggregator.None) Reply.Bulk(Aggregators.NameOf(options.Aggregator).ToLowerInvariant());
        }

        Reply.Array(_range.Results.Length);
        return true;
    }

    private protected override void Drop()
    {
        _range?.Dispose();
        (_range, _written) = (null, 0);
    }

    private protected override bool IsWritten(ref long steps)
    {
        if (_range is null || Error is not null) return true;
        ReadOnlySpan<Sample> samples = _range.Results;
        for (; _written < samples.Length && steps > 0 && !Reply.Overflowed; steps -= RangeQuery.ReplySteps) Reply.Sample(samples[_written++]);
        if (_written < samples.Length) return false;
        Drop();
        return true;
    }

    private protected override bool IsEndWritten(ref long steps)
    {
        if (groups is null) return true;
        while (steps > 0)
        {
            if (!groups.IsInGroup)
            {
                if (!groups.TryBegin(Reply, labels.All)) return true;
                Count++;
                _groupStart = Written;
            }

            if (!groups.IsReduced(Reply, ref steps)) return false;
            long end = Written;
            Reply.Array(groups.Times);
            MoveToFront(_groupStart, end);
            groups.EndGroup();
        }

        return false;
    }

    private protected override void ReplyHead(ReplyWriter reply, int count) => reply.BeginAllSeries(count);

    private protected override void Forget()
    {
        Drop();
        groups?.Clear();
        _restarts = 0;
    }
}
