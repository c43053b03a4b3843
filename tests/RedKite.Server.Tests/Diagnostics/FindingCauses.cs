using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Tests.Diagnostics;

/// <summary>A cause for each finding: the numbers, settings and facts of a sick server. Tests of single rules, of their texts and of sequences go over them.</summary>
internal static class FindingCauses
{
    private const double MiB = 1 << 20;
    private const double GiB = 1 << 30;

    // Values that hold for as long as the problem does.
    internal static readonly Dictionary<string, FindingCause> All = new()
    {
        ["memory-near-limit"] = new(Critical, (MaxMemory, 100 * MiB), (UsedMemory, 96 * MiB)),
        ["eviction-young"] = new(Warning, (EvictedKeys, 100), (EvictedYoungKeys, 90)),
        ["commands-refused-by-memory"] = new(Critical, (MemoryRefusals, 3), (MaxMemory, 100 * MiB), (UsedMemory, 101 * MiB)),
        ["memory-over-limit"] = new(Critical, (MemoryExceeded, 950), (MaxMemory, 100 * MiB), (UsedMemory, 101 * MiB)),
        ["clients-evicted"] = new(Warning, (EvictedClients, 0.1)),
        ["container-memory"] = new(Critical, (CgroupMemoryLimit, 1000 * MiB), (CgroupMemory, 960 * MiB)),
        ["machine-memory"] = new(Critical, (MachineMemory, 16 * GiB), (MachineAvailable, 0.5 * GiB)),
        ["swapped"] = new(Warning, (SwapBytes, 17 * MiB)),
        ["memory-pressure"] = new(Warning, (MemoryPressure, 11)),
        ["fragmented"] = new(Warning, (AllocatorActive, 300 * MiB), (AllocatorAllocated, 150 * MiB)),
        ["buffers-large"] = new(Warning, (BufferBytes, 70 * MiB), (UsedMemory, 200 * MiB)),
        ["big-key"] = new(Notice, (LargestKey, 70 * MiB)),
        ["document-grows"] = new(Notice) { Growing = [(LargestDocument, MiB / 20)], Seconds = 200 },
        ["managed-heap-large"] = new(Warning, (ManagedCommitted, 600 * MiB), (Resident, 1000 * MiB)),
        ["cpu-saturated"] = new(Warning, (MachineCpu, 97), (CpuUser, 2.5)),
        ["cpu-stolen"] = new(Warning, (MachineSteal, 12)),
        ["cpu-throttled"] = new(Warning, (Throttled, 0.06), (CgroupCpuLimit, 0.5)),
        ["cpu-pressure"] = new(Notice, (CpuPressure, 55)),
        ["io-pressure"] = new(Warning, (IoPressure, 35)),
        ["disk-slow"] = new(Warning, (DiskWriteLatency, 150_000)),
        ["disk-nearly-full"] = new(Critical, (DiskFree, 100 * MiB)),
        ["open-files"] = new(Critical, (OpenFiles, 950), (OpenFilesMax, 1000)),
        ["page-faults"] = new(Warning, (MajorFaults, 150)),
        ["clock-jump"] = new(Warning, (ClockJump, -3000)),
        ["process-stalled"] = new(Warning, (Stall, 300)),
        ["huge-pages-always"] = new(Notice, (Resident, 5 * GiB), (UsedMemory, 3 * GiB)) { Facts = { ["transparent_huge_pages"] = "always" } },
        ["writes-refused"] = new(Critical, (WritesRefused, 2), (WriteRefusals, 1)) { Facts = { ["log_failure"] = "No space left on device" } },
        ["dump-not-loaded"] = new(Warning) { Facts = { ["unloaded_dump"] = "/data/dump.rdb" } },
        ["save-failed"] = new(Critical, (SaveFailuresInARow, 3)) { Settings = { ["save"] = "3600 1" } },
        ["save-old"] = new(Warning, (SaveAge, 1300), (ChangesSinceSave, 200)) { Settings = { ["save"] = "3600 1 300 100" }, Seconds = 625 },
        ["fsync-slow"] = new(Warning, (LogSyncMax, 1_400_000)),
        ["fsync-always-slow"] = new(Warning, (LogSyncP99, 25_000)) { Settings = { ["appendfsync"] = "always" } },
        ["writes-held"] = new(Warning, (WritesHeld, 80), (SnapshotSideBytes, 65 * MiB)),
        ["rewrite-fails"] = new(Warning, (RewriteFailuresInARow, 1)),
        ["rewrite-loops"] = new(Warning, (SnapshotRuns, 2), (Rewrites, 0.02)) { Seconds = 625 },
        ["log-outgrows-rewrites"] = new(Warning, (LogSize, 5 * GiB), (LogBase, GiB)),
        ["disk-short-for-snapshot"] = new(Warning, (LogBase, 50 * GiB), (DiskFree, 40 * GiB)) { Settings = { ["appendonly"] = "yes" } },
        ["data-folder-in-memory"] = new(Warning) { Settings = { ["appendonly"] = "yes" }, Facts = { ["data_file_system"] = "tmpfs" } },
        ["backup-failed"] = new(Warning, (Backup, 5)) { Facts = { ["backup_failure"] = "No space left on device" } },
        ["backup-open"] = new(Notice, (Backup, 3), (BackupSeconds, 4000), (BackupWritten, 1000)),
        ["load-slow"] = new(Notice, (LoadSeconds, 200), (LoadBytes, 10 * GiB), (Uptime, 600)),
        ["loop-saturated"] = new(Warning, (BusiestLoop, 99)),
        ["loops-uneven"] = new(Notice, (BusiestLoop, 85), (LeastBusyLoop, 5)),
        ["stripe-hot"] = new(Warning, (HottestStripe, 60), (LockWaited, 30)),
        ["lock-waits"] = new(Warning, (LockWaited, 250), (LockWaits, 1000)),
        ["stripe-uneven"] = new(Notice, (LargestStripe, 9), (Dataset, 300 * MiB)),
        ["slow-commands"] = new(Warning, (LatencyP99, 12_000), (CommandsProcessed, 100), (LongCallTime, 400)),
        ["commands-wait"] = new(Warning, (WaitingP99, 12_000), (CommandsProcessed, 100)),
        ["long-commands"] = new(Warning, (LongCallTime, 90)),
        ["hot-key"] = new(Notice, (HottestKey, 40), (CommandsProcessed, 60_000)),
        ["command-stall"] = new(Critical, (LatencyMax, 1_200_000)),
        ["large-transaction"] = new(Warning, (LargestTransaction, 100_000)),
        ["long-script"] = new(Warning, (LongestScript, 200_000)),
        ["vector-searches-wide"] = new(Warning, (VectorSearches, 20), (VectorBytesRead, 2 * GiB)),
        ["transactions-refused"] = new(Notice, (TransactionsRefused, 50), (Transactions, 20)),
        ["keys-command"] = new(Warning, (KeysCalls, 2), (Keys, 20_000)),
        ["error-rate"] = new(Warning, (ErrorReplies, 200), (CommandsProcessed, 1000)),
        ["low-hit-ratio"] = new(Notice, (KeyspaceHits, 150), (KeyspaceMisses, 1000)) { Seconds = 625 },
        ["expiry-behind"] = new(Notice, (ExpiredStale, 30)),
        ["gc-pauses"] = new(Warning, (PauseTime, 60)),
        ["gc-full"] = new(Notice, (Collections2, 1.5)),
        ["threadpool-starved"] = new(Warning, (ThreadPoolQueue, 150)),
        ["clients-near-limit"] = new(Warning, (ConnectedClients, 95), (MaxClients, 100)),
        ["clients-refused"] = new(Critical, (ConnectionsRejected, 0.1)),
        ["connection-storm"] = new(Warning, (ConnectionsReceived, 600)),
        ["clients-not-reading"] = new(Warning, (SuspendedClients, 1)),
        ["output-limit"] = new(Warning, (OutputDisconnections, 0.1)),
        ["slow-subscriber"] = new(Warning, (SubscribersClosed, 0.1), (MessagesPublished, 50_000)),
        ["query-limit"] = new(Warning, (QueryDisconnections, 0.1)),
        ["large-request"] = new(Notice, (LargestInput, 300 * MiB)),
        ["logins-fail"] = new(Warning, (AuthenticationsDenied, 2)),
        ["replica-behind"] = new(Warning, (Replicas, 1), (ReplicaLag, 200 * MiB), (ReplicaLagPercent, 78), (ReplicaSilence, 4)),
        ["backlog-short"] = new(Notice, (Replicas, 1), (BacklogSize, MiB), (ReplicationBytes, MiB)),
        ["replicas-resynchronize"] = new(Warning, (Replicas, 1), (SyncsFull, 0.02), (ReplicasClosed, 0.02)) { Seconds = 625 },
        ["replica-slower"] = new(Warning, (Replicas, 1)) { Growing = [(ReplicaLag, MiB / 5), (ReplicaLagPercent, 0.05)], Seconds = 150 },
        ["replica-sync-loops"] = new(Warning, (SyncsFailedInARow, 2), (ReplicationBytes, 5 * MiB)),
        ["replicas-flap"] = new(Warning, (ReplicasLost, 0.02)) { Seconds = 625 },
        ["replicas-too-few"] = new(Critical, (LacksReplicas, 1), (GoodReplicas, 1)) { Settings = { ["min-replicas-to-write"] = "2" } },
        ["replica-acks-missing"] = new(Critical, (Replicas, 1), (LinkUp, double.NaN), (UnackedReplies, 5), (UnackedSeconds, 2)) { Settings = { ["replica-acks"] = "2" } },
        ["writes-unacknowledged"] = new(Critical, (UnackedErrors, 2)) { Settings = { ["replica-acks"] = "1" } },
        ["replica-acks-slow"] = new(Warning, (AckWaits, 10), (AckWaitTime, 900_000)) { Settings = { ["replica-acks"] = "1" } },
        ["primary-link-down"] = new(Critical, (LinkDown, 40)),
        ["primary-link-flaps"] = new(Warning, (LinkBreaks, 0.02)) { Seconds = 625 },
        ["primary-sync-fails"] = new(Warning, (LinkFailedSyncsInARow, 3)),
        ["replica-saturated"] = new(Warning, (LinkApplied, 980_000)),
        ["data-diverged"] = new(Critical, (StreamErrors, 3)),
        ["cluster-lease-short"] = new(Warning, (ClusterLease, 2.5), (ClusterLastRenewal, 1_200)),
        ["cluster-store-away"] = new(Critical, (ClusterStoreAway, 4), (ClusterStoreErrors, 0.5), (ClusterLease, 5)),
        ["cluster-store-slow"] = new(Warning, (ClusterStoreRequests, 0.5), (ClusterStoreTime, 400_000)),
        ["cluster-no-controller"] = new(Critical, (ClusterControllers, 0), (ClusterNodes, 6), (ClusterNodesAlive, 5)),
        ["cluster-clocks-apart"] = new(Warning, (ClusterClockSkew, 7)),
        ["cluster-shard-down"] = new(Critical, (ClusterShardsDown, 1), (ClusterNodes, 6), (ClusterNodesAlive, 5)),
        ["cluster-takeover-impossible"] = new(Warning, (ClusterShardsAtRisk, 1), (ClusterNodes, 6), (ClusterNodesAlive, 5)),
        ["cluster-lost-writes"] = new(Warning, (ClusterLostWrites, 1)),
        ["cluster-slots-uncovered"] = new(Critical, (ClusterSlotsUncovered, 384)),
        ["cluster-slots-doubtful"] = new(Critical, (ClusterSlotsDoubtful, 10)),
        ["cluster-slots-awaited"] = new(Critical, (ClusterSlotsAwaited, 30)),
        ["cluster-move-long"] = new(Warning, (ClusterOldestMove, 700), (SlotMovesSent, 1000), (SlotMovesWaiting, 500)),
        ["cluster-versions-apart"] = new(Warning, (ClusterNodesBehind, 1), (ClusterVersion, 17)),
        ["cluster-load-uneven"] = new(Warning, (ClusterLoadUneven, 3), (ClusterBusiestShard, 9_000)),
        ["cluster-memory-uneven"] = new(Notice, (ClusterMemoryUneven, 3), (ClusterFullestShard, GiB)),
        ["cluster-hot-slot"] = new(Notice, (ClusterHottestSlotPercent, 40), (ClusterHottestSlot, 77), (CommandsProcessed, 45_000)),
        ["series-out-of-order"] = new(Notice, (SeriesSamples, 1_000), (SeriesSamplesLate, 150)),
        ["filter-full"] = new(Warning, (FilterAdditionsRefused, 1)),
        ["migrations-fail"] = new(Warning, (MigrationTransfers, 1), (MigrationFailures, 0.6)),
        ["logins-refused"] = new(Warning, (LoginsRefused, 0.1)),
        ["access-denied"] = new(Notice, (KeysDenied, 2)),
        ["users-without-password"] = new(Warning, (OpenUsers, 2)) { Settings = { ["bind"] = "* -::*" } },
        ["open-to-network"] = new(Critical, (DefaultUserOpen, 1)) { Settings = { ["bind"] = "* -::*", ["protected-mode"] = "no" } },
        ["certificate-expires"] = new(Warning, (TlsCertificateTime, 3 * 86_400)) { Settings = { ["tls-port"] = "6380" } },
        ["handshakes-fail"] = new(Warning, (TlsHandshakesFailed, 0.7), (TlsHandshakesRefused, 0.7)),
        ["debug-enabled"] = new(Notice) { Settings = { ["enable-debug-command"] = "yes", ["bind"] = "* -::*" } },
        ["setting-without-effect"] = new(Notice) { Ineffective = ["io-threads"] },
        ["slow-log-off"] = new(Notice) { Settings = { ["slowlog-log-slower-than"] = "-1" } },
        ["slow-log-everything"] = new(Notice) { Settings = { ["slowlog-log-slower-than"] = "5" } },
        ["backlog-capped"] = new(Notice) { Facts = { ["somaxconn"] = "128" } },
    };

