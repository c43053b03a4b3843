using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Diagnostics.Export;

/// <summary>One name of the exports: an instrument of the meter, and a family of samples in Prometheus's text.</summary>
/// <param name="Name">As OpenTelemetry writes it.</param>
internal sealed record ExportedMetric(string Name, MetricKind Kind, MetricUnit Unit, string Help)
{
    /// <summary>
    /// The name as OpenTelemetry's rules translate it for Prometheus, so that a scrape and a collector give the same one: underscores, the
    /// base unit, and "_total" for a counter.
    /// </summary>
    internal string PrometheusName { get; } = Name.Replace('.', '_') + UnitSuffix(Unit) + (Kind == MetricKind.Counter ? "_total" : "");

    /// <summary>A value of the table's unit in the base unit.</summary>
    internal double InBaseUnit(double value) => Unit switch
    {
        MetricUnit.Milliseconds => value / 1e3,
        MetricUnit.Microseconds => value / 1e6,
        MetricUnit.Percent => value / 100,
        _ => value,
    };

    private static string UnitSuffix(MetricUnit unit) => unit switch
    {
        MetricUnit.Bytes => "_bytes",
        MetricUnit.Seconds or MetricUnit.Milliseconds or MetricUnit.Microseconds => "_seconds",
        MetricUnit.Percent or MetricUnit.Ratio => "_ratio",
        _ => "",
    };
}

/// <summary>What both exports have: the rows of the table by their exported name, and what is counted for each command and each error.</summary>
internal static class ExportedMetrics
{
    internal static readonly ExportedMetric Calls = new("redkite.calls", MetricKind.Counter, MetricUnit.Count, "Calls of a command.");

    /// <summary>The label `outcome` is "failed" or "rejected".</summary>
    internal static readonly ExportedMetric CallErrors = new("redkite.call.errors", MetricKind.Counter, MetricUnit.Count, "Calls of a command that failed while they executed, or were rejected before.");

    /// <summary>Of the meter alone: Prometheus has it as the sum of a histogram.</summary>
    internal static readonly ExportedMetric CallTime = new("redkite.call.time", MetricKind.Counter, MetricUnit.Seconds, "Time that a command's calls executed, waiting for locks included.");

    internal static readonly ExportedMetric ErrorReplies = new("redkite.error_replies", MetricKind.Counter, MetricUnit.Count, "Error replies by their first word.");

    internal static readonly ExportedMetric Finding = new("redkite.finding", MetricKind.Gauge, MetricUnit.Count, "Open findings: 1 for each, with its name and severity.");

    /// <summary>The label `replica` is its address.</summary>
    internal static readonly ExportedMetric ReplicaOffsetLag = new("redkite.replica.offset_lag", MetricKind.Gauge, MetricUnit.Bytes, "Bytes of the stream that a replica has not acknowledged.");

    /// <summary>The label `replica` is its address.</summary>
    internal static readonly ExportedMetric ReplicaAcknowledgementAge = new("redkite.replica.acknowledgement_age", MetricKind.Gauge, MetricUnit.Seconds, "How long ago a replica acknowledged something.");

    private const int ReplicasMax = 100; // with values of their own: each is a series

