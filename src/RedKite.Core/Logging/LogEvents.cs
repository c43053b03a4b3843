namespace RedKite.Server.Logging;

/// <summary>A kind of log line.</summary>
/// <param name="Id">Its number for hosts: never changed, never used again.</param>
/// <param name="Name">Its name.</param>
/// <param name="Category">The part of the server that it is about.</param>
/// <param name="Level">Its level for hosts; null: that of the line. Redis warns of much that is no warning, such as a shutdown.</param>
internal sealed record LogEvent(int Id, string Name, string Category, RedKiteLogLevel? Level = null);

/// <summary>Every kind of log line, one row each; docs/hosting.md has the same table. The hundreds of a number are its category.</summary>
internal static class LogEvents
{
    private const string Server = "RedKite.Server";
    private const string Configuration = "RedKite.Configuration";
    private const string Clients = "RedKite.Clients";
    private const string Persistence = "RedKite.Persistence";
    private const string Scripting = "RedKite.Scripting";
    private const string Diagnostics = "RedKite.Diagnostics";
    private const string Dashboard = "RedKite.Dashboard";
    private const string Replication = "RedKite.Replication";
    private const string Cluster = "RedKite.Cluster";

    internal static readonly LogEvent Started = new(100, nameof(Started), Server);
    internal static readonly LogEvent Stopped = new(101, nameof(Stopped), Server);
    internal static readonly LogEvent ShutdownRequested = new(102, nameof(ShutdownRequested), Server, RedKiteLogLevel.Information);
    internal static readonly LogEvent SignalReceived = new(103, nameof(SignalReceived), Server, RedKiteLogLevel.Information);
    internal static readonly LogEvent ListeningFailed = new(104, nameof(ListeningFailed), Server, RedKiteLogLevel.Error);
    internal static readonly LogEvent LoopFailed = new(105, nameof(LoopFailed), Server, RedKiteLogLevel.Critical);
    internal static readonly LogEvent BehaviorFailed = new(106, nameof(BehaviorFailed), Server, RedKiteLogLevel.Error);
    internal static readonly LogEvent PidFileUnwritable = new(107, nameof(PidFileUnwritable), Server);
    internal static readonly LogEvent MemoryOverLimit = new(108, nameof(MemoryOverLimit), Server);
    internal static readonly LogEvent CustomCommandFailed = new(109, nameof(CustomCommandFailed), Server, RedKiteLogLevel.Error);
    internal static readonly LogEvent StopFailed = new(110, nameof(StopFailed), Server, RedKiteLogLevel.Critical);

    internal static readonly LogEvent SettingWithoutEffect = new(200, nameof(SettingWithoutEffect), Configuration);
    internal static readonly LogEvent ClientLimitReduced = new(201, nameof(ClientLimitReduced), Configuration);
    internal static readonly LogEvent TlsSettingRefused = new(202, nameof(TlsSettingRefused), Configuration);
    internal static readonly LogEvent LogFileUnused = new(203, nameof(LogFileUnused), Configuration);
    internal static readonly LogEvent ModuleRefused = new(204, nameof(ModuleRefused), Configuration);

    internal static readonly LogEvent ClientOverQueryBuffer = new(300, nameof(ClientOverQueryBuffer), Clients);
    internal static readonly LogEvent ClientOverOutputBuffer = new(301, nameof(ClientOverOutputBuffer), Clients);
    internal static readonly LogEvent ClientEvicted = new(302, nameof(ClientEvicted), Clients);
    internal static readonly LogEvent CrossProtocolRequest = new(303, nameof(CrossProtocolRequest), Clients);
    internal static readonly LogEvent TlsHandshakeFailed = new(304, nameof(TlsHandshakeFailed), Clients);
    internal static readonly LogEvent TlsConnectionFailed = new(305, nameof(TlsConnectionFailed), Clients, RedKiteLogLevel.Error);
    internal static readonly LogEvent TlsClientRefused = new(306, nameof(TlsClientRefused), Clients);