    // A cache under a good load.
    internal static readonly (Metric Metric, double Value)[] Healthy =
    [
        (CommandsProcessed, 50_000), (ErrorReplies, 2), (KeyspaceHits, 40_000), (KeyspaceMisses, 5_000), (ConnectionsReceived, 3),
        (LatencyP50, 1), (LatencyP99, 20), (LatencyMax, 900), (BusiestLoop, 40), (LeastBusyLoop, 35), (HottestStripe, 4), (LockWaited, 1), (LargestStripe, 1.2),
        (EvictedKeys, 500), (EvictedYoungKeys, 3), (MemoryExceeded, 0), (EvictedClients, 0), (ConnectedClients, 120), (MaxClients, 10_000), (Keys, 1_000_000), (ExpiringKeys, 1_000_000), (ExpiredStale, 2), (KeysCalls, 0),
        (UsedMemory, GiB), (Resident, 1.2 * GiB), (Dataset, 0.9 * GiB), (BufferBytes, 4 * MiB), (AllocatorAllocated, GiB), (AllocatorActive, 1.1 * GiB),
        (ManagedHeap, 20 * MiB), (ManagedCommitted, 60 * MiB), (PauseTime, 0.3), (Collections2, 0), (ThreadPoolThreads, 4),
        (OpenFiles, 200), (OpenFilesMax, 20_000), (MachineCpu, 55), (MachineSteal, 0.2), (MachineMemory, 16 * GiB), (MachineAvailable, 9 * GiB),
        (CpuPressure, 6), (CpuUser, 1), (CpuSystem, 0.5), (MemoryRefusals, 0), (MemoryPressure, 0), (IoPressure, 1), (CgroupMemoryLimit, 8 * GiB), (CgroupMemory, 1.3 * GiB), (CgroupCpuLimit, 4), (DiskFree, 100 * GiB), (Stall, 3),
        (LogSize, 1.5 * GiB), (LogBase, GiB), (LogSyncP99, 4_000), (LogSyncMax, 9_000), (SaveAge, 250), (ChangesSinceSave, 90), (SaveBytes, GiB), (LoadSeconds, 12), (LoadBytes, GiB), (Uptime, 100_000),
        (ClusterLease, 7.5), (ClusterLastRenewal, 900), (ClusterStoreAway, 0), (ClusterStoreRequests, 0.6), (ClusterStoreTime, 600), (ClusterStoreErrors, 0), (ClusterVersion, 17), (ClusterVersionsBehind, 0), (ClusterSlotsUncovered, 0), (ClusterSlotsDoubtful, 0), (ClusterSlotsAwaited, 0),
        (ClusterOldestMove, 0), (ClusterHottestSlotPercent, 1), (ClusterNodes, 6), (ClusterNodesAlive, 6), (ClusterControllers, 1), (ClusterNodesBehind, 0), (ClusterShardsDown, 0), (ClusterShardsAtRisk, 0), (ClusterLoadUneven, 1.1),
        (ClusterBusiestShard, 50_000), (ClusterMemoryUneven, 1.2), (ClusterFullestShard, GiB), (ClusterClockSkew, 0),
    ];
}

