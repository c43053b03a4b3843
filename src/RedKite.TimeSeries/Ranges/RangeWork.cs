using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Ranges;

/// <summary>
/// TS.RANGE or TS.REVRANGE in slices, while the client waits: the samples are read, and then written as the reply. What is read is the series of one time: if it has
/// changed, reading begins again, and after a few times goes on to the end with the stripe locked.
/// </summary>
/// <param name="keyspace">The keys.</param>
/// <param name="database">The database.</param>
/// <param name="key">The key's hash.</param>
/// <param name="options">What is asked.</param>
/// <param name="query">The query as far as it has run.</param>
/// <param name="reply">Where the reply is written; disposed of with the work.</param>
internal sealed class RangeWork(Keyspace keyspace, Database database, ulong key, RangeOptions options, RangeQuery query, ReplyWriter reply) : SlicedWork
{
    private const int RestartsMax = 2;

    private RangeQuery? _query = query;
    private KeptPlace _kept = new(keyspace.KeptQueries);
    private int _restarts;
    private int _written;

    /// <summary>Keeps what was read while the client waits, or forgets it.</summary>
    internal void Stop()
    {
        reply.BytesMax = ScratchMemory.BytesMax;
        if (!_kept.TryKeep()) Forget();
    }

    internal override bool RunSlice()
    {
        if (!_kept.TryKeep()) return false;
        long steps = RangeQuery.SliceSteps / keyspace.BoundsDivisor;
        if (_query is not { IsComplete: true } && !TryRead(ref steps)) return false;
        IsComplete = _query!.IsTooLarge || reply.Overflowed || IsWrittenAfter(ref steps);
        return IsComplete;
    }

    /// <summary>Replies what was found. The work is complete.</summary>
    internal void Reply(scoped in CommandContext cmd)
    {
        if (_query!.IsTooLarge)
        {
            cmd.ReplyTooLarge();
            return;
        }

        if (reply.Overflowed)
        {
            cmd.Reply.Samples(_query.Results); // there was no memory to have it twice
            return;
        }

        cmd.Reply.Array(_query.Results.Length);
        cmd.Reply.Take(reply);
    }

    internal override void Discard()
    {
        Forget();
        reply.Clear();
        _kept.Release();
    }

    private bool TryRead(ref long steps)
    {
        Entry entry = database.FindByHash(key);
        Series series = entry.Exists && entry.Type == SeriesType.Instance.Number ? Series.Of(database, entry) : default;
        IsStale = !series.Exists;
        if (IsStale) return false;
        if (_query is not null && _query.IsStaleFor(series))
        {
            Forget();
            _restarts++;
        }

        _query ??= new RangeQuery(options, series);
        if (_restarts > RestartsMax) steps = UnitWork.CommandStepsMax;
        bool isComplete = _query.Run(series, ref steps);
        TakesTooLong = !isComplete && _restarts > RestartsMax;
        return isComplete;
    }

    private bool IsWrittenAfter(ref long steps)
    {
        ReadOnlySpan<Sample> results = _query!.Results;
        for (; _written < results.Length && steps > 0; steps -= RangeQuery.ReplySteps) reply.Sample(results[_written++]);
        return _written == results.Length;
    }

    private void Forget()
    {
        _query?.Dispose();
        _query = null;
    }
}
