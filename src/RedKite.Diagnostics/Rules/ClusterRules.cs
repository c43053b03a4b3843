using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Logging.QuantityText;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on a cluster and this node in it. A server that is no node has none of these findings, and most need the cluster's store.</summary>
internal static class ClusterRules
{
    private const double ShortLease = 0.4; // of cluster-lease-ms: a node that renews in time has more than 0.6 left
    private const double SlowStore = 0.05; // of cluster-lease-ms
    private const double StoreAwaySecondsMax = 2;
    private const double LongMoveSeconds = 600;
    private const double AwaitedSecondsMax = 10; // behind the lease, with which the former owner has served at the latest
    private const double SkewSecondsMax = 2;
    private const double UnevenRatio = 2;
    private const double BusyCommands = 1000;
    private const double FullBytes = 256 << 20;
    private const double HotSlotPercent = 25;
    private const double HotSlotCommands = 20_000;
    private const int ReadsSeconds = 15; // the store is read every five seconds

    internal static FindingRule[] All => [.. OfStore, .. OfTopology, .. OfLoad];

    private static FindingRule[] OfStore =>
    [
        new("cluster-lease-short", "Within the last 30 seconds less than 40 % of cluster-lease-ms was left of this node's lease: a renewal was late or failed. Critical if it has ended and stayed so for 10 seconds: then the node serves nothing.",
            "Look at the store and the network to it, and at what stops this process or its machine. Raise cluster-lease-ms if the store is far away: a takeover waits for as long.", "cluster", LeaseIsShort)
        { Culprit = culprits => culprits.Cluster.Fault() },
        new("cluster-store-away", "The cluster's store has answered nothing for more than two seconds. Nodes serve until their leases end.",
            "Start the store again, or look at the network to it. Its members are in cluster-etcd.", "cluster",
            view => view[ClusterStoreAway] > StoreAwaySecondsMax
                ? new("The cluster's store does not answer", Text($"for {About(view[ClusterStoreAway])}; this node may serve for {Times(Known(view[ClusterLease]), "second", "0.#")} more; {Times(view.Growth(ClusterStoreErrors, 60), "request")} failed within a minute"), Critical) : null)
        { Culprit = culprits => culprits.Cluster.Fault() },
        new("cluster-store-slow", "Requests to the cluster's store took more than a twentieth of cluster-lease-ms on average within the last minute.",
            "Look at the store's disk, which syncs each change, and at the network to it.", "cluster",
            view => view.Growth(ClusterStoreRequests, 60) is >= 5 and var requests && view.Growth(ClusterStoreTime, 60) / requests / 1000 is var mean && mean > SlowStore * view.Number("cluster-lease-ms")
                ? new("The cluster's store is slow", Text($"{mean:0} ms on average, {Times(requests, "request")} in the last minute"), Warning) : null),
        new("cluster-no-controller", "No controller has been active for 30 seconds: no replica takes over from a primary that is gone.",
            "Have nodes with cluster-controller yes, or start a controller. The logs of those that are there say why they are not active.", "cluster",
            view => view.Mean(ClusterControllers, 30) == 0
                ? new("The cluster has no active controller", Text($"none for 30 seconds; {view[ClusterNodesAlive]:0} of {Times(view[ClusterNodes], "node")} answer"), Critical) : null),
        new("cluster-clocks-apart", "The wall clocks of two nodes are apart by more than two seconds. Keys expire by them: after a takeover or a move they live longer or shorter.",
            "Synchronize the machines' clocks (NTP, chrony).", "cluster",
            view => view[ClusterClockSkew] is > SkewSecondsMax and var apart
                ? new("Clocks of nodes are apart", Text($"by {Times(apart, "second", "0.#")} at least"), Warning) : null)
        { Culprit = culprits => culprits.Cluster.Clocks() },
    ];

    private static FindingRule[] OfTopology =>
    [
        new("cluster-shard-down", "A shard with slots had no primary that serves for the last 15 seconds: its commands are answered CLUSTERDOWN, or get no connection.",
            "Start its nodes again. If too few come back, CLUSTER FAILOVER FORCE on a replica of it accepts that acknowledged writes are lost.", "cluster",
            view => view.Min(ClusterShardsDown, ReadsSeconds) is > 0 and var down
                ? new("A shard has no primary", Text($"{Times(down, "shard")} for at least 15 seconds; {view[ClusterNodesAlive]:0} of {Times(view[ClusterNodes], "node")} answer"), Critical) : null)
        { Culprit = culprits => culprits.Cluster.ShardsDown() },
        new("cluster-takeover-impossible", "For the last 15 seconds no replica of a shard that has some could have become its primary: none with complete data answers, or with `replica-acks` n, n or more of those that may have acknowledged writes do not answer.",
            "Bring its replicas back, or add one. CLUSTER FORGET takes one out of the count that never comes back.", "cluster",
            view => view.Min(ClusterShardsAtRisk, ReadsSeconds) is > 0 and var shards
                ? new("No replica could take over", Text($"in {Times(shards, "shard")}; {view[ClusterNodesAlive]:0} of {Times(view[ClusterNodes], "node")} answer"), Warning) : null)
        { Culprit = culprits => culprits.Cluster.ShardsAtRisk() },
        new("cluster-lost-writes", "As a former primary this node has executed writes that its successor lacks, and discarded them: lost-writes-*.aof in `dir` has them. Or it cannot be told whether there were any, which is said for an hour.",
            "Read the file (redkite check, or any text viewer: it has the commands) and execute again on the new primary what is still right. Move the file away: that ends this finding. replica-acks 1 keeps every acknowledged write.", "cluster",
            view => view[ClusterLostWrites] > 0 ? new("A takeover has lost writes", Text($"replica-acks is {view.Setting("replica-acks")}"), Warning) : null)
        { Culprit = culprits => culprits.Cluster.LostWrites() },
        new("cluster-slots-uncovered", "Some slots have had no node for the last 10 seconds. Critical if cluster-require-full-coverage is yes: then no node serves any slot.",
            "CLUSTER ADDSLOTSRANGE on the node that is to have them. CLUSTER SLOTS shows which have one.", "cluster",
            view => view.Min(ClusterSlotsUncovered, 10) is > 0 and < 16384 and var slots
                ? new("Slots have no node", Text($"{Times(slots, "slot")} of 16,384; cluster-require-full-coverage is {view.Setting("cluster-require-full-coverage")}"), view.Setting("cluster-require-full-coverage") == "yes" ? Critical : Warning) : null),
        new("cluster-slots-doubtful", "For the last 10 seconds this node has not known whether another one has taken slots that it gave: it refuses them.",
            "With a store: bring it back, it knows. Without one: bring the other node back, or make it reachable from here; it is asked until it answers.", "cluster",
            view => view.Min(ClusterSlotsDoubtful, 10) is > 0 and var slots
                ? new("Slots are refused until their owner is known", Times(slots, "slot"), Critical) : null)
        { Culprit = culprits => culprits.Cluster.Doubts() },
        new("cluster-slots-awaited", "Slots that have got another owner have waited for their former one for ten seconds longer than cluster-lease-ms: it still serves by an older topology, or the new owner does not take them. Commands on them are answered TRYAGAIN.",
            "Look at the log of the node that is waited for, which does not go by the topology, or stop it: that ends with its lease. If none is named, look at the log of the owner.", "cluster",
            view => view[ClusterSlotsAwaited] is var waited && waited > (view.Number("cluster-lease-ms") / 1000) + AwaitedSecondsMax
                ? new("Slots wait for their former owner", Text($"for {About(waited)}; cluster-lease-ms is {view.Setting("cluster-lease-ms")}"), Critical) : null)
        { Culprit = culprits => culprits.Cluster.Awaited() },
        new("cluster-move-long", "A move of slots has run for more than ten minutes, or slots have been MIGRATING or IMPORTING for so long.",
            "CLUSTER GETSLOTMIGRATIONS says how far it is, and CLUSTER CANCELSLOTMIGRATIONS ends it. Slots that move key by key are left like that by a tool that was ended: CLUSTER SETSLOT ... STABLE, or redis-cli --cluster fix.", "cluster",
            view => view[ClusterOldestMove] is > LongMoveSeconds and var age
                ? new("A move of slots does not end", Text($"the oldest began {About(age)} ago; {Bytes(view.Growth(SlotMovesSent, 60))} were sent within a minute, {Bytes(Known(view[SlotMovesWaiting]))} wait"), Warning) : null)
        { Culprit = culprits => culprits.Cluster.Moves() },
        new("cluster-versions-apart", "For the last 15 seconds a node that answers has gone by a topology older than the one of five seconds before: it redirects clients wrongly, and misses changes that concern it.",
            "Its log says why: its disk may not take the file with the topology, or it does not get the store's changes.", "cluster",
            view => view.Min(ClusterNodesBehind, ReadsSeconds) is > 0 and var nodes
                ? new("Nodes go by old topologies", Text($"{Times(nodes, "node")}; the newest version that this node goes by is {view[ClusterVersion]:0}"), Warning) : null)
        { Culprit = culprits => culprits.Cluster.NodesBehind() },
    ];

    private static FindingRule[] OfLoad =>
    [
        new("cluster-load-uneven", "Throughout the last minute one shard's primary executed more than twice as many commands as the others on average, and more than 1,000 a second.",
            "Move slots from it to others (CLUSTER MIGRATESLOTS). If one slot or key has the load, moving others away helps less.", "cluster",
            view => view.Min(ClusterLoadUneven, 60) > UnevenRatio && view.Min(ClusterBusiestShard, 60) > BusyCommands
                ? new("One shard has much more load than the others", Text($"{view.Mean(ClusterLoadUneven, 60):0.#} times as much in the last minute: {Times(view.Mean(ClusterBusiestShard, 60), "command")} a second"), Warning) : null)
        { Culprit = culprits => culprits.Cluster.BusiestShard() },
        new("cluster-memory-uneven", "Throughout the last minute one shard's primary used more than twice as much memory as the others on average, and more than 256 MiB.",
            "Move slots from it to others (CLUSTER MIGRATESLOTS). The view of keys says if it is a few large keys.", "cluster",
            view => view.Min(ClusterMemoryUneven, 60) > UnevenRatio && view.Min(ClusterFullestShard, 60) > FullBytes
                ? new("One shard has much more data than the others", Text($"{view.Mean(ClusterMemoryUneven, 60):0.#} times as much: {Bytes(view.Mean(ClusterFullestShard, 60))}"), Notice) : null)
        { Culprit = culprits => culprits.Cluster.FullestShard() },
        new("cluster-hot-slot", "One slot was used by more than a quarter of this node's more than 20,000 requests a second, throughout the last 10 seconds. A slot is on one node, whatever else moves.",
            "Use several hash tags ({...}) for what has one now; BUSYKEYS names the keys.", "cluster",
            view => view.Min(ClusterHottestSlotPercent, 10) > HotSlotPercent && view.Mean(CommandsProcessed, 10) > HotSlotCommands
                ? new("One slot gets much of the load", Text($"the slot {Known(view[ClusterHottestSlot]):0}: {view.Mean(ClusterHottestSlotPercent, 10):0} % of {view.Mean(CommandsProcessed, 10):0} requests a second, over the last 10 seconds"), Notice) : null)
        { Culprit = culprits => culprits.HottestKey() },
    ];

    private static Diagnosis? LeaseIsShort(DiagnosticsView view)
    {
        double lease = view.Number("cluster-lease-ms") / 1000, least = view.Min(ClusterLease, 30);
        if (view[ClusterLease] == 0 && view.Max(ClusterLease, 10) == 0) return new("This node serves nothing: its lease has ended", Text($"no lease for at least 10 seconds; {Times(view.Growth(ClusterStoreErrors, 60), "request")} to the store failed within a minute"), Critical);
        return least < ShortLease * lease
            ? new("This node's lease was nearly lost", Text($"{Times(least, "second", "0.#")} of {lease:0.#} were left within the last 30 seconds; a renewal takes {Known(view[ClusterLastRenewal]) / 1000:0.#} ms"), Warning)
            : null;
    }

    private static double Known(double value) => double.IsNaN(value) ? 0 : value;
}
