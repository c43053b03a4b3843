using RedKite.Server.Model;

namespace RedKite.Server.Execution.Copying;

/// <summary>The clients of one event loop that wait for copies, which take turns. On the loop's thread.</summary>
internal sealed class CopyQueue(Engine engine, CommandExecutor executor)
{
    private readonly Queue<BlockedClient> _clients = new();

    internal CopyRunner Runner { get; } = new(engine, executor);

    internal bool IsEmpty => _clients.Count == 0;

    internal void Add(BlockedClient client) => _clients.Enqueue(client);

    /// <summary>Runs a slice of the next client's copy. While CLIENT PAUSE holds writes, nothing is copied.</summary>
    /// <param name="steadyMs">The steady time.</param>
    internal void RunSlice(long steadyMs)
    {
        BlockedClient client = _clients.Dequeue();
        bool isHeld = !client.HasEnded && engine.Pause.IsHolding(client.Session, client.Request.Command, steadyMs);
        if (isHeld || Runner.RunSlice(client)) _clients.Enqueue(client);
    }

    /// <summary>Frees all copies when the loop has ended.</summary>
    internal void DiscardAll()
    {
        while (_clients.TryDequeue(out BlockedClient? client)) Runner.Discard(client);
    }
}
