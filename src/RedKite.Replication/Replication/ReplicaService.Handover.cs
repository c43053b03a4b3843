using RedKite.Server.Logging;
using RedKite.Server.Sessions;

namespace RedKite.Server.Replication;

/// <content>The role goes to a replica by what the nodes of a cluster agree on, which this prepares.</content>
internal sealed partial class ReplicaService
{
    private const int HandoverLookMs = 1;

    /// <summary>Has commands that write wait, and returns when a replica has everything that was executed.</summary>
    /// <param name="id">The replica.</param>
    /// <param name="incarnation">Its life: what another one has acknowledged may be lost.</param>
    /// <param name="endCommands">Returns when every command has ended that was admitted before.</param>
    /// <param name="cancellation">The limit.</param>
    /// <returns>False: it is not there, or does not catch up in time. Nothing waits then.</returns>
    internal bool PrepareHandover(string id, string incarnation, Action<CancellationToken> endCommands, CancellationToken cancellation)
    {
        if (AwaitOnline(id, incarnation, cancellation) is not { } replica) return false;
        _pause.Hold(PauseReason.Handover);
        try
        {
            CatchUp(replica, endCommands, cancellation);
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

    /// <summary>
    /// The same behind that, when nothing is served any more: whether the replica has what had begun before, too. Commands wait on whatever the outcome. A replica whose link has broken gets none while this node serves nothing, so it
    /// is not waited for.
    /// </summary>
    /// <returns>False: it has not got everything, or not in time.</returns>
    internal bool ConfirmHandover(string id, string incarnation, Action<CancellationToken> endCommands, CancellationToken cancellation)
    {
        if (Online(id, incarnation) is not { } replica) return false;
        try
        {
            CatchUp(replica, endCommands, cancellation);
            return true;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    private void CatchUp(ReplicaClient replica, Action<CancellationToken> endCommands, CancellationToken cancellation)
    {
        endCommands(cancellation);
        AskForOffsets();
        while (replica.AcknowledgedOffset < Stream.Offset)
        {
            if (!replica.IsConnected || cancellation.IsCancellationRequested) throw new OperationCanceledException(cancellation);
            Thread.Sleep(HandoverLookMs);
        }
    }

    private ReplicaClient? Online(string id, string incarnation) => Array.Find(_list.All, each => each.Node.Id == id && each.Node.Incarnation == incarnation && each is { State: ReplicaState.Online, IsConnected: true });

    // It may be about to connect again, or to acknowledge for the first time. Nothing is held yet.
    private ReplicaClient? AwaitOnline(string id, string incarnation, CancellationToken cancellation)
    {
        while (!cancellation.IsCancellationRequested)
        {
            if (Online(id, incarnation) is { } replica) return replica;
            Thread.Sleep(HandoverLookMs);
        }

        return null;
    }

    /// <summary>The ids of the nodes that follow the stream now.</summary>
    internal IEnumerable<string> InStep => _list.All.Where(static replica => replica is { State: ReplicaState.Online, IsConnected: true, Node.Id.Length: > 0 }).Select(static replica => replica.Node.Id);

    /// <summary>Called when a node has begun to follow the stream: the topology is to say so before it counts.</summary>
    internal event Action? NodeCameOnline;

    /// <summary>The topology has changed: links of nodes that it does not name as replicas end, and acknowledgements of the others are counted again.</summary>
    internal void ReplicasChanged()
    {
        if (_routing.Replicas is not { } replicas) return;
        foreach (ReplicaClient replica in _list.All)
        {
            if (replicas.Excludes(replica.Node) && replica.Close()) _log.Notice(LogEvents.ReplicaClosed, $"Replica {replica.Name} is closed: the cluster's topology does not name {replica.Node.Id} as a replica of this node.");
        }

        AdvanceAcks();
    }

    // A node has one link: the one before, which may not have noticed its end, would count beside it.
    private void NoteNode(ReplicaClient replica)
    {
        if (replica.Node.Id.Length == 0) return;
        foreach (ReplicaClient other in _list.All)
        {
            if (other != replica && other.Node.Id == replica.Node.Id) other.Close();
        }

        if (replica.State == ReplicaState.Online) NodeCameOnline?.Invoke();
    }
}
