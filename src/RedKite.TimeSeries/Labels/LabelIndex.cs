using System.Collections.Concurrent;
using System.Text;
using RedKite.Server.Changes;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>
/// The keys of series by their labels. It is derived from the data: the first query by labels finds its series in a walk over all keys, which fills the index, and
/// from then on the index sees every change. A server without such queries has none.
/// </summary>
/// <remarks>
/// Keys are entered with their stripe locked, by a walk or by what changes them, so they are entered in the order of changes. What was found in the index is
/// looked at again with the stripe locked: it may have too much, never too little.
/// </remarks>
internal sealed class LabelIndex(ChangePublisher changes) : IValueObserver
{
    private readonly ConcurrentDictionary<KeyIdentity, Indexed> _series = new();
    private readonly Dictionary<(int Database, string Label), HashSet<Indexed>> _byLabel = [];
    private readonly Lock _lock = new();
    private readonly ConcurrentDictionary<int, bool> _complete = new();
    private long _epoch;
    private volatile bool _sees;

    /// <summary>Whether the index has all series of a database.</summary>
    internal bool IsComplete(Database database) => _complete.ContainsKey(database.Index);

    /// <summary>Begins a walk over a database.</summary>
    /// <returns>For <see cref="EndWalk"/>; negative: the index does not see all changes yet, so that the walk does not complete it.</returns>
    internal long BeginWalk()
    {
        if (_sees) return Volatile.Read(ref _epoch);
        changes.RequestValues(this);
        _sees = changes.Observes(this);
        return _sees ? Volatile.Read(ref _epoch) : -1;
    }

    /// <summary>Ends a walk that has entered all series of a database.</summary>
    internal void EndWalk(Database database, long epoch)
    {
        lock (_lock)
        {
            if (epoch >= 0 && epoch == _epoch) _complete[database.Index] = true;
        }
    }

    /// <summary>Enters a key, whose stripe is locked, as it is now.</summary>
    internal void Enter(Database database, ulong hash, ReadOnlySpan<byte> key, scoped in Entry now)
    {
        var identity = new KeyIdentity(database.Index, hash);
        bool isSeries = now.Exists && now.Type == SeriesType.Instance.Number;
        bool isKnown = _series.TryGetValue(identity, out Indexed? old);
        if (!isSeries && !isKnown) return;
        ReadOnlySpan<byte> labels = isSeries ? Series.Of(database, now).Labels.Bytes : default;
        if (isKnown && old!.Labels.AsSpan().SequenceEqual(labels) && isSeries) return;
        lock (_lock)
        {
            if (isKnown) Remove(identity, old!);
            if (isSeries && !labels.IsEmpty) Add(identity, new Indexed(key.ToArray(), labels.ToArray()));
        }
    }

    /// <summary>The keys of a database that have one of the labels of a filter.</summary>
    internal List<byte[]> Find(Database database, LabelFilter filter)
    {
        var keys = new List<byte[]>();
        lock (_lock)
        {
            foreach (byte[] value in filter.Values)
            {
                if (!_byLabel.TryGetValue((database.Index, LabelOf(filter.Name, value)), out HashSet<Indexed>? found)) continue;
                foreach (Indexed indexed in found) keys.Add(indexed.Key);
            }
        }

        return keys;
    }

    public void Changing(Database database, ulong hash, scoped in Entry old)
    {
    }

    public void Changed(Database database, ulong hash, ReadOnlySpan<byte> key, scoped in Entry now) => Enter(database, hash, key, now);

    public void Flushed(Database database) => Forget();

    public void Swapped(Database first, Database second) => Forget();

    public void Replaced(Database database) => Forget();

    private static string LabelOf(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value) => Encoding.Latin1.GetString(name) + "=" + Encoding.Latin1.GetString(value);

    // The next query walks again.
    private void Forget()
    {
        lock (_lock)
        {
            _epoch++;
            _complete.Clear();
            _series.Clear();
            _byLabel.Clear();
        }
    }

    private void Add(KeyIdentity identity, Indexed indexed)
    {
        _series[identity] = indexed;
        foreach (SeriesLabels.Label label in new SeriesLabels(indexed.Labels))
        {
            (int, string) key = (identity.Database, LabelOf(label.Name, label.Value));
            if (!_byLabel.TryGetValue(key, out HashSet<Indexed>? series)) _byLabel[key] = series = [];
            series.Add(indexed);
        }
    }

    private void Remove(KeyIdentity identity, Indexed indexed)
    {
        _series.TryRemove(identity, out _);
        foreach (SeriesLabels.Label label in new SeriesLabels(indexed.Labels))
        {
            (int, string) key = (identity.Database, LabelOf(label.Name, label.Value));
            if (!_byLabel.TryGetValue(key, out HashSet<Indexed>? series)) continue;
            series.Remove(indexed);
            if (series.Count == 0) _byLabel.Remove(key);
        }
    }

    private sealed class Indexed(byte[] key, byte[] labels)
    {
        internal byte[] Key { get; } = key;

        internal byte[] Labels { get; } = labels;
    }
}
