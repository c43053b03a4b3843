using System.Diagnostics;
using RedKite.Net;
using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Execution;
using RedKite.Server.Execution.Slices;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Loops;

/// <summary>
/// One event loop's side of the server: turns its connections into sessions, passes what they send to the loop's executor,
/// enforces the limits of buffers and time, and does the loop's share of background work.
/// </summary>
internal sealed class SessionLoop : IConnectionHandler
{
    // Background work is done in slices that a client hardly notices. While clients send, it takes at most a quarter of the
    // core or so; otherwise it rests only as long as polling for requests takes, because sleeping makes the next slice slower. Work
    // in progress at a slice's end continues, mostly for 50 microseconds.
    private const long SliceMicroseconds = 100;
    private const long BusyRestMicroseconds = 300;
    private const long IdleRestMicroseconds = 0;
    private const long HeldRestMicroseconds = 1000; // while a pause or a locked stripe holds the work
    private const int SweepEveryMs = 200;
    private const int PausedRestMs = 100;

    // A client with more output than this waiting is not read from until it has taken most of it: pipelined commands do not
    // pile up replies. Far more than a socket's own buffer, so that a client that reads never waits for the server.
    private const long SuspendedOutputBytes = 4 * 1024 * 1024;
    private const long ResumedOutputBytes = 1024 * 1024;

    // Before the login a client needs a few replies that a socket takes at once. One that reads none is closed, as in Redis.
    private const int UnauthenticatedOutputBytesMax = 1024;

    // A client whose connection ends is no longer listed once it has its last reply, unless that has to wait for the client to read.
    private const int FarewellBytesMax = 4096;

    private readonly Engine _engine;
    private readonly EventLoop _loop;
    private readonly BackgroundSweep _sweep;
    private readonly ActiveDefragmentation _defragmentation;
    private readonly IReplicaFeeds _replicas;
    private readonly IReplicaFeeder _feeder;
    private readonly bool _isFirst;
    private long _commandsAtLastSweep;
    private long _commandsAtLastSlice;
    private long _nextSweepMs;
    private long _nextSecondMs;
    private long _nextPeakMs;
    private bool _holdsClients;
    private bool _pauseHolds; // some of them, or did when it was looked at

    internal SessionLoop(Engine engine, IReplicaFeeds replicas, EventLoop loop, int index, int loops)
    {
        _engine = engine;
        _loop = loop;
        _isFirst = index == 0;
        Gate = new LoopGate(loop);
        _replicas = replicas;
        _feeder = replicas.NewFeeder(loop);
        Executor = engine.NewExecutor();
        Executor.Environment.ServesLater = true; // with its ticks
        Metrics = new LoopMetrics(loop, Executor.Metrics);
        engine.Metrics.Add(Metrics);
        Blocked = new LoopBlockedClients(engine, loop, Executor);
        Acks = new LoopAcks(loop, engine.Replication.Acks, engine.Settings, () => Executor.Time.SteadyMs, Blocked.TickIn);
        Executor.Writes.Use(Acks);
        engine.Replication.Acks.Add(Acks);
        Sliced = new SliceQueue(engine, loop, Executor);
        int firstSwept = index < loops ? index : engine.Keyspace.Stripes.Length; // a reserve loop sweeps none
        _sweep = new BackgroundSweep(engine.Keyspace, firstSwept, loops)
        {
            Entered = Executor.Recording.Begin,
            Exiting = Executor.Invoker.Publisher.PublishRecorded,
        };
        _defragmentation = new ActiveDefragmentation(engine.Settings, engine.Keyspace, Executor.Metrics, engine.LatencyMonitor, firstSwept, loops);
    }

    internal CommandExecutor Executor { get; }

    internal EventLoop Loop => _loop;

    /// <summary>The loop's blocked clients.</summary>
    internal LoopBlockedClients Blocked { get; }

    /// <summary>The loop's clients that wait for work in slices.</summary>
    internal SliceQueue Sliced { get; }

    internal LoopMetrics Metrics { get; }

    /// <summary>Holds the loop's output back until the append-only file has what it may show.</summary>
    internal LoopGate Gate { get; }

    /// <summary>The replies that wait for replicas.</summary>
    internal LoopAcks Acks { get; }

    /// <summary>Called in every iteration of the first loop, with the time.</summary>
    internal Action<long>? Ticked { get; init; }

    private static Session SessionOf(Connection connection) => (Session)connection.State!;

