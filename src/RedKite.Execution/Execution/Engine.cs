using RedKite.Net;
using RedKite.Protocol;
using RedKite.Server.Acl;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Execution.Eviction;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.PubSub;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// The state that all executors of one server share: its parts, and what executes, limits and interrupts commands. Loops and callers
/// in the process execute commands through it. No command knows it: a handler gets what it needs from its
/// <see cref="CommandContext"/>, a family of administrative commands what it was made with.
/// </summary>
internal sealed class Engine : ServerCore
{
    private const int RedisBufferBytes = 16 * 1024; // of replies that its limits do not count

    internal Engine(Configuration configuration, Keyspace keyspace, ServerClock clock, ServerLog log, ClientText describeClient, bool ownsProcess)
        : base(configuration, keyspace, clock, log, describeClient)
    {
        Memory = new MemoryLimit(Settings, keyspace) { OwnsProcess = ownsProcess, IsSuspended = () => Replication.IsReplica && Settings.ReplicaIgnoreMaxMemory };
        Shedding = new ConnectionShedding(Settings, Actions);
        Hogs = new HogClosing(Settings, Actions);
        ClientEviction = new ClientEviction(Settings, Clients, log) { Evicting = NoteEvicted };
        DangerousCommands = new DangerousCommands(Settings, Actions);
        Notifications = new KeyspaceNotifications(Messages, keyspace);
        Replication.RoleChanged += () =>
        {
            if (Metrics is not null) Memory.Apply(Metrics, reports: false);
        };
        ApplySettings();
        if (Changes.HasRequests) Changes.Apply();
    }

    /// <summary>Whether keys may expire and be evicted now. What is loaded stays until the server has begun: only then do replicas hear of a removal.</summary>
    internal bool MayRemoveKeys(long steadyMs) => Pause.EndIfOver(steadyMs) && !WriteGate.Waits && !Replication.IsReplica && (Attention.Flags & ServerAttention.Loading) == 0 && Routing.Value is null or { RemovesKeys: true };

    /// <summary>Whether blocked clients may be served although no command has changed their keys: what serves them writes.</summary>
    internal bool MayServeByTime(long steadyMs) => MayRemoveKeys(steadyMs) && WriteGate.Refusal is null && !WriteGate.LacksReplicas;

    /// <summary>Whether what clients of a replica have let expire may be removed now.</summary>
    internal bool MayRemoveLocalKeys(long steadyMs) => Replication.IsReplica && Pause.EndIfOver(steadyMs) && !WriteGate.Waits && (Attention.Flags & ServerAttention.Loading) == 0;

    /// <summary>Whether clients are refused, because the link to the primary is down and the data is stale.</summary>
    internal bool RefusesStale => Replication.IsReplica && !Settings.ReplicaServeStaleData && Replication.LinkStatus is not { State: ReplicaLinkState.Connected };

    /// <summary>Clients whose commands block.</summary>
    internal required BlockedClients Blocked { get; init; }

    /// <summary>The limit of memory.</summary>
    internal MemoryLimit Memory { get; }

    /// <summary>Publishes what happens to keys; it consumes changes only while notify-keyspace-events selects some.</summary>
    internal KeyspaceNotifications Notifications { get; }

    internal ConnectionShedding Shedding { get; }

    internal HogClosing Hogs { get; }

    internal ClientEviction ClientEviction { get; }

    internal DangerousCommands DangerousCommands { get; }

    /// <summary>Surrounds every command; null: nothing does.</summary>
    internal ICommandInterceptor? Interceptor { get; private set; }

    // A reply is held until it is sent, beside the data: what the data itself fills is left to it.
    private const int ReplyShare = 2;
    private const int RepeatedReplyShare = 8;

    /// <summary>
    /// The limit of the replies that are built for a connection before they are sent: beyond it, the client's output limit
    /// would close it anyway. The command's own reply may follow up to a full buffer of earlier ones.
    /// </summary>
    internal long ReplyBytesMax { get; private set; }

    /// <summary>
    /// The limit of a reply whose size is a number that the client gives, such as HRANDFIELD's negative count: a part of the process's limit and of
    /// maxmemory, because no data of that size need exist.
    /// </summary>
    internal long RepeatedReplyBytesMax { get; private set; }

    /// <summary>
    /// The limit of one reply to an ordinary client, above which the client is closed even if it reads. As in Redis, the reply
    /// buffer is added to the configured limit.
    /// </summary>
    internal long OneReplyBytesMax { get; private set; } = long.MaxValue;

    /// <summary>
    /// Notes where what a client has written ends in the append-only file and in the stream for replicas: WAIT and WAITAOF wait for that, and with
    /// replica-acks the command's reply, unless it has only sent a message or found a key expired. A stripe that it has written is locked.
    /// </summary>
    internal void NoteWritten(Session session, bool hasChanged)
    {
        if (SyncedLog.Log is { } log) session.Own.LoggedPosition = log.End;
        if (Replication.Stream is not { HasBacklog: true } stream) return;
        session.Own.ReplicatedOffset = stream.Offset;
        if (hasChanged && Replication.Acks.Term is { } term) (session.Own.UnackedOffset, session.Own.UnackedTerm) = (session.Own.ReplicatedOffset, term);
    }

