using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;

namespace RedKite.Ladder.Stages;

/// <summary>
/// A part of the keys: a thread, the dictionary that only this thread uses, and the queue through which other threads
/// submit work.
/// </summary>
/// <typeparam name="T">The type of keys and values.</typeparam>
/// <typeparam name="TWork">The type of queued work.</typeparam>
[SuppressMessage("Design", "CA1001", Justification = "A shard lasts as long as its process.")]
internal sealed class Shard<T, TWork>
    where T : class
{
    // A client of a shard with a full queue waits.
    private const int QueueMax = 100_000;

    private readonly BlockingCollection<TWork> _queue = new(QueueMax);
    private readonly Dictionary<T, T> _values;
    private readonly Action<TWork, Dictionary<T, T>> _execute;

    internal Shard(int index, IEqualityComparer<T>? comparer, Action<TWork, Dictionary<T, T>> execute)
    {
        _values = new Dictionary<T, T>(comparer);
        _execute = execute;
        new Thread(Run) { IsBackground = true, Name = $"shard {index}" }.Start();
    }

    internal void Post(TWork work) => _queue.Add(work);

    /// <summary>The shard of a key with this hash.</summary>
    internal static int IndexOf(int hash, int shards) => (int)((uint)hash % (uint)shards);

    private void Run()
    {
        foreach (TWork work in _queue.GetConsumingEnumerable()) _execute(work, _values);
    }
}
