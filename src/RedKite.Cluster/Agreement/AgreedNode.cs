using RedKite.Server.Cluster.Watching;
using RedKite.Server.Logging;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster.Agreement;

/// <summary>This server as the node that an agent keeps in agreement. What takes time runs on threads of the pool.</summary>
internal sealed class AgreedNode(ServerCore core, IClusterHost host, IClusterMember cluster) : INode
{
    private static readonly TimeSpan HandoverLimit = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan ConfirmLimit = TimeSpan.FromSeconds(1); // nothing is served meanwhile

    public string Id => cluster.State.SelfId;

    public string Incarnation { get; } = ClusterNode.NewId();

    public ClusterTopology Topology => cluster.State.Topology;

    public int Acks => core.Settings.ReplicaAcks;

    public bool IsNoSuccessor => core.Settings.ClusterReplicaNoFailover;

    public bool HasKeysOfItsOwn
    {
        get
        {
            if (Topology.Terms.ClusterId.Length > 0) return false;
            foreach (Database database in core.Keyspace.Databases)
            {
                if (database.Count > 0) return true;
            }

            return false;
        }
    }

    public IEnumerable<string> ReplicasInStep => host.ReplicasInStep;

    public bool CountedReplicasHaveAll => host.CountedReplicasHaveAll;

    public DataPosition Position => host.Position is { } position ? new DataPosition(position.History, position.Offset) : DataPosition.None;

    public ClusterNode Describe() => cluster.DescribeSelf(cluster.State.Self with { BusPort = 0 });

    public Task Apply(ClusterTopology topology, bool serves) => Task.Run(() =>
    {
        cluster.Apply(topology, serves);
        if (!cluster.State.Topology.Terms.Of(cluster.State.Self.ShardId).IsSealed) host.Attach();
    });

    public Task Keep() => Task.Run(cluster.Keep);

    public Task<DataPosition> Seal() => Task.Run(() =>
    {
        host.Detach();
        return Position with { Database = host.StreamDatabase };
    });

    public Task<bool> PrepareHandover(ClusterNode replica, string incarnation, CancellationToken cancellation) =>
        Limited(limit => host.PrepareHandover(replica.Id, incarnation, limit), HandoverLimit, cancellation);

    public Task<bool> ConfirmHandover(ClusterNode replica, string incarnation, CancellationToken cancellation) =>
        Limited(limit => host.ConfirmHandover(replica.Id, incarnation, limit), ConfirmLimit, cancellation);

    private static Task<bool> Limited(Func<CancellationToken, bool> work, TimeSpan time, CancellationToken cancellation) => Task.Run(
        () =>
        {
            using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
            limit.CancelAfter(time);
            return work(limit.Token);
        },
        cancellation);

    public void EndHandover() => host.EndHandover();

    public void Log(AgreementEvent what, string text)
    {
        cluster.Events.Note(what switch { AgreementEvent.Changed => ClusterEvents.Decision, AgreementEvent.StoreAway => ClusterEvents.Store, _ => ClusterEvents.Refused }, text);
        if (what == AgreementEvent.Changed) core.Log.Notice(LogEvents.ClusterChanged, text);
        else core.Log.Warning(what == AgreementEvent.StoreAway ? LogEvents.ClusterStoreAway : LogEvents.ClusterRefused, text);
    }
}