/// <summary>What a finding is of.</summary>
/// <param name="Severity">That of the finding.</param>
/// <param name="Values">What differs from a healthy server.</param>
internal sealed record FindingCause(FindingSeverity Severity, params (Metric Metric, double Value)[] Values)
{
    internal const long Now = 1_800_000_000;
    private const int HistorySeconds = 700;

    private static readonly Configuration Defaults = new(new Settings());

    internal Dictionary<string, string> Facts { get; } = [];

    internal Dictionary<string, string> Settings { get; } = [];

    internal string[] Ineffective { get; init; } = [];

    /// <summary>What grows by so much each second.</summary>
    internal (Metric Metric, double PerSecond)[] Growing { get; init; } = [];

    /// <summary>How long the problem lasts until it is found, and how long the finding remembers it.</summary>
    internal int Seconds { get; init; } = 75;

    /// <summary>The values of a second.</summary>
    /// <param name="second">How long the problem has lasted.</param>
    internal void Fill(double[] values, int second)
    {
        Array.Clear(values);
        foreach ((Metric metric, double value) in FindingCauses.Healthy) values[metric.Index] = value;
        foreach ((Metric metric, double value) in Values) values[metric.Index] = value;
        foreach ((Metric metric, double perSecond) in Growing) values[metric.Index] = second * perSecond;
    }

