using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Sessions;

/// <summary>
/// Keeps the memory of all clients within maxmemory-clients: when it exceeds the limit, the clients with the largest buffers and
/// state are closed, except those with CLIENT NO-EVICT. One loop looks ten times a second while there is a limit. A client whose
/// unfinished request alone exceeds it is closed at once.
/// </summary>
internal sealed class ClientEviction(Settings settings, ClientRegistry clients, ServerLog log)
{
    private const int PeriodMs = 100;

    // A lower limit counts as this one, as in Redis: otherwise even a client that wants to raise it would be closed.
    private const ulong LimitBytesMin = 128 << 10;

    private readonly List<(Session Session, long Bytes)> _sizes = [];
    private long _nextMs;

    /// <summary>Called with each client that is about to be closed.</summary>
    internal required Action<Session> Evicting { get; init; }

    /// <summary>The limit in bytes; 0: none.</summary>
    internal ulong LimitBytes => settings.MaxMemoryClients >= 0
        ? (ulong)settings.MaxMemoryClients
        : (ulong)(settings.MaxMemoryBytes / 100.0 * -settings.MaxMemoryClients);

    /// <summary>Whether a client is to be closed because its unfinished request alone exceeds the limit. On its loop.</summary>
    internal bool Evicts(Session session, long requestBytes)
    {
        if (settings.MaxMemoryClients == 0 || session.NoEvict || session.Type is ClientType.Replica or ClientType.Master) return false;
        ulong limit = LimitBytes;
        if (limit == 0 || (ulong)requestBytes <= Math.Max(limit, LimitBytesMin)) return false;
        log.Warning($"Evicting client id={session.Id} addr={session.Address}: its incomplete request of {requestBytes} bytes exceeds maxmemory-clients.");
        Evicting(session);
        return true;
    }

    /// <summary>Checks whether the limit holds, if a check is due.</summary>
    internal void Run(long nowMs)
    {
        if (settings.MaxMemoryClients == 0 || (nowMs < _nextMs && nowMs >= _nextMs - PeriodMs)) return;
        _nextMs = nowMs + PeriodMs;
        ulong limit = LimitBytes;
        if (limit == 0) return;
        limit = Math.Max(limit, LimitBytesMin);
        long all = 0;
        _sizes.Clear();
        foreach (Session session in clients.All)
        {
            if (session.Type is ClientType.Replica or ClientType.Master) continue;
            long bytes = LoopMetrics.ConnectionBytes + (session.Connection?.BufferBytes ?? 0) + session.KeptBytes;
            all += bytes;
            if (!session.NoEvict) _sizes.Add((session, bytes));
        }

        if ((ulong)all <= limit) return;
        _sizes.Sort((one, other) => other.Bytes.CompareTo(one.Bytes));
        foreach ((Session session, long bytes) in _sizes)
        {
            log.Warning($"Evicting client id={session.Id} addr={session.Address}: all clients use {all} bytes, more than maxmemory-clients; this one uses {bytes}.");
            Evicting(session);
            clients.Kill(session);
            all -= bytes;
            if ((ulong)Math.Max(0, all) <= limit) break;
        }

        _sizes.Clear();
    }
}
