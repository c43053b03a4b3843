namespace RedKite.Ladder.Stages;

/// <summary>
/// The commands that a client has sent at once, in order: dispatched to all their shards together, complete when the last
/// shard is done. A client reuses one instance.
/// </summary>
internal sealed class PipelineBatch<T>
    where T : class
{
    /// <summary>A client that sends more at once gets its replies in several parts.</summary>
    internal const int OperationsMax = 1024;

    private readonly Shard<T, ShardPart>[] _shards;
    private readonly IEqualityComparer<T> _comparer;
    private readonly Operation<T>[] _operations = new Operation<T>[OperationsMax];
    private readonly List<int>[] _indexesByShard;
    private int _shardsLeft;
    private TaskCompletionSource? _done;

    internal PipelineBatch(Shard<T, ShardPart>[] shards, IEqualityComparer<T> comparer)
    {
        _shards = shards;
        _comparer = comparer;
        _indexesByShard = [.. shards.Select(_ => new List<int>())];
    }

    internal int Count { get; private set; }

    internal bool IsFull => Count == OperationsMax;

    /// <summary>The commands with their results, after <see cref="RunAsync"/>.</summary>
    internal ReadOnlySpan<Operation<T>> Operations => _operations.AsSpan(0, Count);

    internal static Shard<T, ShardPart>[] StartShards(int count, IEqualityComparer<T> comparer) =>
        [.. Enumerable.Range(0, count).Select(index => new Shard<T, ShardPart>(index, comparer, (part, values) => part.Batch.Execute(part.Shard, values)))];

    internal void Add(Operation<T> operation)
    {
        if (operation.Kind != CommandKind.Other)
        {
            // A key's commands are all in one list, so they run in order.
            _indexesByShard[Shard<T, ShardPart>.IndexOf(_comparer.GetHashCode(operation.Key!), _shards.Length)].Add(Count);
        }

        _operations[Count++] = operation;
    }

    /// <summary>Executes the added commands on their shards.</summary>
    internal async Task RunAsync()
    {
        int shardsLeft = _indexesByShard.Count(indexes => indexes.Count > 0);
        if (shardsLeft == 0) return;

        // Set before the first hand-over: a shard may finish before the next one receives its part.
        _shardsLeft = shardsLeft;
        _done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Task done = _done.Task;
        for (int shard = 0; shard < _shards.Length; shard++)
        {
            if (_indexesByShard[shard].Count > 0) _shards[shard].Post(new ShardPart(this, shard));
        }

        await done;
    }

    internal void Clear()
    {
        Array.Clear(_operations, 0, Count);
        foreach (List<int> indexes in _indexesByShard) indexes.Clear();
        Count = 0;
    }

    // On the shard's thread, while other shards write to other elements.
    private void Execute(int shard, Dictionary<T, T> values)
    {
        foreach (int index in _indexesByShard[shard]) _operations[index].Execute(values);
        if (Interlocked.Decrement(ref _shardsLeft) == 0) _done!.SetResult();
    }

    /// <summary>One shard's share of a batch.</summary>
    internal readonly record struct ShardPart(PipelineBatch<T> Batch, int Shard);
}
