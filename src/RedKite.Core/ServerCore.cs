using RedKite.Net.Interop;
using RedKite.Server.Acl;
using RedKite.Server.Changes;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.PubSub;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Server.Tracking;
using RedKite.Store.Keyspace;

namespace RedKite.Server;

/// <summary>
/// What every room of a server uses: settings, log, data, clients, users, changes, counts. Nothing here knows the rooms above; each takes the parts that it needs.
/// </summary>
internal abstract class ServerCore
{
    protected ServerCore(Configuration configuration, Keyspace keyspace, ServerClock clock, ServerLog log, ClientText describeClient)
    {
        Configuration = configuration;
        Configuration.Warned += text => log.Warning(LogEvents.SettingWithoutEffect, text);
        Settings = configuration.Settings;
        Keyspace = keyspace;
        Clock = clock;
        Log = log;
        Run = new ServerRun(clock.NowMs);
        Kept = new KeptMemory(keyspace.Budget);
        Users = new UserRegistry(Settings, Limits, Kept, describeClient);
        LatencyMonitor = new LatencyMonitor(Kept);
        Pause = new ClientPause(Attention);
        Monitors = new MonitorFeed(Attention, clock, Buffers);
        HotKeys = new HotKeyTracking(Attention, keyspace, clock, Kept);
        Changes = new ChangePublisher(keyspace, on => Attention.Set(ServerAttention.ChangesRequested, on));
        Routing = new CurrentRouting(Attention, keyspace);
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
        Replication.RoleChanged += () => log.NoteRole(Replication.IsReplica);
    }

    internal Configuration Configuration { get; }

    internal Settings Settings { get; }

    internal Keyspace Keyspace { get; }

    internal ServerClock Clock { get; }

    internal ServerLog Log { get; }

    internal ServerRun Run { get; }

    /// <summary>What there is beside keys.</summary>
    internal KeylessData Keyless { get; } = new();

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

    /// <summary>Which node has which slot.</summary>
    internal CurrentRouting Routing { get; }

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

    /// <summary>Whether commands that write may begin.</summary>
    internal WriteGate WriteGate { get; }

    /// <summary>Which history the data has, and which primary the server follows.</summary>
    internal ReplicationState Replication { get; } = new();

    /// <summary>The append-only file that is in use, for those that wait until it has something.</summary>
    internal CurrentLog SyncedLog { get; } = new();

    /// <summary>What the process may use: the machine's memory, or its container's limit.</summary>
    internal long MemoryBytesMax { get; } = GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;

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
