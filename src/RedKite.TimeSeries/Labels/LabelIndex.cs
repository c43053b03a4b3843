using System.Collections.Concurrent;
using RedKite.Server.Changes;
using RedKite.Store.Keyspace;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Labels;

/// <summary>
/// The keys of series by their labels. It is derived from the data: the first query by labels of a database finds its series in a walk over all keys, which fills
/// the index, and from then on the index sees every change. A server without such queries has none.
/// </summary>
/// <remarks>
/// Keys are entered with their stripe locked, by a walk or by what changes them, so they are entered in the order of changes. A database whose keys are exchanged
/// or flushed gets a new part, so a query sees, with any stripe locked, whether what it has found is of the keys that the database has now.
/// </remarks>
internal sealed class LabelIndex(ChangePublisher changes) : IValueObserver
{
    private readonly ConcurrentDictionary<int, LabelledSeries> _parts = new();
    private volatile bool _sees;

    /// <summary>The series of a database.</summary>
    /// <returns>Null: the index does not see all changes yet, but was requested to, which <see cref="Apply"/> does.</returns>
    internal LabelledSeries? PartOf(Database database)
    {
        if (!_sees)
        {
            changes.RequestValues(this);
            if (!changes.Observes(this)) return null;
            _sees = true;
        }

        return _parts.GetOrAdd(database.Index, static _ => new LabelledSeries());
    }

    /// <summary>Makes the index see all changes, unless a script is busy. No stripe is locked.</summary>
    internal void Apply() => changes.ApplyUnlessBusy();

    /// <summary>Whether a database still has the keys of a part. One of its stripes is locked.</summary>
    internal bool IsOf(Database database, LabelledSeries part) => _parts.TryGetValue(database.Index, out LabelledSeries? now) && now == part;

    public void Changing(Database database, ulong hash, scoped in Entry old)
    {
    }

    public void Changed(Database database, ulong hash, ReadOnlySpan<byte> key, scoped in Entry now)
    {
        if (!_parts.TryGetValue(database.Index, out LabelledSeries? part)) return;
        bool isSeries = now.Exists && now.Type == SeriesType.Instance.Number;
        part.Enter(hash, key, isSeries ? Series.Of(database, now).Labels.Bytes : default);
    }

    public void Flushed(Database database) => Forget(database);

    public void Swapped(Database first, Database second)
    {
        Forget(first);
        Forget(second);
    }

    public void Replaced(Database database) => Forget(database);

    // The next query walks again.
    private void Forget(Database database) => _parts.TryRemove(database.Index, out _);
}
