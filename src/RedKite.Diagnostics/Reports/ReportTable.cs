namespace RedKite.Server.Diagnostics.Reports;

/// <summary>Every report, one row each. The page reads them by name; the debug package holds those that may be in it.</summary>
internal static class ReportTable
{
    internal static IReadOnlyList<Report> Rows { get; } =
    [
        new("server", "Version, process, listeners, uptime.", ServerReports.Server),
        new("findings", "Open findings, and those that have ended, with evidence and remedy.", ServerReports.Findings),
        new("metrics", "Every metric: its latest value, unit and meaning.", ServerReports.Metrics),
        new("system", "Facts about the machine and the runtime.", ServerReports.SystemFacts),
        new("log", "The last lines of the log.", ServerReports.Log) { IsInPackage = false },
        new("settings", "Every setting with its value, default, when CONFIG SET changed it, and its effect in RedKite. Secrets are not shown.", ServerReports.Settings),
        new("commands", "Every command that was called: calls, errors, execution times.", CommandReports.Commands),
        new("families", "The same for each family of commands.", CommandReports.Families),
        new("latency-histograms", "Every command's histograms of waiting, executing and sending: buckets of 3 %, their upper ends in nanoseconds and their counts.", CommandReports.Histograms),
        new("errors", "Error replies by their first word.", CommandReports.Errors),
        new("slow-log", "The slow commands, newest first.", CommandReports.SlowLog),
        new("command-log", "Large requests and requests with large replies, newest first.", CommandReports.CommandLog),
        new("latency-events", "The events that LATENCY has recorded.", CommandReports.LatencyEvents),
        new("loops", "Event loops: connections, work, waiting output.", LoopReports.Loops),
        new("stripes", "The keyspace's locks and how the data is spread over them.", LoopReports.Stripes),
        new("memory", "Memory by purpose, with sums that agree, fragmentation and headroom.", MemoryReports.Memory),
        new("hot-keys", "The keys that were used most in the last ten to twenty seconds.", KeyReports.HotKeys),
        new("big-keys", "The largest keys of every type, and histograms of sizes and lifetimes, of the last survey.", KeyReports.BigKeys),
        new("timeline", "Events that may have delayed one client or all: slow commands, waits, pauses, limits, collections, stalls.", ClientReports.Timeline),
        new("marks", "The marks on charts: findings, starts, changed settings and actions, the newest first.", MarkReports.Marks),
        new("actions", "The actions that the server may take by itself, how often it took them, and the last times.", ActionReports.Actions),
        new("http", "Requests to the dashboard's page and endpoints, by address: failures, exceptions, durations.", HttpReports.Requests),
        new("users", "Users: state, number of passwords, rules, connections; addresses with failed logins. No secret and no hash.", UserReports.Users),
        new("access-log", "Denied accesses, as in ACL LOG.", UserReports.Log),
        new("tls", "TLS: port, rules, connections, handshakes, and the certificate with its dates. No key.", TlsReports.Tls),
        new("messages", "Pub/sub, client-side caching and transactions: totals, and the clients that take part.", MessageReports.Messages),
        new("scripts", "Scripts and functions: memory; and calls, errors, times and last use of the 200 that took the most time.", ScriptReports.Scripts),
        new("durability", "Snapshots and the append-only file: what is promised, what is in progress, files with their sizes, the last saves and failures, loading.", DurabilityReports.Durability),
        new("replication", "Who follows whom: the stream, its backlog, replicas with their lag, the link to a primary, synchronizations.", ReplicationReports.Replication),
        new("cluster", "The cluster as this node sees it: shards with their slots, nodes with what they say of themselves, leases, the store, moves of slots, and what happened when.", ClusterReports.Cluster),
        new("clients", "Connected clients, their libraries, buffers and waits.", ClientReports.Clients),
    ];

    internal static Report? Find(string name) => Rows.FirstOrDefault(report => report.Name == name);
}
