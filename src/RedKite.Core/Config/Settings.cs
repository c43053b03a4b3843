using RedKite.Persistence.Log;

namespace RedKite.Server.Config;

// The settings of one server as code reads them, and the types of their values.

internal enum LogLevel
{
    Debug,
    Verbose,
    Notice,
    Warning,

    /// <summary>No line is logged at all.</summary>
    Nothing,
}

internal enum TransportChoice
{
    Auto,
    Epoll,
    Sockets,
}

/// <summary>How a replica loads all data that its primary sends.</summary>
internal enum ReplicaLoad
{
    /// <summary>It is received into a file, which is loaded when it is whole.</summary>
    FromFile,

    /// <summary>While it arrives, if there is no data.</summary>
    IfEmpty,

    /// <summary>While it arrives, beside the old data, which it replaces when it is whole.</summary>
    Beside,

    /// <summary>While it arrives, in place of the old data.</summary>
    InPlace,
}

/// <summary>By which name a node of a cluster sends clients to another one.</summary>
internal enum ClusterEndpointType
{
    Ip,

    HostName,

    /// <summary>By none: the client knows the host.</summary>
    Unknown,
}

/// <summary>Which clients may use a guarded command: none, all, or those on this machine.</summary>
internal enum ProtectedAccess
{
    No,
    Yes,
    Local,
}

/// <summary>When a payload is invalid that states wrongly what follows from its elements.</summary>
internal enum SanitizeDumpPayload
{
    /// <summary>Never: what it states is determined anew.</summary>
    No,

    /// <summary>Always.</summary>
    Yes,

    /// <summary>If a connection's client restores it.</summary>
    Clients,
}

internal enum MaxMemoryPolicy
{
    VolatileLru,
    VolatileLfu,
    VolatileRandom,
    VolatileTtl,
    AllKeysLru,
    AllKeysLfu,
    AllKeysRandom,
    NoEviction,
    VolatileLrm,
    AllKeysLrm,
}

/// <summary>
/// When a client that reads too slowly is closed; 0 is no limit. A class, not a struct: other threads read it while
/// CONFIG SET replaces it, and a reference is replaced in one step.
/// </summary>
internal sealed record ClientOutputBufferLimit(ulong HardBytes, ulong SoftBytes, int SoftSeconds);

/// <summary>
/// The settings of one server. Code reads the typed properties, from any thread and without a lock: each is one machine
/// word or a reference to something immutable. Settings that no code reads are kept as text for CONFIG GET. Names,
/// defaults, ranges and parsers are in <see cref="SettingTable"/>, from which the constructor takes the defaults.
/// </summary>
/// <remarks>Strings are setting texts (see <see cref="SettingText"/>: Latin-1, one character per byte), except paths.</remarks>
internal sealed class Settings
{
    /// <summary>Every setting at its default.</summary>
    public Settings()
    {
        foreach (Setting row in SettingTable.Rows)
        {
            row.Write(this, row.DefaultText);
        }
    }

    /// <summary>The canonical texts of settings without a property. Guarded by <see cref="Configuration"/>.</summary>
    internal Dictionary<string, string> Remembered { get; } = [];

    // Listening. "-::*" is an address that may fail to bind; "*" is every IPv4 address.
    public IReadOnlyList<string> Bind { get; set; } = [];
    public int Port { get; set; }
    public string UnixSocketPath { get; set; } = "";

    /// <summary>The mode of the socket's file (0 to 0x1ff, octal 777); 0 keeps the system's default.</summary>
    public int UnixSocketMode { get; set; }

    /// <summary>The port for TLS; 0: none.</summary>
    public int TlsPort { get; set; }

