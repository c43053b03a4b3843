using RedKite.Net;
using RedKite.Server.Model;

namespace RedKite.Server.Loops;

/// <summary>The deadlines of an event loop's blocked clients, in their order. They make the loop tick in time. On the loop's thread.</summary>
internal sealed class BlockedClientDeadlines(EventLoop loop)
{
    private readonly SortedSet<BlockedClient> _clients = new(Comparer<BlockedClient>.Create(
        (a, b) => a.DeadlineMs != b.DeadlineMs ? a.DeadlineMs.CompareTo(b.DeadlineMs) : a.Session.Id.CompareTo(b.Session.Id)));

    private long _tickDueMs; // by the system's own clock

    /// <summary>Adds a client's deadline, if it has one.</summary>
    internal void Add(BlockedClient client, long nowMs)
    {
        if (!client.HasDeadline) return;
        _clients.Add(client);
        TickIn(client.DeadlineMs - nowMs);
    }

    /// <summary>Makes the loop tick in a time, unless it does before.</summary>
    internal void TickIn(long waitMs)
    {
        waitMs = Math.Max(1, waitMs);
        long now = Environment.TickCount64;
        if (now + waitMs >= _tickDueMs) return;
        _tickDueMs = now + waitMs;
        loop.TickAfter(waitMs * 1000);
    }

    internal void Remove(BlockedClient client) => _clients.Remove(client);

    /// <summary>Removes and returns the first client whose deadline has passed; null: there is none.</summary>
    internal BlockedClient? TakeOverdue(long nowMs)
    {
        if (_clients.Min is not { } client || client.DeadlineMs > nowMs) return null;
        _clients.Remove(client);
        return client;
    }

    /// <summary>How long the loop may rest until the next deadline.</summary>
    /// <param name="nowMs">The steady time.</param>
    /// <param name="restMs">The longest time that it would rest.</param>
    internal int RestMs(long nowMs, int restMs)
    {
        if (_clients.Min is { } next) restMs = (int)Math.Clamp(next.DeadlineMs - nowMs, 1, restMs);
        _tickDueMs = Environment.TickCount64 + restMs;
        return restMs;
    }
}
