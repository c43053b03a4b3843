using RedKite.Net;
using RedKite.Server.Execution;
using RedKite.Server.Model;

namespace RedKite.Server.Loops;

/// <summary>
/// An event loop's clients while they are blocked: from the command that blocks until its reply is sent and the client's next
/// input executes. On the loop's thread.
/// </summary>
internal sealed class LoopBlockedClients(Engine engine, EventLoop loop, CommandExecutor executor)
{
    private readonly BlockedClientDeadlines _deadlines = new(loop);

    // Clients that ended while other threads held stripes of their keys: they are still in queues.
    private readonly Queue<BlockedClient> _queued = new();

    /// <summary>Notes that a client of the loop has blocked.</summary>
    internal void Begin(BlockedClient client) => _deadlines.Add(client, executor.Time.SteadyMs);

    /// <summary>Ends the waits whose deadlines have passed.</summary>
    /// <param name="nowMs">The steady time.</param>
    /// <param name="restMs">The longest time that the loop would rest.</param>
    /// <returns>How long it may rest.</returns>
    internal int EndOverdue(long nowMs, int restMs)
    {
        for (int left = _queued.Count; left > 0; left--) RemoveSoon(_queued.Dequeue());
        while (_deadlines.TakeOverdue(nowMs) is { } client)
        {
            // One that another thread has just served is about to be finished here.
            if (client.TryEnd()) Finish(client);
        }

        return _deadlines.RestMs(nowMs, restMs);
    }

    /// <summary>Makes the loop tick in a time, unless it does before.</summary>
    internal void TickIn(long waitMs) => _deadlines.TickIn(waitMs);

    /// <summary>
    /// Called when a client is no longer blocked: it was served or unblocked, or its deadline has passed. Sends the reply, and continues with the
    /// input that arrived meanwhile.
    /// </summary>
    internal void Finish(BlockedClient client)
    {
        Session session = client.Session;
        _deadlines.Remove(client);
        RemoveSoon(client);
        if (session.Blocked == client) Continue(session.Connection!, session, client);
        session.DeliverDeferred();
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

    private void RemoveSoon(BlockedClient client)
    {
        if (!engine.Blocked.TryRemove(client)) _queued.Enqueue(client);
    }

    private void Continue(Connection connection, Session session, BlockedClient client)
    {
        session.Blocked = null;
        client.Dispose();
        if (connection.IsClosing) return;
        executor.Time.Read();
        if (!client.IsCallCounted) executor.Account.CountWaited(client);
        session.Counts.LastInteractionMs = executor.Time.SteadyMs;
        if (client.Overflowed)
        {
            engine.CloseOverLimit(session, connection);
            return;
        }

        if (client.MayBeLost)
        {
            connection.Close(); // as all whose output waited when the log failed
            return;
        }

        if (!client.DropsReply)
        {
            executor.Metrics.CountWrite();
            client.Reply ??= [Payload.Of(engine.Buffers, client.Block.ReplyAtDeadline(session.Resp3))];
            connection.BeginReplies(client.ReplyDeadline);
            if (session.Own.UnackedOffset != 0) AwaitAcks(connection, session, client.Reply);
            foreach (Payload part in client.Reply) session.Deliver(part);
            connection.EndReplies();
        }

        session.Own.LastWait = (client.ServedAt ?? Arrival.Now(), connection.BytesReceived);
        if (session.ClosesAfterReply) connection.CloseAfterSend();
        else connection.ReprocessInput();
    }

    // The command was executed for the client by another one, or in slices, and has written: its reply is sent next.
    private void AwaitAcks(Connection connection, Session session, Payload[] reply)
    {
        long bytes = 0;
        foreach (Payload part in reply) bytes += part.Length;
        executor.Writes.AwaitServed(connection, session, bytes);
    }
}
