namespace RedKite.Ladder.Stages;

/// <summary>
/// What a client has sent at once, in its order: handed out to all shards concerned together, complete when the last of
/// them is done. A client has one and uses it again and again.
/// </summary>
internal sealed class PipelineBatch<T>
    where T : class
{
    /// <summary>A client that sends more at once gets its replies in parts.</summary>
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
            // A key's commands are all in one list, so they run in the order in which they were sent.
            _indexesByShard[Shard<T, ShardPart>.IndexOf(_comparer.GetHashCode(operation.Key!), _shards.Length)].Add(Count);
        }

        _operations[Count++] = operation;
    }

    /// <summary>Has the shards execute what was added.</summary>
    internal async Task RunAsync()
    {
        int shardsLeft = _indexesByShard.Count(indexes => indexes.Count > 0);
        if (shardsLeft == 0) return;

        // Set before the first hand-over: a shard may be done before the next one has its part.
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

    // On the shard's thread; the other shards write to other elements meanwhile.
    private void Execute(int shard, Dictionary<T, T> values)
    {
        foreach (int index in _indexesByShard[shard]) _operations[index].Execute(values);
        if (Interlocked.Decrement(ref _shardsLeft) == 0) _done!.SetResult();
    }

    /// <summary>One shard's share of a batch.</summary>
    internal readonly record struct ShardPart(PipelineBatch<T> Batch, int Shard);
}