    public void Opened(Connection connection)
    {
        Executor.Time.Read();
        Settings settings = _engine.Settings;
        Session session = _engine.Clients.Add(connection, Executor.Time.SteadyMs, _engine.Users.Default, authenticated: _engine.Users.AllowsAnonymous);
        connection.State = session;
        if (ServerEvents.HearsConnections) ServerEvents.ConnectionOpened(session.Id, session.Address);
        _engine.Arrivals.Note(connection.RemoteAddress.Host, Executor.Time.SteadyMs);
        if (_engine.Clients.Count > settings.MaxClients)
        {
            _engine.Limits.Note(Limit.Connections);
            Refuse(connection, "-ERR max number of clients reached\r\n"u8);
            return;
        }

        if (_engine.Shedding.Refuses(Executor.Time.SteadyMs))
        {
            Refuse(connection, "-ERR too many clients connect at the moment, try again later\r\n"u8);
            return;
        }

        if (settings.ProtectedMode && _engine.Users.DefaultNeedsNoPassword && !connection.RemoteAddress.IsLoopback)
        {
            Refuse(connection, "-DENIED RedKite is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface. To connect from elsewhere, set a password (requirepass), or turn the mode off from this machine with 'CONFIG SET protected-mode no' after making sure that the server cannot be reached from the internet.\r\n"u8);
            return;
        }

        Interlocked.Increment(ref _engine.Metrics.Server.ConnectionsReceived);
        if (settings.TcpKeepAliveSeconds > 0) connection.SetKeepAlive(settings.TcpKeepAliveSeconds);
    }

    /// <summary>
    /// Moves idle clients, and those that arrive from now on, to another loop, because this one runs a script that is busy. On the
    /// loop's thread.
    /// </summary>
    /// <returns>How many moved so far.</returns>
    internal int BeginRelief(SessionLoop other) => _loop.BeginRelief(other._loop, MayMove);

    /// <summary>Clients stay here again. On the loop's thread.</summary>
    internal void EndRelief() => _loop.EndRelief();

    // The others are in lists of this loop, or messages for them must stay in order.
    private static bool MayMove(Connection connection) => SessionOf(connection) is
    {
        Type: not ClientType.Replica, Blocked: null, Tracking: null, Subscriptions: null or { Count: 0 },
        IsExecuting: false, IsMonitor: false, ClosesAfterReply: false, IsPaused: false, Counts.IsSuspended: false,
    };

    /// <summary>
    /// The loop that idle clients move to at the end of each iteration, so that also the client of this iteration leaves; null: they stay. On the
    /// loop's thread.
    /// </summary>
    internal SessionLoop? Home { get; private set; }

    /// <summary>Clients that come to rest here go to that loop from now on. On this loop.</summary>
    internal void BeginReturn(SessionLoop home) => Home = home;

    /// <summary>They stay. On this loop.</summary>
    internal void EndReturn() => Home = null;

    // Changes while the client moved were announced only to the loops' other clients.
    public void Moved(Connection connection) => SessionOf(connection).NoteUser();

    /// <summary>Notes that a client of the loop has blocked.</summary>
    internal void Begin(BlockedClient client)
    {
        Blocked.Begin(client);
        if (client.Work is null) return;
        Sliced.Add(client);
        _loop.TickAfter(0);
    }