    public string TlsCertFile { get; set; } = "";
    public string TlsKeyFile { get; set; } = "";
    public string TlsKeyFilePass { get; set; } = "";
    public string TlsCaCertFile { get; set; } = "";
    public string TlsCaCertDirectory { get; set; } = "";
    public TlsClientAuthentication TlsAuthClients { get; set; }
    public string TlsProtocols { get; set; } = "";
    public string TlsCipherSuites { get; set; } = "";
    public string TlsClientCertFile { get; set; } = "";
    public string TlsClientKeyFile { get; set; } = "";
    public string TlsClientKeyFilePass { get; set; } = "";
    public bool TlsReplication { get; set; }

    // Cluster.
    public bool ClusterEnabled { get; set; }
    public SlotStatistics SlotStatistics { get; set; }
    public string ClusterConfigFile { get; set; } = "";
    public int ClusterDatabases { get; set; }
    public int ClusterPort { get; set; }
    public int ClusterMovePauseMs { get; set; }
    public string ClusterAnnounceIp { get; set; } = "";
    public string ClusterAnnounceHostName { get; set; } = "";
    public string ClusterAnnounceNodeName { get; set; } = "";
    public int ClusterAnnouncePort { get; set; }
    public int ClusterAnnounceTlsPort { get; set; }
    public int ClusterAnnounceBusPort { get; set; }
    public ClusterEndpointType ClusterEndpointType { get; set; }
    public bool ClusterRequiresFullCoverage { get; set; }
    public bool ClusterAllowsReadsWhenDown { get; set; }
    public bool ClusterAllowsShardMessagesWhenDown { get; set; }
    public string ClusterEtcd { get; set; } = "";
    public string ClusterEtcdPrefix { get; set; } = "";
    public string ClusterEtcdUser { get; set; } = "";
    public string ClusterEtcdPassword { get; set; } = "";
    public string ClusterEtcdCaFile { get; set; } = "";
    public string ClusterEtcdCertFile { get; set; } = "";
    public string ClusterEtcdKeyFile { get; set; } = "";
    public bool ClusterReplicaNoFailover { get; set; }
    public int ClusterLeaseMs { get; set; }
    public bool ClusterAutoJoin { get; set; }
    public bool ClusterController { get; set; }
    public string ClusterAnnounceZone { get; set; } = "";

    /// <summary>"HOST PORT" of the primary; empty: the server is a primary. It changes with REPLICAOF.</summary>
    public string ReplicaOf { get; set; } = "";

    public string MasterAuth { get; set; } = "";
    public string MasterUser { get; set; } = "";
    public bool ReplicaServeStaleData { get; set; }
    public bool ReplicaReadOnly { get; set; }
    public bool ReplicaIgnoreMaxMemory { get; set; }
    public bool ReplicaIgnoreDiskWriteErrors { get; set; }
    public string ReplicaAnnounceIp { get; set; } = "";
    public int ReplicaAnnouncePort { get; set; }
    public bool ReplicaAnnounced { get; set; }
    public int ReplicaPriority { get; set; }
    public ReplicaLoad ReplicaLoad { get; set; }

    /// <summary>The local address of connections that the server opens; empty: the system chooses.</summary>
    public string BindSourceAddress { get; set; } = "";
    public bool TlsSessionCaching { get; set; }
    public int TlsHandshakesMax { get; set; }
    public int TlsHandshakeTimeoutSeconds { get; set; }

    public bool ProtectedMode { get; set; }
    public int TcpBacklog { get; set; }
    public int TcpKeepAliveSeconds { get; set; }

    /// <summary>The number of event loops; 0 is one per core.</summary>
    public int Loops { get; set; }

    /// <summary>The number of the keyspace's stripes, a power of two; 0: chosen by the number of threads that use it.</summary>
    public int Stripes { get; set; }

    public TransportChoice Transport { get; set; }

    /// <summary>Whether ordinary pages are replaced by huge ones while the server is quiet.</summary>
    public bool QuietHugePages { get; set; }

    /// <summary>The dashboard's port: a number, 0 for none, or "auto".</summary>
    public string AdminPort { get; set; } = "0";

    /// <summary>Whether the dashboard is served by HTTPS.</summary>
    public bool AdminTls { get; set; }

