using RedKite.Server.Model;

namespace RedKite.Server.Execution.Slices;

/// <summary>The clients of one event loop that wait for work in slices, and take turns. On the loop's thread.</summary>
internal sealed class SliceQueue(Engine engine, CommandExecutor executor)
{
    private readonly Queue<BlockedClient> _clients = new();

    internal SliceRunner Runner { get; } = new(engine, executor);

    internal bool IsEmpty => _clients.Count == 0;

    internal void Add(BlockedClient client) => _clients.Enqueue(client);

    /// <summary>Runs a slice of the next client's work. While CLIENT PAUSE holds its command, nothing is done.</summary>
    /// <param name="steadyMs">The steady time.</param>
    internal void RunSlice(long steadyMs)
    {
        BlockedClient client = _clients.Dequeue();
        bool isHeld = !client.HasEnded && engine.Pause.IsHolding(client.Session, client.Request.Command, steadyMs);
        if (isHeld || Runner.RunSlice(client)) _clients.Enqueue(client);
    }

    /// <summary>Discards all work when the loop has ended.</summary>
    internal void DiscardAll()
    {
        while (_clients.TryDequeue(out BlockedClient? client)) Runner.Discard(client);
    }
}
