using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Diagnostics.FindingTable;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on a server's replicas. A server without any has none of these findings.</summary>
internal static class ReplicationRules
{
    private const double Mebibyte = 1 << 20;
    private const double ShortWindowSeconds = 60;
    private const double ManySyncs = 5;

    internal static FindingRule[] All =>
    [
        new("replica-behind", "A replica was further behind than half of what client-output-buffer-limit allows for replicas throughout the last 10 seconds. At the limit it is closed and has to copy everything again.",
            "Look at the replica: its CPU, its disk, the network. Raise client-output-buffer-limit replica if bursts are the reason.", "replication",
            view => view.Min(ReplicaLagPercent, 10) > 50
                ? new("A replica cannot keep up", Text($"{Bytes(view[ReplicaLag])} behind, {view[ReplicaLagPercent]:0} % of the limit; last acknowledgement {About(view[ReplicaSilence])} ago"), Warning) : null),
        new("backlog-short", "At the rate of the last minute the replication backlog covers less than a minute: a replica that is away for longer must copy everything.",
            "Set repl-backlog-size to what the evidence says, or more.", "replication", BacklogIsShort),
        new("replicas-resynchronize", "Replicas have copied everything at least five times within the last ten minutes.",
            "The log says why each could not go on: the backlog was too small (repl-backlog-size), or the replica was closed because it was too far behind (client-output-buffer-limit replica).", "replication",
            view => view.Growth(SyncsFull, 600) is >= ManySyncs and var syncs
                ? new("Replicas copy everything again and again", Text($"{Times(syncs, "full synchronization")} in ten minutes, {Times(view.Growth(ReplicasClosed, 600), "replica")} closed because they were too far behind"), Warning) : null),
    ];

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