    public int Received(Connection connection, Span<byte> input)
    {
        Session session = SessionOf(connection);
        if (session.ClosesAfterReply) return input.Length;
        session.Own.HasNewInput = connection.BytesReceived != session.Counts.BytesReceived;
        Executor.Metrics.CountRead(connection.BytesReceived - session.Counts.BytesReceived);
        session.Counts.BytesReceived = connection.BytesReceived;
        session.Counts.InputBytes = input.Length;
        Executor.Reply.BytesMax = _engine.ReplyBytesMax;
        Executor.Reply.RepeatedBytesMax = _engine.RepeatedReplyBytesMax;
        Executor.Waits.BeginInput(_loop.Cycles);
        LeaseDeadline? lease = _engine.Routing.Lease;
        if (lease is not null) connection.BeginReplies(session.Own.Deadline = lease.DeadlineOfNow()); // another node may have taken over before this was executed: then no reply leaves
        int consumed = session.Blocked is null ? Executor.Run(session, input) : 0;
        bool replied = Executor.Reply.Length > 0 || Executor.Reply.Overflowed;
        if (session.ClosesAfterReply && connection.OutputBytes + Executor.Reply.Length < FarewellBytesMax) _engine.Clients.Remove(session);
        if (replied) Executor.SendReplies(session, connection);
        if (lease is not null) connection.EndReplies();
        if (session.ClosesAfterReply)
        {
            // As in Redis, the connection ends when a reply was sent: without replies it stays open, and is no longer read from.
            if (replied || session.ReplyMode != ReplyMode.Off || connection.OutputBytes > 0) connection.CloseAfterSend();
        }
        else if (session.IsPaused)
        {
            _holdsClients = true;
            _pauseHolds |= !_engine.Pause.EndIfOver(Executor.Time.SteadyMs);
            _engine.Note(TimelineKind.Paused, session);
            connection.SetReading(false);
        }
        else if (!session.Counts.IsSuspended && input.Length - consumed > _engine.Settings.ClientQueryBufferLimit)
        {
            Interlocked.Increment(ref _engine.Metrics.Server.QueryBufferDisconnections);
            _engine.Note(TimelineKind.QueryTooLarge, session);
            _engine.Log.Warning(LogEvents.ClientOverQueryBuffer, $"Closing client that reached max query buffer length: id={session.Id} addr={connection.RemoteAddress}");
            connection.Close();
        }
        else if (consumed < input.Length && _engine.ClientEviction.Evicts(session, input.Length - consumed))
        {
            connection.Close();
        }

        if (_engine.ClientEviction.IsOn) _engine.ClientEviction.Note(session, input.Length - consumed);
        return consumed;
    }

    public void IterationEnded()
    {
        Executor.Environment.ScriptMutexHold.End();
        Gate.EndIteration();
        Acks.EndIteration();
        if (_feeder.IsInUse) _feeder.Feed(Executor.Metrics.Reads);
        if (Home is { } home) _loop.MoveIdle(home._loop, MayMove);
    }

    public long BytesExpected(Connection connection) => SessionOf(connection).Partial?.BytesExpected ?? 0;

    public void OnOutputBuffered(Connection connection)
    {
        Session session = SessionOf(connection);
        if (!session.Authenticated && connection.OutputBytes > UnauthenticatedOutputBytesMax && !connection.IsEstablishing && _engine.RequiresLogin(session))
        {
            _engine.CloseOverLimit(session, connection);
            return;
        }

        if (_engine.ClientEviction.IsOn) _engine.ClientEviction.Note(session, connection.InputBytes);
        ClientOutputBufferLimit limit = LimitOf(session);
        if (session.Type == ClientType.Replica) return; // it is fed only as fast as it reads, and limited by how far it is behind
        if (connection.OutputBytes > SuspendedOutputBytes && !session.Counts.IsSuspended) Suspend(session, connection);
        var waiting = (ulong)connection.OutputBytes;
        bool overSoft = limit.SoftBytes > 0 && waiting > limit.SoftBytes;
        if (!overSoft) session.OverSoftLimitSinceMs = 0;
        else if (session.OverSoftLimitSinceMs == 0) session.OverSoftLimitSinceMs = Executor.Time.SteadyMs;
        bool tooLong = overSoft && Executor.Time.SteadyMs - session.OverSoftLimitSinceMs > limit.SoftSeconds * 1000L;
        if (!tooLong && (limit.HardBytes == 0 || waiting <= limit.HardBytes)) return;
        if (connection.IsResting) connection.FlushOn(); // then what waits still is looked at again
        else _engine.CloseOverLimit(session, connection);
    }

    // A client of MONITOR does not cause its output: if its class has no limit, that of subscribers applies.
    private ClientOutputBufferLimit LimitOf(Session session) => session.Type switch
    {
        ClientType.PubSub => _engine.Settings.PubSubClientLimit,
        _ when session.IsMonitor && _engine.Settings.NormalClientLimit is { HardBytes: 0, SoftBytes: 0 } => _engine.Settings.PubSubClientLimit,
        _ => _engine.Settings.NormalClientLimit,
    };

    public void OnOutputDrained(Connection connection)
    {
        Session session = SessionOf(connection);
        if (!session.Counts.IsSuspended)
        {
            _replicas.Drained(session);
            return;
        }

        session.Counts.IsSuspended = false;
        _engine.Note(TimelineKind.ReadsAgain, session);
        Metrics.AddSuspendedClients(-1);
        if (!session.IsPaused) connection.SetReading(true);
    }