    /// <summary>Whether a host wants a free TCP port, whatever other ways in there are. No directive.</summary>
    internal bool TakesFreePort { get; set; }

    /// <summary>Whether a host wants no TCP port, also without other ways in. No directive.</summary>
    internal bool HasNoPort { get; set; }

    public IReadOnlyList<string> AdminBind { get; set; } = [];

    /// <summary>Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto the dashboard believes.</summary>
    public IReadOnlyList<string> AdminTrustedProxies { get; set; } = [];

    /// <summary>The version of Redis that INFO and HELLO report.</summary>
    public string ReportedRedisVersion { get; set; } = "";

    // Clients.
    /// <summary>The password of the default user, one character per byte; empty: clients need none.</summary>
    public string RequirePass { get; set; } = "";

    /// <summary>How many logins from one address may fail within a minute; 0: any number.</summary>
    public int FailedLoginsPerMinute { get; set; }

    /// <summary>The file of users; empty: there is none.</summary>
    public string AclFilePath { get; set; } = "";

    /// <summary>Whether new users may access all channels.</summary>
    public bool AclAllowsChannelsByDefault { get; set; }

    /// <summary>The number of entries of ACL LOG.</summary>
    public long AclLogMaxLength { get; set; }

    public long MaxClients { get; set; }

    /// <summary>Idle clients are closed after this many seconds; 0: never.</summary>
    public int TimeoutSeconds { get; set; }

    public long ProtoMaxBulkLength { get; set; }
    public long ClientQueryBufferLimit { get; set; }
    public ClientOutputBufferLimit NormalClientLimit { get; set; } = new(0, 0, 0);
    public ClientOutputBufferLimit ReplicaClientLimit { get; set; } = new(0, 0, 0);

    /// <summary>The letters of notify-keyspace-events; empty: no notifications.</summary>
    public string KeyspaceEvents { get; set; } = "";

    /// <summary>Whether lookups of missing keys are notified.</summary>
    public bool NotifiesKeyMisses => KeyspaceEvents.Contains('m', StringComparison.Ordinal) && KeyspaceEvents.AsSpan().ContainsAny('K', 'E');

    /// <summary>How many keys are remembered for client-side caching; 0: no limit.</summary>
    public long TrackedKeysMax { get; set; }

    public int TrackingPrefixesPerClientMax { get; set; }
    public int SubscriptionsPerClientMax { get; set; }
    public ClientOutputBufferLimit PubSubClientLimit { get; set; } = new(0, 0, 0);

    // The process.
    public string DirectoryPath { get; set; } = "";
    public LogLevel LogLevel { get; set; }

    /// <summary>The log's path; empty: standard output.</summary>
    public string LogFilePath { get; set; } = "";

    public string PidFilePath { get; set; } = "";
    public ProtectedAccess EnableDebugCommand { get; set; }
    public ProtectedAccess EnableModuleCommand { get; set; }
    public ProtectedAccess EnableProtectedConfigs { get; set; }

    // The keyspace.
    public int Databases { get; set; }
    public int Hz { get; set; }
    public int ActiveExpireEffort { get; set; }
    public ulong MaxMemoryBytes { get; set; }
    public MaxMemoryPolicy MaxMemoryPolicy { get; set; }

    /// <summary>The limit of all clients' memory in bytes; 0: none; negative: percent of maxmemory.</summary>
    public long MaxMemoryClients { get; set; }

    /// <summary>How many keys are sampled for an eviction.</summary>
    public int EvictionSamples { get; set; }

    /// <summary>How long evictions may delay a command: 10 is half a millisecond, 100 is without limit.</summary>
    public int EvictionTenacity { get; set; }

    /// <summary>Whether the store is defragmented under a limit of memory.</summary>
    public bool LimitDefragmentation { get; set; }

    /// <summary>Whether the store is defragmented when its free space exceeds the thresholds.</summary>
    public bool ActiveDefragmentation { get; set; }

