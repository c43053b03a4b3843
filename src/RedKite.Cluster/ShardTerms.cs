using System.Collections.Immutable;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>What the nodes of a cluster agree on by a store, beside the nodes and their slots.</summary>
internal sealed record ClusterTerms
{
    internal static readonly ClusterTerms None = new();

    /// <summary>The cluster's own id, so that no node of another one is taken for its; empty: the topology is not one of a store.</summary>
    internal string ClusterId { get; init; } = "";

    /// <summary>By the id of the shard.</summary>
    internal ImmutableSortedDictionary<string, ShardTerms> Shards { get; init; } = ImmutableSortedDictionary.Create<string, ShardTerms>(StringComparer.Ordinal);

    /// <summary>Nodes that were taken out, which do not join again by themselves.</summary>
    internal ImmutableSortedSet<string> Removed { get; init; } = ImmutableSortedSet.Create<string>(StringComparer.Ordinal);

    /// <summary>Slots whose owner does not serve them yet. No slot is in two of them.</summary>
    internal ImmutableArray<Reassignment> Reassigned { get; init; } = [];

    /// <summary>All of those.</summary>
    internal SlotSet ReassignedSlots => Reassigned.Aggregate(SlotSet.Empty, static (all, each) => all.With(each.Slots));

    internal ShardTerms Of(string shardId) => Shards.GetValueOrDefault(shardId, ShardTerms.None);
}

/// <summary>Slots that have got an owner which does not serve them yet: another node may still, by an older topology (<see cref="Agreement.Reassignments"/>).</summary>
/// <param name="Slots">The slots.</param>
/// <param name="Since">The version of the topology by which they have the owner.</param>
/// <param name="FromId">The node that may serve them until it goes by that version; empty: any may.</param>
internal sealed record Reassignment(SlotSet Slots, long Since, string FromId);

/// <summary>On which terms the primary of a shard serves, and what is being done about it.</summary>
internal sealed record ShardTerms
{
    internal static readonly ShardTerms None = new();

    /// <summary>The life of the primary's process in which it serves: another one may have lost data, and has to be chosen again. Empty: any.</summary>
    internal string Incarnation { get; init; } = "";

    /// <summary>How many replicas acknowledge a write before its reply leaves (`replica-acks`).</summary>
    internal int Acks { get; init; }

    /// <summary>The replication history of the primary; empty: not known.</summary>
    internal string History { get; init; } = "";

    /// <summary>The replicas that may be the ones which acknowledged a write: those that have been in step with the primary. One that has become the primary is among them until it
    /// claims its role: until then, what it has is that of a replica. Their ids in order, with commas between them.</summary>
    internal string InStep { get; init; } = "";

    /// <summary>The topology's version since which no node of the shard serves or follows, because a primary is chosen; 0: none is.</summary>
    internal long SealedAt { get; init; }

    /// <summary>The replica that the primary hands its role to; empty: none.</summary>
    internal string HandoverTo { get; init; } = "";

    /// <summary>Whether a primary may be chosen although acknowledged writes may be missing there: an operator said so.</summary>
    internal bool AcceptsLoss { get; init; }

    /// <summary>The offset in the history before with which the primary took over; -1: it did not, or it is not known.</summary>
    internal long TakenOverAt { get; init; } = -1;

    /// <summary>That history; empty: not known.</summary>
    internal string TakenOverFrom { get; init; } = "";

    /// <summary>The database that the stream of that history has selected there.</summary>
    internal int TakenOverIn { get; init; }

    internal bool IsSealed => SealedAt != 0;

    internal IEnumerable<string> ReplicasInStep => InStep.Split(',', StringSplitOptions.RemoveEmptyEntries);

    internal ShardTerms WithInStep(IEnumerable<string> ids) => this with { InStep = string.Join(',', ids.Distinct().Order(StringComparer.Ordinal)) };
}
