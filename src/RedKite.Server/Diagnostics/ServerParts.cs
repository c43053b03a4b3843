using RedKite.Net.Interop;
using RedKite.Persistence.Files;
using RedKite.Server.Acl;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Migration;
using RedKite.Server.Model;
using RedKite.Server.PubSub;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Server.Tracking;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// The parts of a server, each named once: the engine extends them by what executes commands, and diagnostics and administrative
/// commands report on them and change them. Each takes those that it needs; commands on data take none.
/// </summary>
internal abstract class ServerParts
{
    protected ServerParts(Configuration configuration, Keyspace keyspace, ServerClock clock, ServerLog log, IFiles? files)
    {
        Configuration = configuration;
        Configuration.Warn = text => log.Warning(LogEvents.SettingWithoutEffect, text);
        Settings = configuration.Settings;
        Keyspace = keyspace;
        Clock = clock;
        Log = log;
        Run = new ServerRun(clock.NowMs);
        Kept = new KeptMemory(keyspace.Budget);
        Users = new UserRegistry(Settings, Limits, Kept);
        LatencyMonitor = new LatencyMonitor(Kept);
        Pause = new ClientPause(Attention);
        Monitors = new MonitorFeed(Attention, clock, Buffers);
        HotKeys = new HotKeyTracking(Attention, keyspace, clock, Kept);
        Changes = new ChangePublisher(keyspace, on => Attention.Set(ServerAttention.ChangesRequested, on));
        Script = new RunningScript(Attention, keyspace.Scripts);
        Actions = new ActionLog(Timeline, log, clock);
        Messages = new MessageHub(Buffers, Kept);
        Tracking = new KeyTracking(keyspace, Clients, Changes, Buffers, Settings, Limits, Kept);
        SlowLog = new RequestLog(Limits, Kept);
        LargeRequests = new RequestLog(Limits, Kept);
        LargeReplies = new RequestLog(Limits, Kept);
        Watched = new WatchedKeys(keyspace);
        LocalExpiries = new LocalExpiries(keyspace);
        WriteGate = new WriteGate(Attention);
        Migrations = new MigrationService(clock, WriteGate);
        Durability = new DurabilityService(Settings, keyspace, clock, log, Changes, WriteGate, files)
        {
            Changes = () => ServerTotals.Of(Metrics).Changes,
            Commands = () => ServerTotals.Of(Metrics).Commands,
            Applying = Replication.Applying,
        };
        Replicas = new ReplicaService(Replication, Settings, keyspace, Changes, clock, log, WriteGate, Durability, Buffers, Pause);
        Durability.Replication = Replicas.PlaceOfNow;
        Replication.RoleChanged += () => log.IsReplica = Replication.IsReplica;
        foreach (string name in (string[])["min-replicas-to-write", "min-replicas-max-lag"])
        {
            configuration.OnChange(name, () =>
            {
                Replicas.CountGood();
                return null;
            });
        }

        Backup = new BackupService(Settings, Durability, Changes, WriteGate, log, clock);
        Durability.DataReplaced = Backup.NoteOtherData;
        Durability.Ticked = Backup.Tick + (Action<long>)(_ => Migrations.Tick());
        Durability.Stopping = Backup.Dispose;
        DurabilityEvents.Begin(Durability, WriteGate, Settings, Timeline, LatencyMonitor, clock);
    }

    internal Configuration Configuration { get; }

    internal Settings Settings { get; }

    internal Keyspace Keyspace { get; }

    internal ServerClock Clock { get; }

    internal ServerLog Log { get; }

    internal ServerRun Run { get; }

    /// <summary>Set once, before the first executor: the commands' families are given the parts.</summary>
    internal CommandTable Commands { get; private set; } = null!;

    /// <summary>Everything that counts. Set together with <see cref="Commands"/>.</summary>
    internal MetricsRegistry Metrics { get; private set; } = null!;

    /// <summary>Counts how often clients have reached limits.</summary>
    internal LimitCounts Limits { get; } = new();