    // Names with several rows: what they are together.
    private static readonly Dictionary<string, string> SharedHelp = new()
    {
        ["redkite.network.io"] = "Bytes exchanged with clients.",
        ["redkite.network.operations"] = "Receives and sends on connections.",
        ["redkite.keyspace.lookups"] = "Lookups of keys that found theirs or did not.",
        ["redkite.latency"] = "Percentiles of how long the last second's commands executed, waited for their turn on the loop, and were sent (the last two are sampled).",
        ["redkite.eventloop.utilization"] = "Share of its time for which an event loop worked.",
        ["redkite.pubsub.channels"] = "Channels with subscribers, those of all messages and sharded ones.",
        ["redkite.cluster.moves"] = "Moves of slots as a whole from and to this node, by how they ended.",
        ["redkite.cluster.redirects"] = "Replies of a node of a cluster that send a client elsewhere, or have it try again.",
        ["redkite.cluster.refused"] = "Replies of a node of a cluster to what it cannot serve: keys in several slots, or no right to serve.",
        ["redkite.transactions"] = "Transactions that EXEC executed or refused.",
        ["redkite.clients.closed"] = "Clients closed at a limit: of their output, of one request, or of the memory of all clients.",
        ["redkite.acl.denied"] = "Failed logins, and commands, keys and channels that users may not use.",
        ["redkite.tls.handshakes"] = "TLS handshakes by their result.",
        ["redkite.limit.hits"] = "How often a limit of what clients can make the server keep was reached.",
        ["redkite.keyspace.removed_keys"] = "Keys removed because they had expired, or because memory exceeded maxmemory.",
        ["redkite.commands.refused"] = "Commands refused because memory exceeds maxmemory, or because the data cannot be kept on disk.",
        ["redkite.dotnet.gc.collections"] = "Garbage collections.",
        ["redkite.process.cpu.time"] = "CPU time of the process.",
        ["redkite.system.pressure"] = "Share of time that some task waited for a CPU, memory or disks (PSI, 10 s).",
        ["redkite.disk.io"] = "Bytes read from and written to the data folder's disk, by all processes.",
        ["redkite.disk.latency"] = "How long an operation of the data folder's disk took on average in the last second.",
        ["redkite.aof.sync_latency"] = "Percentiles of the syncs of the append-only file that ended within the last second.",
        ["redkite.replication.refused_syncs"] = "Replicas that wanted to go on and could not; they get all data.",
        ["redkite.replication.overflows"] = "Replicas that were closed because they were too far behind, while they got the stream or before they had loaded the data.",
        ["redkite.primary_link.syncs"] = "Synchronizations of this replica with its primary.",
        ["redkite.actions"] = "What the server did by itself.",
    };

    /// <summary>The rows of the table of metrics that are exported, by name, in the table's order.</summary>
    internal static IReadOnlyList<(ExportedMetric Metric, Metric[] Rows)> OfTable { get; } =
        [.. MetricTable.All.Where(row => row.Export is not null).GroupBy(row => row.Export!.Name).Select(group => (Of(group.First()), group.ToArray()))];

    /// <summary>The exported metric that a row is one sample of.</summary>
    internal static ExportedMetric Of(Metric row)
    {
        string name = row.Export!.Name;
        return new ExportedMetric(name, row.Kind, row.Unit, SharedHelp.GetValueOrDefault(name, row.Help));
    }

    /// <summary>Commands that were called, with what each executor has counted of them.</summary>
    internal static IEnumerable<(Command Command, CommandMetrics[] Counts)> CalledCommands(ServerParts parts)
    {
        ExecutorMetrics[] executors = parts.Core.Metrics.Executors;
        foreach (Command command in parts.Core.Commands.All)
        {
            CommandMetrics[] counts = [.. executors.Select(executor => executor.Peek(command.Index)).OfType<CommandMetrics>()];
            if (counts.Any(each => each.Calls + each.Rejected + each.Failed > 0)) yield return (command, counts);
        }
    }

    /// <summary>The replicas that get the stream, by their addresses: of those with the same one, the one that is furthest behind.</summary>
    internal static IEnumerable<(string Name, long LagBytes, double SilentSeconds)> EachReplica(ServerParts parts)
    {
        long offset = parts.Replicas.Stream.Offset, nowMs = parts.Core.Clock.SteadyMs;
        return parts.Replicas.Replicas.Where(static replica => replica.State == ReplicaState.Online && !replica.IsBeforePsync)
            .Select(replica => (replica.Name, LagBytes: Math.Max(0, offset - replica.AcknowledgedOffset), Math.Max(0, nowMs - replica.AcknowledgedMs) / 1000.0))
            .GroupBy(static replica => replica.Name).Select(static group => group.MaxBy(static replica => replica.LagBytes)).Take(ReplicasMax);
    }

    /// <summary>Error replies by their first word.</summary>
    internal static SortedDictionary<string, long> ErrorsByClass(ServerParts parts)
    {
        var counts = new SortedDictionary<string, long>(StringComparer.Ordinal);
        foreach (ExecutorMetrics executor in parts.Core.Metrics.Executors)
        {
            lock (executor.ErrorsByClass)
            {
                foreach ((string errorClass, long count) in executor.ErrorsByClass) counts[errorClass] = counts.GetValueOrDefault(errorClass) + count;
            }
        }

        return counts;
    }
}
