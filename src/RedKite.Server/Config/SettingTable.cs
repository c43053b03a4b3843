using System.Globalization;
using System.Numerics;
using RedKite.Protocol;
using static RedKite.Server.Config.Setting;
using static RedKite.Server.Config.SettingFlags;

namespace RedKite.Server.Config;

/// <summary>
/// Every setting, one row each: name, range or words, default, the property (if code reads it typed), alias, flags.
/// To add a setting add its row, and its property in <see cref="Settings"/> if code reads it. Rows without accessors
/// are remembered: validated and answered as in Redis 7.4, without an effect here.
/// </summary>
internal static class SettingTable
{
    private const ulong LongMax = long.MaxValue;
    private const ulong Megabyte = 1UL << 20;
    private static readonly string[] Access = ["no", "yes", "local"];

    /// <summary>The rows in the order in which CONFIG GET answers them.</summary>
    internal static IReadOnlyList<Setting> Rows { get; } =
    [
        // RedKite's own
        Integer("loops", 0, 1024, 0, s => s.Loops, (s, v) => s.Loops = (int)v, flags: Immutable),
        Choice("stripes", ["1", "2", "4", "8", "16", "32", "64"], "64", s => BitOperations.Log2((uint)s.Stripes), (s, v) => s.Stripes = 1 << v, Immutable),
        Choice("transport", ["auto", "epoll", "sockets"], "auto", s => (int)s.Transport, (s, v) => s.Transport = (TransportChoice)v, Immutable),
        Flag("quiet-huge-pages", false, s => s.QuietHugePages, (s, v) => s.QuietHugePages = v),

        // Listening
        Special("bind", "* -::*", SettingParsers.BindAddresses, s => string.Join(' ', s.Bind), (s, v) => s.Bind = SettingParsers.SplitWords(v), flags: MultipleArguments, toLines: SettingParsers.BindLines),
        Integer("port", 0, 65535, 6379, s => s.Port, (s, v) => s.Port = (int)v),
        FilePath("unixsocket", "", s => s.UnixSocketPath, (s, v) => s.UnixSocketPath = v, Immutable),
        Octal("unixsocketperm", s => s.UnixSocketMode, (s, v) => s.UnixSocketMode = v, Immutable),
        Flag("protected-mode", true, s => s.ProtectedMode, (s, v) => s.ProtectedMode = v),
        Integer("tcp-backlog", 0, int.MaxValue, 511, s => s.TcpBacklog, (s, v) => s.TcpBacklog = (int)v, flags: Immutable),
        Integer("tcp-keepalive", 0, int.MaxValue, 300, s => s.TcpKeepAliveSeconds, (s, v) => s.TcpKeepAliveSeconds = (int)v),
        Integer("socket-mark-id", 0, uint.MaxValue, 0, flags: Immutable),
        Text("bind-source-addr", ""),
        Integer("max-new-connections-per-cycle", 1, 1000, 10),
        Integer("max-new-tls-connections-per-cycle", 1, 1000, 1),

        // Clients
        Text("requirepass", "", s => s.RequirePass, (s, v) => s.RequirePass = v, flags: Sensitive, parse: SettingParsers.AnyBytes),
        Integer("maxclients", 1, uint.MaxValue, 10000, s => s.MaxClients, (s, v) => s.MaxClients = v),
        Integer("timeout", 0, int.MaxValue, 0, s => s.TimeoutSeconds, (s, v) => s.TimeoutSeconds = (int)v),
        Memory("proto-max-bulk-len", Megabyte, LongMax, 512 * Megabyte, s => (ulong)s.ProtoMaxBulkLength, (s, v) => s.ProtoMaxBulkLength = (long)v),
        Memory("client-query-buffer-limit", Megabyte, LongMax, 1024 * Megabyte, s => (ulong)s.ClientQueryBufferLimit, (s, v) => s.ClientQueryBufferLimit = (long)v),
        Special("client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", SettingParsers.OutputBufferLimits, ReadLimits, WriteLimits, flags: MultipleArguments, toLines: SettingParsers.OutputBufferLimitLines),
        MemoryOrPercent("maxmemory-clients", s => s.MaxMemoryClients, (s, v) => s.MaxMemoryClients = v),
        Integer("tracking-table-max-keys", 0, long.MaxValue, 1000000, s => s.TrackingTableMaxKeys, (s, v) => s.TrackingTableMaxKeys = v),

        // The process
        FilePath("dir", ".", s => s.DirectoryPath, (s, v) => s.DirectoryPath = Path.GetFullPath(v), Protected, SettingParsers.ExistingDirectory, alwaysRewritten: true),
        Choice("loglevel", ["debug", "verbose", "notice", "warning"], "notice", s => (int)s.LogLevel, (s, v) => s.LogLevel = (LogLevel)v),
        FilePath("logfile", "", s => s.LogFilePath, (s, v) => s.LogFilePath = v, Immutable),
        FilePath("pidfile", "", s => s.PidFilePath, (s, v) => s.PidFilePath = v, Immutable),
        Flag("hide-user-data-from-log", false, s => s.HideUserDataFromLog, (s, v) => s.HideUserDataFromLog = v),
        Flag("syslog-enabled", false, flags: Immutable),
        Text("syslog-ident", "redis", flags: Immutable),
        Choice("syslog-facility", ["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"], "local0", flags: Immutable),
        Flag("daemonize", false, flags: Immutable),
        Choice("supervised", ["upstart", "systemd", "auto", "no"], "no", flags: Immutable),
        Flag("always-show-logo", false, flags: Immutable),
        Flag("set-proc-title", true, s => s.SetProcessTitle, (s, v) => s.SetProcessTitle = v, flags: Immutable),
        Text("proc-title-template", "{title} {listen-addr} {server-mode}", s => s.ProcessTitleTemplate, (s, v) => s.ProcessTitleTemplate = v, parse: SettingParsers.ProcessTitle),
        Text("locale-collate", ""),
        Special("shutdown-on-sigint", "default", SettingParsers.ShutdownOnSignal, s => s.ShutdownOnSigint, (s, v) => s.ShutdownOnSigint = v, flags: MultipleArguments),
        Special("shutdown-on-sigterm", "default", SettingParsers.ShutdownOnSignal, s => s.ShutdownOnSigterm, (s, v) => s.ShutdownOnSigterm = v, flags: MultipleArguments),
        Integer("shutdown-timeout", 0, int.MaxValue, 10, s => s.ShutdownTimeoutSeconds, (s, v) => s.ShutdownTimeoutSeconds = (int)v),
        Flag("crash-log-enabled", true),
        Flag("crash-memcheck-enabled", true),
        Flag("use-exit-on-panic", false, flags: Hidden),
        Integer("watchdog-period", 0, int.MaxValue, 0, flags: Hidden),
        Text("ignore-warnings", ""),
        Choice("oom-score-adj", ["no", "yes", "relative", "absolute"], "no", sameAs: ("relative", "yes")),
        Special("oom-score-adj-values", "0 200 800", SettingParsers.OutOfMemoryScores, flags: MultipleArguments),
        Flag("disable-thp", true, flags: Immutable),
        Text("server-cpulist", "", alias: "server_cpulist", flags: Immutable),
        Text("bio-cpulist", "", alias: "bio_cpulist", flags: Immutable),
        Text("aof-rewrite-cpulist", "", alias: "aof_rewrite_cpulist", flags: Immutable),
        Text("bgsave-cpulist", "", alias: "bgsave_cpulist", flags: Immutable),
        Integer("io-threads", 1, 128, 1, flags: Immutable),
        Flag("io-threads-do-reads", false, flags: Immutable),
        Choice("enable-debug-command", Access, "no", s => (int)s.EnableDebugCommand, (s, v) => s.EnableDebugCommand = (ProtectedAccess)v, Immutable),
        Choice("enable-protected-configs", Access, "no", s => (int)s.EnableProtectedConfigs, (s, v) => s.EnableProtectedConfigs = (ProtectedAccess)v, Immutable),
        Choice("enable-module-command", Access, "no", s => (int)s.EnableModuleCommand, (s, v) => s.EnableModuleCommand = (ProtectedAccess)v, Immutable),

        // The keyspace
        Integer("databases", 1, int.MaxValue, 16, s => s.Databases, (s, v) => s.Databases = (int)v, flags: Immutable),
        Integer("hz", 0, int.MaxValue, 10, s => s.Hz, (s, v) => s.Hz = (int)Math.Clamp(v, 1, 500)),
        Flag("dynamic-hz", true, s => s.DynamicHz, (s, v) => s.DynamicHz = v),
        Integer("active-expire-effort", 1, 10, 1, s => s.ActiveExpireEffort, (s, v) => s.ActiveExpireEffort = (int)v),
        Memory("maxmemory", 0, ulong.MaxValue, 0, s => s.MaxMemoryBytes, (s, v) => s.MaxMemoryBytes = v),
        Choice("maxmemory-policy", ["volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"], "noeviction", s => (int)s.MaxMemoryPolicy, (s, v) => s.MaxMemoryPolicy = (MaxMemoryPolicy)v),
        Integer("maxmemory-samples", 1, int.MaxValue, 5, s => s.MaxMemorySamples, (s, v) => s.MaxMemorySamples = (int)v),
        Integer("maxmemory-eviction-tenacity", 0, 100, 10),
        Integer("lfu-log-factor", 0, int.MaxValue, 10, s => s.LfuLogFactor, (s, v) => s.LfuLogFactor = (int)v),
        Integer("lfu-decay-time", 0, int.MaxValue, 1, s => s.LfuDecayMinutes, (s, v) => s.LfuDecayMinutes = (int)v),
        Flag("lazyfree-lazy-eviction", false, s => s.LazyFreeLazyEviction, (s, v) => s.LazyFreeLazyEviction = v),
        Flag("lazyfree-lazy-expire", false, s => s.LazyFreeLazyExpire, (s, v) => s.LazyFreeLazyExpire = v),
        Flag("lazyfree-lazy-server-del", false, s => s.LazyFreeLazyServerDel, (s, v) => s.LazyFreeLazyServerDel = v),
        Flag("lazyfree-lazy-user-del", false, s => s.LazyFreeLazyUserDel, (s, v) => s.LazyFreeLazyUserDel = v),
        Flag("lazyfree-lazy-user-flush", false, s => s.LazyFreeLazyUserFlush, (s, v) => s.LazyFreeLazyUserFlush = v),
        Text("notify-keyspace-events", "", s => s.NotifyKeyspaceEvents, (s, v) => s.NotifyKeyspaceEvents = v, parse: SettingParsers.KeyspaceEvents),
        Flag("activerehashing", true),
        Special("activedefrag", "no", SettingParsers.ActiveDefragmentation),
        Memory("active-defrag-ignore-bytes", 1, LongMax, 100 * Megabyte),
        Integer("active-defrag-threshold-lower", 0, 1000, 10),
        Integer("active-defrag-threshold-upper", 0, 1000, 100),
        Integer("active-defrag-cycle-min", 1, 99, 1),
        Integer("active-defrag-cycle-max", 1, 99, 25),
        Integer("active-defrag-max-scan-fields", 1, long.MaxValue, 1000),
        Flag("jemalloc-bg-thread", true),

        // Encodings
        Integer("hash-max-listpack-entries", 0, long.MaxValue, 512, s => s.HashMaxListpackEntries, (s, v) => s.HashMaxListpackEntries = v, "hash-max-ziplist-entries"),
        Memory("hash-max-listpack-value", 0, LongMax, 64, s => (ulong)s.HashMaxListpackValueBytes, (s, v) => s.HashMaxListpackValueBytes = (long)v, "hash-max-ziplist-value"),
        Integer("set-max-intset-entries", 0, long.MaxValue, 512, s => s.SetMaxIntsetEntries, (s, v) => s.SetMaxIntsetEntries = v),
        Integer("set-max-listpack-entries", 0, long.MaxValue, 128, s => s.SetMaxListpackEntries, (s, v) => s.SetMaxListpackEntries = v),
        Integer("set-max-listpack-value", 0, long.MaxValue, 64, s => s.SetMaxListpackValueBytes, (s, v) => s.SetMaxListpackValueBytes = v),
        Integer("zset-max-listpack-entries", 0, long.MaxValue, 128, s => s.SortedSetMaxListpackEntries, (s, v) => s.SortedSetMaxListpackEntries = v, "zset-max-ziplist-entries"),
        Memory("zset-max-listpack-value", 0, LongMax, 64, s => (ulong)s.SortedSetMaxListpackValueBytes, (s, v) => s.SortedSetMaxListpackValueBytes = (long)v, "zset-max-ziplist-value"),
        Integer("list-max-listpack-size", int.MinValue, int.MaxValue, -2, s => s.ListMaxListpackSize, (s, v) => s.ListMaxListpackSize = (int)v, "list-max-ziplist-size"),
        Integer("list-compress-depth", 0, int.MaxValue, 0, s => s.ListCompressDepth, (s, v) => s.ListCompressDepth = (int)v),
        Memory("hll-sparse-max-bytes", 0, LongMax, 3000, s => (ulong)s.HyperLogLogSparseMaxBytes, (s, v) => s.HyperLogLogSparseMaxBytes = (long)v),
        Memory("stream-node-max-bytes", 0, LongMax, 4096, s => (ulong)s.StreamNodeMaxBytes, (s, v) => s.StreamNodeMaxBytes = (long)v),
        Integer("stream-node-max-entries", 0, long.MaxValue, 100, s => s.StreamNodeMaxEntries, (s, v) => s.StreamNodeMaxEntries = v),

        // Knowing itself
        Integer("slowlog-log-slower-than", -1, long.MaxValue, 10000, s => s.SlowLogSlowerThanMicroseconds, (s, v) => s.SlowLogSlowerThanMicroseconds = v),
        Integer("slowlog-max-len", 0, long.MaxValue, 128, s => s.SlowLogMaxLength, (s, v) => s.SlowLogMaxLength = v),
        Flag("latency-tracking", true, s => s.LatencyTracking, (s, v) => s.LatencyTracking = v),
        Special("latency-tracking-info-percentiles", "50 99 99.9", SettingParsers.Percentiles, ReadPercentiles, WritePercentiles, flags: MultipleArguments, toLines: SettingParsers.PercentileLines, alwaysRewritten: true),
        Integer("latency-monitor-threshold", 0, long.MaxValue, 0, s => s.LatencyMonitorThresholdMs, (s, v) => s.LatencyMonitorThresholdMs = v),
        Integer("busy-reply-threshold", 0, long.MaxValue, 5000, s => s.BusyReplyThresholdMs, (s, v) => s.BusyReplyThresholdMs = v, "lua-time-limit"),
        Flag("lua-enable-deprecated-api", false, flags: Immutable | Hidden),

        // Snapshots
        Special("save", "3600 1 300 100 60 10000", SettingParsers.SavePoints, ReadSavePoints, WriteSavePoints, flags: MultipleArguments | Accumulates, toLines: SettingParsers.SavePointLines, alwaysRewritten: true),
        Text("dbfilename", "dump.rdb", s => s.DumpFileName, (s, v) => s.DumpFileName = v, flags: Protected, parse: SettingParsers.DumpFileName),
        Flag("rdbcompression", true, s => s.RdbCompression, (s, v) => s.RdbCompression = v),
        Flag("rdbchecksum", true, s => s.RdbChecksum, (s, v) => s.RdbChecksum = v, flags: Immutable),
        Flag("rdb-del-sync-files", false),
        Flag("rdb-save-incremental-fsync", true),
        Flag("stop-writes-on-bgsave-error", true),
        Choice("sanitize-dump-payload", ["no", "yes", "clients"], "no"),
        Integer("rdb-key-save-delay", int.MinValue, int.MaxValue, 0, flags: Hidden),
        Integer("key-load-delay", int.MinValue, int.MaxValue, 0, flags: Hidden),
        Integer("loading-process-events-interval-bytes", 1024, int.MaxValue, 2097152, flags: Hidden),

        // The append log
        Flag("appendonly", false, s => s.AppendOnly, (s, v) => s.AppendOnly = v),
        Choice("appendfsync", ["everysec", "always", "no"], "everysec", s => (int)s.AppendFsync, (s, v) => s.AppendFsync = (AppendFsync)v),
        Text("appendfilename", "appendonly.aof", s => s.AppendFileName, (s, v) => s.AppendFileName = v, flags: Immutable, parse: SettingParsers.AppendFileName),
        Text("appenddirname", "appendonlydir", s => s.AppendDirectoryName, (s, v) => s.AppendDirectoryName = v, flags: Immutable, parse: SettingParsers.AppendDirectoryName),
        Flag("aof-load-truncated", true, s => s.AofLoadTruncated, (s, v) => s.AofLoadTruncated = v),
        Flag("aof-use-rdb-preamble", true, s => s.AofUseRdbPreamble, (s, v) => s.AofUseRdbPreamble = v),
        Flag("aof-timestamp-enabled", false),
        Flag("aof-disable-auto-gc", false),
        Flag("aof-rewrite-incremental-fsync", true),
        Flag("no-appendfsync-on-rewrite", false),
        Integer("auto-aof-rewrite-percentage", 0, int.MaxValue, 100),
        Memory("auto-aof-rewrite-min-size", 0, LongMax, 64 * Megabyte),

        // Access control
        FilePath("aclfile", "", s => s.AclFilePath, (s, v) => s.AclFilePath = v, Immutable),
        Choice("acl-pubsub-default", ["allchannels", "resetchannels"], "resetchannels", s => s.AclPubSubDefaultsToAllChannels ? 0 : 1, (s, v) => s.AclPubSubDefaultsToAllChannels = v == 0),
        Integer("acllog-max-len", 0, long.MaxValue, 128, s => s.AclLogMaxLength, (s, v) => s.AclLogMaxLength = v),

        // Replication
        Special("replicaof", "", SettingParsers.ReplicaOf, s => s.ReplicaOf, (s, v) => s.ReplicaOf = v, alias: "slaveof", flags: Immutable | MultipleArguments, toLines: SettingParsers.ReplicaOfLines),
        Text("masterauth", "", flags: Sensitive, parse: SettingParsers.AnyBytes),
        Text("masteruser", "", flags: Sensitive),
        Flag("replica-serve-stale-data", true, alias: "slave-serve-stale-data"),
        Flag("replica-read-only", true, alias: "slave-read-only"),
        Flag("replica-lazy-flush", false, alias: "slave-lazy-flush"),
        Flag("replica-ignore-maxmemory", true, alias: "slave-ignore-maxmemory"),
        Flag("replica-ignore-disk-write-errors", false),
        Flag("replica-announced", true),
        Text("replica-announce-ip", "", alias: "slave-announce-ip"),
        Integer("replica-announce-port", 0, 65535, 0, alias: "slave-announce-port"),
        Integer("replica-priority", 0, int.MaxValue, 100, alias: "slave-priority"),
        Choice("propagation-error-behavior", ["ignore", "panic", "panic-on-replicas"], "ignore"),
        Flag("repl-diskless-sync", true),
        Integer("repl-diskless-sync-delay", 0, int.MaxValue, 5),
        Integer("repl-diskless-sync-max-replicas", 0, int.MaxValue, 0),
        Choice("repl-diskless-load", ["disabled", "on-empty-db", "swapdb"], "disabled"),
        Flag("repl-disable-tcp-nodelay", false),
        Integer("repl-ping-replica-period", 1, int.MaxValue, 10, alias: "repl-ping-slave-period"),
        Integer("repl-timeout", 1, int.MaxValue, 60),
        Memory("repl-backlog-size", 1, LongMax, Megabyte),
        Integer("repl-backlog-ttl", 0, long.MaxValue, 3600),
        Integer("min-replicas-to-write", 0, int.MaxValue, 0, alias: "min-slaves-to-write"),
        Integer("min-replicas-max-lag", 0, int.MaxValue, 10, alias: "min-slaves-max-lag"),

        // Cluster
        Flag("cluster-enabled", false, flags: Immutable),
        Text("cluster-config-file", "nodes.conf", flags: Immutable),
        Integer("cluster-node-timeout", 0, long.MaxValue, 15000),
        Integer("cluster-port", 0, 65535, 0, flags: Immutable),
        Text("cluster-announce-ip", ""),
        Text("cluster-announce-hostname", "", parse: SettingParsers.HostName),
        Text("cluster-announce-human-nodename", ""),
        Integer("cluster-announce-port", 0, 65535, 0),
        Integer("cluster-announce-tls-port", 0, 65535, 0),
        Integer("cluster-announce-bus-port", 0, 65535, 0),
        Choice("cluster-preferred-endpoint-type", ["ip", "hostname", "unknown-endpoint"], "ip"),
        Flag("cluster-require-full-coverage", true),
        Flag("cluster-replica-no-failover", false, alias: "cluster-slave-no-failover"),
        Integer("cluster-replica-validity-factor", 0, int.MaxValue, 10, alias: "cluster-slave-validity-factor"),
        Integer("cluster-migration-barrier", 0, int.MaxValue, 1),
        Flag("cluster-allow-replica-migration", true),
        Flag("cluster-allow-reads-when-down", false),
        Flag("cluster-allow-pubsubshard-when-down", true),
        Memory("cluster-link-sendbuf-limit", 0, ulong.MaxValue, 0),

        // TLS
        Integer("tls-port", 0, 65535, 0),
        Text("tls-cert-file", ""),
        Text("tls-key-file", ""),
        Text("tls-key-file-pass", "", flags: Sensitive),
        Text("tls-client-cert-file", ""),
        Text("tls-client-key-file", ""),
        Text("tls-client-key-file-pass", "", flags: Sensitive),
        Text("tls-dh-params-file", ""),
        Text("tls-ca-cert-file", ""),
        Text("tls-ca-cert-dir", ""),
        Choice("tls-auth-clients", ["no", "yes", "optional"], "yes"),
        Flag("tls-replication", false),
        Flag("tls-cluster", false),
        Text("tls-protocols", ""),
        Text("tls-ciphers", ""),
        Text("tls-ciphersuites", ""),
        Flag("tls-prefer-server-ciphers", false),
        Flag("tls-session-caching", true),
        Integer("tls-session-cache-size", 0, int.MaxValue, 20480),
        Integer("tls-session-cache-timeout", 0, int.MaxValue, 300),
    ];