    public void Deliver(Connection connection, SharedBuffer buffer, int start, int length)
    {
        Session session = SessionOf(connection);
        if (session.IsExecuting)
        {
            if (connection.IsClosing) return;
            if (IsOverLimit(connection, session.DeferredBytes))
            {
                OnLimitExceeded(connection);
                return;
            }

            session.Defer(new Payload(buffer, start, length));
            Executor.Reply.NoteDelivery();
            return;
        }

        Executor.Metrics.CountSent(length);
        session.Counts.BytesSent += length;
        connection.Queue(buffer, start, length);
    }

    public bool IsOverLimit(Connection connection, long postedBytes)
    {
        ulong limit = LimitOf(SessionOf(connection)).HardBytes;
        return limit > 0 && (ulong)postedBytes > limit;
    }

    public void OnLimitExceeded(Connection connection)
    {
        if (!connection.IsClosing) _engine.CloseOverLimit(SessionOf(connection), connection);
    }

    public void Closed(Connection connection)
    {
        Session session = SessionOf(connection);
        if (ServerEvents.HearsConnections) ServerEvents.ConnectionClosed(session.Id, session.Address);
        Blocked.Closed(session);
        if (session.IsMonitor) _engine.Monitors.Remove(session);
        _replicas.Closed(session);
        session.Reception?.End("the source has closed the connection");
        int channelCount = session.IsClosedByServer ? session.Subscriptions?.Count ?? 0 : 0;
        IReadOnlyList<byte[]> channels = channelCount > 0 ? session.Subscriptions!.First(DepartedClients.ChannelsMax) : [];
        _engine.Messages.EndAll(session);
        _engine.Watched.Closed(session);
        _engine.Tracking.End(session);
        if (_engine.Changes.HasRequests) _engine.Changes.ApplyUnlessBusy();
        if (session.Counts.IsSuspended) Metrics.AddSuspendedClients(-1);
        _engine.Clients.Remove(session);
        _engine.Clients.Departed.Add(session, _engine.Clock.SteadyMs, _engine.Clock.NowMs, channels, channelCount);
        _engine.ClientEviction.Forget(session);
        session.Transaction = null;
        session.EndCountingKept(_engine.Kept);
        _engine.Memory.NoteReleased(Metrics.Buffers, session.Own.CountedBufferBytes);
        session.Own.CountedBufferBytes = 0;
    }

    public int Tick()
    {
        if (_isFirst) _engine.Clock.Anchor();
        Executor.Time.Read();
        long nowMs = Executor.Time.NowMs;
        long steadyMs = Executor.Time.SteadyMs;
        if (_holdsClients && _engine.Pause.EndIfOver(steadyMs) && (_pauseHolds || !_engine.WriteGate.Waits)) ResumePaused(); // the gate resumes its own when it opens
        if (_engine.Run.IsBackgroundPaused) return Blocked.EndOverdue(steadyMs, Acks.EndOverdue(steadyMs, PausedRestMs));
        if (steadyMs >= _nextSecondMs)
        {
            _nextSecondMs = steadyMs + 1000;
            LookAtClients(steadyMs);
            Executor.Waits.AdaptSampling();
            Executor.Meter.AdaptSampling();
            if (_isFirst) _engine.Messages.ReleaseIdle();
            if (_isFirst) _engine.Routing.Hidden.Tidy();
            if (_isFirst) _engine.Watched.RemoveEnded();
            if (_isFirst) _engine.Tracking.ReleaseIdle();
        }

        if (_isFirst && _engine.Changes.HasRequests) _engine.Changes.ApplyUnlessBusy();
        Ticked?.Invoke(steadyMs);
        bool evictsMore = _engine.Keyspace.Budget.IsExceeded && _engine.MayRemoveKeys(steadyMs) && Executor.Evictor.TryEvict() && _engine.Keyspace.Budget.IsExceeded;
        int restMs = Math.Clamp(1000 / Math.Max(1, _engine.Settings.Hz), 1, 100);
        long? restMicroseconds = Sweep(nowMs, steadyMs);
        if (Slice(steadyMs) is { } untilNext) restMicroseconds = Math.Min(untilNext, restMicroseconds ?? untilNext);
        if (evictsMore) restMicroseconds = Math.Min(BusyRestMicroseconds, restMicroseconds ?? BusyRestMicroseconds);
        if (_isFirst && _engine.MayServeByTime(steadyMs)) Executor.Invoker.Blocked.NoteLooks(steadyMs);
        Executor.Invoker.Blocked.ServeNoted();
        _engine.Tracking.Broadcast(Executor.Recording.Changes);
        if (_isFirst) _engine.Tracking.Trim();
        if (_isFirst && _engine.Blocked.Looks.NextMs is var nextMs && nextMs > steadyMs) restMs = (int)Math.Min(restMs, nextMs - steadyMs);
        restMs = Acks.EndOverdue(steadyMs, restMs);
        restMs = Blocked.EndOverdue(steadyMs, restMicroseconds is null ? restMs : 1);
        if (_defragmentation.Run(nowMs) is { } untilSlice)
        {
            restMicroseconds = Math.Min(untilSlice, restMicroseconds ?? untilSlice);
            restMs = Math.Min(restMs, (int)(untilSlice / 1000) + 1);
        }

        if (restMicroseconds is { } rest) _loop.TickAfter(rest);
        return restMs;
    }

