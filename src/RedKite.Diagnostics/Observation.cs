using RedKite.Server.Acl;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Cluster;
using RedKite.Server.Metrics;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;

namespace RedKite.Server.Diagnostics;

/// <summary>The raw values that are read at one moment, once a second. Every metric is computed from it.</summary>
internal sealed record Observation
{
    internal required long UnixMs { get; init; }

    /// <summary>The time since the observation before, in seconds.</summary>
    internal required double Seconds { get; init; }

    internal required ServerTotals Totals { get; init; }

    internal required ServerMetrics Server { get; init; }

    internal required ActionLog Actions { get; init; }

    internal required MemoryFigures Memory { get; init; }

    internal required MachineFigures Machine { get; init; }

    internal required RuntimeFigures Runtime { get; init; }

    internal required LatencyFigures Waiting { get; init; }

    internal required LatencyFigures Latency { get; init; }

    internal required LatencyFigures Sending { get; init; }

    /// <summary>By the index in <see cref="Model.CommandFamily.Groups"/>.</summary>
    internal required FamilyFigures[] Families { get; init; }

    /// <summary>The commands that were called since the observation before: <see cref="RankedTable.Commands"/>.</summary>
    internal required IReadOnlyList<RankedRecord> EachCommand { get; init; }

    /// <summary>Every event loop: <see cref="RankedTable.Loops"/>.</summary>
    internal required IReadOnlyList<RankedRecord> EachLoop { get; init; }

    internal required LoopFigures Loops { get; init; }

    internal required StripeFigures Stripes { get; init; }

    internal required int ConnectedClients { get; init; }

    internal required MessageFigures Messages { get; init; }

    internal required MigrationFigures Migrations { get; init; }

    /// <summary>Moves of slots as a whole.</summary>
    internal required SlotMoveFigures SlotMoves { get; init; }

    /// <summary>The cluster, and this node in it.</summary>
    internal required ClusterFigures Cluster { get; init; }

    /// <summary>Error replies that send clients elsewhere, or refuse what a node of a cluster cannot serve.</summary>
    internal required RedirectFigures Redirects { get; init; }

    internal required int WatchingClients { get; init; }

    internal required int WatchedKeys { get; init; }

    internal required long TransactionsExecuted { get; init; }

    internal required long TransactionsRefused { get; init; }

    internal required int LargestTransaction { get; init; }

    /// <summary>The time of the calls that executed for long, since the start.</summary>
    internal required long LongCallNs { get; init; }

    internal required long ScriptsExecuted { get; init; }

    internal required long ScriptsKilled { get; init; }

    internal required long LongestScriptMicroseconds { get; init; }

    internal required ScriptFigures ScriptFigures { get; init; }

    internal required BlockedClientFigures Blocked { get; init; }

    internal required TlsFigures Tls { get; init; }

    internal required DurabilityFigures Durability { get; init; }

    internal required ReplicationFigures Replication { get; init; }

    internal required LinkCounts Link { get; init; }

    internal required long Keys { get; init; }

    /// <summary>The memory of the largest key of the last survey; NaN: none has ended.</summary>
    internal required double LargestKeyBytes { get; init; }

    /// <summary>The memory of the largest JSON document, as the last survey saw it; NaN: there is no survey.</summary>
    internal required double LargestDocumentBytes { get; init; }

    /// <summary>The share of the requests with keys that used the hottest key.</summary>
    internal required double HottestKeyPercent { get; init; }

    internal required long ExpiringKeys { get; init; }

    internal required long KeysCalls { get; init; }

    internal required double ExpiredStalePercent { get; init; }

    internal required long ExpiredKeys { get; init; }

    internal required long ExpiredFields { get; init; }

    internal required UserFigures Users { get; init; }

    internal required long MaxClients { get; init; }

    internal required long MaxMemoryBytes { get; init; }

    /// <summary>Commands refused with OOM.</summary>
    internal required long MemoryRefusals { get; init; }

    internal required double UptimeSeconds { get; init; }
}

/// <summary>Error replies by their first word; none, if the server is no node of a cluster.</summary>
internal readonly record struct RedirectFigures(long Moved, long Ask, long TryAgain, long CrossSlot, long Down);

/// <summary>Quantiles of one part of the time of the commands that ended since the observation before, in microseconds; NaN if there were none.</summary>
internal readonly record struct LatencyFigures(double P50, double P99, double P999, double Max)
{
    /// <summary>Nothing was recorded.</summary>
    internal static readonly LatencyFigures None = new(double.NaN, double.NaN, double.NaN, double.NaN);
}

/// <summary>Sums and extremes over the event loops since the observation before.</summary>
/// <param name="BusiestPercent">The share of its time that the busiest loop worked.</param>
/// <param name="LeastBusyPercent">The share of its time that the least busy loop worked.</param>
/// <param name="LongestIterationMicroseconds">The longest iteration of those that were timed.</param>
/// <param name="MessagesWaiting">Messages of other threads that wait for a loop.</param>
internal readonly record struct LoopFigures(int Count, double BusiestPercent, double LeastBusyPercent, double LongestIterationMicroseconds, int MessagesWaiting);

/// <summary>The locks of the stripes since the observation before.</summary>
/// <param name="Waits">Threads that had to wait.</param>
/// <param name="Parks">Threads that waited so long that they slept.</param>
/// <param name="WaitedMs">Time that threads waited.</param>
/// <param name="HottestHeldPercent">Share of samples in which the most contended stripe was locked.</param>
/// <param name="LargestMemoryShare">The share of the data that the largest stripe holds, relative to an even share.</param>
/// <param name="HeldPercents">How often each stripe was found locked; NaN: it was not sampled.</param>
internal readonly record struct StripeFigures(long Waits, long Parks, double WaitedMs, double HottestHeldPercent, double LargestMemoryShare, double[] HeldPercents);
