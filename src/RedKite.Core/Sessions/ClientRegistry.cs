using System.Collections.Concurrent;
using RedKite.Net;
using RedKite.Server.Model;

namespace RedKite.Server.Sessions;

/// <summary>Every connected client by its id, for the commands that look at or end other clients.</summary>
internal sealed class ClientRegistry
{
    private readonly ConcurrentDictionary<long, Session> _sessions = new();
    private long _lastId;
    private int _count;

    /// <summary>Connected clients.</summary>
    internal int Count => Volatile.Read(ref _count);

    /// <summary>The last ones that have left.</summary>
    internal DepartedClients Departed { get; } = new();

    /// <summary>All clients, by id.</summary>
    internal IEnumerable<Session> InOrder => _sessions.Values.OrderBy(session => session.Id);

    /// <summary>All clients, in any order.</summary>
    internal IEnumerable<Session> All => _sessions.Values;

    internal Session Add(Connection? connection, long nowMs, User user, bool authenticated)
    {
        var session = new Session(Interlocked.Increment(ref _lastId), connection, nowMs, user, authenticated);
        if (connection is null) return session; // Callers in the process are not listed.
        _sessions[session.Id] = session;
        Interlocked.Increment(ref _count);
        return session;
    }

    /// <summary>A caller in the process, which is not listed.</summary>
    /// <param name="woken">See <see cref="Session.Woken"/>.</param>
    /// <param name="delivered">See <see cref="Session.Delivered"/>.</param>
    internal Session AddCaller(long nowMs, User user, Action? woken = null, Action<int>? delivered = null) =>
        new(Interlocked.Increment(ref _lastId), connection: null, nowMs, user, authenticated: true) { Woken = woken, Delivered = delivered };

    /// <summary>The session of the primary whose stream the server executes.</summary>
    internal Session AddPrimary(OutgoingEnd outgoing, long nowMs, User user, int database)
    {
        var session = new Session(Interlocked.Increment(ref _lastId), connection: null, nowMs, user, authenticated: true) { Outgoing = outgoing, Type = ClientType.Master, DatabaseIndex = database };
        _sessions[session.Id] = session;
        Interlocked.Increment(ref _count);
        return session;
    }

    internal void Remove(Session session)
    {
        if (_sessions.TryRemove(session.Id, out _)) Interlocked.Decrement(ref _count);
    }

    internal Session? Find(long id) => _sessions.GetValueOrDefault(id);

    /// <summary>
    /// Ends the clients of a user that was removed. A client whose command is executing on this thread gets its reply first, and
    /// the command ends it.
    /// </summary>
    /// <param name="ending">Called with each of them.</param>
    internal void KillAllOf(User user, Action<Session> ending)
    {
        foreach (Session session in _sessions.Values)
        {
            if (session.User != user || session.Outgoing is not null) continue;
            ending(session);
            if (session.IsExecuting && session.Connection!.Loop.IsCurrent) continue;
            session.Blocked?.TryEnd();
            Kill(session);
        }
    }

    private static void CloseAfterSend(Session session)
    {
        session.Subscriptions?.End(session); // nothing more is delivered
        session.Connection!.CloseAfterSend();
    }

    /// <summary>Ends another client, from any thread. From now on it is not listed, and no subscriber.</summary>
    /// <param name="session">The client.</param>
    /// <param name="drops">Whether output that waits is dropped.</param>
    internal void Kill(Session session, bool drops = true)
    {
        Remove(session);
        session.Subscriptions?.Withdraw();
        if (session.Outgoing is { } outgoing)
        {
            outgoing.Close();
            return;
        }

        Connection connection = session.Connection!;

        // On its own loop it executes nothing more; on another, what it sent before may still be executed.
        if (!connection.Loop.IsCurrent) EventLoop.Post(connection, drops ? connection.Close : () => CloseAfterSend(session));
        else if (drops) connection.Close();
        else CloseAfterSend(session);
    }
}