    /// <summary>Does everything that is due by the clock, however long it takes. On the loop's thread.</summary>
    internal void RunDue()
    {
        ResumePaused();
        while (Tick() == 1 && _loop.IsCurrent)
        {
        }
    }

    /// <summary>
    /// Ends the subscriptions of the loop's clients to sharded channels whose slots have moved to another node, with a message to each client. Runs between two
    /// iterations, when every subscription admitted by the old routing is listed.
    /// </summary>
    internal void EndMovedSubscriptions()
    {
        if (_engine.Routing.Value is not { } routing || _engine.Messages.ShardChannels.Count == 0) return;
        foreach (Connection connection in _loop.Connections)
        {
            Session session = SessionOf(connection);
            if (session.Subscriptions is not { } own || own.CountOf(SubscriptionKind.ShardChannel) == 0) continue;
            var reply = new ReplyWriter(_engine.Buffers) { Resp3 = session.Resp3 };
            foreach (byte[] name in own.NamesOf(SubscriptionKind.ShardChannel).ToArray())
            {
                int owner = routing.OwnerOf(KeySlot.Of(name));
                if (owner != SlotRouting.NoNode && (owner == routing.Self || owner == routing.Primary)) continue;
                _engine.Messages.Unsubscribe(session, SubscriptionKind.ShardChannel, name);
                reply.Push(3);
                reply.Bulk("sunsubscribe"u8);
                reply.Bulk(name);
                reply.Integer(own.CountOf(SubscriptionKind.ShardChannel));
            }

            foreach (Payload part in Payload.Of(_engine.Buffers, reply))
            {
                session.Deliver(part);
                part.Buffer.Release();
            }

            reply.Clear();
        }
    }

    /// <summary>Resumes clients that were held by CLIENT PAUSE or because they may not write. On the loop's thread.</summary>
    internal void ResumePaused()
    {
        _holdsClients = _pauseHolds = false;
        Executor.Time.Read();
        foreach (Connection connection in _loop.Connections)
        {
            Session session = SessionOf(connection);
            if (!session.IsPaused) continue;
            session.IsPaused = false;
            session.Counts.LastInteractionMs = Executor.Time.SteadyMs; // the wait was not the client's: it does not count as idle
            if (!session.Counts.IsSuspended) connection.SetReading(true);
        }
    }

    /// <summary>
    /// Applies a change of a user's permissions, and closes subscribers to channels that the user may no longer access and that subscribed
    /// while it changed. On the loop's thread.
    /// </summary>
    internal void NoteUser(User user)
    {
        List<Connection> denied = [];
        long steps = AccessPattern.RequestStepsMax;
        foreach (Connection connection in _loop.Connections)
        {
            Session session = SessionOf(connection);
            if (session.User != user) continue;
            session.NoteUser();
            if (connection.ClosesAfterSend || user.Permissions is not { AreGone: false } permissions) continue; // ends anyway, or may have all channels
            if (session.Subscriptions is { Count: > 0 } subscriptions && !subscriptions.AreAllowedBy(permissions, ref steps)) denied.Add(connection);
        }

        foreach (Connection connection in denied)
        {
            _engine.Note(TimelineKind.ChannelDenied, SessionOf(connection));
            connection.CloseAfterSend();
        }
    }

    private void Suspend(Session session, Connection connection)
    {
        session.Counts.IsSuspended = true;
        _engine.Note(TimelineKind.NotReading, session);
        Metrics.AddSuspendedClients(1);
        connection.SetReading(false);
        connection.NotifyWhenDrained(ResumedOutputBytes);
    }

