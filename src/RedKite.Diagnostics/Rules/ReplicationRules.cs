using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Logging.QuantityText;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on a server's replicas, and on its link to a primary. A server without either has none of these findings.</summary>
internal static class ReplicationRules
{
    private const double Mebibyte = 1 << 20;
    private const double ShortWindowSeconds = 60;
    private const double ManySyncs = 5;
    private const double ManyBreaks = 5;
    private const double FailuresInARow = 2;
    private const double LinkDownSeconds = 10;
    private const double BusyMicroseconds = 900_000; // of each second
    private const double SlowAckMicroseconds = 50_000;

    internal static FindingRule[] All => [.. OfReplicas, .. OfLink];

    private static FindingRule[] OfReplicas =>
    [
        new("replica-behind", "A replica was further behind than half of what client-output-buffer-limit allows for replicas throughout the last 10 seconds. At the limit it is closed and has to copy everything again.",
            "Look at the replica: its CPU, its disk, the network. Raise client-output-buffer-limit replica if bursts are the reason.", "replication",
            view => view.Min(ReplicaLagPercent, 10) > 50
                ? new("A replica cannot keep up", Text($"{Bytes(view[ReplicaLag])} behind, {view[ReplicaLagPercent]:0} % of the limit; last acknowledgement {About(view[ReplicaSilence])} ago"), Warning) : null)
        { Culprit = culprits => culprits.ReplicasBehind() },
        new("replica-slower", "A replica is more than 1 MiB behind, and has fallen further behind throughout the last two minutes: it is slower than the stream.",
            "Look at the replica: its CPU, its disk, the network. A replica that follows another replica, or a faster machine, helps if the stream stays as fast.", "replication", ReplicaIsSlower)
        { Culprit = culprits => culprits.ReplicasBehind() },
        new("backlog-short", "At the rate of the last minute the replication backlog covers less than a minute: a replica that is away for longer must copy everything.",
            "Set repl-backlog-size to what the evidence says, or more.", "replication", BacklogIsShort),
        new("replicas-resynchronize", "Replicas have copied everything at least five times within the last ten minutes.",
            "The log says why each could not go on: the backlog was too small (repl-backlog-size), or the replica was closed because it was too far behind (client-output-buffer-limit replica).", "replication",
            view => view.Growth(SyncsFull, 600) is >= ManySyncs and var syncs
                ? new("Replicas copy everything again and again", Text($"{Times(syncs, "full synchronization")} in ten minutes, {Times(view.Growth(SyncsRefusedBacklog, 600), "replica")} for which the backlog was too short, {view.Growth(SyncsRefusedHistory, 600):0} with another history, {view.Growth(ReplicasClosed, 600) + view.Growth(SyncsOverflowed, 600):0} closed for being too far behind"), Warning) : null)
        { Culprit = culprits => culprits.ReplicaRefused() },
        new("replica-sync-loops", "A replica was closed at least twice in a row before it had loaded the data, because more was written meanwhile than client-output-buffer-limit allows for replicas. Each time the limit is doubled, up to eight times.",
            "Raise client-output-buffer-limit replica, or write less while the replica synchronizes; look at the network to the replica and at how fast it loads.", "replication",
            view => view[SyncsFailedInARow] >= FailuresInARow
                ? new("A replica's synchronization fails again and again", Text($"{view[SyncsFailedInARow]:0} in a row; the stream grows by {Bytes(view.Rate(ReplicationBytes, 60))} a second"), Warning) : null)
        { Culprit = culprits => culprits.ReplicasTooSlow() },
        new("replicas-flap", "Connections of replicas ended at least five times within the last ten minutes.",
            "The log says which, and whether the server closed them. Look at the network, at repl-timeout, and at the replica's log.", "replication",
            view => view.Growth(ReplicasLost, 600) is >= ManyBreaks and var lost
                ? new("Connections of replicas break again and again", Text($"{Times(lost, "connection")} ended in ten minutes, {Times(view.Growth(ReplicasClosed, 600) + view.Growth(SyncsOverflowed, 600), "replica")} closed for being too far behind"), Warning) : null)
        { Culprit = culprits => culprits.ReplicasLost() },
        new("replicas-too-few", "Commands that write are refused, because fewer replicas than min-replicas-to-write have acknowledged something within min-replicas-max-lag.",
            "Bring the replicas back. If availability is worth more than the bound on what a failover loses, lower min-replicas-to-write.", "replication",
            view => view[LacksReplicas] > 0
                ? new("Writes are refused: there are too few good replicas", Text($"{view[GoodReplicas]:0} of {view.Setting("min-replicas-to-write")} within {Times(view.Number("min-replicas-max-lag"), "second")}; {Times(view[Replicas], "replica")} connected"), Critical) : null)
        { Culprit = culprits => culprits.ReplicasBehind() },
        new("replica-acks-missing", "Fewer replicas than replica-acks get the stream: no write can be acknowledged, so every client that writes waits, and is answered NOREPLICAS after replica-acks-timeout.",
            "Bring the replicas back. CONFIG SET replica-acks 0 lets clients go on, and a failover may lose what they write then.", "replication",
            view => view.Number("replica-acks") is > 0 and var acks && double.IsNaN(view[LinkUp]) && view[Replicas] < acks
                ? new("Writes cannot be acknowledged: replicas are missing", Text($"{view[Replicas]:0} of {acks:0}; {Times(view[UnackedReplies], "answer")} waiting, the oldest for {About(view[UnackedSeconds])}"), Critical) : null)
        { Culprit = culprits => culprits.ReplicasLost() },
        new("writes-unacknowledged", "Clients were answered NOREPLICAS within the last minute: what they wrote was executed, and too few replicas had acknowledged it.",
            "Look at the replicas and at the network to them. Raise replica-acks-timeout if they are only slow. A client must treat such a write as one whose reply it has lost.", "replication",
            view => view.Growth(UnackedErrors, 60) is > 0 and var errors
                ? new("Writes were not acknowledged by replicas", Text($"{Times(errors, "write")} in the last minute; {Times(view[Replicas], "replica")} connected, replica-acks is {view.Setting("replica-acks")}"), Critical) : null)
        { Culprit = culprits => culprits.ReplicasBehind() },
        new("replica-acks-slow", "Clients have waited for replicas for more than 50 ms on average in the last 30 seconds (replica-acks).",
            "Look at the replicas: their CPU, their disk, and the network's round trip to them. With more replicas than replica-acks the slowest ones are not waited for.", "replication",
            view => view.Growth(AckWaits, 30) is > 0 and var waits && view.Growth(AckWaitTime, 30) / waits is > SlowAckMicroseconds and var mean
                ? new("Replicas acknowledge slowly", Text($"a client has waited for {mean / 1000:0} ms on average, {Times(waits, "time")} in 30 seconds"), Warning) : null)
        { Culprit = culprits => culprits.ReplicasBehind() },
    ];

