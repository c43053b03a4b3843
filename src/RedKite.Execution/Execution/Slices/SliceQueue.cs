using RedKite.Net;
using RedKite.Server.Model;

namespace RedKite.Server.Execution.Slices;

/// <summary>The clients of one event loop that wait for work in slices, and take turns. On the loop's thread.</summary>
internal sealed class SliceQueue(Engine engine, EventLoop loop, CommandExecutor executor)
{
    private readonly Queue<BlockedClient> _clients = new();
    private readonly HashSet<BlockedClient> _pending = []; // their work waits for something outside of the data

    internal SliceRunner Runner { get; } = new(engine, executor);

    /// <summary>Whether no slice can be run now.</summary>
    internal bool IsEmpty => _clients.Count == 0;

    internal void Add(BlockedClient client)
    {
        if (client.Work is PendingWork { Pending: { IsCompleted: false } pending })
        {
            _pending.Add(client);
            pending.ContinueWith(_ => loop.Post(() => Resume(client)), CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default);
            return;
        }

        _clients.Enqueue(client);
    }

    /// <summary>Runs a slice of the next client's work. While CLIENT PAUSE holds its command, nothing is done, and work that others wait for is discarded.</summary>
    /// <param name="steadyMs">The steady time.</param>
    /// <returns>Whether one was run: neither a pause nor another thread's lock on a stripe was in the way.</returns>
    internal bool RunSlice(long steadyMs)
    {
        BlockedClient client = _clients.Dequeue();
        long before = Runner.Slices;
        bool isPaused = engine.HoldsWork(client, steadyMs);
        if (isPaused) Runner.DiscardForPause(client);
        if (isPaused || Runner.RunSlice(client)) Add(client);
        return Runner.Slices != before;
    }

    /// <summary>Discards all work when the loop has ended.</summary>
    internal void DiscardAll()
    {
        foreach (BlockedClient client in _pending) Runner.Discard(client);
        _pending.Clear();
        while (_clients.TryDequeue(out BlockedClient? client)) Runner.Discard(client);
    }

    private void Resume(BlockedClient client)
    {
        if (!_pending.Remove(client)) return;
        _clients.Enqueue(client);
        loop.TickAfter(0);
    }
}
