using RedKite.Server.Logging;

namespace RedKite.Server.Replication;

/// <summary>
/// Synchronizations with a second connection (repl-rdb-channel): the replica is told to open one, gets the data there, and the stream meanwhile on the first,
/// which it keeps until the data is loaded. So the stream waits at the replica, not here. Both connections end together, unless the data is whole.
/// </summary>
internal sealed partial class ReplicaService
{
    /// <summary>Has a replica open a second connection, if both sides can and want that. On the replica's loop.</summary>
    /// <returns>The reply; null: it gets the data on this one.</returns>
    internal string? TryAwaitChannel(ReplicaClient replica)
    {
        const ReplicaCapabilities Needed = ReplicaCapabilities.Eof | ReplicaCapabilities.RdbChannel;
        if (!_settings.ReplicaRdbChannel || replica.Announced.IsChannel || replica.Announced.OnlyData || (replica.Announced.Capabilities & Needed) != Needed) return null;
        BeginHistoryIfUnknown();
        replica.Await(_clock.SteadyMs, sinceMs: _clock.SteadyMs);
        Attach(replica, ReplicaState.AwaitsChannel);
        _log.Notice(LogEvents.ReplicaSyncWanted, $"Replica {replica.Name} gets a full synchronization on a second connection.");
        return FormattableString.Invariant($"+RDBCHANNELSYNC {replica.Session.Id}\r\n");
    }

    /// <summary>Makes a client the second connection of a replica that waits for it. On the client's loop.</summary>
    /// <param name="channel">The client.</param>
    /// <param name="mainId">The id of the replica's first connection.</param>
    /// <returns>False: no replica with that id waits.</returns>
    internal bool TryJoin(ReplicaClient channel, long mainId)
    {
        lock (_lock)
        {
            ReplicaClient? main = Array.Find(_list.All, replica => replica.Session.Id == mainId && replica is { State: ReplicaState.AwaitsChannel, IsConnected: true });
            if (main is null || main == channel || (main.Channel is not null && main.Channel != channel)) return false;
            channel.Join(main, _clock.SteadyMs);
            return true;
        }
    }

    // All stripes are locked, and the lists.
    private void BeginStreaming(ReplicaClient main, long offset)
    {
        if (!main.IsConnected || main.State != ReplicaState.AwaitsChannel) return;
        main.BeginStreaming(Stream.TryPin(offset), _clock.SteadyMs);
    }

    // One of a replica's two connections was closed.
    private static void EndTogether(ReplicaClient replica)
    {
        if (replica is { Main: { } main, HasWholeData: false }) main.Close();
        replica.Channel?.Close();
    }
}