    /// <summary>Free bytes between blocks below which nothing is moved.</summary>
    public ulong DefragmentationIgnoredBytes { get; set; }

    /// <summary>Free space in percent of the blocks in use below which nothing is moved.</summary>
    public int DefragmentationLowerPercent { get; set; }

    /// <summary>Free space in percent of the blocks in use from which on the most CPU is used.</summary>
    public int DefragmentationUpperPercent { get; set; }

    /// <summary>The share of a loop's time at the lower threshold.</summary>
    public int DefragmentationCpuPercentMin { get; set; }

    /// <summary>The share of a loop's time at the upper threshold.</summary>
    public int DefragmentationCpuPercentMax { get; set; }

    /// <summary>Whether each line of the log is a JSON object.</summary>
    public bool LogsJson { get; set; }

    /// <summary>The OpenTelemetry collector to which the program sends metrics and spans; empty: none.</summary>
    public string OtlpEndpoint { get; set; } = "";

    /// <summary>How often it sends metrics.</summary>
    public int OtlpIntervalSeconds { get; set; } = 10;

    /// <summary>The folder of debug packages that are written without a request; empty: none are.</summary>
    public string DebugPackageDirectoryPath { get; set; } = "";

    /// <summary>How many of them may be written within 24 hours.</summary>
    public int DebugPackagesPerDay { get; set; } = 3;

    /// <summary>The size of all of them together.</summary>
    public ulong DebugPackagesBytesMax { get; set; } = 100UL << 20;

    /// <summary>The file that keeps the metric history across restarts; empty: none.</summary>
    public string MetricsHistoryPath { get; set; } = "";

    /// <summary>Whether the server watches itself.</summary>
    public bool Diagnostics { get; set; } = true;

    /// <summary>The share of a core that the survey of keys may take; 0: it is off.</summary>
    public int TransactionCommandsMax { get; set; }

    public int WatchedKeysMax { get; set; }
    public int RequestArgumentsMax { get; set; }
    public long ClientStateBytesMax { get; set; }
    public int BlockedKeysMax { get; set; }
    public int ClientNameBytesMax { get; set; }
    public long TrackedKeyBytesMax { get; set; }
    public int CachedScriptsMax { get; set; }
    public long CachedScriptBytesMax { get; set; }
    public int FunctionsMax { get; set; }
    public long FunctionBytesMax { get; set; }
    public int UsersMax { get; set; }
    public int RulesPerUserMax { get; set; }
    public long RuleBytesPerUserMax { get; set; }

    public long ScriptMemoryBytesMax { get; set; }

    public long BusyReplyThresholdMs { get; set; }

    public int KeySurveyCpuPercent { get; set; }

    /// <summary>New connections beyond this number per second are refused; 0: no limit.</summary>
    public int ShedConnectionsPerSecond { get; set; }

    /// <summary>Clients whose buffers hold more than this many bytes are closed; 0: no limit.</summary>
    public ulong CloseHogsAboveBytes { get; set; }

    /// <summary>Commands on all keys are refused if there are more keys than this; 0: never.</summary>
    public long RefuseDangerousCommandsAboveKeys { get; set; }

    /// <summary>Unused memory is returned to the system while less than this percentage is available; 0: never.</summary>
    public int ReturnMemoryBelowPercent { get; set; }

    /// <summary>Background work is slowed while a loop is busier than this percentage; 0: never.</summary>
    public int SlowBackgroundWorkAbovePercent { get; set; }

    /// <summary>Requests and replies larger than this are logged; -1: none.</summary>
    public long LargeRequestBytes { get; set; }

    public long LargeReplyBytes { get; set; }
    public long LargeRequestLogMaxLength { get; set; }
    public long LargeReplyLogMaxLength { get; set; }

    /// <summary>Whether an LRM policy is set, for which the access clock is the time of the last change.</summary>
    internal bool IgnoresReads => MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLrm or MaxMemoryPolicy.VolatileLrm;