    private static readonly NameLookup<Setting> ByName = IndexByName();

    /// <summary>The row of a name or an alias, in any case.</summary>
    internal static Setting? Find(string name) => ByName.TryGetValue(name, out Setting? row) ? row : null;

    private static NameLookup<Setting> IndexByName()
    {
        var lookup = new NameLookup<Setting>();
        foreach (Setting row in Rows)
        {
            lookup.TryAdd(row.Name, row);
            if (row.Alias is not null) lookup.TryAdd(row.Alias, row);
        }

        return lookup;
    }

    private static string ReadLimits(Settings settings)
    {
        return $"normal {Show(settings.NormalClientLimit)} slave {Show(settings.ReplicaClientLimit)} pubsub {Show(settings.PubSubClientLimit)}";

        static string Show(ClientOutputBufferLimit limit) =>
            string.Create(CultureInfo.InvariantCulture, $"{limit.HardBytes} {limit.SoftBytes} {limit.SoftSeconds}");
    }

    private static void WriteLimits(Settings settings, string text)
    {
        string[] words = SettingParsers.SplitWords(text);
        settings.NormalClientLimit = Parse(words.AsSpan(1, 3));
        settings.ReplicaClientLimit = Parse(words.AsSpan(5, 3));
        settings.PubSubClientLimit = Parse(words.AsSpan(9, 3));

        static ClientOutputBufferLimit Parse(ReadOnlySpan<string> words) => new(
            ulong.Parse(words[0], CultureInfo.InvariantCulture),
            ulong.Parse(words[1], CultureInfo.InvariantCulture),
            int.Parse(words[2], CultureInfo.InvariantCulture));
    }

    private static string ReadPercentiles(Settings settings) => string.Join(
        ' ', settings.LatencyTrackingPercentiles.Select(value => value.ToString("0.######", CultureInfo.InvariantCulture)));

    private static void WritePercentiles(Settings settings, string text) => settings.LatencyTrackingPercentiles =
        [.. SettingParsers.SplitWords(text).Select(word => double.Parse(word, CultureInfo.InvariantCulture))];

    private static string ReadSavePoints(Settings settings) => string.Join(
        ' ', settings.SavePoints.Select(point => string.Create(CultureInfo.InvariantCulture, $"{point.Seconds} {point.Changes}")));

    private static void WriteSavePoints(Settings settings, string text)
    {
        string[] words = SettingParsers.SplitWords(text);
        settings.SavePoints =
        [
            .. Enumerable.Range(0, words.Length / 2).Select(i => new SavePoint(
                long.Parse(words[2 * i], CultureInfo.InvariantCulture),
                int.Parse(words[(2 * i) + 1], CultureInfo.InvariantCulture))),
        ];
    }
}
