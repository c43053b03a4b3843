using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Sessions;

/// <summary>
/// Keeps the memory of all clients within maxmemory-clients: when it exceeds the limit, the clients with the largest buffers and
/// state are closed, except those with CLIENT NO-EVICT. While there is a limit, each loop counts a client after its input was executed and
/// when output waits, so that the sum exceeds the limit for no longer than a batch; one loop also adds up all clients ten times a
/// second, because what other threads send a client is counted late. A client whose unfinished request alone exceeds the limit is
/// closed at once.
/// </summary>
internal sealed class ClientEviction(Settings settings, ClientRegistry clients, ServerLog log)
{
    private const int PeriodMs = 100;

    // A lower limit counts as this one, as in Redis: otherwise even a client that wants to raise it would be closed.
    private const ulong LimitBytesMin = 128 << 10;

    private readonly List<(Session Session, long Bytes)> _sizes = [];
    private long _nextMs;
    private long _allBytes; // CountedClientBytes of all sessions
    private int _isEvicting;

    /// <summary>Called with each client that is about to be closed.</summary>
    internal required Action<Session> Evicting { get; init; }

    /// <summary>The limit in bytes; 0: none.</summary>
    internal ulong LimitBytes => settings.MaxMemoryClients >= 0
        ? (ulong)settings.MaxMemoryClients
        : (ulong)(settings.MaxMemoryBytes / 100.0 * -settings.MaxMemoryClients);

    /// <summary>Whether there is a limit.</summary>
    internal bool IsOn => settings.MaxMemoryClients != 0;

    /// <summary>Counts a client anew and, if the limit is exceeded by that, closes clients. On the client's loop.</summary>
    /// <param name="session">The client.</param>
    /// <param name="requestBytes">The bytes of its unfinished request.</param>
    internal void Note(Session session, long requestBytes)
    {
        if (session.Type is ClientType.Replica or ClientType.Master) return;
        long bytes = Math.Max(BytesOf(session), LoopMetrics.ConnectionBytes + requestBytes);
        if (bytes == session.CountedClientBytes) return;
        long all = Interlocked.Add(ref _allBytes, bytes - session.CountedClientBytes);
        bool grows = bytes > session.CountedClientBytes;
        session.CountedClientBytes = bytes;
        if (!grows) return;
        ulong limit = LimitBytes;
        if (limit != 0 && (ulong)Math.Max(0, all) > Math.Max(limit, LimitBytesMin)) EvictOver(Math.Max(limit, LimitBytesMin));
    }

    /// <summary>A client has closed. On its loop.</summary>
    internal void Forget(Session session)
    {
        if (session.CountedClientBytes == 0) return;
        Interlocked.Add(ref _allBytes, -session.CountedClientBytes);
        session.CountedClientBytes = 0;
    }

    /// <summary>Whether a client is to be closed because its unfinished request alone exceeds the limit. On its loop.</summary>
    internal bool Evicts(Session session, long requestBytes)
    {
        if (settings.MaxMemoryClients == 0 || session.NoEvict || session.Type is ClientType.Replica or ClientType.Master) return false;
        ulong limit = LimitBytes;
        if (limit == 0 || (ulong)requestBytes <= Math.Max(limit, LimitBytesMin)) return false;
        if (!session.TryMarkEvicted()) return true;
        log.Warning(LogEvents.ClientEvicted, $"Evicting client id={session.Id} addr={session.Address}: its incomplete request of {requestBytes} bytes exceeds maxmemory-clients.");
        Evicting(session);
        return true;
    }

    /// <summary>Checks whether the limit holds, if a check is due.</summary>
    internal void Run(long nowMs)
    {
        if (settings.MaxMemoryClients == 0 || (nowMs < _nextMs && nowMs >= _nextMs - PeriodMs)) return;
        _nextMs = nowMs + PeriodMs;
        ulong limit = LimitBytes;
        if (limit != 0) EvictOver(Math.Max(limit, LimitBytesMin));
    }

    // Adds up what the clients use now, and closes the largest ones until the limit holds. If another loop is at it, that one does.
    private void EvictOver(ulong limit)
    {
        if (Interlocked.Exchange(ref _isEvicting, 1) != 0) return;
        try
        {
            Evict(limit);
        }
        finally
        {
            Volatile.Write(ref _isEvicting, 0);
        }
    }

    private void Evict(ulong limit)
    {
        long all = 0;
        _sizes.Clear();
        foreach (Session session in clients.All)
        {
            if (session.Type is ClientType.Replica or ClientType.Master || session.IsEvicted) continue; // an evicted one frees its memory soon
            long bytes = Math.Max(BytesOf(session), session.CountedClientBytes);
            all += bytes;
            if (!session.NoEvict) _sizes.Add((session, bytes));
        }

        if ((ulong)all <= limit) return;
        _sizes.Sort((one, other) => other.Bytes.CompareTo(one.Bytes));
        foreach ((Session session, long bytes) in _sizes)
        {
            if (session.TryMarkEvicted())
            {
                log.Warning(LogEvents.ClientEvicted, $"Evicting client id={session.Id} addr={session.Address}: all clients use {all} bytes, more than maxmemory-clients; this one uses {bytes}.");
                Evicting(session);
                clients.Kill(session);
            }

            all -= bytes;
            if ((ulong)Math.Max(0, all) <= limit) break;
        }

        _sizes.Clear();
    }

    private static long BytesOf(Session session) => LoopMetrics.ConnectionBytes + (session.Connection?.BufferBytes ?? 0) + session.KeptBytes;
}
