using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>A cluster as one node sees it.</summary>
internal sealed record ClusterPicture
{
    internal required string SelfId { get; init; }

    /// <summary>The cluster's id; empty: there is no store, or no cluster in it.</summary>
    internal required string ClusterId { get; init; }

    internal required bool HasStore { get; init; }

    /// <summary>Whether this node serves as far as the topology says.</summary>
    internal required bool IsUp { get; init; }

    /// <summary>The version that this node goes by.</summary>
    internal required long Version { get; init; }

    /// <summary>The version in the store as this node has seen it last; without a store its own.</summary>
    internal required long StoreVersion { get; init; }

    /// <summary>Why this node does not serve as it should; empty: nothing is wrong.</summary>
    internal required string Fault { get; init; }

    /// <summary>What this node has discarded as a former primary, in a sentence; empty: nothing, as far as is known.</summary>
    internal required string LostWrites { get; init; }

    /// <summary>The active controller's name, mostly a node's id; empty: none, or not known.</summary>
    internal required string Controller { get; init; }

    internal required bool IsController { get; init; }

    /// <summary>The lease's whole time (`cluster-lease-ms`).</summary>
    internal required double LeaseSecondsMax { get; init; }

    /// <summary>How long ago the store was read for this; NaN: it was not.</summary>
    internal required double AgeSeconds { get; init; }

    /// <summary>The last error of the store; empty: none.</summary>
    internal required string StoreError { get; init; }

    internal required IReadOnlyList<PicturedShard> Shards { get; init; }

    /// <summary>Nodes of the topology, and behind them those that are only registered in the store.</summary>
    internal required IReadOnlyList<PicturedNode> Nodes { get; init; }

    /// <summary>The moves of slots as a whole that this node remembers. Those of others are in their figures.</summary>
    internal required IReadOnlyList<MoveProgress> Moves { get; init; }

    /// <summary>Slots that leave this node key by key, those that come, and those of which it is not known whether they were given.</summary>
    internal required IReadOnlyDictionary<int, string> Migrating { get; init; }

    internal required IReadOnlyDictionary<int, string> Importing { get; init; }

    internal required IReadOnlyDictionary<int, string> Doubtful { get; init; }

    internal required IReadOnlyList<AwaitedSlots> Awaited { get; init; }
}

/// <summary>Slots whose owner does not serve them yet, because another node may.</summary>
/// <param name="OwnerId">The owner.</param>
/// <param name="Slots">The slots.</param>
/// <param name="Since">The version of the topology by which they have the owner.</param>
/// <param name="FromId">Their former owner; empty: any node may be it.</param>
/// <param name="WaitsFor">The nodes that serve by an older version, as far as is known; empty: the owner serves soon.</param>
internal sealed record AwaitedSlots(string OwnerId, SlotSet Slots, long Since, string FromId, IReadOnlyList<string> WaitsFor);

/// <summary>A shard of the picture.</summary>
/// <param name="Id">Its id.</param>
/// <param name="PrimaryId">Its primary.</param>
/// <param name="Slots">The primary's slots.</param>
/// <param name="IsSealed">Whether a primary is being chosen.</param>
/// <param name="Acks">`replica-acks` of its primary.</param>
/// <param name="InStep">The replicas that have been in step with it.</param>
/// <param name="Hindrance">Why no replica could be made the primary; empty: one could, or it has no replicas.</param>
internal sealed record PicturedShard(string Id, string PrimaryId, IReadOnlyList<SlotRange> Slots, bool IsSealed, int Acks, IReadOnlyList<string> InStep, string Hindrance);