    internal static readonly LogEvent DataLoaded = new(400, nameof(DataLoaded), Persistence);
    internal static readonly LogEvent LoadingFailed = new(401, nameof(LoadingFailed), Persistence, RedKiteLogLevel.Error);
    internal static readonly LogEvent LoadingStopped = new(402, nameof(LoadingStopped), Persistence, RedKiteLogLevel.Information);
    internal static readonly LogEvent SaveBegun = new(403, nameof(SaveBegun), Persistence);
    internal static readonly LogEvent SaveDone = new(404, nameof(SaveDone), Persistence);
    internal static readonly LogEvent SaveAborted = new(405, nameof(SaveAborted), Persistence);
    internal static readonly LogEvent SaveFailed = new(406, nameof(SaveFailed), Persistence, RedKiteLogLevel.Error);
    internal static readonly LogEvent StopWithoutSave = new(407, nameof(StopWithoutSave), Persistence);
    internal static readonly LogEvent RewriteBegun = new(408, nameof(RewriteBegun), Persistence);
    internal static readonly LogEvent RewriteDone = new(409, nameof(RewriteDone), Persistence);
    internal static readonly LogEvent RewriteFailed = new(410, nameof(RewriteFailed), Persistence, RedKiteLogLevel.Error);
    internal static readonly LogEvent LogFailed = new(411, nameof(LogFailed), Persistence, RedKiteLogLevel.Error);
    internal static readonly LogEvent LogWorksAgain = new(412, nameof(LogWorksAgain), Persistence);
    internal static readonly LogEvent LogCutOff = new(413, nameof(LogCutOff), Persistence);
    internal static readonly LogEvent LogTakenOver = new(414, nameof(LogTakenOver), Persistence);
    internal static readonly LogEvent DataNotLoaded = new(415, nameof(DataNotLoaded), Persistence);
    internal static readonly LogEvent LogFrameIgnored = new(416, nameof(LogFrameIgnored), Persistence);
    internal static readonly LogEvent ValueCorrected = new(417, nameof(ValueCorrected), Persistence);

    internal static readonly LogEvent ScriptMessage = new(500, nameof(ScriptMessage), Scripting);
    internal static readonly LogEvent ClientMessage = new(501, nameof(ClientMessage), Scripting);
    internal static readonly LogEvent ReserveLoopsInUse = new(502, nameof(ReserveLoopsInUse), Scripting);

    internal static readonly LogEvent FindingOpened = new(600, nameof(FindingOpened), Diagnostics);
    internal static readonly LogEvent FindingEnded = new(601, nameof(FindingEnded), Diagnostics);
    internal static readonly LogEvent ActionTaken = new(602, nameof(ActionTaken), Diagnostics);
    internal static readonly LogEvent PackageBuilt = new(603, nameof(PackageBuilt), Diagnostics);
    internal static readonly LogEvent PackageWritten = new(604, nameof(PackageWritten), Diagnostics);
    internal static readonly LogEvent PackageFailed = new(605, nameof(PackageFailed), Diagnostics, RedKiteLogLevel.Error);
    internal static readonly LogEvent ObservationFailed = new(606, nameof(ObservationFailed), Diagnostics, RedKiteLogLevel.Error);
    internal static readonly LogEvent MetricHistoryUnreadable = new(607, nameof(MetricHistoryUnreadable), Diagnostics);
    internal static readonly LogEvent MetricHistoryUnwritable = new(608, nameof(MetricHistoryUnwritable), Diagnostics);

    internal static readonly LogEvent DashboardStarted = new(700, nameof(DashboardStarted), Dashboard);
    internal static readonly LogEvent NoDashboard = new(701, nameof(NoDashboard), Dashboard);
    internal static readonly LogEvent DashboardFailed = new(702, nameof(DashboardFailed), Dashboard, RedKiteLogLevel.Error);

