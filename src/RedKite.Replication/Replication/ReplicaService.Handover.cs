using RedKite.Server.Sessions;

namespace RedKite.Server.Replication;

/// <content>The role goes to a replica by what the nodes of a cluster agree on, which this prepares.</content>
internal sealed partial class ReplicaService
{
    private const int HandoverLookMs = 1;

    /// <summary>Has commands that write wait, and returns when a replica has everything that was executed.</summary>
    /// <param name="address">The replica's address.</param>
    /// <param name="isOnlyAtPort">Whether no other replica of this node has the port, so that it may be known by another address.</param>
    /// <param name="endCommands">Returns when every command has ended that was admitted before.</param>
    /// <param name="cancellation">The limit.</param>
    /// <returns>False: it is not there, or does not catch up in time. Nothing waits then.</returns>
    internal bool PrepareHandover(PrimaryAddress address, bool isOnlyAtPort, Action<CancellationToken> endCommands, CancellationToken cancellation)
    {
        if (OnlineAt(address, isOnlyAtPort) is not { } replica) return false;
        _pause.Hold(PauseReason.Handover);
        try
        {
            endCommands(cancellation);
            AskForOffsets();
            while (replica.AcknowledgedOffset < Stream.Offset)
            {
                if (!replica.IsConnected || cancellation.IsCancellationRequested) throw new OperationCanceledException(cancellation);
                Thread.Sleep(HandoverLookMs);
            }

            return true;
        }
        catch (Exception failure)
        {
            _pause.Release(PauseReason.Handover);
            _host.ResumePaused();
            if (failure is not OperationCanceledException) throw;
            return false;
        }
    }

    /// <summary>Where the replicas are that follow the stream now.</summary>
    internal IEnumerable<PrimaryAddress> InStep => _list.All.Where(static replica => replica.State == ReplicaState.Online).Select(static replica => new PrimaryAddress(replica.Host, replica.ListeningPort));

    private ReplicaClient? OnlineAt(PrimaryAddress address, bool isOnlyAtPort)
    {
        ReplicaClient[] atPort = [.. _list.All.Where(replica => replica.State == ReplicaState.Online && replica.ListeningPort == address.Port)];
        return Array.Find(atPort, replica => replica.Host.Equals(address.Host, StringComparison.OrdinalIgnoreCase)) ?? (isOnlyAtPort && atPort.Length == 1 ? atPort[0] : null);
    }
}