    /// <summary>Counts what clients make the server keep.</summary>
    internal KeptMemory Kept { get; }

    internal ClientRegistry Clients { get; } = new();

    /// <summary>The server's reasons to keep commands off the short path.</summary>
    internal AttentionWord Attention { get; } = new();

    /// <summary>The users, and what each may do.</summary>
    internal UserRegistry Users { get; }

    internal ClientPause Pause { get; }

    /// <summary>Shows all commands to the clients that watch them.</summary>
    internal MonitorFeed Monitors { get; }

    /// <summary>Adds up commands by their keys, between HOTKEYS START and STOP.</summary>
    internal HotKeyTracking HotKeys { get; }

    /// <summary>Publishes every change to its consumers.</summary>
    internal ChangePublisher Changes { get; }

    /// <summary>Remembers which keys tracking clients have read.</summary>
    internal KeyTracking Tracking { get; }

    /// <summary>Channels and their subscribers.</summary>
    internal MessageHub Messages { get; }

    /// <summary>The script that is running, and counts.</summary>
    internal RunningScript Script { get; }

    internal TransactionFigures Transactions { get; } = new();

    /// <summary>Keys that clients watch.</summary>
    internal WatchedKeys Watched { get; }

    /// <summary>The keys to which clients of a replica have given an expiry.</summary>
    internal LocalExpiries LocalExpiries { get; }

    internal RequestLog SlowLog { get; }

    internal RequestLog LargeRequests { get; }

    internal RequestLog LargeReplies { get; }

    /// <summary>Events that may have delayed clients.</summary>
    internal Timeline Timeline { get; } = new();

    /// <summary>Connections by address, refused ones included.</summary>
    internal RecentTally<string> Arrivals { get; } = new();

    /// <summary>Calls of commands on a whole database, by the command's name and its client's id.</summary>
    internal RecentTally<(string Command, long ClientId)> WholeDatabaseCalls { get; } = new();

    /// <summary>Commands that were refused because memory exceeds maxmemory, by their client.</summary>
    internal RecentTally<(long Id, string Name)> MemoryRefusals { get; } = new();

    /// <summary>The last calls that executed for long.</summary>
    internal LongCalls LongCalls { get; } = new();

    /// <summary>From how many nanoseconds on a command's time is looked at.</summary>
    internal long LongNs => Math.Min(Timeline.NoticeableNs, Math.Min(SlowLog.Threshold, LatencyMonitor.ThresholdNs));

    /// <summary>How much of the time since a timestamp the current thread waited for locks, if that time is long; otherwise 0.</summary>
    internal long LockWaitNs(long start, long ns) => ns >= LongNs ? Math.Min(ns, ServerClock.TicksToNs(ThreadWaits.Since(start))) : 0;

    /// <summary>The server's own actions, within the limits that settings allow.</summary>
    internal ActionLog Actions { get; }

    internal LatencyMonitor LatencyMonitor { get; }

    /// <summary>The pool of native memory for replies that wait to be sent.</summary>
    internal BufferPool Buffers { get; } = new();

    /// <summary>The server's listeners.</summary>
    internal required Func<ListeningFigures> Listening { get; init; }

    internal required Func<TlsFigures> Tls { get; init; }

    internal required Func<BlockedClientFigures> Blocking { get; init; }

    /// <summary>The last survey of all keys; null: none has ended, or there is no survey.</summary>
    internal required Func<KeySurveyResult?> KeySurvey { get; init; }

    /// <summary>The latest observation; null: none yet, or the setting `diagnostics` is off.</summary>
    internal required Func<Observation?> Observation { get; init; }

    /// <summary>Open findings, the worst first.</summary>
    internal required Func<IReadOnlyList<Finding>> Findings { get; init; }

    /// <summary>Builds debug packages; null: the setting `diagnostics` is off.</summary>
    internal required Func<PackageService?> Packages { get; init; }

    /// <summary>
    /// Ends the wait of a client by a reply. If the client does not wait for this any more, nothing happens. From any thread, which waits for nothing.
    /// </summary>
    internal required Action<Session, LateReply, byte[]> ReplyLater { get; init; }