    internal static readonly LogEvent ReplicaSyncWanted = new(800, nameof(ReplicaSyncWanted), Replication);
    internal static readonly LogEvent ReplicaSyncSent = new(801, nameof(ReplicaSyncSent), Replication);
    internal static readonly LogEvent ReplicaSyncFailed = new(802, nameof(ReplicaSyncFailed), Replication);
    internal static readonly LogEvent ReplicaContinues = new(803, nameof(ReplicaContinues), Replication);
    internal static readonly LogEvent ReplicaNeedsAll = new(804, nameof(ReplicaNeedsAll), Replication);
    internal static readonly LogEvent ReplicaOnline = new(805, nameof(ReplicaOnline), Replication);
    internal static readonly LogEvent ReplicaLost = new(806, nameof(ReplicaLost), Replication);
    internal static readonly LogEvent ReplicaClosed = new(807, nameof(ReplicaClosed), Replication);
    internal static readonly LogEvent BacklogReleased = new(808, nameof(BacklogReleased), Replication);
    internal static readonly LogEvent FailoverChanged = new(809, nameof(FailoverChanged), Replication);
    internal static readonly LogEvent ShutdownWaits = new(810, nameof(ShutdownWaits), Replication);
    internal static readonly LogEvent RoleChanged = new(820, nameof(RoleChanged), Replication);
    internal static readonly LogEvent LinkConnected = new(821, nameof(LinkConnected), Replication);
    internal static readonly LogEvent LinkFailed = new(822, nameof(LinkFailed), Replication);
    internal static readonly LogEvent SyncBegun = new(823, nameof(SyncBegun), Replication);
    internal static readonly LogEvent PrimaryRefuses = new(824, nameof(PrimaryRefuses), Replication);
    internal static readonly LogEvent StreamError = new(825, nameof(StreamError), Replication, RedKiteLogLevel.Error);
    internal static readonly LogEvent TransferFailed = new(830, nameof(TransferFailed), Replication, RedKiteLogLevel.Error);

    internal static readonly LogEvent ClusterFileUnwritable = new(900, nameof(ClusterFileUnwritable), Cluster, RedKiteLogLevel.Error);
    internal static readonly LogEvent ClusterRoleFailed = new(901, nameof(ClusterRoleFailed), Cluster, RedKiteLogLevel.Error);
    internal static readonly LogEvent SlotsMoved = new(902, nameof(SlotsMoved), Cluster, RedKiteLogLevel.Information);
    internal static readonly LogEvent ClusterChanged = new(903, nameof(ClusterChanged), Cluster);
    internal static readonly LogEvent ClusterStoreAway = new(904, nameof(ClusterStoreAway), Cluster);
    internal static readonly LogEvent ClusterRefused = new(905, nameof(ClusterRefused), Cluster, RedKiteLogLevel.Error);
    internal static readonly LogEvent ClusterLostWrites = new(906, nameof(ClusterLostWrites), Cluster, RedKiteLogLevel.Error);

    /// <summary>All of them, by number.</summary>
    internal static IReadOnlyList<LogEvent> All { get; } =
    [
        Started, Stopped, ShutdownRequested, SignalReceived, ListeningFailed, LoopFailed, BehaviorFailed, PidFileUnwritable, MemoryOverLimit, CustomCommandFailed, StopFailed,
        SettingWithoutEffect, ClientLimitReduced, TlsSettingRefused, LogFileUnused, ModuleRefused,
        ClientOverQueryBuffer, ClientOverOutputBuffer, ClientEvicted, CrossProtocolRequest, TlsHandshakeFailed, TlsConnectionFailed, TlsClientRefused,
        DataLoaded, LoadingFailed, LoadingStopped, SaveBegun, SaveDone, SaveAborted, SaveFailed, StopWithoutSave, RewriteBegun, RewriteDone, RewriteFailed,
        LogFailed, LogWorksAgain, LogCutOff, LogTakenOver, DataNotLoaded, LogFrameIgnored, ValueCorrected,
        ScriptMessage, ClientMessage, ReserveLoopsInUse,
        FindingOpened, FindingEnded, ActionTaken, PackageBuilt, PackageWritten, PackageFailed, ObservationFailed, MetricHistoryUnreadable, MetricHistoryUnwritable,
        DashboardStarted, NoDashboard, DashboardFailed,
        ReplicaSyncWanted, ReplicaSyncSent, ReplicaSyncFailed, ReplicaContinues, ReplicaNeedsAll, ReplicaOnline, ReplicaLost, ReplicaClosed, BacklogReleased, FailoverChanged, ShutdownWaits,
        RoleChanged, LinkConnected, LinkFailed, SyncBegun, PrimaryRefuses, StreamError, TransferFailed,
        ClusterFileUnwritable, ClusterRoleFailed, SlotsMoved, ClusterChanged, ClusterStoreAway, ClusterRefused, ClusterLostWrites,
    ];
}