    /// <summary>
    /// Ends the waits of blocked clients, because the server became a replica: what they wait for may never come to it. In a cluster they are sent to the node that has their slots now. Reads in slices, which Redis executes
    /// at once, go on.
    /// </summary>
    /// <param name="isAgain">
    /// Whether this is the second look, for clients admitted before the role changed that blocked after the first. Reads that block are left alone then: their clients may have connected to the replica.
    /// </param>
    internal void EndWaitsForRole(bool isAgain)
    {
        Interlocked.MemoryBarrier(); // the role, and then the clients: who blocks afterwards sees the role
        RedirectBlocked();
        foreach (BlockedClient client in Blocked.All)
        {
            if (client.Block.IsCertain) continue;
            bool isOfPrimary = client.Request.Command.Is(CommandFlags.Write) || client.Block.Late is not null;
            if (isOfPrimary || (client.Block.Work is null && !isAgain)) Blocked.EndForRole(client, Buffers);
        }
    }

    /// <summary>
    /// Whether this node has given up its right to serve, and it is not known yet to whom its role goes: what would be refused because the cluster is down waits for that, and is decided by the routing of then.
    /// </summary>
    internal bool IsHandingOver(SlotRouting routing) => routing.MayNotServe && Pause.IsHandover && Routing.Lease is { HasEnded: false };

    /// <summary>Whether work in slices must wait before it goes on.</summary>
    internal bool HoldsWork(BlockedClient client, long steadyMs) =>
        !client.HasEnded && (Pause.IsHolding(client.Session, client.Request.Command, steadyMs) || (Routing.Value is { } routing && IsHandingOver(routing)));

    /// <summary>
    /// Ends the waits of clients that are blocked on keys of slots that this node does not serve any more. Behind a change of the routing, when every stripe has been locked since: who blocks
    /// afterwards was admitted by the new one.
    /// </summary>
    internal void RedirectBlocked()
    {
        if (Routing.Value is not { } routing) return;
        foreach (BlockedClient client in Blocked.All)
        {
            RedirectIfMoved(routing, client);
        }
    }

    /// <summary>The same for a client that has just blocked: it may have been admitted before the routing changed, and have blocked behind that look.</summary>
    internal void RedirectIfMoved(BlockedClient client)
    {
        if (Routing.Value is { } routing) RedirectIfMoved(routing, client);
    }

    private void RedirectIfMoved(SlotRouting routing, BlockedClient client)
    {
        if (!client.MayBeUnblocked || client.AnyKey is not { } key || IsHandingOver(routing)) return;
        if (SlotCheck.RefusalOfWait(routing, KeyHasher.SlotOf(key.Identity.Hash), client) is { } error) Blocked.EndByRedirect(client, error, Buffers);
    }

    internal void Intercept(ICommandInterceptor interceptor)
    {
        Interceptor = interceptor;
        Attention.Set(ServerAttention.HasBehaviors, on: true);
    }

    /// <summary>Whether a connection's command must wait for a test; null: there is no test server. Its clients try again when they are resumed, and with each tick.</summary>
    internal RequestRule? PausedByTest { get; private set; }

    internal void HoldForTest(RequestRule rule)
    {
        PausedByTest = rule;
        Attention.Set(ServerAttention.PausedByTest, on: true);
    }

    internal CommandExecutor NewExecutor() => new(this);

    /// <summary>Closes a client that has more output waiting than its class allows.</summary>
    internal void CloseOverLimit(Session session, Connection connection)
    {
        NoteOverLimit(session, connection);
        connection.Close();
    }

    private void NoteOverLimit(Session session, Connection connection)
    {
        Interlocked.Increment(ref Metrics.Server.OutputBufferDisconnections);
        if (session.IsMonitor) Limits.Note(Limit.MonitorOutput);
        if (session.Type == ClientType.PubSub) Interlocked.Increment(ref Metrics.Server.SubscriberDisconnections);
        Note(TimelineKind.OverLimit, session);
        Log.Warning(LogEvents.ClientOverOutputBuffer, $"Client id={session.Id} addr={connection.RemoteAddress} closed for overcoming of output buffer limits.");
    }

    /// <summary>Closes a client whose reply is larger than its output limit: nothing of it is sent, and only the earlier replies are.</summary>
    internal void CloseOverLimit(Session session, Connection connection, ReplyWriter reply, long start)
    {
        NoteOverLimit(session, connection);
        reply.Truncate(start);
        session.CloseAfterReply();
    }

    /// <summary>Closes the clients of a user that was removed.</summary>
    internal void CloseAllOf(User user) => Clients.KillAllOf(user, session => Note(TimelineKind.UserDeleted, session));