    /// <summary>Resumes the clients that a pause holds.</summary>
    internal required Action EndPause { get; init; }

    /// <summary>What is kept on the disk.</summary>
    internal DurabilityService Durability { get; }

    /// <summary>The backup of BACKUP.</summary>
    internal BackupService Backup { get; }

    /// <summary>Which history the data has, and which primary the server follows.</summary>
    internal ReplicationState Replication { get; } = new();

    /// <summary>The server's replicas.</summary>
    internal ReplicaService Replicas { get; }

    /// <summary>What MIGRATE sends to other servers.</summary>
    internal MigrationService Migrations { get; }

    /// <summary>What the server's replicas receive.</summary>
    internal ReplicationStream ReplicaStream => Replicas.Stream;

    /// <summary>Begins to follow a primary, or to become one: null. Returns the rest, which may take long and is for a thread that serves no clients.</summary>
    internal required Func<PrimaryAddress?, Action> BeginRoleChange { get; init; }

    /// <summary>Whether commands that write may begin.</summary>
    internal WriteGate WriteGate { get; }

    /// <summary>Saves the data, if that is wanted, and begins to stop the server; false if saving failed: then the server goes on.</summary>
    internal required Func<StopSaving, bool>? Shutdown { get; init; }

    /// <summary>The same on a thread of its own, after replicas have got everything; the flag says that a failed save does not count.</summary>
    internal required Func<StopSaving, bool, bool> ShutdownAfterReplicas { get; init; }

    internal required int LoopCount { get; init; }

    /// <summary>"epoll" or "sockets".</summary>
    internal required string Transport { get; init; }

    internal void UseCommands(CommandTable commands)
    {
        Commands = commands;
        Users.UseCommands(commands);
        Metrics = new MetricsRegistry(Keyspace, commands.All.Count, Limits, Kept, () => Script.Figures().TotalBytes);
    }
}

/// <summary>A server's listeners, as INFO shows them.</summary>
/// <param name="Port">The TCP port; 0 when there is none.</param>
/// <param name="Listeners">Each listener as one line.</param>
internal readonly record struct ListeningFigures(int Port, IReadOnlyList<string> Listeners);

/// <summary>The handshakes of the TLS port, and its certificate.</summary>
/// <param name="Completed">Handshakes that have succeeded.</param>
/// <param name="Failed">Handshakes that have failed.</param>
/// <param name="Refused">Connections that were closed because too many handshakes were in progress.</param>
/// <param name="InProgress">Handshakes in progress.</param>
/// <param name="CertificateSeconds">Seconds until the certificate expires; NaN: there is none.</param>
/// <param name="Certificate">The certificate of new connections; null: neither the data nor the dashboard uses TLS.</param>
internal readonly record struct TlsFigures(long Completed, long Failed, long Refused, int InProgress, double CertificateSeconds, TlsCertificate? Certificate);

/// <summary>A certificate as reports show it.</summary>
/// <param name="Subject">Whose it is.</param>
/// <param name="Issuer">The authority that signed it.</param>
/// <param name="NotBefore">Since when it is valid, UTC.</param>
/// <param name="NotAfter">Until when it is valid, UTC.</param>
/// <param name="Intermediates">Certificates of intermediate authorities that are sent with it.</param>
internal sealed record TlsCertificate(string Subject, string Issuer, DateTime NotBefore, DateTime NotAfter, int Intermediates);

/// <summary>Counts of blocked clients, as INFO shows them.</summary>
/// <param name="Clients">Blocked clients, and those that a pause holds.</param>
/// <param name="WithDeadline">Those of them that have a deadline.</param>
/// <param name="Keys">Keys that clients are blocked on.</param>
/// <param name="KeysWakingWhenGone">Keys with clients that are also woken when the key is gone.</param>
internal readonly record struct BlockedClientFigures(int Clients, int WithDeadline, int Keys, int KeysWakingWhenGone);