    /// <summary>The view of rules on a history.</summary>
    internal DiagnosticsView View(MetricHistory history, double[] latest, long now)
    {
        Dictionary<string, string> facts = new() { ["transparent_huge_pages"] = "madvise", ["somaxconn"] = "4096", ["cpus"] = "4", ["data_file_system"] = "ext4" };
        foreach ((string name, string value) in Facts) facts[name] = value;
        return new DiagnosticsView(history, latest, now, name => Settings.GetValueOrDefault(name) ?? Defaults.Get(name)) { Facts = facts, SettingsWithoutEffect = Ineffective };
    }

    /// <summary>The view when the problem has lasted for the whole history.</summary>
    /// <param name="others">The value of all metrics that it does not name; null: those of a healthy server.</param>
    /// <param name="seconds">The length of the history.</param>
    internal DiagnosticsView View(double? others = null, int seconds = HistorySeconds)
    {
        var values = new double[MetricTable.All.Count];
        var history = new MetricHistory(values.Length);
        Metric[] unnamed = others is null ? [] : [.. MetricTable.All.Except(Values.Select(value => value.Metric)).Except(Growing.Select(value => value.Metric))];
        for (int second = seconds - 1; second >= 0; second--)
        {
            Fill(values, seconds - second);
            foreach (Metric metric in unnamed) values[metric.Index] = others!.Value;
            history.Add(Now - second, values);
        }

        return View(history, values, Now);
    }
}
