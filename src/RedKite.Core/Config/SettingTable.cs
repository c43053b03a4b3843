using System.Globalization;
using System.Numerics;
using RedKite.Persistence.Log;
using RedKite.Protocol;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Config.Setting;
using static RedKite.Server.Config.SettingFlags;

namespace RedKite.Server.Config;

/// <summary>
/// Every directive of Redis 8.0 and RedKite's own, one row each: name, range or words, default, alias, flags, and what it
/// does here. A row with accessors works: code reads its property of <see cref="Settings"/>. Any other row says why it has
/// no effect or which values are refused. docs/reference/settings.md is generated from this table.
/// </summary>
internal static class SettingTable
{
    private const ulong LongMax = long.MaxValue;
    private const ulong Megabyte = 1UL << 20;

    // Reasons that several rows share.
    private const string NoDelays = "Redis delays its own saving and loading by it, for tests";
    private const string NoChildren = "there are no child processes";
    private const string Templates = "as in Redis 8.10";
    private const string ArrayForms = "as in Redis 8.8";
    private const string OneForm = "an array has one form: slices of 256 indexes, which take memory for the elements that they have";
    private const string NoTemplates = "hashes do not share the names of their fields; HIMPORT saves their transmission";
    private const string NoBus = "nodes do not speak to each other: there is no cluster bus";
    private const string OneAddress = "clients and nodes are told the same address: `cluster-announce-ip`, `cluster-announce-port`, `cluster-announce-tls-port`";
    private const string NoVotes = "a node does not fail over by itself: its topology is given to it";
    private const string OwnMoves = "moves of slots as a whole have RedKite's own limits: `cluster-move-pause-ms`, and those in docs/bounds.md";
    private const string OfSeries = "as in Redis 8: of series that are created from now on without the option";
    private const string AlwaysFreedLater = "the memory of large values is always freed in slices, after the command";
    private const string NoPinning = "threads are not bound to CPUs; use taskset or the service manager";
    private const string NoSyslog = "the log is written to logfile or to standard output only";

    private static readonly string[] Access = ["no", "yes", "local"];

