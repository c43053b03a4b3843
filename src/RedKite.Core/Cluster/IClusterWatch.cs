namespace RedKite.Server.Cluster;

/// <summary>What a node knows about its cluster, for metrics, findings and the page.</summary>
internal interface IClusterWatch
{
    /// <summary>The numbers of this moment, once a second. It waits for nothing.</summary>
    ClusterFigures Figures();

    /// <summary>The cluster as this node goes by it, and what the other nodes said when the store was read last. It waits for nothing.</summary>
    ClusterPicture Picture();

    /// <summary>What happened when, the newest first.</summary>
    IReadOnlyList<ClusterEvent> Events { get; }
}

/// <summary>Something that this node did, saw or was refused.</summary>
/// <param name="UnixMs">When.</param>
/// <param name="Kind">"topology", "decision", "store" or "refused".</param>
/// <param name="Text">One line.</param>
internal sealed record ClusterEvent(long UnixMs, string Kind, string Text);

/// <summary>Numbers about a cluster, and this node in it. NaN: not known, as what needs a store without one.</summary>
internal sealed record ClusterFigures
{
    /// <summary>Of a server that is no node.</summary>
    internal static readonly ClusterFigures None = new();

    /// <summary>How long this node may serve without another renewal of its lease.</summary>
    internal double LeaseSeconds { get; init; } = double.NaN;

    /// <summary>Renewals of its lease that the store has answered, and how long they took.</summary>
    internal long Renewals { get; init; }

    internal long RenewalMicroseconds { get; init; }

    internal double LastRenewalMicroseconds { get; init; } = double.NaN;

    /// <summary>Requests to the store, those that failed, and how long all took.</summary>
    internal long StoreRequests { get; init; }

    internal long StoreErrors { get; init; }

    internal long StoreMicroseconds { get; init; }

    /// <summary>How long the store has answered nothing; 0: the last request was answered.</summary>
    internal double StoreAwaySeconds { get; init; } = double.NaN;

    /// <summary>The version of the topology that this node goes by, and how many versions the store's is ahead of it.</summary>
    internal double Version { get; init; } = double.NaN;

    internal double VersionsBehind { get; init; } = double.NaN;

    internal double OwnedSlots { get; init; } = double.NaN;

    internal double UncoveredSlots { get; init; } = double.NaN;

    /// <summary>Changes of a shard's primary that this node has seen, and those that made it the primary.</summary>
    internal long Elections { get; init; }

    internal long Takeovers { get; init; }

    /// <summary>Connections that were closed without their replies, because the lease ended while their commands executed.</summary>
    internal long LateDisconnections { get; init; }

    /// <summary>1: this node has discarded writes as a former primary, and that is news; 0: it has not.</summary>
    internal double LostWrites { get; init; } = double.NaN;

    /// <summary>How long the oldest move of slots in progress has run; 0: there is none.</summary>
    internal double OldestMoveSeconds { get; init; } = double.NaN;

    /// <summary>Slots that are refused, because it is not known whether another node has taken them.</summary>
    internal double DoubtfulSlots { get; init; } = double.NaN;

    /// <summary>How long slots have waited at most for their former owner; 0: none do.</summary>
    internal double AwaitedSeconds { get; init; } = double.NaN;

    /// <summary>The share of this node's requests with keys that use the hottest slot.</summary>
    internal double HottestSlotPercent { get; init; } = double.NaN;

    internal double HottestSlot { get; init; } = double.NaN;

    // Of the whole cluster, as the store said when it was read last.

    internal double Nodes { get; init; } = double.NaN;

    internal double NodesAlive { get; init; } = double.NaN;

    internal double Controllers { get; init; } = double.NaN;

    /// <summary>Nodes that still go by a version older than the one of five seconds before.</summary>
    internal double NodesBehind { get; init; } = double.NaN;

    /// <summary>Shards with slots whose primary does not serve.</summary>
    internal double ShardsDown { get; init; } = double.NaN;

    /// <summary>Shards with replicas of which none could be made the primary.</summary>
    internal double ShardsAtRisk { get; init; } = double.NaN;

    /// <summary>Commands a second of the busiest shard's primary, and that relative to the mean of the other shards with slots, up to 100.</summary>
    internal double BusiestShard { get; init; } = double.NaN;

    internal double LoadUneven { get; init; } = double.NaN;

    internal double FullestShardBytes { get; init; } = double.NaN;

    internal double MemoryUneven { get; init; } = double.NaN;

    /// <summary>How far the clocks of two nodes are apart at least.</summary>
    internal double ClockSkewSeconds { get; init; } = double.NaN;
}
