namespace RedKite.Ladder.Stages;

/// <summary>
/// The commands that a client has sent at once, in order. The batch goes as a whole from shard to shard: each executes its own
/// commands and passes the batch on to the next one that has any, and the last one continues the client. A client reuses one
/// instance.
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

    /// <summary>Executes the added commands on their shards, one shard after the other.</summary>
    internal Task RunAsync()
    {
        int first = NextShard(0);
        if (first == _shards.Length) return Task.CompletedTask;
        // As in stage 3, the last shard's thread continues the client.
        var done = new TaskCompletionSource();
        _done = done;
        _shards[first].Post(new ShardPart(this, first));
        return done.Task;
    }

    internal void Clear()
    {
        Array.Clear(_operations, 0, Count);
        foreach (List<int> indexes in _indexesByShard) indexes.Clear();
        Count = 0;
    }

    // On the shard's thread. Nothing is touched after the batch was passed on.
    private void Execute(int shard, Dictionary<T, T> values)
    {
        foreach (int index in _indexesByShard[shard]) _operations[index].Execute(values);
        int next = NextShard(shard + 1);
        if (next < _shards.Length) _shards[next].Post(new ShardPart(this, next));
        else _done!.SetResult();
    }

    private int NextShard(int from)
    {
        while (from < _shards.Length && _indexesByShard[from].Count == 0) from++;
        return from;
    }

    /// <summary>A batch on its way, and the shard that has its turn.</summary>
    internal readonly record struct ShardPart(PipelineBatch<T> Batch, int Shard);
}