    /// <summary>The rows in the order in which CONFIG GET returns them.</summary>
    internal static IReadOnlyList<Setting> Rows { get; } =
    [
        // RedKite's own
        Integer("loops", 0, 1024, 0, s => s.Loops, (s, v) => s.Loops = (int)v, flags: Immutable).WithRemark("RedKite's own: the number of event loops; 0 is one per core"),
        Choice("stripes", ["auto", "1", "2", "4", "8", "16", "32", "64"], "auto", s => s.Stripes == 0 ? 0 : 1 + BitOperations.Log2((uint)s.Stripes), (s, v) => s.Stripes = v == 0 ? 0 : 1 << (v - 1), Immutable).WithRemark("RedKite's own: the number of stripes of the keyspace, each with its lock; `auto` is 64, or 1 in the standalone program with one loop"),
        Choice("transport", ["auto", "epoll", "sockets"], "auto", s => (int)s.Transport, (s, v) => s.Transport = (TransportChoice)v, Immutable).WithRemark("RedKite's own: how loops wait for input; `epoll` on Linux, `sockets` over .NET's sockets"),
        Flag("quiet-huge-pages", true, s => s.QuietHugePages, (s, v) => s.QuietHugePages = v).WithRemark("RedKite's own: whether ordinary pages are replaced by huge ones while the server is quiet, as long as lookups save more CPU than that takes"),
        Text("reported-redis-version", ServerVersion.Redis, s => s.ReportedRedisVersion, (s, v) => s.ReportedRedisVersion = v, parse: SettingParsers.RedisVersion).WithRemark("RedKite's own: the `redis_version` of INFO, the `version` of HELLO and the line of LOLWUT, by which clients choose commands"),

        Flag("diagnostics", true, s => s.Diagnostics, (s, v) => s.Diagnostics = v, flags: Immutable).WithRemark("RedKite's own: whether the server watches itself, keeps the history of its metrics and reports findings"),
        Text("admin-port", "auto", s => s.AdminPort, (s, v) => s.AdminPort = v, flags: Immutable, parse: SettingParsers.AdminPort).WithRemark("RedKite's own: the port of the dashboard; `auto` is `port` + 2000, or `tls-port` + 2000 where `port` is 0; 0 switches it off; in a host's process there is one only if the host starts it"),
        Flag("admin-tls", false, s => s.AdminTls, (s, v) => s.AdminTls = v, flags: Immutable).WithRemark("RedKite's own: whether the dashboard is served by HTTPS, with the certificate, protocols and suites of `tls-*`; clients need no certificate there"),
        Special("admin-bind", "127.0.0.1 -::1", SettingParsers.BindAddresses, s => string.Join(' ', s.AdminBind), (s, v) => s.AdminBind = SettingParsers.SplitWords(v), flags: MultipleArguments | Immutable, toLines: SettingParsers.BindLines).WithRemark("RedKite's own: the addresses of the dashboard; addresses other than loopback need `requirepass`, or other users with `default` off"),
        Special("admin-trusted-proxies", "", SettingParsers.Networks, s => string.Join(' ', s.AdminTrustedProxies), (s, v) => s.AdminTrustedProxies = SettingParsers.SplitWords(v), flags: MultipleArguments | Immutable, toLines: SettingParsers.BindLines).WithRemark("RedKite's own: the addresses and networks (10.0.0.0/8) of proxies in front of the dashboard; their X-Forwarded-For and X-Forwarded-Proto give the user's address and scheme"),
        FilePath("metrics-history-file", "", s => s.MetricsHistoryPath, (s, v) => s.MetricsHistoryPath = v, Immutable).WithRemark("RedKite's own: the file that keeps the history of metrics, commands and event loops across restarts; empty: it is not kept"),
        Choice("log-format", ["text", "json"], "text", s => s.LogsJson ? 1 : 0, (s, v) => s.LogsJson = v == 1).WithRemark("RedKite's own: `text` writes log lines as Redis does, `json` writes one object per line with time, level, pid and message"),
        FilePath("debug-package-dir", "", s => s.DebugPackageDirectoryPath, (s, v) => s.DebugPackageDirectoryPath = v, Protected).WithRemark("RedKite's own: the folder for debug packages that are written when a finding becomes critical; empty: none"),
        Integer("debug-packages-per-day", 0, 1000, 3, s => s.DebugPackagesPerDay, (s, v) => s.DebugPackagesPerDay = (int)v).WithRemark("RedKite's own: how many debug packages may be written automatically within 24 hours"),
        Memory("debug-packages-max-bytes", 0, LongMax, 100 * Megabyte, s => s.DebugPackagesBytesMax, (s, v) => s.DebugPackagesBytesMax = v).WithRemark("RedKite's own: the size of all packages in `debug-package-dir`; the oldest are deleted first"),
        Text("otlp-endpoint", "", s => s.OtlpEndpoint, (s, v) => s.OtlpEndpoint = v, flags: Immutable).WithRemark("RedKite's own: the address of an OpenTelemetry collector (http://host:4318) to which the program sends metrics and spans by OTLP over HTTP; empty: none"),
        Integer("otlp-interval-seconds", 1, 3600, 10, s => s.OtlpIntervalSeconds, (s, v) => s.OtlpIntervalSeconds = (int)v, flags: Immutable).WithRemark("RedKite's own: how often metrics are sent to `otlp-endpoint`"),
        Flag("defrag-under-maxmemory", true, s => s.LimitDefragmentation, (s, v) => s.LimitDefragmentation = v).WithRemark("RedKite's own: whether active defragmentation runs, with maxmemory, when free space between blocks exceeds a 64th of it: [memory.md](../memory.md)"),
        Integer("max-transaction-commands", 1, int.MaxValue, 1000000, s => s.TransactionCommandsMax, (s, v) => s.TransactionCommandsMax = (int)v).WithRemark("RedKite's own: how many commands a client may queue between MULTI and EXEC; their bytes are limited by client-query-buffer-limit"),
        Integer("max-watched-keys", 1, int.MaxValue, 100000, s => s.WatchedKeysMax, (s, v) => s.WatchedKeysMax = (int)v).WithRemark("RedKite's own: how many keys a client may watch"),
        Integer("max-request-arguments", 1024, int.MaxValue, 16_777_216, s => s.RequestArgumentsMax, (s, v) => s.RequestArgumentsMax = (int)v).WithRemark("RedKite's own: how many arguments a request may have; a client that sends more is closed"),
        Memory("max-client-state-bytes", Megabyte, LongMax, 256 * Megabyte, s => (ulong)s.ClientStateBytesMax, (s, v) => s.ClientStateBytesMax = (long)v).WithRemark("RedKite's own: the memory of the keys that one client watches, its subscriptions, the prefixes that it tracks, and its lists of fields (HIMPORT)"),
        Integer("max-blocked-keys", 1, int.MaxValue, 100000, s => s.BlockedKeysMax, (s, v) => s.BlockedKeysMax = (int)v).WithRemark("RedKite's own: how many keys one client may block on"),
        Integer("max-client-name-bytes", 64, int.MaxValue, 4096, s => s.ClientNameBytesMax, (s, v) => s.ClientNameBytesMax = (int)v).WithRemark("RedKite's own: the length of a client's name, and of the name and version of its library"),
        Memory("tracking-table-max-bytes", 0, LongMax, 1024 * Megabyte, s => (ulong)s.TrackedKeyBytesMax, (s, v) => s.TrackedKeyBytesMax = (long)v).WithRemark("RedKite's own: the memory that names of tracked keys may take; 0: no limit"),
        Integer("max-cached-scripts", 1, int.MaxValue, 100000, s => s.CachedScriptsMax, (s, v) => s.CachedScriptsMax = (int)v).WithRemark("RedKite's own: how many scripts SCRIPT LOAD may cache; of scripts that only EVAL has loaded, 500 are kept, as in Redis"),
        Memory("max-cached-script-bytes", 1024, LongMax, 64 * Megabyte, s => (ulong)s.CachedScriptBytesMax, (s, v) => s.CachedScriptBytesMax = (long)v).WithRemark("RedKite's own: the total length of all cached scripts"),
        Integer("max-functions", 1, int.MaxValue, 100000, s => s.FunctionsMax, (s, v) => s.FunctionsMax = (int)v).WithRemark("RedKite's own: how many functions all libraries together may have"),
        Memory("max-function-bytes", 1024, LongMax, 64 * Megabyte, s => (ulong)s.FunctionBytesMax, (s, v) => s.FunctionBytesMax = (long)v).WithRemark("RedKite's own: the total length of all libraries"),
        Integer("max-acl-users", 1, int.MaxValue, 100000, s => s.UsersMax, (s, v) => s.UsersMax = (int)v).WithRemark("RedKite's own: how many users ACL SETUSER may create; those of files are not counted"),
        Integer("max-acl-rules-per-user", 16, int.MaxValue, 10000, s => s.RulesPerUserMax, (s, v) => s.RulesPerUserMax = (int)v).WithRemark("RedKite's own: how many passwords, patterns and rules for commands ACL SETUSER may give a user"),
        Memory("max-acl-rule-bytes-per-user", 1024, LongMax, Megabyte, s => (ulong)s.RuleBytesPerUserMax, (s, v) => s.RuleBytesPerUserMax = (long)v).WithRemark("RedKite's own: the length of a user's name, patterns and rules for commands that ACL SETUSER may give it"),
        Integer("key-survey-cpu-percent", 0, 100, 1, s => s.KeySurveyCpuPercent, (s, v) => s.KeySurveyCpuPercent = (int)v).WithRemark("RedKite's own: the share of one core that the background survey of keys (BIGKEYS) takes; 0 switches it off"),
        Integer("shed-connections-per-second", 0, int.MaxValue, 0, s => s.ShedConnectionsPerSecond, (s, v) => s.ShedConnectionsPerSecond = (int)v).WithRemark("RedKite's own: how many clients may connect within a second; more are refused with an error; 0: no limit"),
        Memory("close-hogs-above", 0, LongMax, 0, s => s.CloseHogsAboveBytes, (s, v) => s.CloseHogsAboveBytes = v).WithRemark("RedKite's own: a client whose buffers hold more bytes than this for at least a second is closed; 0: no limit"),
        Integer("refuse-dangerous-commands", 0, long.MaxValue, 0, s => s.RefuseDangerousCommandsAboveKeys, (s, v) => s.RefuseDangerousCommandsAboveKeys = v).WithRemark("RedKite's own: KEYS, FLUSHDB and FLUSHALL are refused if there are more keys than this; 0: never"),
        Integer("return-memory-below", 0, 100, 10, s => s.ReturnMemoryBelowPercent, (s, v) => s.ReturnMemoryBelowPercent = (int)v).WithRemark("RedKite's own: while less than this percentage of the machine's or container's memory is available, unused memory that the process holds is returned to the system, at most once a minute; 0: never"),
        Integer("slow-background-work-above", 0, 100, 90, s => s.SlowBackgroundWorkAbovePercent, (s, v) => s.SlowBackgroundWorkAbovePercent = (int)v).WithRemark("RedKite's own: while an event loop is busier than this percentage, the background survey of keys takes a tenth of its share; 0: never"),
        Integer("max-subscriptions-per-client", 1, 100_000_000, 1_000_000, s => s.SubscriptionsPerClientMax, (s, v) => s.SubscriptionsPerClientMax = (int)v).WithRemark("RedKite's own: how many channels, sharded channels and patterns one client may subscribe to"),
        Integer("max-tracking-prefixes-per-client", 1, 1_000_000, 10_000, s => s.TrackingPrefixesPerClientMax, (s, v) => s.TrackingPrefixesPerClientMax = (int)v).WithRemark("RedKite's own: how many prefixes one client may track with CLIENT TRACKING"),
        Integer("commandlog-request-larger-than", -1, long.MaxValue, 1048576, s => s.LargeRequestBytes, (s, v) => s.LargeRequestBytes = v).WithRemark("as in Valkey: bytes from which a request is in COMMANDLOG; -1 logs none"),
        Integer("commandlog-reply-larger-than", -1, long.MaxValue, 1048576, s => s.LargeReplyBytes, (s, v) => s.LargeReplyBytes = v).WithRemark("as in Valkey: bytes from which a reply is in COMMANDLOG; -1 logs none"),
        Integer("commandlog-large-request-max-len", 0, long.MaxValue, 128, s => s.LargeRequestLogMaxLength, (s, v) => s.LargeRequestLogMaxLength = v).WithRemark("as in Valkey"),
        Integer("commandlog-large-reply-max-len", 0, long.MaxValue, 128, s => s.LargeReplyLogMaxLength, (s, v) => s.LargeReplyLogMaxLength = v).WithRemark("as in Valkey"),

        // Listening
        Special("bind", "127.0.0.1 -::1", SettingParsers.BindAddresses, s => string.Join(' ', s.Bind), (s, v) => s.Bind = SettingParsers.SplitWords(v), flags: MultipleArguments, toLines: SettingParsers.BindLines),
        Integer("port", 0, 65535, 6379, s => s.Port, (s, v) => s.Port = (int)v),
        FilePath("unixsocket", "", s => s.UnixSocketPath, (s, v) => s.UnixSocketPath = v, Immutable),
        Octal("unixsocketperm", s => s.UnixSocketMode, (s, v) => s.UnixSocketMode = v, Immutable),
        Flag("protected-mode", true, s => s.ProtectedMode, (s, v) => s.ProtectedMode = v),
        Integer("tcp-backlog", 0, int.MaxValue, 511, s => s.TcpBacklog, (s, v) => s.TcpBacklog = (int)v, flags: Immutable),
        Integer("tcp-keepalive", 0, int.MaxValue, 300, s => s.TcpKeepAliveSeconds, (s, v) => s.TcpKeepAliveSeconds = (int)v),
        Integer("socket-mark-id", 0, uint.MaxValue, 0, flags: Immutable).WithoutEffect("sockets are not marked"),
        Text("bind-source-addr", "", s => s.BindSourceAddress, (s, v) => s.BindSourceAddress = v),
        Integer("max-new-connections-per-cycle", 1, 1000, 10).WithoutEffect("a loop accepts a bounded number of connections per iteration"),
        Integer("max-new-tls-connections-per-cycle", 1, 1000, 1).WithoutEffect("handshakes are not part of a loop's iteration; `tls-handshakes-max` limits them"),

        // Clients
        Text("requirepass", "", s => s.RequirePass, (s, v) => s.RequirePass = v, flags: Sensitive, parse: SettingParsers.AnyBytes),
        Integer("failed-logins-per-minute", 0, 1_000_000, 0, s => s.FailedLoginsPerMinute, (s, v) => s.FailedLoginsPerMinute = (int)v).WithRemark("RedKite's own: how many logins from one address may fail within a minute before further ones are refused for the rest of it; 0: any number"),
        Integer("maxclients", 1, uint.MaxValue, 10000, s => s.MaxClients, (s, v) => s.MaxClients = v),
        Integer("timeout", 0, int.MaxValue, 0, s => s.TimeoutSeconds, (s, v) => s.TimeoutSeconds = (int)v),
        Memory("proto-max-bulk-len", Megabyte, LongMax, 512 * Megabyte, s => (ulong)s.ProtoMaxBulkLength, (s, v) => s.ProtoMaxBulkLength = (long)v),
        Memory("client-query-buffer-limit", Megabyte, LongMax, 1024 * Megabyte, s => (ulong)s.ClientQueryBufferLimit, (s, v) => s.ClientQueryBufferLimit = (long)v),
        Special("client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", SettingParsers.OutputBufferLimits, ReadLimits, WriteLimits, flags: MultipleArguments, toLines: SettingParsers.OutputBufferLimitLines).WithRemark("no client is of class `slave` yet"),
        MemoryOrPercent("maxmemory-clients", s => s.MaxMemoryClients, (s, v) => s.MaxMemoryClients = v).WithRemark("checked ten times a second; a client whose unfinished request alone exceeds it is closed at once"),
        Integer("tracking-table-max-keys", 0, long.MaxValue, 1000000, s => s.TrackedKeysMax, (s, v) => s.TrackedKeysMax = v),

        // The process
        FilePath("dir", ".", s => s.DirectoryPath, (s, v) => s.DirectoryPath = Path.GetFullPath(v), Protected, SettingParsers.ExistingDirectory, alwaysRewritten: true).WithRemark("where relative paths of other settings start; the process's working directory does not change"),
        Choice("loglevel", ["debug", "verbose", "notice", "warning", "nothing"], "notice", s => (int)s.LogLevel, (s, v) => s.LogLevel = (LogLevel)v),
        FilePath("logfile", "", s => s.LogFilePath, (s, v) => s.LogFilePath = v, Immutable).KeepingEmpty().WithRemark("in a host's process it is not written if the host receives the log itself (`RedKiteOptions.Log`); a line says so"),
        FilePath("pidfile", "", s => s.PidFilePath, (s, v) => s.PidFilePath = v, Immutable),
        Flag("hide-user-data-from-log", false).WithoutEffect("log lines and crash reports never contain keys, values or arguments"),
        Flag("syslog-enabled", false, flags: Immutable).WithoutEffect(NoSyslog),
        Text("syslog-ident", "redis", flags: Immutable).WithoutEffect(NoSyslog),
        Choice("syslog-facility", ["user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7"], "local0", flags: Immutable).WithoutEffect(NoSyslog),
        Flag("daemonize", false, flags: Immutable).WithoutEffect("the process stays in the foreground; run it under a service manager"),
        Choice("supervised", ["upstart", "systemd", "auto", "no"], "no", flags: Immutable).WithoutEffect("a service manager is notified whenever it asks for it (NOTIFY_SOCKET), as systemd does with Type=notify"),
        Flag("always-show-logo", false, flags: Immutable).WithoutEffect("there is no logo"),
        Flag("set-proc-title", true, flags: Immutable).WithoutEffect("the process keeps its title"),
        Text("proc-title-template", "{title} {listen-addr} {server-mode}", parse: SettingParsers.ProcessTitle).WithoutEffect("the process keeps its title"),
        Text("locale-collate", "", parse: SettingParsers.Locale).WithRemark("SORT ALPHA compares bytes; only locales that do the same are accepted"),
        Special("shutdown-on-sigint", "default", SettingParsers.ShutdownOnSignal, s => s.ShutdownOnInterrupt, (s, v) => s.ShutdownOnInterrupt = v, flags: MultipleArguments),
        Special("shutdown-on-sigterm", "default", SettingParsers.ShutdownOnSignal, s => s.ShutdownOnTerminate, (s, v) => s.ShutdownOnTerminate = v, flags: MultipleArguments),
        Integer("shutdown-timeout", 0, int.MaxValue, 10, s => s.ShutdownTimeoutSeconds, (s, v) => s.ShutdownTimeoutSeconds = (int)v).WithRemark("how many seconds a shutdown waits for replicas to have everything"),
        Flag("crash-log-enabled", true).WithoutEffect("a crash always leaves a report"),
        Flag("crash-memcheck-enabled", true).WithoutEffect("memory is not tested after a crash"),
        Flag("use-exit-on-panic", false, flags: Hidden).WithoutEffect("a bug ends the process with a crash report"),
        Integer("watchdog-period", 0, int.MaxValue, 0, flags: Hidden).WithoutEffect("there is no watchdog"),
        Text("ignore-warnings", "").WithoutEffect("RedKite has none of the start-up checks that it would silence"),
        Choice("oom-score-adj", ["no", "yes", "relative", "absolute"], "no", sameAs: ("relative", "yes")).WithoutEffect("the process does not change its own score; set it in the service manager"),
        Special("oom-score-adj-values", "0 200 800", SettingParsers.OutOfMemoryScores, flags: MultipleArguments).WithoutEffect("the process does not change its own score; set it in the service manager"),
        Flag("disable-thp", true, flags: Immutable).WithoutEffect("huge pages do not slow snapshots here, because nothing forks"),
        Text("server-cpulist", "", alias: "server_cpulist", flags: Immutable).WithoutEffect(NoPinning),
        Text("bio-cpulist", "", alias: "bio_cpulist", flags: Immutable).WithoutEffect(NoPinning),
        Text("aof-rewrite-cpulist", "", alias: "aof_rewrite_cpulist", flags: Immutable).WithoutEffect(NoChildren),
        Text("bgsave-cpulist", "", alias: "bgsave_cpulist", flags: Immutable).WithoutEffect(NoChildren),
        Integer("io-threads", 1, 128, 1, flags: Immutable).WithoutEffect("every event loop reads, executes and writes; loops sets their number"),
        Choice("enable-debug-command", Access, "no", s => (int)s.EnableDebugCommand, (s, v) => s.EnableDebugCommand = (ProtectedAccess)v, Immutable),
        Choice("enable-protected-configs", Access, "no", s => (int)s.EnableProtectedConfigs, (s, v) => s.EnableProtectedConfigs = (ProtectedAccess)v, Immutable),
        Choice("enable-module-command", Access, "no", s => (int)s.EnableModuleCommand, (s, v) => s.EnableModuleCommand = (ProtectedAccess)v, Immutable).WithRemark("which clients may use MODULE LOAD; it always fails, because there are no modules"),

        // The keyspace
        Integer("databases", 1, int.MaxValue, 16, s => s.Databases, (s, v) => s.Databases = (int)v, flags: Immutable),
        Integer("hz", 0, int.MaxValue, 10, s => s.Hz, (s, v) => s.Hz = (int)Math.Clamp(v, 1, 500)),
        Flag("dynamic-hz", true).WithoutEffect("the work of a timer tick does not grow with the number of clients"),
        Integer("active-expire-effort", 1, 10, 1, s => s.ActiveExpireEffort, (s, v) => s.ActiveExpireEffort = (int)v),
        Memory("maxmemory", 0, ulong.MaxValue, 0, s => s.MaxMemoryBytes, (s, v) => s.MaxMemoryBytes = v).WithRemark("the limit of `used_memory`, which includes the process itself: [memory.md](../memory.md)"),
        Choice("maxmemory-policy", ["volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction", "volatile-lrm", "allkeys-lrm"], "noeviction", s => (int)s.MaxMemoryPolicy, (s, v) => s.MaxMemoryPolicy = (MaxMemoryPolicy)v)
            .WithRemark("without maxmemory: OBJECT FREQ counts accesses under the LFU policies"),
        Integer("maxmemory-samples", 1, 64, 5, s => s.EvictionSamples, (s, v) => s.EvictionSamples = (int)v),
        Integer("maxmemory-eviction-tenacity", 0, 100, 10, s => s.EvictionTenacity, (s, v) => s.EvictionTenacity = (int)v),
        Integer("lfu-log-factor", 0, int.MaxValue, 10, s => s.LfuLogFactor, (s, v) => s.LfuLogFactor = (int)v),
        Integer("lfu-decay-time", 0, int.MaxValue, 1, s => s.LfuDecayMinutes, (s, v) => s.LfuDecayMinutes = (int)v),
        Flag("lazyexpire-nested-arbitrary-keys", true, s => s.LazyExpiryInUnits, (s, v) => s.LazyExpiryInUnits = v, flags: Hidden).WithRemark("as in Redis 8.6: whether SCAN and RANDOMKEY in a transaction or script remove the expired keys that they find"),
        Flag("lazyfree-lazy-eviction", false).WithoutEffect(AlwaysFreedLater),
        Flag("lazyfree-lazy-expire", false).WithoutEffect(AlwaysFreedLater),
        Flag("lazyfree-lazy-server-del", false).WithoutEffect(AlwaysFreedLater),
        Flag("lazyfree-lazy-user-del", false).WithoutEffect(AlwaysFreedLater),
        Flag("lazyfree-lazy-user-flush", false).WithoutEffect(AlwaysFreedLater),
        Text("notify-keyspace-events", "", s => SettingParsers.ShownKeyspaceEvents(s.KeyspaceEvents), (s, v) => s.KeyspaceEvents = v, flags: Reapplied, parse: SettingParsers.KeyspaceEvents).KeepingEmpty(),
        Flag("activerehashing", true).WithoutEffect("tables grow by one segment at a time, in the command that fills it"),
        Flag("activedefrag", false, s => s.ActiveDefragmentation, (s, v) => s.ActiveDefragmentation = v).WithRemark("whether active defragmentation runs when free space between blocks exceeds the thresholds; with maxmemory see also `defrag-under-maxmemory`"),
        Memory("active-defrag-ignore-bytes", 1, LongMax, 100 * Megabyte, s => s.DefragmentationIgnoredBytes, (s, v) => s.DefragmentationIgnoredBytes = v),
        Integer("active-defrag-threshold-lower", 0, 1000, 10, s => s.DefragmentationLowerPercent, (s, v) => s.DefragmentationLowerPercent = (int)v),
        Integer("active-defrag-threshold-upper", 0, 1000, 100, s => s.DefragmentationUpperPercent, (s, v) => s.DefragmentationUpperPercent = (int)v),
        Integer("active-defrag-cycle-min", 1, 99, 1, s => s.DefragmentationCpuPercentMin, (s, v) => s.DefragmentationCpuPercentMin = (int)v).WithRemark("the share of each event loop's time"),
        Integer("active-defrag-cycle-max", 1, 99, 25, s => s.DefragmentationCpuPercentMax, (s, v) => s.DefragmentationCpuPercentMax = (int)v).WithRemark("the share of each event loop's time"),
        Integer("active-defrag-max-scan-fields", 1, long.MaxValue, 1000).WithoutEffect("values of any size are defragmented in slices of the same length"),
        Flag("jemalloc-bg-thread", true).WithoutEffect("memory comes from RedKite's own arenas"),

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
        Integer("stream-idmp-duration", 1, StreamProducers.DurationSecondsMax, 100, s => s.StreamIdmpDurationSeconds, (s, v) => s.StreamIdmpDurationSeconds = (int)v).WithRemark("as in Redis 8.6: for how many seconds a stream remembers an id that XADD IDMP or IDMPAUTO has used, from the stream's first one on"),
        Integer("stream-idmp-maxsize", 1, StreamProducers.IdsPerProducerMax, 100, s => s.StreamIdmpMaxSize, (s, v) => s.StreamIdmpMaxSize = (int)v).WithRemark("as in Redis 8.6: how many of these ids of each producer a stream remembers"),

        // Diagnostics
        Integer("slowlog-log-slower-than", -1, long.MaxValue, 10000, s => s.SlowLogSlowerThanMicroseconds, (s, v) => s.SlowLogSlowerThanMicroseconds = v),
        Integer("slowlog-entry-max-argc", 2, int.MaxValue, 32, s => s.SlowLogEntryArgumentsMax, (s, v) => s.SlowLogEntryArgumentsMax = (int)v).WithRemark("as in Redis 8.8: how many arguments an entry of the slow log and of COMMANDLOG has"),
        Integer("slowlog-entry-max-string-len", 1, int.MaxValue, 128, s => s.SlowLogEntryBytesMax, (s, v) => s.SlowLogEntryBytesMax = (int)v).WithRemark("as in Redis 8.8: how many bytes of an argument an entry of the slow log and of COMMANDLOG has"),
        Integer("slowlog-max-len", 0, long.MaxValue, 128, s => s.SlowLogMaxLength, (s, v) => s.SlowLogMaxLength = v),
        Flag("latency-tracking", true, s => s.LatencyTracking, (s, v) => s.LatencyTracking = v),
        Special("latency-tracking-info-percentiles", "50 99 99.9", SettingParsers.Percentiles, ReadPercentiles, WritePercentiles, flags: MultipleArguments, toLines: SettingParsers.PercentileLines, alwaysRewritten: true),
        Integer("latency-monitor-threshold", 0, long.MaxValue, 0, s => s.LatencyMonitorThresholdMs, (s, v) => s.LatencyMonitorThresholdMs = v),
        Integer("busy-reply-threshold", 0, long.MaxValue, 5000, s => s.BusyReplyThresholdMs, (s, v) => s.BusyReplyThresholdMs = v, alias: "lua-time-limit"),
        Memory("script-memory-limit", 16 * Megabyte, LongMax, 512 * Megabyte, s => (ulong)s.ScriptMemoryBytesMax, (s, v) => s.ScriptMemoryBytesMax = (long)v).WithRemark("RedKite's own: the memory of the interpreter of EVAL, and of that of FCALL; a script that needs more ends with an error"),
        Flag("key-memory-histograms", false, s => s.KeyMemoryHistograms, (s, v) => s.KeyMemoryHistograms = v).WithRemark("as in Redis 8.6: whether INFO keysizes also has the number of lists, sets, sorted sets and hashes by their memory in bytes; they are counted when INFO is called"),
        Flag("lua-enable-deprecated-api", false, flags: Immutable | Hidden).WithoutEffect("the deprecated API is never available"),

        // Sketches
        Fraction("bf-error-rate", "0.01", s => s.BloomErrorRate, (s, v) => s.BloomErrorRate = v),
        Range("bf-initial-size", 1, 1 << 20, 100, s => s.BloomInitialSize, (s, v) => s.BloomInitialSize = v),
        Range("bf-expansion-factor", 0, 32768, 2, s => s.BloomExpansionFactor, (s, v) => s.BloomExpansionFactor = v),
        Range("cf-initial-size", 2, 1 << 20, 1024, s => s.CuckooInitialSize, (s, v) => s.CuckooInitialSize = v),
        Range("cf-bucket-size", 1, 255, 2, s => s.CuckooBucketSize, (s, v) => s.CuckooBucketSize = v),
        Range("cf-max-iterations", 1, 65535, 20, s => s.CuckooMaxIterations, (s, v) => s.CuckooMaxIterations = v),
        Range("cf-expansion-factor", 0, 32768, 1, s => s.CuckooExpansionFactor, (s, v) => s.CuckooExpansionFactor = v),
        Range("cf-max-expansions", 1, 65536, 32, s => s.CuckooMaxExpansions, (s, v) => s.CuckooMaxExpansions = v),

        // Time series
        Integer("ts-retention-policy", 0, long.MaxValue, 0, s => s.SeriesRetentionMs, (s, v) => s.SeriesRetentionMs = v).WithRemark(OfSeries),
        Special("ts-chunk-size-bytes", "4096", SettingParsers.ChunkSize, s => s.SeriesChunkBytes.ToString(CultureInfo.InvariantCulture), (s, v) => s.SeriesChunkBytes = int.Parse(v, CultureInfo.InvariantCulture)).WithRemark(OfSeries),
        Choice("ts-duplicate-policy", ["block", "first", "last", "min", "max", "sum"], "block", s => s.SeriesDuplicatePolicy, (s, v) => s.SeriesDuplicatePolicy = v).WithRemark(OfSeries),
        Integer("ts-ignore-max-time-diff", 0, long.MaxValue, 0, s => s.SeriesIgnoredTimeMs, (s, v) => s.SeriesIgnoredTimeMs = v).WithRemark(OfSeries),
        Special("ts-ignore-max-val-diff", "0.000000", SettingParsers.NonNegative, s => SettingParsers.ShownDecimals(s.SeriesIgnoredValue), (s, v) => s.SeriesIgnoredValue = double.Parse(v, CultureInfo.InvariantCulture)).WithRemark(OfSeries),
        Text("ts-compaction-policy", "", s => s.SeriesCompactions.Text, (s, v) => s.SeriesCompactions = SettingParsers.CompactionsOf(v), parse: SettingParsers.Compactions).WithRemark("as in Redis 8: rules `aggregator:bucket:retention[:align]`, separated by semicolons, of a series that TS.ADD, TS.INCRBY or TS.DECRBY creates: [time-series.md](../time-series.md)"),
        Choice("ts-encoding", ["compressed", "uncompressed"], "compressed", s => s.SeriesCompactionsUncompressed ? 1 : 0, (s, v) => s.SeriesCompactionsUncompressed = v == 1).WithRemark("as in Redis 8: how the series that `ts-compaction-policy` creates are stored"),
        Integer("ts-num-threads", 1, 16, 3, flags: Immutable).WithRemark("as in Redis 8").WithoutEffect("a query of several series is executed by the thread of its client"),

        // Snapshots
        Special("save", "", SettingParsers.SavePoints, ReadSavePoints, WriteSavePoints, flags: MultipleArguments | Accumulates, toLines: SettingParsers.SavePointLines, alwaysRewritten: true),
        Text("dbfilename", "dump.rdb", s => s.DumpFileName, (s, v) => s.DumpFileName = v, flags: Protected, parse: SettingParsers.DumpFileName),
        Flag("rdbcompression", true, s => s.RdbCompression, (s, v) => s.RdbCompression = v),
        Flag("rdbchecksum", true, s => s.RdbChecksum, (s, v) => s.RdbChecksum = v, flags: Immutable),
        Flag("rdb-del-sync-files", false).WithoutEffect("the file that a full synchronization is received in never stays"),
        Flag("rdb-save-incremental-fsync", true, s => s.RdbSaveIncrementalFsync, (s, v) => s.RdbSaveIncrementalFsync = v),
        Flag("stop-writes-on-bgsave-error", true, s => s.StopWritesOnBgsaveError, (s, v) => s.StopWritesOnBgsaveError = v),
        Choice("sanitize-dump-payload", ["no", "yes", "clients"], "no", s => (int)s.SanitizeDumpPayload, (s, v) => s.SanitizeDumpPayload = (SanitizeDumpPayload)v).WithRemark("payloads and files are always checked completely; with `yes`, one is refused whose counts, order or largest ids contradict its elements, with `clients` only what a client restores; otherwise these are determined anew"),
        Integer("rdb-key-save-delay", int.MinValue, int.MaxValue, 0, flags: Hidden).WithoutEffect(NoDelays),
        Integer("key-load-delay", int.MinValue, int.MaxValue, 0, flags: Hidden).WithoutEffect(NoDelays),
        Integer("loading-process-events-interval-bytes", 1024, int.MaxValue, 524288, flags: Hidden).WithoutEffect("loops serve clients while other threads load"),

        // The append log
        Flag("appendonly", false, s => s.AppendOnly, (s, v) => s.AppendOnly = v, flags: NotWhileLoading),
        Choice("appendfsync", ["everysec", "always", "no"], "everysec", s => (int)s.AppendFsync, (s, v) => s.AppendFsync = (FsyncPolicy)v),
        Text("appendfilename", "appendonly.aof", s => s.AppendFileName, (s, v) => s.AppendFileName = v, flags: Immutable, parse: SettingParsers.AppendFileName),
        Text("backupdirname", "backupdir", s => s.BackupDirectoryName, (s, v) => s.BackupDirectoryName = v, flags: Immutable, parse: SettingParsers.BackupDirectoryName).WithRemark("as in Redis 8.10: the folder within `dir` in which BACKUP START writes"),
        Integer("backup-sealed-ttl", 0, int.MaxValue, 0, s => s.BackupSealedTtlSeconds, (s, v) => s.BackupSealedTtlSeconds = (int)v).WithRemark("as in Redis 8.10: after how many seconds a sealed backup is removed; 0: never"),
        Text("preload-file", "", flags: Immutable).WithRemark("as in Redis 8.10").RefusedUnlessDefault("the server would begin without that data; copy the files of a backup into the folder `appenddirname` instead"),
        Text("appenddirname", "appendonlydir", s => s.AppendDirectoryName, (s, v) => s.AppendDirectoryName = v, flags: Immutable, parse: SettingParsers.AppendDirectoryName),
        Flag("aof-load-truncated", true, s => s.AofLoadTruncated, (s, v) => s.AofLoadTruncated = v),
        Flag("aof-use-rdb-preamble", true, s => s.AofUseRdbPreamble, (s, v) => s.AofUseRdbPreamble = v),
        Flag("aof-timestamp-enabled", false, s => s.AofTimestampEnabled, (s, v) => s.AofTimestampEnabled = v),
        Integer("lookahead", 1, int.MaxValue, 16).WithRemark("as in Redis 8.4").WithoutEffect("up to 64 pipelined commands of a client are read and prefetched together"),
        Memory("aof-load-corrupt-tail-max-size", 0, LongMax, 0).WithRemark("as in Redis 8.4").WithoutEffect("a file that is damaged at its end does not load; `redkite check --fix` says where and cuts it"),
        Integer("prefetch-batch-max-size", 0, 128, 16, flags: Hidden).WithRemark("as in Redis 8.6").WithoutEffect("up to 64 pipelined commands of a client are read and prefetched together"),
        Integer("hash-min-template-entries", 0, long.MaxValue, 0).WithRemark(Templates).WithoutEffect(NoTemplates),
        Integer("hash-max-template-entries", 0, long.MaxValue, 0).WithRemark(Templates).WithoutEffect(NoTemplates),
        Integer("hash-rdb-load-min-template-entries", 0, long.MaxValue, 0).WithRemark(Templates).WithoutEffect(NoTemplates),
        Integer("hash-rdb-load-max-template-entries", 0, long.MaxValue, 0).WithRemark(Templates).WithoutEffect(NoTemplates),
        Integer("hash-rdb-load-template-disassembly-threshold", 0, long.MaxValue, 0).WithRemark(Templates).WithoutEffect(NoTemplates),
        Integer("array-slice-size", 1, int.MaxValue, 4096).WithRemark(ArrayForms).WithoutEffect(OneForm),
        Integer("array-sparse-kmax", 0, int.MaxValue, 10).WithRemark(ArrayForms).WithoutEffect(OneForm),
        Integer("array-sparse-kmin", 0, int.MaxValue, 5).WithRemark(ArrayForms).WithoutEffect(OneForm),
        Flag("vset-force-single-threaded-execution", false).WithRemark("as in Redis 8.6").WithoutEffect("a search has no thread of its own: its client's event loop executes it, in slices"),
        Flag("bitmap-default-roaring", false).WithRemark("as in Redis 8.12").WithoutEffect("bitmaps are strings; bitmaps of Redis 8.12 do not load"),
        Choice("tls-auth-clients-user", ["off", "CN"], "off").WithRemark("as in Redis 8.6").RefusedUnlessDefault("certificates do not name users, so clients would have the rights of the user default"),
        Flag("aof-disable-auto-gc", false, flags: Hidden).WithoutEffect("files that a rewrite replaced are always deleted"),
        Flag("aof-rewrite-incremental-fsync", true, s => s.AofRewriteIncrementalFsync, (s, v) => s.AofRewriteIncrementalFsync = v),
        Flag("no-appendfsync-on-rewrite", false, s => s.NoAppendFsyncOnRewrite, (s, v) => s.NoAppendFsyncOnRewrite = v),
        Integer("auto-aof-rewrite-percentage", 0, int.MaxValue, 100, s => s.AutoAofRewritePercentage, (s, v) => s.AutoAofRewritePercentage = (int)v),
        Memory("auto-aof-rewrite-min-size", 0, LongMax, 64 * Megabyte, s => s.AutoAofRewriteMinBytes, (s, v) => s.AutoAofRewriteMinBytes = v),

        // Access control
        FilePath("aclfile", "", s => s.AclFilePath, (s, v) => s.AclFilePath = v, Immutable).KeepingEmpty().WithRemark("the users; a relative path starts at `dir`"),
        Choice("acl-pubsub-default", ["allchannels", "resetchannels"], "resetchannels", s => s.AclAllowsChannelsByDefault ? 0 : 1, (s, v) => s.AclAllowsChannelsByDefault = v == 0),
        Integer("acllog-max-len", 0, long.MaxValue, 128, s => s.AclLogMaxLength, (s, v) => s.AclLogMaxLength = v),

        // Replication
        Special("replicaof", "", SettingParsers.ReplicaOf, s => s.ClusterEnabled ? "" : s.ReplicaOf, (s, v) => s.ReplicaOf = v, alias: "slaveof", flags: Immutable | MultipleArguments, toLines: SettingParsers.ReplicaOfLines),
        Text("masterauth", "", s => s.MasterAuth, (s, v) => s.MasterAuth = v, flags: Sensitive, parse: SettingParsers.AnyBytes),
        Text("masteruser", "", s => s.MasterUser, (s, v) => s.MasterUser = v, flags: Sensitive),
        Flag("replica-serve-stale-data", true, s => s.ReplicaServeStaleData, (s, v) => s.ReplicaServeStaleData = v, alias: "slave-serve-stale-data"),
        Flag("replica-read-only", true, s => s.ReplicaReadOnly, (s, v) => s.ReplicaReadOnly = v, alias: "slave-read-only"),
        Flag("replica-lazy-flush", false, alias: "slave-lazy-flush").WithoutEffect(AlwaysFreedLater),
        Flag("replica-ignore-maxmemory", true, s => s.ReplicaIgnoreMaxMemory, (s, v) => s.ReplicaIgnoreMaxMemory = v, alias: "slave-ignore-maxmemory"),
        Flag("replica-ignore-disk-write-errors", false, s => s.ReplicaIgnoreDiskWriteErrors, (s, v) => s.ReplicaIgnoreDiskWriteErrors = v).WithRemark("without it, a replica that cannot write its log stops applying the stream until it can; Redis ends its process"),
        Flag("replica-announced", true, s => s.ReplicaAnnounced, (s, v) => s.ReplicaAnnounced = v),
        Text("replica-announce-ip", "", s => s.ReplicaAnnounceIp, (s, v) => s.ReplicaAnnounceIp = v, alias: "slave-announce-ip"),
        Integer("replica-announce-port", 0, 65535, 0, s => s.ReplicaAnnouncePort, (s, v) => s.ReplicaAnnouncePort = (int)v, alias: "slave-announce-port"),
        Integer("replica-priority", 0, int.MaxValue, 100, s => s.ReplicaPriority, (s, v) => s.ReplicaPriority = (int)v, alias: "slave-priority"),
        Memory("replica-full-sync-buffer-limit", 0, LongMax, 0, s => s.ReplicaSyncBufferBytes, (s, v) => s.ReplicaSyncBufferBytes = v),
        Choice("propagation-error-behavior", ["ignore", "panic", "panic-on-replicas"], "ignore").WithoutEffect("an error of the primary's stream is logged as critical, and the replica goes on"),
        Flag("repl-diskless-sync", true).WithoutEffect("a full synchronization never needs a file here"),
        Integer("repl-diskless-sync-delay", 0, int.MaxValue, 5, s => s.ReplicaSyncDelaySeconds, (s, v) => s.ReplicaSyncDelaySeconds = (int)v),
        Integer("repl-diskless-sync-max-replicas", 0, int.MaxValue, 0, s => s.ReplicaSyncsMax, (s, v) => s.ReplicaSyncsMax = (int)v),
        Choice("repl-diskless-load", ["disabled", "on-empty-db", "swapdb"], "disabled", s => (int)s.ReplicaLoad, (s, v) => s.ReplicaLoad = (ReplicaLoad)v, NotWhileLoading, further: "flush-before-load").WithRemark("whether a replica loads all data while it arrives, without a file: if it has none, beside the old data, or in its place (as in Valkey)"),
        Flag("repl-rdb-channel", true, s => s.ReplicaRdbChannel, (s, v) => s.ReplicaRdbChannel = v, flags: Hidden),
        Flag("repl-disable-tcp-nodelay", false, s => s.ReplicaTcpDelay, (s, v) => s.ReplicaTcpDelay = v),
        Integer("repl-ping-replica-period", 1, int.MaxValue, 10, s => s.ReplicaPingSeconds, (s, v) => s.ReplicaPingSeconds = (int)v, alias: "repl-ping-slave-period"),
        Integer("repl-timeout", 1, int.MaxValue, 60, s => s.ReplicationTimeoutSeconds, (s, v) => s.ReplicationTimeoutSeconds = (int)v),
        Memory("repl-backlog-size", 1, LongMax, Megabyte, s => s.ReplicationBacklogBytes, (s, v) => s.ReplicationBacklogBytes = v, raisedTo: 16384),
        Integer("repl-backlog-ttl", 0, long.MaxValue, 3600, s => s.BacklogSeconds, (s, v) => s.BacklogSeconds = v),
        Integer("min-replicas-to-write", 0, int.MaxValue, 0, s => s.ReplicasToWriteMin, (s, v) => s.ReplicasToWriteMin = (int)v, alias: "min-slaves-to-write"),
        Integer("min-replicas-max-lag", 0, int.MaxValue, 10, s => s.ReplicaLagSecondsMax, (s, v) => s.ReplicaLagSecondsMax = (int)v, alias: "min-slaves-max-lag"),
        Integer("replica-acks", 0, 64, 0, s => s.ReplicaAcks, (s, v) => s.ReplicaAcks = (int)v).WithRemark("RedKite's own: the reply to a command that wrote leaves when so many replicas have acknowledged what it wrote; 0: at once"),
        Integer("replica-acks-timeout", 0, int.MaxValue, 10_000, s => s.ReplicaAcksTimeoutMs, (s, v) => s.ReplicaAcksTimeoutMs = (int)v).WithRemark("RedKite's own: after how many milliseconds without these acknowledgements the reply is the error `NOREPLICAS`: the write was executed, and a failover may lose it; 0: it waits without end"),

        // Cluster
        Flag("cluster-enabled", false, s => s.ClusterEnabled, (s, v) => s.ClusterEnabled = v, flags: Immutable).WithRemark("the server is a node of a cluster whose topology is given to it: [cluster.md](../cluster.md); there are 64 `stripes` then, or 1"),
        Special("cluster-slot-stats-enabled", "no", SettingParsers.KeptSlotStatistics, s => SettingParsers.ShownSlotStatistics(s.SlotStatistics), (s, v) => s.SlotStatistics = SettingParsers.SlotStatisticsOf(v), flags: MultipleArguments).WithRemark("as in Redis 8.6: which statistics CLUSTER SLOT-STATS has beside the number of keys, any of `cpu`, `net` and `mem`, or `yes` for all"),
        Integer("cluster-databases", 1, int.MaxValue, 1, s => s.ClusterDatabases, (s, v) => s.ClusterDatabases = (int)v, flags: Immutable).WithRemark("as in Valkey 9: how many databases a node of a cluster has"),
        FilePath("cluster-config-file", "nodes.conf", s => s.ClusterConfigFile, (s, v) => s.ClusterConfigFile = v, Immutable).WithRemark("the file in `dir` that keeps the topology, in a format of RedKite's own"),
        Integer("cluster-node-timeout", 0, long.MaxValue, 15000).WithoutEffect(NoBus),
        Integer("cluster-ping-interval", 0, long.MaxValue, 0, flags: Hidden).WithoutEffect(NoBus),
        Integer("cluster-port", 0, 65535, 0, s => s.ClusterPort, (s, v) => s.ClusterPort = (int)v, flags: Immutable).WithRemark("announced alone, because clients show it: no node listens on it"),
        Integer("cluster-move-pause-ms", 1, 600_000, 1000, s => s.ClusterMovePauseMs, (s, v) => s.ClusterMovePauseMs = (int)v).WithRemark("RedKite's own: how long commands that write wait at most while slots get another owner; if that does not do, they go on, and it is tried again a few times"),
        Text("cluster-announce-ip", "", s => s.ClusterAnnounceIp, (s, v) => s.ClusterAnnounceIp = v, parse: SettingParsers.NodeAddress),
        Text("cluster-announce-hostname", "", s => s.ClusterAnnounceHostName, (s, v) => s.ClusterAnnounceHostName = v, parse: SettingParsers.HostName),
        Text("cluster-announce-human-nodename", "", s => s.ClusterAnnounceNodeName, (s, v) => s.ClusterAnnounceNodeName = v, parse: SettingParsers.NodeName),
        Integer("cluster-announce-port", 0, 65535, 0, s => s.ClusterAnnouncePort, (s, v) => s.ClusterAnnouncePort = (int)v),
        Integer("cluster-announce-tls-port", 0, 65535, 0, s => s.ClusterAnnounceTlsPort, (s, v) => s.ClusterAnnounceTlsPort = (int)v),
        Integer("cluster-announce-bus-port", 0, 65535, 0, s => s.ClusterAnnounceBusPort, (s, v) => s.ClusterAnnounceBusPort = (int)v),
        Memory("cluster-slot-migration-handoff-max-lag-bytes", 0, LongMax, Megabyte).WithRemark("as in Redis 8.4").WithoutEffect(OwnMoves),
        Integer("cluster-slot-migration-write-pause-timeout", 0, long.MaxValue, 10_000).WithRemark("as in Redis 8.4").WithoutEffect(OwnMoves),
        Integer("cluster-slot-migration-sync-buffer-drain-timeout", 0, long.MaxValue, 60_000, flags: Hidden).WithRemark("as in Redis 8.4").WithoutEffect(OwnMoves),
        Integer("cluster-slot-migration-max-archived-tasks", 1, int.MaxValue, 32, flags: Hidden).WithRemark("as in Redis 8.4").WithoutEffect(OwnMoves),
        Integer("cluster-slot-migration-log-max-len", 0, long.MaxValue, 1000).WithRemark("as in Valkey 9").WithoutEffect(OwnMoves),
        Integer("cluster-blacklist-ttl", 0, long.MaxValue, 60).WithRemark("as in Valkey 9").WithoutEffect(NoBus),
        Integer("cluster-manual-failover-timeout", 1, int.MaxValue, 5000).WithRemark("as in Valkey 9").WithoutEffect("a handover of the role has limits of its own"),
        Choice("cluster-config-save-behavior", ["sync", "best-effort"], "sync").WithRemark("as in Valkey 9").WithoutEffect("the topology is always written and synced before a change is answered"),
        Text("cluster-announce-client-ipv4", "").WithRemark("as in Valkey 9").WithoutEffect(OneAddress),
        Text("cluster-announce-client-ipv6", "").WithRemark("as in Valkey 9").WithoutEffect(OneAddress),
        Integer("cluster-announce-client-port", 0, 65535, 0).WithRemark("as in Valkey 9").WithoutEffect(OneAddress),
        Integer("cluster-announce-client-tls-port", 0, 65535, 0).WithRemark("as in Valkey 9").WithoutEffect(OneAddress),
        Integer("cluster-compatibility-sample-ratio", 0, 100, 0).WithoutEffect("commands are not checked for cluster compatibility"),
        Choice("cluster-preferred-endpoint-type", ["ip", "hostname", "unknown-endpoint"], "ip", s => (int)s.ClusterEndpointType, (s, v) => s.ClusterEndpointType = (ClusterEndpointType)v),
        Flag("cluster-require-full-coverage", true, s => s.ClusterRequiresFullCoverage, (s, v) => s.ClusterRequiresFullCoverage = v),
        Flag("cluster-replica-no-failover", false, s => s.ClusterReplicaNoFailover, (s, v) => s.ClusterReplicaNoFailover = v, alias: "cluster-slave-no-failover").WithRemark("with `cluster-etcd`: a controller never makes this node a primary"),
        Integer("cluster-replica-validity-factor", 0, int.MaxValue, 10, alias: "cluster-slave-validity-factor").WithoutEffect(NoVotes),
        Integer("cluster-migration-barrier", 0, int.MaxValue, 1).WithoutEffect(NoVotes),
        Flag("cluster-allow-replica-migration", true).WithoutEffect(NoVotes),
        Flag("cluster-allow-reads-when-down", false, s => s.ClusterAllowsReadsWhenDown, (s, v) => s.ClusterAllowsReadsWhenDown = v),
        Flag("cluster-allow-pubsubshard-when-down", true, s => s.ClusterAllowsShardMessagesWhenDown, (s, v) => s.ClusterAllowsShardMessagesWhenDown = v),
        Integer("cluster-lease-ms", 1000, 600_000, 10_000, s => s.ClusterLeaseMs, (s, v) => s.ClusterLeaseMs = (int)v, flags: Immutable).WithRemark("RedKite's own: with `cluster-etcd`, how long a node serves without having reached it, and so how long its slots are without a primary when it dies; etcd counts whole seconds"),
        Flag("cluster-auto-join", true, s => s.ClusterAutoJoin, (s, v) => s.ClusterAutoJoin = v).WithRemark("RedKite's own: with `cluster-etcd`, the controller of this node makes new nodes replicas, when all slots have owners"),
        Flag("cluster-controller", true, s => s.ClusterController, (s, v) => s.ClusterController = v, flags: Immutable).WithRemark("RedKite's own: with `cluster-etcd`, this node may be the one that sees to the others"),
        Text("cluster-announce-zone", "", s => s.ClusterAnnounceZone, (s, v) => s.ClusterAnnounceZone = v, parse: SettingParsers.NodeName).WithRemark("RedKite's own: where the node is, for the choice of replicas: one in another zone comes first"),
        Memory("cluster-link-sendbuf-limit", 0, ulong.MaxValue, 0).WithoutEffect(NoBus),
        Text("cluster-etcd", "", s => s.ClusterEtcd, (s, v) => s.ClusterEtcd = v, flags: Immutable, parse: SettingParsers.EtcdAddresses).WithRemark("RedKite's own: the members of etcd in which the cluster keeps its topology, as URLs with commas between them (`https://a:2379,https://b:2379`); empty: none").Refused("unless cluster-enabled is yes", s => s.ClusterEtcd.Length > 0 && !s.ClusterEnabled, "only a node of a cluster has its topology there; it needs cluster-enabled yes"),
        Text("cluster-etcd-prefix", "/redkite/", s => s.ClusterEtcdPrefix, (s, v) => s.ClusterEtcdPrefix = v, flags: Immutable, parse: SettingParsers.EtcdPrefix).WithRemark("RedKite's own: what the cluster's keys in etcd begin with; clusters of one etcd need different ones"),
        Text("cluster-etcd-user", "", s => s.ClusterEtcdUser, (s, v) => s.ClusterEtcdUser = v, flags: Immutable).WithRemark("RedKite's own: a user of etcd who may read and write these keys; empty: none"),
        Text("cluster-etcd-password", "", s => s.ClusterEtcdPassword, (s, v) => s.ClusterEtcdPassword = v, flags: Immutable | Sensitive, parse: SettingParsers.AnyBytes).WithRemark("RedKite's own: the password of `cluster-etcd-user`").Refused("without cluster-etcd-user", s => s.ClusterEtcdPassword.Length > 0 && s.ClusterEtcdUser.Length == 0, "it would not be sent: it needs cluster-etcd-user"),
        Text("cluster-etcd-ca-file", "", s => s.ClusterEtcdCaFile, (s, v) => s.ClusterEtcdCaFile = v, flags: Immutable).WithRemark("RedKite's own: a file of the authorities that have issued the certificates of etcd, as PEM; a relative path starts at `dir`; empty: those of the system"),
        Text("cluster-etcd-cert-file", "", s => s.ClusterEtcdCertFile, (s, v) => s.ClusterEtcdCertFile = v, flags: Immutable).WithRemark("RedKite's own: the certificate that etcd is shown, as PEM; empty: none"),
        Text("cluster-etcd-key-file", "", s => s.ClusterEtcdKeyFile, (s, v) => s.ClusterEtcdKeyFile = v, flags: Immutable).WithRemark("RedKite's own: its key, as PEM; empty: it is in `cluster-etcd-cert-file`").Refused("without cluster-etcd-cert-file", s => s.ClusterEtcdKeyFile.Length > 0 && s.ClusterEtcdCertFile.Length == 0, "a key without a certificate is not used; it needs cluster-etcd-cert-file"),

        // TLS
        Integer("tls-port", 0, 65535, 0, s => s.TlsPort, (s, v) => s.TlsPort = (int)v),
        Text("tls-cert-file", "", s => s.TlsCertFile, (s, v) => s.TlsCertFile = v, flags: Reapplied),
        Text("tls-key-file", "", s => s.TlsKeyFile, (s, v) => s.TlsKeyFile = v, flags: Reapplied),
        Text("tls-key-file-pass", "", s => s.TlsKeyFilePass, (s, v) => s.TlsKeyFilePass = v, flags: Sensitive | Reapplied),
        Text("tls-client-cert-file", "", s => s.TlsClientCertFile, (s, v) => s.TlsClientCertFile = v),
        Text("tls-client-key-file", "", s => s.TlsClientKeyFile, (s, v) => s.TlsClientKeyFile = v),
        Text("tls-client-key-file-pass", "", s => s.TlsClientKeyFilePass, (s, v) => s.TlsClientKeyFilePass = v, flags: Sensitive),
        Text("tls-dh-params-file", "").WithoutEffect("the system's TLS library chooses the parameters"),
        Text("tls-ca-cert-file", "", s => s.TlsCaCertFile, (s, v) => s.TlsCaCertFile = v, flags: Reapplied),
        Text("tls-ca-cert-dir", "", s => s.TlsCaCertDirectory, (s, v) => s.TlsCaCertDirectory = v, flags: Reapplied),
        Choice("tls-auth-clients", ["no", "yes", "optional"], "yes", s => (int)s.TlsAuthClients, (s, v) => s.TlsAuthClients = (TlsClientAuthentication)v),
        Flag("tls-replication", false, s => s.TlsReplication, (s, v) => s.TlsReplication = v),
        Flag("tls-cluster", false).WithoutEffect(NoBus),
        Text("tls-protocols", "", s => s.TlsProtocols, (s, v) => s.TlsProtocols = v).WithRemark("TLSv1.2 and TLSv1.3; older versions are never negotiated"),
        Text("tls-ciphers", "").WithoutEffect("`tls-ciphersuites` names the suites of TLS 1.2 too"),
        Text("tls-ciphersuites", "", s => s.TlsCipherSuites, (s, v) => s.TlsCipherSuites = v).WithRemark("suites by their IANA names, separated by colons; empty: the system's choice; not on Windows"),
        Flag("tls-prefer-server-ciphers", false).WithoutEffect("the system's TLS library decides"),
        Flag("tls-session-caching", true, s => s.TlsSessionCaching, (s, v) => s.TlsSessionCaching = v),
        Integer("tls-session-cache-size", 0, int.MaxValue, 20480).WithoutEffect("sessions are resumed with tickets that clients keep"),
        Integer("tls-session-cache-timeout", 0, int.MaxValue, 300).WithoutEffect("sessions are resumed with tickets that clients keep"),
        Integer("tls-handshakes-max", 1, 1_000_000, 1000, s => s.TlsHandshakesMax, (s, v) => s.TlsHandshakesMax = (int)v).WithRemark("RedKite's own: how many handshakes may be in progress; further connections are closed at once"),
        Integer("tls-handshake-timeout", 1, 3600, 10, s => s.TlsHandshakeTimeoutSeconds, (s, v) => s.TlsHandshakeTimeoutSeconds = (int)v).WithRemark("RedKite's own: how many seconds a handshake may take before its connection is closed"),
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
        ' ', Array.ConvertAll(settings.LatencyTrackingPercentiles, value => value.ToString("0.######", CultureInfo.InvariantCulture)));

    private static void WritePercentiles(Settings settings, string text) => settings.LatencyTrackingPercentiles =
        Array.ConvertAll(SettingParsers.SplitWords(text), word => double.Parse(word, CultureInfo.InvariantCulture));

    private static string ReadSavePoints(Settings settings) => string.Join(' ', Array.ConvertAll(settings.SavePoints, point => point.ToString()));

    private static void WriteSavePoints(Settings settings, string text)
    {
        string[] words = SettingParsers.SplitWords(text);
        var points = new SavePoint[words.Length / 2];
        for (int i = 0; i < points.Length; i++)
        {
            points[i] = new SavePoint(long.Parse(words[2 * i], CultureInfo.InvariantCulture), int.Parse(words[(2 * i) + 1], CultureInfo.InvariantCulture));
        }

        settings.SavePoints = points;
    }
}