    // Does a slice of background work if it is due. How long to rest before the next one is returned, null when nothing is left.
    private long? Sweep(long nowMs, long steadyMs)
    {
        if (steadyMs < _nextSweepMs) return null;
        bool idle = Executor.Metrics.CommandsProcessed == _commandsAtLastSweep;
        _commandsAtLastSweep = Executor.Metrics.CommandsProcessed;
        long slice = SliceMicroseconds * (9 + _engine.Settings.ActiveExpireEffort) / 10;
        long start = Stopwatch.GetTimestamp();
        bool cut = _sweep.Run(nowMs, start + (slice * Stopwatch.Frequency / 1_000_000), _engine.Run.ExpiresActively && _engine.MayRemoveKeys(steadyMs));
        if (_isFirst && !cut && _engine.Run.ExpiresActively && _engine.MayRemoveLocalKeys(steadyMs)) _engine.LocalExpiries.Sweep(nowMs, start + (slice * Stopwatch.Frequency / 1_000_000), Executor.Recording.Begin, Executor.Invoker.Publisher.PublishRecorded);
        long ticks = Stopwatch.GetTimestamp() - start;
        Executor.Metrics.CountSweep(ticks, cut);
        if (idle) Metrics.AddSpared(ServerClock.TicksToNs(ticks));
        long expiryNs = ServerClock.TicksToNs(_sweep.ExpiryTicks);
        if (expiryNs >= _engine.LatencyMonitor.ThresholdNs) _engine.LatencyMonitor.Add("expire-cycle", nowMs, expiryNs);
        if (cut) return idle ? IdleRestMicroseconds : BusyRestMicroseconds;
        _nextSweepMs = steadyMs + SweepEveryMs;
        return null;
    }

    // Does a slice of work if a client waits for that. How long to rest before the next one is returned, null when nothing is left.
    private long? Slice(long nowMs)
    {
        if (Sliced.IsEmpty) return null;
        bool idle = Executor.Metrics.CommandsProcessed == _commandsAtLastSlice;
        _commandsAtLastSlice = Executor.Metrics.CommandsProcessed;
        long start = Stopwatch.GetTimestamp();
        bool hasRun = Sliced.RunSlice(nowMs);
        if (idle) Metrics.AddSpared(ServerClock.TicksToNs(Stopwatch.GetTimestamp() - start));
        return Sliced.IsEmpty ? null : !hasRun ? HeldRestMicroseconds : idle ? IdleRestMicroseconds : BusyRestMicroseconds;
    }

    private void LookAtClients(long nowMs)
    {
        long timeoutMs = _engine.Settings.TimeoutSeconds * 1000L;
        bool isNewPeriod = nowMs >= _nextPeakMs || _nextPeakMs - nowMs > _engine.Run.ReplyPeakMs;
        if (isNewPeriod) _nextPeakMs = nowMs + _engine.Run.ReplyPeakMs;
        Metrics.Buffers.Begin();
        foreach (Connection connection in _loop.Connections)
        {
            Session session = SessionOf(connection);
            session.Own.CountedBufferBytes = Metrics.Buffers.Note(connection);
            session.CountKept(_engine.Kept, exactly: true);
            if (connection.OutputBytes > 0) OnOutputBuffered(connection);
            else if (_engine.ClientEviction.IsOn) _engine.ClientEviction.Note(session, connection.InputBytes); // what was sent no longer counts
            if (isNewPeriod) session.Counts.ReplyBytesPeak = 0;
            if (connection.IsEstablishing && nowMs - session.CreatedMs > _engine.Settings.TlsHandshakeTimeoutSeconds * 1000L)
            {
                _engine.Note(TimelineKind.HandshakeTimeout, session);
                connection.Close();
                continue;
            }

            if (_engine.Hogs.Closes(session, connection.BufferBytes))
            {
                connection.Close();
                continue;
            }

            if (timeoutMs == 0 || session.IsPaused || session.Blocked is not null || session.Type != ClientType.Normal || nowMs - session.Counts.LastInteractionMs <= timeoutMs) continue;
            _engine.Note(TimelineKind.Idle, session);
            connection.Close();
        }

        Metrics.Buffers.End();
    }

    // Neither listed nor counted while its last reply is being sent.
    private void Refuse(Connection connection, ReadOnlySpan<byte> farewell)
    {
        Interlocked.Increment(ref _engine.Metrics.Server.ConnectionsRejected);
        _engine.Clients.Remove(SessionOf(connection));
        connection.Send(farewell);
        connection.CloseAfterSend();
    }
}
