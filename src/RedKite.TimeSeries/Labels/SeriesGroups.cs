using System.Text;
using RedKite.Protocol;
using RedKite.Store.Memory;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>GROUPBY: the series with one value of a label become one, by a reducer for each time. Their samples, which are in the order of the reply, are merged.</summary>
/// <param name="label">The label.</param>
/// <param name="reducer">The reducer.</param>
/// <param name="reducerName">Its name, as the client has written it.</param>
/// <param name="isReverse">Whether the newest times come first.</param>
internal sealed class SeriesGroups(byte[] label, Aggregator reducer, byte[] reducerName, bool isReverse)
{
    // Of a sample: it is taken from a heap of all series.
    private const int MergeSteps = 64;

    private readonly SortedDictionary<string, Group> _groups = new(StringComparer.Ordinal);
    private readonly PriorityQueue<int, (long Time, int Series)> _order = new();
    private long _samples;
    private Group? _group;
    private Bucket _bucket;
    private long _time;

    /// <summary>Whether a group's reply has begun.</summary>
    internal bool IsInGroup => _group is not null;

    /// <summary>The times that were replied of the group.</summary>
    internal int Times { get; private set; }

    /// <summary>Adds a series to its group; one without the label to none.</summary>
    /// <returns>False: they would take too much memory.</returns>
    internal bool TryAdd(byte[] key, SeriesLabels labels, ReadOnlySpan<Sample> samples)
    {
        if (!labels.TryFind(label, out ReadOnlySpan<byte> value)) return true;
        _samples += samples.Length;
        if (!NativeList<Sample>.HasRoom(_samples)) return false;
        string name = Encoding.Latin1.GetString(value);
        if (!_groups.TryGetValue(name, out Group? group)) _groups[name] = group = new Group(name);
        group.Series.Add((key, group.Samples.Count));
        foreach (ref readonly Sample sample in samples) group.Samples.Add(sample);
        return true;
    }

    /// <summary>Begins the reply of the next group; the number of its times follows.</summary>
    /// <returns>False: there is none.</returns>
    internal bool TryBegin(ReplyWriter reply, bool withLabels)
    {
        foreach (Group group in _groups.Values)
        {
            (_group, _bucket, Times) = (group, default, 0);
            byte[] value = Encoding.Latin1.GetBytes(group.Value);
            reply.BeginSeries([.. label, (byte)'=', .. value], parts: reply.Resp3 ? 4 : 2);
            if (reply.Resp3)
            {
                reply.Map(withLabels ? 1 : 0);
                if (withLabels) reply.Label(label, value, exists: true);
                reply.Map(1);
                reply.Bulk("reducers"u8);
                reply.Array(1);
                reply.Bulk(reducerName);
                reply.Map(1);
                reply.Bulk("sources"u8);
                reply.Array(group.Series.Count);
                foreach ((byte[] key, _) in group.Series) reply.Bulk(key);
            }
            else if (withLabels)
            {
                reply.Array(3);
                reply.Label(label, value, exists: true);
                reply.Label("__reducer__"u8, reducerName, exists: true);
                reply.Array(2);
                reply.Bulk("__source__"u8);
                reply.Bulk(group.Sources());
            }
            else
            {
                reply.Array(0);
            }

            for (int series = 0; series < group.Series.Count; series++)
            {
                group.Next.Add(group.Series[series].First);
                Enqueue(group, series);
            }

            return true;
        }

        return false;
    }

    /// <summary>Replies the times of the group.</summary>
    /// <returns>Whether all are replied.</returns>
    internal bool IsReduced(ReplyWriter reply, ref long steps)
    {
        while (_order.TryPeek(out int series, out _))
        {
            if (steps <= 0) return false;
            _order.Dequeue();
            Sample sample = _group!.Samples.Items[_group.Next[series]++];
            if (!_bucket.IsEmpty && sample.Time != _time) Write(reply, ref steps);
            _time = sample.Time;
            _bucket.Add(sample);
            steps -= MergeSteps;
            Enqueue(_group, series);
        }

        if (!_bucket.IsEmpty) Write(reply, ref steps);
        return true;
    }

    /// <summary>The group's reply is complete.</summary>
    internal void EndGroup()
    {
        _groups.Remove(_group!.Value);
        _group.Dispose();
        _group = null;
    }

    /// <summary>Forgets everything.</summary>
    internal void Clear()
    {
        foreach (Group group in _groups.Values) group.Dispose();
        _groups.Clear();
        _order.Clear();
        (_group, _samples) = (null, 0);
    }

    private void Enqueue(Group group, int series)
    {
        int at = group.Next[series], end = series + 1 < group.Series.Count ? group.Series[series + 1].First : group.Samples.Count;
        if (at == end) return;
        long time = group.Samples.Items[at].Time;
        _order.Enqueue(series, (isReverse ? -time : time, series));
    }

    private void Write(ReplyWriter reply, ref long steps)
    {
        reply.Sample(new Sample(_time, _bucket.Value(reducer, _time, null)));
        _bucket = default;
        Times++;
        steps -= RangeQuery.ReplySteps;
    }

    private sealed class Group(string value) : IDisposable
    {
        internal NativeList<Sample> Samples;

        /// <summary>The label's value.</summary>
        internal string Value { get; } = value;

        /// <summary>The keys, and where the samples of each begin.</summary>
        internal List<(byte[] Key, int First)> Series { get; } = [];

        /// <summary>Of each series, its next sample.</summary>
        internal List<int> Next { get; } = [];

        internal byte[] Sources()
        {
            var sources = new List<byte>();
            foreach ((byte[] key, _) in Series)
            {
                if (sources.Count > 0) sources.Add((byte)',');
                sources.AddRange(key);
            }

            return [.. sources];
        }

        public void Dispose() => Samples.Dispose();
    }
}