    /// <summary>Whether an LFU policy is set, which counts accesses.</summary>
    internal bool CountsFrequency => MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLfu or MaxMemoryPolicy.VolatileLfu;

    public int LfuLogFactor { get; set; }
    public int LfuDecayMinutes { get; set; }

    // Encodings.
    public long HashMaxListpackEntries { get; set; }
    public long HashMaxListpackValueBytes { get; set; }
    public long SetMaxIntsetEntries { get; set; }
    public long SetMaxListpackEntries { get; set; }
    public long SetMaxListpackValueBytes { get; set; }
    public long SortedSetMaxListpackEntries { get; set; }
    public long SortedSetMaxListpackValueBytes { get; set; }

    /// <summary>The entries of a list node if positive; -1 to -5: its size, 4, 8, 16, 32 or 64 KiB.</summary>
    public int ListMaxListpackSize { get; set; }

    public int ListCompressDepth { get; set; }
    public long HyperLogLogSparseMaxBytes { get; set; }
    public long StreamNodeMaxBytes { get; set; }
    public long StreamNodeMaxEntries { get; set; }

    /// <summary>How long a stream remembers an id that a producer has given to an entry.</summary>
    public int StreamIdmpDurationSeconds { get; set; }

    /// <summary>How many ids of each producer a stream remembers.</summary>
    public int StreamIdmpMaxSize { get; set; }

    /// <summary>Whether DUMP and RDB files compress long strings.</summary>
    public bool RdbCompression { get; set; }

    // The append-only file.
    public bool AppendOnly { get; set; }

    /// <summary>When the append-only file is synced.</summary>
    internal FsyncPolicy AppendFsync { get; set; }

    public string AppendFileName { get; set; } = "";
    public string AppendDirectoryName { get; set; } = "";

    internal SanitizeDumpPayload SanitizeDumpPayload { get; set; }

    /// <summary>The folder of backups, within the server's.</summary>
    public string BackupDirectoryName { get; set; } = "";

    /// <summary>After how long a sealed backup is removed; 0: never.</summary>
    public int BackupSealedTtlSeconds { get; set; }
    public bool AofLoadTruncated { get; set; }
    public bool AofTimestampEnabled { get; set; }

    /// <summary>Whether the base of the append-only file is in RDB form rather than of commands.</summary>
    public bool AofUseRdbPreamble { get; set; }
    public bool AofRewriteIncrementalFsync { get; set; }
    public bool NoAppendFsyncOnRewrite { get; set; }

    /// <summary>The append-only file is rewritten when it has grown by this percentage since the last time; 0: never by itself.</summary>
    public int AutoAofRewritePercentage { get; set; }

    /// <summary>A smaller append-only file is not rewritten by itself.</summary>
    public ulong AutoAofRewriteMinBytes { get; set; }

    // Snapshots.
    /// <summary>After how many seconds with at least how many changes the data is saved; empty: never by itself.</summary>
    internal SavePoint[] SavePoints { get; set; } = [];

    /// <summary>The name of the dump file in <see cref="DirectoryPath"/>.</summary>
    public string DumpFileName { get; set; } = "";

    public bool RdbChecksum { get; set; }
    public bool RdbSaveIncrementalFsync { get; set; }
    public bool StopWritesOnBgsaveError { get; set; }

    /// <summary>The options of SHUTDOWN that SIGINT stands for, in lower case; `default`: it saves if there are save points.</summary>
    public string ShutdownOnInterrupt { get; set; } = "default";

    /// <summary>The options of SHUTDOWN that SIGTERM stands for.</summary>
    public string ShutdownOnTerminate { get; set; } = "default";

    /// <summary>Whether snapshots say how long each key was not used: the eviction policy goes by that.</summary>
    internal bool SavesIdleTimes => MaxMemoryPolicy is MaxMemoryPolicy.AllKeysLru or MaxMemoryPolicy.VolatileLru || IgnoresReads;

    // Replication, on a primary.
    /// <summary>How long a shutdown waits for replicas; 0: not at all.</summary>
    public int ShutdownTimeoutSeconds { get; set; }

