namespace RedKite.Server.Cluster.Agreement;

/// <summary>What the agent asks of the node that it keeps in agreement with the others.</summary>
internal interface INode
{
    string Id { get; }

    /// <summary>The life of the node's process.</summary>
    string Incarnation { get; }

    /// <summary>The topology that the node goes by.</summary>
    ClusterTopology Topology { get; }

    /// <summary>The number of replicas that acknowledge a write here before its reply leaves.</summary>
    int Acks { get; }

    /// <summary>Whether it never becomes a primary by itself.</summary>
    bool IsNoSuccessor { get; }

    /// <summary>Whether it has keys and is of no cluster yet: as a replica it would lose them.</summary>
    bool HasKeysOfItsOwn { get; }

    /// <summary>How far its data is. It moves on.</summary>
    DataPosition Position { get; }

    /// <summary>The ids of its replicas that follow its stream now.</summary>
    IEnumerable<string> ReplicasInStep { get; }

    /// <summary>Whether the replicas that count by the topology which the node goes by have everything that any replica has acknowledged for a client.</summary>
    bool CountedReplicasHaveAll { get; }

    /// <summary>The node as it announces itself.</summary>
    ClusterNode Describe();

    /// <summary>
    /// Goes by a topology from now on. The slots of this node are served only if <paramref name="serves"/>; when this returns, nothing that executes goes by another topology.
    /// </summary>
    Task Apply(ClusterTopology topology, bool serves);

    /// <summary>
    /// Keeps the topology that it goes by over a restart. Clients do not wait for that: after a start, the node goes by the store before it serves. What it has kept says which cluster it is of, and whether the store has lost changes.
    /// </summary>
    /// <exception cref="TopologyException">It cannot be kept: the node serves no more.</exception>
    Task Keep();

    /// <summary>Stops following a primary, so that the position does not move any more.</summary>
    Task<DataPosition> Seal();

    /// <summary>
    /// Makes commands that write wait, and returns when a replica has everything that was executed. They wait until <see cref="EndHandover"/>.
    /// </summary>
    /// <param name="replica">The replica.</param>
    /// <param name="incarnation">Its life: what another one has acknowledged may be lost.</param>
    /// <param name="cancellation">Ends the attempt.</param>
    /// <returns>Whether the replica has everything; otherwise nothing waits any more.</returns>
    Task<bool> PrepareHandover(ClusterNode replica, string incarnation, CancellationToken cancellation);

    /// <summary>
    /// The same behind <see cref="Apply"/>, when nothing is served any more: whether the replica has what had begun before, too. Commands wait on whatever the outcome. A replica without a link gets none meanwhile, and is not waited for.
    /// </summary>
    Task<bool> ConfirmHandover(ClusterNode replica, string incarnation, CancellationToken cancellation);

    /// <summary>What waited goes on, by the topology of now. From any thread, and also if nothing waits.</summary>
    void EndHandover();

    /// <summary>Says what has happened, in one line.</summary>
    void Log(AgreementEvent what, string text);
}

/// <summary>What a node tells of its agreement with others.</summary>
internal enum AgreementEvent
{
    /// <summary>Something has changed as it should.</summary>
    Changed,

    /// <summary>The store is not reached or refuses. Tried again.</summary>
    StoreAway,

    /// <summary>An operator must act: two nodes with one id, another cluster's data, a document that cannot be read.</summary>
    Refused,
}