/// <summary>A node of the picture.</summary>
/// <param name="Id">Its id.</param>
/// <param name="Address">Where clients reach it: "host:port".</param>
/// <param name="Name">The name that it announces for people.</param>
/// <param name="Zone">Its zone.</param>
/// <param name="ShardId">Its shard; empty: it is not in the topology.</param>
/// <param name="PrimaryId">The node that it follows; null: it is a primary.</param>
/// <param name="IsAlive">Whether its lease lasts; null: not known.</param>
/// <param name="Version">The version of the topology that it goes by; -1: not known.</param>
/// <param name="Offset">Where it is in the replication stream; -1: not known.</param>
/// <param name="LagBytes">How far it is behind its primary as both said last; -1: not known, or it is a primary.</param>
/// <param name="Figures">What it said of itself; null: nothing.</param>
/// <param name="FiguresAgeSeconds">How long ago that was seen first; NaN: nothing was.</param>
internal sealed record PicturedNode(string Id, string Address, string Name, string Zone, string ShardId, string? PrimaryId, bool? IsAlive, long Version, long Offset, long LagBytes, NodeFigures? Figures, double FiguresAgeSeconds);

/// <summary>What a node reports about itself, for metrics, findings and the page of every node. No decision depends on it.</summary>
internal sealed record NodeFigures
{
    /// <summary>Parts of the 16,384 slots by which the load of ranges is told.</summary>
    internal const int PartsOfSlots = 128;

    /// <summary>By its wall clock.</summary>
    internal long UnixMs { get; init; }

    /// <summary>Whether it serves slots as their primary.</summary>
    internal bool Serves { get; init; }

    internal long Keys { get; init; }

    internal long UsedBytes { get; init; }

    /// <summary>0: it has no limit.</summary>
    internal long MaxBytes { get; init; }

    internal double CommandsPerSecond { get; init; }

    /// <summary>The replication history of its data, and the offset in it; -1: the data is not whole.</summary>
    internal string History { get; init; } = "";

    /// <inheritdoc cref="History"/>
    internal long Offset { get; init; } = -1;

    /// <summary>Whether it gets its primary's stream; null: it is a primary.</summary>
    internal bool? IsLinkUp { get; init; }

    internal double LeaseSeconds { get; init; }

    internal double RenewalMicroseconds { get; init; }

    /// <summary>Why it does not serve as it should; empty: nothing is wrong.</summary>
    internal string Fault { get; init; } = "";

    /// <summary>How far another node's clock is ahead of its own at least, and which.</summary>
    internal double ClockAheadSeconds { get; init; }

    internal string ClockAheadId { get; init; } = "";

    internal int HottestSlot { get; init; } = -1;

    internal double HottestSlotPercent { get; init; }

    /// <summary>Keys in each of <see cref="PartsOfSlots"/> parts of the slots; empty: none.</summary>
    internal IReadOnlyList<long> KeysByPart { get; init; } = [];

    /// <summary>Its moves of slots that have not ended.</summary>
    internal IReadOnlyList<MoveProgress> Moves { get; init; } = [];
}

/// <summary>How far a move of slots as a whole is, as the source or the destination knows it.</summary>
/// <param name="Id">The move's id, on both nodes.</param>
/// <param name="IsExport">Whether this is the source's word.</param>
/// <param name="SourceId">Where from.</param>
/// <param name="TargetId">Where to.</param>
/// <param name="Slots">The slots as ranges: "0-99 200-299"; cut off behind some.</param>
/// <param name="SlotCount">How many slots.</param>
/// <param name="State">How far it is, in a word.</param>
/// <param name="Message">Why it has failed; empty: it has not.</param>
/// <param name="Seconds">How long it has run, or ran.</param>
/// <param name="Keys">Keys of the slots that are on the node that says this.</param>
/// <param name="SentBytes">What the source has sent.</param>
/// <param name="WaitingBytes">What waits on the source.</param>
/// <param name="Retries">How often the owner could not be changed in time.</param>
/// <param name="HasEnded">Whether it has.</param>
internal sealed record MoveProgress(string Id, bool IsExport, string SourceId, string TargetId, string Slots, int SlotCount, string State, string Message, double Seconds, long Keys, long SentBytes, long WaitingBytes, int Retries, bool HasEnded);
