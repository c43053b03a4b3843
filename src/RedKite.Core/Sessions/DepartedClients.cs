using RedKite.Net;
using RedKite.Server.Model;

namespace RedKite.Server.Sessions;

/// <summary>A client whose connection has ended, as it was then.</summary>
/// <param name="ConnectedMs">How long it was connected.</param>
/// <param name="LeftUnixMs">When it left.</param>
/// <param name="LastCommand">Empty: it sent none.</param>
/// <param name="Channels">Some of the channels and patterns that it was subscribed to, if the server closed it.</param>
/// <param name="ChannelCount">How many these were in all.</param>
internal sealed record DepartedClient(
    long Id, string Name, PeerAddress Address, string LibraryName, string LibraryVersion, string User, bool Resp3, int Database,
    long ConnectedMs, long LeftUnixMs, long Commands, long BytesReceived, long BytesSent, string LastCommand,
    IReadOnlyList<byte[]> Channels, int ChannelCount);

/// <summary>
/// The last clients that have left, so that what they did can still be explained. Those that were connected for a moment only are not kept:
/// a storm of them would displace all others. Any thread adds, under a lock.
/// </summary>
internal sealed class DepartedClients
{
    internal const int ClientsMax = 256;

    /// <summary>How many of a client's channels are kept.</summary>
    internal const int ChannelsMax = 3;

    /// <summary>Clients that left sooner are kept only if the server closed them.</summary>
    internal const int MomentMs = 1000;

    private readonly Lock _lock = new();
    private readonly Queue<DepartedClient> _clients = new();

    /// <summary>Those that are kept, the latest first.</summary>
    internal DepartedClient[] Latest
    {
        get
        {
            lock (_lock) return [.. _clients.Reverse()];
        }
    }

    internal DepartedClient? Find(long id)
    {
        lock (_lock) return _clients.LastOrDefault(client => client.Id == id);
    }

    /// <param name="session">The client.</param>
    /// <param name="steadyMs">The time of the steady clock.</param>
    /// <param name="nowMs">The time.</param>
    /// <param name="channels">Some of the channels that it was subscribed to.</param>
    /// <param name="channelCount">How many these were.</param>
    internal void Add(Session session, long steadyMs, long nowMs, IReadOnlyList<byte[]> channels, int channelCount)
    {
        long connectedMs = Math.Max(0, steadyMs - session.CreatedMs);
        if (connectedMs < MomentMs && !session.IsClosedByServer) return;
        var client = new DepartedClient(
            session.Id, session.Name, session.Connection!.RemoteAddress, session.LibraryName, session.LibraryVersion, session.User.Name, session.Resp3, session.DatabaseIndex,
            connectedMs, nowMs, session.Counts.CommandsProcessed, session.Counts.BytesReceived, session.Counts.BytesSent, session.Counts.LastCommand?.FullName ?? "",
            channels, channelCount);
        lock (_lock)
        {
            _clients.Enqueue(client);
            if (_clients.Count > ClientsMax) _clients.Dequeue();
        }
    }
}
