using System.Text;
using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Memory;
using RedKite.TimeSeries.Ranges;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>GROUPBY: the series with one value of a label become one, by a reducer for each time.</summary>
/// <param name="label">The label's argument.</param>
/// <param name="reducer">The reducer; its name is the last argument.</param>
/// <param name="isReverse">Whether the newest times come first.</param>
internal sealed class SeriesGroups(int label, Aggregator reducer, bool isReverse) : IDisposable
{
    private readonly SortedDictionary<string, Group> _groups = new(StringComparer.Ordinal);
    private long _samples;

    /// <summary>Adds a series to its group; one without the label to none.</summary>
    /// <returns>False: they would take too much memory.</returns>
    internal bool TryAdd(scoped in CommandContext cmd, byte[] key, SeriesLabels labels, ReadOnlySpan<Sample> samples)
    {
        if (!labels.TryFind(cmd[label], out ReadOnlySpan<byte> value)) return true;
        _samples += samples.Length;
        if (!NativeList<Sample>.HasRoom(_samples)) return false;
        string name = Encoding.Latin1.GetString(value);
        if (!_groups.TryGetValue(name, out Group? group)) _groups[name] = group = new Group();
        group.Keys.Add(key);
        foreach (ref readonly Sample sample in samples) group.Samples.Add(sample);
        return true;
    }

    /// <summary>Replies all groups.</summary>
    /// <returns>Their number.</returns>
    internal int Reply(scoped in CommandContext cmd, ShownLabels labels)
    {
        ReplyWriter reply = cmd.Reply;
        foreach ((string value, Group group) in _groups)
        {
            byte[] bytes = Encoding.Latin1.GetBytes(value);
            LabelCommands.BeginSeries(reply, [.. cmd[label], (byte)'=', .. bytes], parts: reply.Resp3 ? 4 : 2);
            ReadOnlySpan<byte> name = cmd[cmd.Count - 1];
            if (reply.Resp3)
            {
                reply.Map(labels.All ? 1 : 0);
                if (labels.All) reply.Label(cmd[label], bytes, exists: true);
                reply.Map(1);
                reply.Bulk("reducers"u8);
                reply.Array(1);
                reply.Bulk(name);
                reply.Map(1);
                reply.Bulk("sources"u8);
                reply.Array(group.Keys.Count);
                foreach (byte[] key in group.Keys) reply.Bulk(key);
            }
            else if (labels.All)
            {
                reply.Array(3);
                reply.Label(cmd[label], bytes, exists: true);
                reply.Label("__reducer__"u8, name, exists: true);
                reply.Array(2);
                reply.Bulk("__source__"u8);
                reply.Bulk(group.Sources());
            }
            else
            {
                reply.Array(0);
            }

            Reduce(reply, group.Samples.Items);
        }

        return _groups.Count;
    }

    public void Dispose()
    {
        foreach (Group group in _groups.Values) group.Dispose();
    }

    private void Reduce(ReplyWriter reply, Span<Sample> samples)
    {
        samples.Sort(static (a, b) => a.Time.CompareTo(b.Time));
        int count = 0;
        for (int i = 0; i < samples.Length;)
        {
            Bucket bucket = default;
            long time = samples[i].Time;
            for (; i < samples.Length && samples[i].Time == time; i++) bucket.Add(samples[i]);
            samples[count++] = new Sample(time, bucket.Value(reducer, time, null));
        }

        samples = samples[..count];
        if (isReverse) samples.Reverse();
        reply.Samples(samples);
    }

    private sealed class Group : IDisposable
    {
        internal NativeList<Sample> Samples;

        internal List<byte[]> Keys { get; } = [];

        internal byte[] Sources()
        {
            var sources = new List<byte>();
            foreach (byte[] key in Keys)
            {
                if (sources.Count > 0) sources.Add((byte)',');
                sources.AddRange(key);
            }

            return [.. sources];
        }

        public void Dispose() => Samples.Dispose();
    }
}
