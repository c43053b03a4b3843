using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;

namespace RedKite.Ladder.Stages;

/// <summary>
/// A part of the keys: a thread, the dictionary that only this thread touches, and the queue through which everybody else
/// has to ask.
/// </summary>
/// <typeparam name="T">Of keys and values.</typeparam>
/// <typeparam name="TWork">What is queued.</typeparam>
[SuppressMessage("Design", "CA1001", Justification = "A shard lasts as long as its process.")]
internal sealed class Shard<T, TWork>
    where T : class
{
    // A client whose shard has so much to do waits until there is room.
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