    private static FindingRule[] OfLink =>
    [
        new("primary-link-down", "This replica has had neither its primary's stream nor a synchronization for more than 10 seconds.",
            "Look at the primary, the network between both, and masterauth. Until then clients read old data; REPLICAOF NO ONE makes this server a primary.", "replication",
            view => view[LinkDown] > LinkDownSeconds
                ? new("The link to the primary is down", Text($"for {About(view[LinkDown])}; clients {(view.Setting("replica-serve-stale-data") == "no" ? "are answered MASTERDOWN" : "read data that is so old")}"), Critical) : null)
        { Culprit = culprits => culprits.Primary() },
        new("primary-link-flaps", "This replica's link to its primary broke at least five times within the last ten minutes.",
            "The log says why. Look at the network, at repl-timeout on both sides, and at the primary's client-output-buffer-limit.", "replication",
            view => view.Growth(LinkBreaks, 600) is >= ManyBreaks and var breaks
                ? new("The link to the primary breaks again and again", Text($"{Times(breaks, "time")} in ten minutes; {Times(view.Growth(LinkFullSyncs, 600), "full synchronization")} since"), Warning) : null)
        { Culprit = culprits => culprits.Primary() },
        new("primary-sync-fails", "At least two full synchronizations with the primary in a row began and were not loaded.",
            "The log says why. If the primary closes the connection, raise its client-output-buffer-limit replica and repl-timeout; look at the space in this server's data folder.", "replication",
            view => view[LinkFailedSyncsInARow] >= FailuresInARow
                ? new("Synchronizations with the primary fail again and again", Text($"{view[LinkFailedSyncsInARow]:0} in a row"), Warning) : null)
        { Culprit = culprits => culprits.Primary() },
        new("replica-saturated", "Executing the primary's stream took more than 90 % of the last 30 seconds: this replica can hardly keep up with it.",
            "One thread executes the stream in its order. Look at which commands of the primary take long, and at what else uses this machine's CPUs.", "replication",
            view => view.Mean(LinkApplied, 30) is > BusyMicroseconds and var busy
                ? new("This replica can hardly keep up with its primary", Text($"executing the stream took {Math.Min(100, busy / 10_000):0} % of the last 30 seconds"), Warning) : null)
        { Culprit = culprits => culprits.Primary() },
        new("data-diverged", "Commands of the primary's stream have failed here since the last full synchronization: the data is not the primary's.",
            "redkite verify-replica says which keys differ. REPLICAOF NO ONE, FLUSHALL and REPLICAOF again copy everything. The log has the first error.", "replication",
            view => view[StreamErrors] > 0
                ? new("This replica's data differs from its primary's", Text($"{Times(view[StreamErrors], "command")} of the stream failed since the last full synchronization"), Critical) : null)
        { Culprit = culprits => culprits.Primary() },
    ];

    private static Diagnosis? ReplicaIsSlower(DiagnosticsView view)
    {
        if (!(view[ReplicaLag] > Mebibyte)) return null;
        double growth = view.LastingGrowth(ReplicaLag, 120);
        if (!(growth > 0)) return null;
        double percentGrowth = view.LastingGrowth(ReplicaLagPercent, 120);
        string end = percentGrowth > 0 ? Text($": in {About(Math.Max(0, 100 - view[ReplicaLagPercent]) / percentGrowth)} it is closed and must copy everything") : "";
        return new("A replica is slower than the stream", Text($"{Bytes(view[ReplicaLag])} behind, growing by {Bytes(growth)} a second{end}"), Warning);
    }

    private static Diagnosis? BacklogIsShort(DiagnosticsView view)
    {
        if (!(view[Replicas] > 0 && view[BacklogSize] > 0)) return null;
        double rate = view.Mean(ReplicationBytes, 60);
        if (!(rate * ShortWindowSeconds > view[BacklogSize])) return null;
        double wantedMebibytes = 1;
        while (wantedMebibytes * Mebibyte < rate * ShortWindowSeconds) wantedMebibytes *= 2;
        return new("The replication backlog is short", Text($"a replica that is away for more than {Math.Max(1, view[BacklogSize] / rate):0} s must copy everything: raise repl-backlog-size to {wantedMebibytes:0}mb"), Notice);
    }
}
