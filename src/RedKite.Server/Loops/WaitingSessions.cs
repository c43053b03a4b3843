using RedKite.Net;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Execution;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Model;

namespace RedKite.Server.Loops;

/// <summary>One event loop's clients that wait: their deadlines, and what happens to them when they wait no more. On the loop's thread.</summary>
internal sealed class WaitingSessions(RedKiteServer server, EventLoop loop, CommandExecutor executor)
{
    private readonly SortedSet<Waiter> _deadlines = new(Comparer<Waiter>.Create(
        (a, b) => a.DeadlineMs != b.DeadlineMs ? a.DeadlineMs.CompareTo(b.DeadlineMs) : a.Session.Id.CompareTo(b.Session.Id)));

    private long _tickDueMs; // by the system's own clock

    /// <summary>A client of the loop begins to wait: it is looked at when its time is over.</summary>
    internal void Began(Waiter waiter)
    {
        if (waiter.DeadlineMs == TimeoutArgument.Never) return;
        _deadlines.Add(waiter);
        long waitMs = Math.Max(1, waiter.DeadlineMs - executor.NowMs);
        long now = Environment.TickCount64;
        if (now + waitMs >= _tickDueMs) return;
        _tickDueMs = now + waitMs;
        loop.TickAfter(waitMs * 1000);
    }

    /// <summary>Ends the waits whose time is over.</summary>
    /// <param name="nowMs">The time that commands go by.</param>
    /// <param name="restMs">How long the loop would rest at most.</param>
    /// <returns>How long it may rest.</returns>
    internal int EndOverdue(long nowMs, int restMs)
    {
        while (_deadlines.Min is { } waiter && waiter.DeadlineMs <= nowMs)
        {
            _deadlines.Remove(waiter);

            // One that has just been served by another thread is about to be finished here.
            if (server.Waiting.TryEnd(waiter)) Finish(waiter.Session.Connection!, waiter);
        }

        if (_deadlines.Min is { } next) restMs = (int)Math.Clamp(next.DeadlineMs - nowMs, 1, restMs);
        _tickDueMs = Environment.TickCount64 + restMs;
        return restMs;
    }

    /// <summary>Sends the reply of a wait that has ended, and goes on with what the client sent meanwhile.</summary>
    internal void Finish(Connection connection, Waiter waiter)
    {
        Session session = waiter.Session;
        _deadlines.Remove(waiter);
        if (session.Waiter == waiter) End(connection, session, waiter);
        waiter.ReleaseReply(); // also if the client was closed meanwhile
    }

    private void End(Connection connection, Session session, Waiter waiter)
    {
        session.Waiter = null;
        waiter.Dispose();
        if (connection.IsClosing) return;
        executor.ReadTime();
        session.LastInteractionMs = executor.NowMs;
        if (waiter.Overflowed)
        {
            server.CloseOverLimit(session, connection);
            return;
        }

        if (!waiter.DropsReply)
        {
            executor.Metrics.Writes++;
            waiter.Reply ??= [Payload.Of(server.Buffers, NothingCame(session.Resp3))];
            foreach (Payload part in waiter.Reply) session.Deliver(part);
        }

        connection.ReprocessInput();
    }

    /// <summary>A connection is gone: it waits no more.</summary>
    internal void Closed(Session session)
    {
        if (session.Waiter is not { } waiter) return;
        session.Waiter = null;
        _deadlines.Remove(waiter);
        if (server.Waiting.TryEnd(waiter)) waiter.ReleaseReply();
        waiter.Dispose();
    }

    /// <summary>What a client is told whose time is over.</summary>
    internal static ReadOnlySpan<byte> NothingCame(bool resp3) => resp3 ? "_\r\n"u8 : "*-1\r\n"u8;
}