    /// <summary>The bytes of the stream that are kept for replicas that come back.</summary>
    public ulong ReplicationBacklogBytes { get; set; }

    /// <summary>How long they are kept without replicas; 0: forever.</summary>
    public long BacklogSeconds { get; set; }

    /// <summary>How long a full synchronization waits for further replicas.</summary>
    public int ReplicaSyncDelaySeconds { get; set; }

    /// <summary>It begins as soon as this many replicas wait; 0: after the delay.</summary>
    public int ReplicaSyncsMax { get; set; }

    /// <summary>Whether a full synchronization uses a second connection for the data, if the peer can do that.</summary>
    public bool ReplicaRdbChannel { get; set; } = true;

    /// <summary>What a replica keeps in memory of the stream while it receives and loads the data; 0: what client-output-buffer-limit allows for replicas.</summary>
    public ulong ReplicaSyncBufferBytes { get; set; }

    /// <summary>Whether small packets for replicas may be gathered (no TCP_NODELAY).</summary>
    public bool ReplicaTcpDelay { get; set; }

    public int ReplicaPingSeconds { get; set; }

    /// <summary>A peer that is silent for this long is given up, on both sides.</summary>
    public int ReplicationTimeoutSeconds { get; set; }

    /// <summary>Writes are refused with fewer good replicas; 0: never.</summary>
    public int ReplicasToWriteMin { get; set; }

    /// <summary>A good replica has sent an acknowledgement in this many seconds.</summary>
    public int ReplicaLagSecondsMax { get; set; }

    /// <summary>How many replicas must acknowledge a write before its reply leaves; 0: none.</summary>
    public int ReplicaAcks { get; set; }

    /// <summary>After how many milliseconds without these acknowledgements the reply is an error; 0: never.</summary>
    public int ReplicaAcksTimeoutMs { get; set; }

    // Diagnostics.
    /// <summary>Commands slower than this are logged; 0: all; -1: none.</summary>
    public long SlowLogSlowerThanMicroseconds { get; set; }

    /// <summary>Whether INFO has the number of values by their memory.</summary>
    public bool KeyMemoryHistograms { get; set; }

    // Filters that commands create without options.
    public double BloomErrorRate { get; set; }
    public int BloomInitialSize { get; set; }
    public int BloomExpansionFactor { get; set; }
    public int CuckooInitialSize { get; set; }
    public int CuckooBucketSize { get; set; }
    public int CuckooMaxIterations { get; set; }
    public int CuckooExpansionFactor { get; set; }
    public int CuckooMaxExpansions { get; set; }

    // Series that commands create without options.
    public long SeriesRetentionMs { get; set; }
    public int SeriesChunkBytes { get; set; }

    /// <summary>The index of the policy in the row's words.</summary>
    public int SeriesDuplicatePolicy { get; set; }

    public long SeriesIgnoredTimeMs { get; set; }
    public double SeriesIgnoredValue { get; set; }

    /// <summary>The rules of a series that a command creates by adding a sample.</summary>
    public CompactionPolicy SeriesCompactions { get; set; } = CompactionPolicy.None;

    /// <summary>Whether their compactions are stored without compression.</summary>
    public bool SeriesCompactionsUncompressed { get; set; }

    /// <summary>Whether SCAN and RANDOMKEY remove the expired keys that they find in a transaction or script.</summary>
    public bool LazyExpiryInUnits { get; set; }

    public long SlowLogMaxLength { get; set; }
    public int SlowLogEntryArgumentsMax { get; set; }
    public int SlowLogEntryBytesMax { get; set; }
    public bool LatencyTracking { get; set; }
    public double[] LatencyTrackingPercentiles { get; set; } = [];
    public long LatencyMonitorThresholdMs { get; set; }
}

/// <summary>Whether clients of the TLS port need a certificate.</summary>
internal enum TlsClientAuthentication
{
    No,
    Yes,
    Optional,
}
