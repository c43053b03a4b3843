namespace RedKite.Server.Config;

/// <summary>Settings of one purpose, for help and documentation.</summary>
internal sealed record SettingGroup(string Title, string[] Names);

/// <summary>
/// The settings that work, by purpose, and sentences for those that people change first. A test checks that each setting is in one group.
/// </summary>
internal static class SettingGroups
{
    internal static IReadOnlyList<SettingGroup> All { get; } =
    [
        new("Listening", ["bind", "port", "unixsocket", "unixsocketperm", "protected-mode", "tcp-backlog", "tcp-keepalive", "timeout", "maxclients", "transport", "shed-connections-per-second"]),
        new("TLS", ["tls-port", "tls-cert-file", "tls-key-file", "tls-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir", "tls-auth-clients", "tls-protocols", "tls-ciphersuites", "tls-session-caching", "tls-handshakes-max", "tls-handshake-timeout"]),
        new("Users and rights", ["requirepass", "aclfile", "acl-pubsub-default", "acllog-max-len", "failed-logins-per-minute", "enable-debug-command", "enable-module-command", "enable-protected-configs", "refuse-dangerous-commands", "max-acl-users", "max-acl-rules-per-user", "max-acl-rule-bytes-per-user"]),
        new("Memory", ["maxmemory", "maxmemory-policy", "maxmemory-samples", "maxmemory-eviction-tenacity", "maxmemory-clients", "lfu-log-factor", "lfu-decay-time", "return-memory-below", "quiet-huge-pages", "activedefrag", "defrag-under-maxmemory", "active-defrag-ignore-bytes", "active-defrag-threshold-lower", "active-defrag-threshold-upper", "active-defrag-cycle-min", "active-defrag-cycle-max"]),
        new("Persistence", ["dir", "save", "dbfilename", "rdbcompression", "rdbchecksum", "sanitize-dump-payload", "rdb-save-incremental-fsync", "stop-writes-on-bgsave-error", "appendonly", "appendfsync", "no-appendfsync-on-rewrite", "appendfilename", "appenddirname", "backupdirname", "backup-sealed-ttl", "auto-aof-rewrite-percentage", "auto-aof-rewrite-min-size", "aof-load-truncated", "aof-rewrite-incremental-fsync", "aof-timestamp-enabled", "aof-use-rdb-preamble"]),
        new("Replication", ["repl-backlog-size", "repl-backlog-ttl", "repl-timeout", "repl-ping-replica-period", "repl-disable-tcp-nodelay", "repl-diskless-sync-delay", "repl-diskless-sync-max-replicas", "min-replicas-to-write", "min-replicas-max-lag", "replica-acks", "replica-acks-timeout", "shutdown-timeout"]),
        new("Following a primary", ["replicaof", "masterauth", "masteruser", "replica-read-only", "replica-serve-stale-data", "replica-ignore-maxmemory", "replica-full-sync-buffer-limit", "repl-diskless-load", "replica-ignore-disk-write-errors", "replica-announced", "replica-priority", "replica-announce-ip", "replica-announce-port", "bind-source-addr", "tls-replication", "tls-client-cert-file", "tls-client-key-file", "tls-client-key-file-pass"]),
        new("Cluster", ["cluster-enabled", "cluster-config-file", "cluster-databases", "cluster-slot-stats-enabled", "cluster-move-pause-ms", "cluster-port", "cluster-announce-ip", "cluster-announce-hostname", "cluster-announce-human-nodename", "cluster-announce-port", "cluster-announce-tls-port", "cluster-announce-bus-port", "cluster-preferred-endpoint-type", "cluster-require-full-coverage", "cluster-allow-reads-when-down", "cluster-allow-pubsubshard-when-down", "cluster-etcd", "cluster-etcd-prefix", "cluster-etcd-user", "cluster-etcd-password", "cluster-etcd-ca-file", "cluster-etcd-cert-file", "cluster-etcd-key-file", "cluster-replica-no-failover", "cluster-lease-ms", "cluster-auto-join", "cluster-controller", "cluster-announce-zone"]),
        new("Cores and background work", ["loops", "stripes", "hz", "active-expire-effort", "slow-background-work-above", "key-survey-cpu-percent"]),
        new("The process and its log", ["logfile", "loglevel", "log-format", "pidfile", "shutdown-on-sigint", "shutdown-on-sigterm", "databases", "locale-collate", "reported-redis-version"]),
        new("Dashboard and diagnostics", ["diagnostics", "admin-port", "admin-bind", "admin-tls", "admin-trusted-proxies", "metrics-history-file", "debug-package-dir", "debug-packages-per-day", "debug-packages-max-bytes", "otlp-endpoint", "otlp-interval-seconds", "slowlog-log-slower-than", "slowlog-max-len", "slowlog-entry-max-argc", "slowlog-entry-max-string-len", "commandlog-request-larger-than", "commandlog-reply-larger-than", "commandlog-large-request-max-len", "commandlog-large-reply-max-len", "key-memory-histograms", "latency-tracking", "latency-tracking-info-percentiles", "latency-monitor-threshold"]),
        new("Limits of clients", ["client-output-buffer-limit", "client-query-buffer-limit", "proto-max-bulk-len", "close-hogs-above", "max-client-state-bytes", "max-client-name-bytes", "max-request-arguments", "max-transaction-commands", "max-watched-keys", "max-blocked-keys", "max-subscriptions-per-client", "max-tracking-prefixes-per-client"]),
        new("Messages and tracking", ["notify-keyspace-events", "tracking-table-max-keys", "tracking-table-max-bytes"]),
        new("Scripts and functions", ["busy-reply-threshold", "script-memory-limit", "max-cached-scripts", "max-cached-script-bytes", "max-functions", "max-function-bytes"]),
        new("Filters without options", ["bf-error-rate", "bf-initial-size", "bf-expansion-factor", "cf-initial-size", "cf-bucket-size", "cf-max-iterations", "cf-expansion-factor", "cf-max-expansions"]),
        new("Series without options", ["ts-retention-policy", "ts-chunk-size-bytes", "ts-duplicate-policy", "ts-ignore-max-time-diff", "ts-ignore-max-val-diff", "ts-compaction-policy", "ts-encoding"]),
        new("Encodings of values", ["hash-max-listpack-entries", "hash-max-listpack-value", "list-max-listpack-size", "list-compress-depth", "set-max-intset-entries", "set-max-listpack-entries", "set-max-listpack-value", "zset-max-listpack-entries", "zset-max-listpack-value", "hll-sparse-max-bytes", "stream-node-max-bytes", "stream-node-max-entries", "stream-idmp-duration", "stream-idmp-maxsize"]),
    ];