    /// <summary>Notes that a client sent an invalid request: nothing more is read from it.</summary>
    internal void CloseAfterProtocolError(Session session)
    {
        session.CloseAfterReply();
        if (session.ClosesAfterReply) Note(TimelineKind.ProtocolError, session);
    }

    /// <summary>Notes an event that may have delayed or disconnected a client.</summary>
    internal void Note(TimelineKind kind, Session session, long durationNs = 0, string detail = "")
    {
        if (kind.ClosesClient()) session.IsClosedByServer = true;
        Timeline.Add(new TimelineEvent(Clock.NowMs, kind, durationNs / 1000, session.Id, session.Address, session.Name, detail));
    }

    /// <summary>Whether a client must log in before it may do anything else. If the default user needs no password, every client is logged in.</summary>
    internal bool RequiresLogin(Session session) => !session.Authenticated && !Users.AllowsAnonymous;

    /// <summary>Whether a client may use a protected command, by the setting that is the command's gate.</summary>
    internal bool AllowsProtected(Session session, Command command)
    {
        ProtectedAccess access = command.Gate?.Invoke(Settings) ?? ProtectedAccess.No;
        return access == ProtectedAccess.Yes
            || (access == ProtectedAccess.Local && (session.Connection is null || session.Connection.RemoteAddress.IsLoopback));
    }

    private void ApplySettings()
    {
        Apply("slowlog-log-slower-than", () =>
        {
            long microseconds = Settings.SlowLogSlowerThanMicroseconds;
            SlowLog.Threshold = microseconds < 0 ? long.MaxValue : microseconds * 1000;
            Attention.Set(ServerAttention.TimesEachCommand, microseconds is >= 0 and < 1000);
        });
        Apply("notify-keyspace-events", () =>
        {
            Notifications.Select(Settings.KeyspaceEvents);
            Changes.RecordsOverwritten = Notifications.ReportsOverwritten;
            Changes.RecordsFields = Notifications.ReportsFields;
            Changes.Request(Notifications, Notifications.IsOn);
        });
        Apply("latency-monitor-threshold", () => LatencyMonitor.SetThreshold(Settings.LatencyMonitorThresholdMs));
        Apply("slowlog-max-len", () => SlowLog.MaxLength = Settings.SlowLogMaxLength);
        Apply("commandlog-request-larger-than", () => LargeRequests.Threshold = Settings.LargeRequestBytes < 0 ? long.MaxValue : Settings.LargeRequestBytes);
        Apply("commandlog-large-request-max-len", () => LargeRequests.MaxLength = Settings.LargeRequestLogMaxLength);
        Apply("commandlog-large-reply-max-len", () => LargeReplies.MaxLength = Settings.LargeReplyLogMaxLength);
        Apply("commandlog-reply-larger-than", () =>
        {
            LargeReplies.Threshold = Settings.LargeReplyBytes < 0 ? long.MaxValue : Settings.LargeReplyBytes;
            MeasureReplies();
        });
        Configuration.OnChange("requirepass", () =>
        {
            Users.SetDefaultPassword(Settings.RequirePass);
            return null;
        });
        Apply("client-output-buffer-limit", () =>
        {
            ulong hardBytes = Settings.NormalClientLimit.HardBytes;
            ReplyBytesMax = hardBytes == 0 || hardBytes > (ulong)MemoryBytesMax / ReplyShare ? MemoryBytesMax / ReplyShare : (long)hardBytes + ReplyWriter.ContiguousBytesMax;
            OneReplyBytesMax = hardBytes == 0 || hardBytes > (ulong)MemoryBytesMax ? long.MaxValue : (long)hardBytes + RedisBufferBytes;
            MeasureReplies();
        });

        Apply("maxmemory", () =>
        {
            long limit = Settings.MaxMemoryBytes == 0 ? MemoryBytesMax : (long)Math.Min(Settings.MaxMemoryBytes, (ulong)MemoryBytesMax);
            RepeatedReplyBytesMax = Math.Clamp(limit / RepeatedReplyShare, ReplyWriter.ContiguousBytesMax, ReplyWriter.RepeatedBytesMost);
            Memory.Apply(Metrics, reports: true);
            if (Metrics is not null && Keyspace.Budget.IsExceeded) Log.Warning(LogEvents.MemoryOverLimit, $"maxmemory {Settings.MaxMemoryBytes} is less than the memory in use: keys will be evicted, or writes refused, depending on maxmemory-policy.");
        });

        void MeasureReplies() =>
            Attention.Set(ServerAttention.MeasuresEachReply, Math.Min(LargeReplies.Threshold, OneReplyBytesMax) < ReplyWriter.ContiguousBytesMax);

        void Apply(string name, Action apply)
        {
            apply();
            Configuration.OnChange(name, () =>
            {
                apply();
                return null;
            });
        }
    }

    private void NoteEvicted(Session session)
    {
        Interlocked.Increment(ref Metrics.Server.EvictedClients);
        Note(TimelineKind.Evicted, session);
    }
}
