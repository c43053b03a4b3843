using RedKite.Net;
using RedKite.Server.Execution;
using RedKite.Server.Model;

namespace RedKite.Server.Loops;

/// <summary>One event loop's blocked clients: their deadlines, and what happens when they are no longer blocked. On the loop's thread.</summary>
internal sealed class BlockedClientTimeouts(Engine engine, EventLoop loop, CommandExecutor executor)
{
    private readonly SortedSet<BlockedClient> _deadlines = new(Comparer<BlockedClient>.Create(
        (a, b) => a.DeadlineMs != b.DeadlineMs ? a.DeadlineMs.CompareTo(b.DeadlineMs) : a.Session.Id.CompareTo(b.Session.Id)));

    // Clients that ended while other threads held stripes of their keys: they are still in queues.
    private readonly Queue<BlockedClient> _queued = new();

    private long _tickDueMs; // by the system's own clock

    /// <summary>Notes that a client of the loop has blocked.</summary>
    internal void Begin(BlockedClient client)
    {
        if (!client.HasDeadline) return;
        _deadlines.Add(client);
        long waitMs = Math.Max(1, client.DeadlineMs - executor.Time.SteadyMs);
        long now = Environment.TickCount64;
        if (now + waitMs >= _tickDueMs) return;
        _tickDueMs = now + waitMs;
        loop.TickAfter(waitMs * 1000);
    }

    /// <summary>Ends the waits whose deadlines have passed.</summary>
    /// <param name="nowMs">The steady time.</param>
    /// <param name="restMs">The longest time that the loop would rest.</param>
    /// <returns>How long it may rest.</returns>
    internal int EndOverdue(long nowMs, int restMs)
    {
        for (int left = _queued.Count; left > 0; left--) RemoveSoon(_queued.Dequeue());
        while (_deadlines.Min is { } client && client.DeadlineMs <= nowMs)
        {
            _deadlines.Remove(client);

            // One that another thread has just served is about to be finished here.
            if (client.TryEnd()) Finish(client);
        }

        if (_deadlines.Min is { } next) restMs = (int)Math.Clamp(next.DeadlineMs - nowMs, 1, restMs);
        _tickDueMs = Environment.TickCount64 + restMs;
        return restMs;
    }

    /// <summary>Sends the reply of a client that is no longer blocked, and continues with the input that arrived meanwhile.</summary>
    internal void Finish(BlockedClient client)
    {
        Session session = client.Session;
        _deadlines.Remove(client);
        RemoveSoon(client);
        if (session.Blocked == client) End(session.Connection!, session, client);
        session.DeliverHeldBack();
        client.ReleaseReply(); // also if the connection was closed meanwhile
    }

    /// <summary>Called when a connection was closed.</summary>
    internal void Closed(Session session)
    {
        if (session.Blocked is not { } client) return;
        session.Blocked = null;
        _deadlines.Remove(client);
        client.TryEnd();
        RemoveSoon(client); // unless it was served: then its reply is about to arrive here, and is released
        client.Dispose();
    }

    /// <summary>The reply at a deadline, unless the command has one of its own.</summary>
    internal static ReadOnlySpan<byte> TimeoutReply(bool resp3) => resp3 ? "_\r\n"u8 : "*-1\r\n"u8;

    private void RemoveSoon(BlockedClient client)
    {
        if (!engine.Blocked.TryRemove(client)) _queued.Enqueue(client);
    }

    private void End(Connection connection, Session session, BlockedClient client)
    {
        session.Blocked = null;
        client.Dispose();
        if (connection.IsClosing) return;
        executor.Time.Read();
        if (!client.IsCallCounted) executor.Account.CountWaited(client);
        session.LastInteractionMs = executor.Time.SteadyMs;
        if (client.Overflowed)
        {
            engine.CloseOverLimit(session, connection);
            return;
        }

        if (!client.DropsReply)
        {
            executor.Metrics.Writes++;
            client.Reply ??= [Payload.Of(engine.Buffers, client.Block.TimeoutReply ?? TimeoutReply(session.Resp3))];
            foreach (Payload part in client.Reply) session.Deliver(part);
        }

        connection.ReprocessInput();
    }
}