    /// <summary>The twenty that people change first, with what each is for.</summary>
    internal static IReadOnlyDictionary<string, string> First { get; } = new Dictionary<string, string>
    {
        ["port"] = "the TCP port; 0 is none if there is another way in, otherwise a free one",
        ["bind"] = "the addresses to listen on; by default this machine only",
        ["unixsocket"] = "the path of a Unix socket to listen on as well",
        ["requirepass"] = "the password of the user `default`, which clients without a user name are",
        ["aclfile"] = "the file of the users and their rights; `user` lines in the configuration file are the other way",
        ["tls-port"] = "the port for TLS, with `tls-cert-file` and `tls-key-file`",
        ["maxclients"] = "how many clients may be connected; lowered at the start to what the limit of open files allows",
        ["timeout"] = "after how many seconds an idle client is closed; 0: never",
        ["maxmemory"] = "the most memory that the server uses; then `maxmemory-policy` decides",
        ["maxmemory-policy"] = "which keys are evicted at `maxmemory`; with `noeviction` commands that need memory are refused",
        ["dir"] = "the folder of the data files",
        ["save"] = "when a snapshot is written: after so many seconds if so many keys have changed, in pairs; an empty value switches snapshots off",
        ["appendonly"] = "whether every change is written to an append-only file",
        ["appendfsync"] = "when the append-only file reaches the disk: `always` before each reply, `everysec`, or `no` for the system's choice",
        ["loops"] = "the number of event loops, each a thread that executes commands; 0 is one per core",
        ["databases"] = "how many databases SELECT can choose from",
        ["logfile"] = "the file of the log; empty: standard output",
        ["loglevel"] = "the least important lines that are logged",
        ["admin-port"] = "the port of the dashboard; `auto` is `port` + 2000, 0 switches it off",
        ["slowlog-log-slower-than"] = "microseconds from which a command is in the slow log; -1 logs none",
    };

    /// <summary>The purpose of a setting.</summary>
    internal static string TitleOf(Setting row) => All.FirstOrDefault(group => group.Names.Contains(row.Name))?.Title ?? "";

    /// <summary>What a setting does, as far as its name does not say it; null: it does.</summary>
    internal static string? SentenceOf(Setting row) => (First.GetValueOrDefault(row.Name) ?? row.Remark) is { } text ? $"{char.ToUpperInvariant(text[0])}{text[1..]}." : null;
}
