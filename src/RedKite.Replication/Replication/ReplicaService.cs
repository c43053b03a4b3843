using System.Collections.Concurrent;
using RedKite.Net;
using RedKite.Net.Interop;
using RedKite.Persistence.Rdb;
using RedKite.Server.Changes;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Replication;

/// <summary>
/// A server's replicas: it attaches them to the stream, by what they have of it or with all data first, and watches them.
/// </summary>
/// <remarks>
/// Locks: <see cref="_lock"/> guards the lists. It may be taken with stripes locked; nothing is locked with it held but the stream's.
/// </remarks>
internal sealed partial class ReplicaService : IReplicaFeeds, IStreamReaders, IAckAsker
{
    /// <summary>How often a replica's limit is doubled while it synchronizes, because its last synchronizations were too slow for it.</summary>
    internal const int LimitDoublingsMax = 3;

    private const int RememberedOverflowsMax = 64; // replicas
    private const int CountedOverflowsMax = LimitDoublingsMax + 7; // of one replica in a row
    private const int SecondMs = 1000;

    private readonly Settings _settings;
    private readonly Keyspace _keyspace;
    private readonly ChangePublisher _changes;
    private readonly AttentionWord _attention;
    private readonly ServerClock _clock;
    private readonly ServerLog _log;
    private readonly WriteGate _gate;
    private readonly IReplicatedData _data;
    private readonly IReplicationHost _host;
    private readonly BufferPool _buffers;
    private readonly ClientPause _pause;
    private readonly CurrentRouting _routing;
    private readonly Lock _lock = new();
    private readonly Lock _asking = new();
    private readonly ConcurrentDictionary<Session, ReplicaClient> _introduced = new();
    private readonly ConcurrentDictionary<EventLoop, ReplicaFeeder> _feederOf = new();
    private readonly Dictionary<string, int> _overflows = []; // by a replica's name: how often its synchronizations in a row were too slow
    private readonly ReplicaList _list;
    private volatile ReplicaFeeder[] _feeders = []; // of loops that have replicas
    private volatile int _introducedCount;
    private long _withoutReplicasSinceMs; // as a primary: since the last replica has left, or since it is one
    private long _nextSecondMs;
    private long _lastPingMs; // or the first replica's arrival
    private long _streamedAtReset;
    private volatile int _goodReplicas;
    private volatile int _payloadVersion = RdbFormat.Version;

    internal ReplicaService(ServerCore core, IReplicatedData data, IReplicationHost host)
    {
        State = core.Replication;
        _settings = core.Settings;
        _keyspace = core.Keyspace;
        _changes = core.Changes;
        _attention = core.Attention;
        _clock = core.Clock;
        _log = core.Log;
        _gate = core.WriteGate;
        _withoutReplicasSinceMs = _clock.SteadyMs;
        _data = data;
        _host = host;
        _buffers = core.Buffers;
        _pause = core.Pause;
        _routing = core.Routing;
        Stream = new ReplicationStream(() => (long)Math.Min(_settings.ReplicationBacklogBytes, (ulong)ReplicationStream.BehindBytesMax), readers: this);
        _list = new ReplicaList(State, Stream, _settings);
        Failover = new Failover(_list, host, _pause, _clock, _log);
        Shutdown = new ShutdownWait(_list, host, _pause, _settings, _clock, _log);
        State.Use(Stream);
        State.Acks.Use(this);
        State.RoleChanged += OnRoleChanged;
        State.HistoryChanged += CloseAll;
    }

    internal ReplicationState State { get; }

    /// <summary>The replicas, for what goes on with them beside the service.</summary>
    internal ReplicaList List => _list;

    internal ReplicationStream Stream { get; }

    /// <summary>FAILOVER, if it is in progress.</summary>
    internal Failover Failover { get; }

    /// <summary>The clients that wait for acknowledgements.</summary>
    internal AckWaits Waits { get; } = new();

    /// <summary>What a shutdown waits for.</summary>
    internal ShutdownWait Shutdown { get; }

    /// <summary>The version of the payloads in the stream that all replicas read: one that both families had, unless all are of one.</summary>
    internal int PayloadVersion => Stream.HasBacklog ? _payloadVersion : ReplicationState.NoStream;

    /// <summary>The primary asks this server for its offset.</summary>
    internal void AcknowledgeToPrimary() => _host.AcknowledgeSoon();

    /// <summary>Makes this server a primary, because its own primary hands the role over.</summary>
    internal void TakeOver() => _host.ChangeRole(null);

    /// <summary>Bytes of the stream that replicas were sent.</summary>
    internal long StreamedBytes
    {
        get
        {
            long bytes = 0;
            foreach (ReplicaFeeder feeder in _feederOf.Values) bytes += feeder.StreamedBytes;
            return bytes;
        }
    }

    /// <summary>The replicas, in the order in which they came.</summary>
    internal IReadOnlyList<ReplicaClient> Replicas => _list.All;

    /// <summary>What has happened so far.</summary>
    internal ReplicaCounts Counts { get; } = new();

    /// <summary>The same since the last CONFIG RESETSTAT.</summary>
    internal long StreamedBytesSinceReset => StreamedBytes - Volatile.Read(ref _streamedAtReset);

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void ResetCounts()
    {
        Counts.NoteReset();
        Volatile.Write(ref _streamedAtReset, StreamedBytes);
    }

    /// <summary>Replicas that were closed because they were too far behind.</summary>
    internal long Overflows => Counts.Overflows;

    /// <summary>The data is being saved for the last time: the stream ends there.</summary>
    internal bool IsStopping
    {
        get => _list.IsStopping;
        set => _list.IsStopping = value;
    }

    /// <summary>Online replicas that have acknowledged within min-replicas-max-lag.</summary>
    internal int GoodReplicas => _goodReplicas;

    /// <inheritdoc cref="ReplicaList.LimitBytes"/>
    internal long LimitBytes => _list.LimitBytes;

    /// <summary>The feeder of a loop, which calls it.</summary>
    public IReplicaFeeder NewFeeder(EventLoop loop) => _feederOf[loop] = new ReplicaFeeder(loop, Stream, Waits, State.Acks);

    /// <summary>The feeder of the replica's loop.</summary>
    internal ReplicaFeeder FeederOf(ReplicaClient replica) => _feederOf[replica.Connection.Loop];

    /// <summary>The replica that a client is or is about to be; on its loop.</summary>
    internal ReplicaClient Introduce(Session session)
    {
        if (Find(session) is { } known) return known;
        var replica = new ReplicaClient(session, OnHasData);
        _introduced[session] = replica;
        Interlocked.Increment(ref _introducedCount);
        return replica;
    }

    internal ReplicaClient? Find(Session session) => _introducedCount == 0 ? null : _introduced.GetValueOrDefault(session);

    /// <summary>Lets a replica go on from an offset of a history, if the stream still has it. On the replica's loop.</summary>
    /// <param name="replica">The replica.</param>
    /// <param name="id">The history that it knows; "?": none.</param>
    /// <param name="offset">The first byte that it wants, counted from 1.</param>
    /// <returns>The reply; null: it needs all data.</returns>
    internal string? TryContinue(ReplicaClient replica, string id, long offset)
    {
        ReplicationIds ids = State.Ids;
        bool isKnown = Resumption.IsOfHistory(ids, id, offset);
        if (isKnown && Stream.TryPin(offset - 1) is { } position)
        {
            Counts.NotePartial();
            replica.ContinueAt(position);
            replica.NoteAcknowledged(_clock.SteadyMs);
            Attach(replica, ReplicaState.Online);
            NoteNode(replica);
            AskAgainForAck();
            if (Stream.End.Chain != position.Chain || !ReferenceEquals(State.Ids, ids)) replica.Close(); // before the replica was listed, the backlog was released or the history got another id: it asks again
            _log.Notice(LogEvents.ReplicaContinues, FormattableString.Invariant($"Replica {replica.Name} goes on at offset {offset}, {Stream.Offset - position.Offset} bytes behind."));
            return (replica.Announced.Capabilities & ReplicaCapabilities.Psync2) != 0 ? $"+CONTINUE {ids.Id}\r\n" : "+CONTINUE\r\n";
        }

        if (id == Resumption.Unknown) return null;
        string reason = !isKnown
            ? $"its history {id[..Math.Min(id.Length, ReplicationState.IdLength)]} up to {offset} is not this server's ({ids.Id}, {ids.SecondId} up to {ids.SecondOffset})"
            : $"its offset {offset} is not kept: the backlog begins at {Stream.BacklogStart + 1} (repl-backlog-size)";
        Counts.NoteRefused(replica.Name, isKnown ? RefusalReason.Backlog : RefusalReason.History, reason);
        _log.Notice(LogEvents.ReplicaNeedsAll, $"Replica {replica.Name} cannot go on: {reason}.");
        return null;
    }

    /// <summary>Has a replica wait for all data. On the replica's loop.</summary>
    internal void Synchronize(ReplicaClient replica)
    {
        Counts.NoteFull();
        BeginHistoryIfUnknown();
        replica.Await(_clock.SteadyMs, sinceMs: _clock.SteadyMs + PauseMs(replica.Name));
        Attach(replica, ReplicaState.Waiting);
        _log.Notice(LogEvents.ReplicaSyncWanted, $"Replica {replica.Name} gets a full synchronization.");
        BeginIfDue(_clock.SteadyMs);
    }

    // Nothing was kept, so no replica can know an offset of this history.
    private void BeginHistoryIfUnknown()
    {
        if (!Stream.HasBacklog && _list.All.Length == 0) State.ChangeId();
    }

    /// <summary>A replica acknowledges an offset. On its loop.</summary>
    /// <param name="replica">The replica.</param>
    /// <param name="offset">What it has executed.</param>
    /// <param name="synced">What it has on the disk; null: it does not say.</param>
    internal void Acknowledge(ReplicaClient replica, long offset, long? synced)
    {
        if (replica.State is ReplicaState.None) return;
        bool wasOnline = replica.State == ReplicaState.Online;
        replica.NoteAcknowledged(_clock.SteadyMs);
        if (replica.State == ReplicaState.Loading || replica is { State: ReplicaState.Streaming, Channel.HasWholeData: true })
        {
            replica.State = ReplicaState.Online;
            lock (_lock) _overflows.Remove(replica.Name);
            CountGood();
            _log.Notice(LogEvents.ReplicaOnline, $"Replica {replica.Name} has loaded the data.");
            FeederOf(replica).Wake();
            NoteNode(replica);
        }

        // Behind the state: only an online replica's offset counts.
        replica.Acknowledge(offset, synced);
        AdvanceAcks();
        if (!wasOnline) AskAgainForAck();
        EndWaits();
        Failover.Advance();
    }

    /// <summary>A connection was closed. On its loop.</summary>
    public void Closed(Session session)
    {
        if (_introducedCount == 0 || !_introduced.TryRemove(session, out ReplicaClient? replica)) return;
        Interlocked.Decrement(ref _introducedCount);
        ReplicaState state = replica.State;
        replica.Closed();
        EndTogether(replica);
        if (state == ReplicaState.None) return;
        FeederOf(replica).Remove(replica);
        lock (_lock)
        {
            Volatile.Write(ref _withoutReplicasSinceMs, _clock.SteadyMs); // before the list: who finds it empty needs the time
            _list.All = [.. _list.All.Where(other => other != replica)];
            _payloadVersion = VersionOf(_list.All);
            _feeders = [.. _list.All.Select(other => FeederOf(other)).Distinct()];
        }

        if (replica.Position is { } position) Stream.Unpin(position);
        replica.NoteProgress();
        CountGood();
        if (state != ReplicaState.Served && replica.Main is null) Counts.NoteLost(replica.Name, _clock.SteadyMs);
        _log.Notice(LogEvents.ReplicaLost, $"The connection to replica {replica.Name} has ended.");
    }

    /// <summary>Output of a replica's connection was taken. On its loop.</summary>
    public void Drained(Session session)
    {
        if (Find(session) is not { } replica) return;
        if (replica.State != ReplicaState.Online) replica.PumpSoon(); // an online one is fed at the end of this iteration
    }

    /// <summary>Closes all replicas: the history that they follow is no more. From any thread.</summary>
    internal void CloseAll()
    {
        foreach (ReplicaClient replica in _list.All) replica.Close();
    }

    /// <summary>The number of online replicas that have acknowledged an offset.</summary>
    internal int CountAcknowledged(long offset, bool onDisk)
    {
        int count = 0;
        foreach (ReplicaClient replica in _list.All)
        {
            if (replica is { State: ReplicaState.Online, IsConnected: true } && (onDisk ? replica.OffsetOnDisk : replica.AcknowledgedOffset) >= offset) count++;
        }

        return count;
    }

    /// <summary>Has a client wait for replicas.</summary>
    internal void Await(AckWait wait)
    {
        Waits.Add(wait);
        if (State.IsReplica) EndAllWaits(); // the role has changed since the command looked
        AskForOffsets();
        EndWaits(); // they may have acknowledged before they could see the wait
    }

    /// <inheritdoc cref="ReplicaList.AskForOffsets"/>
    internal void AskForOffsets() => _list.AskForOffsets();

    /// <summary>Ends the waits whose replicas have acknowledged.</summary>
    internal void EndWaits()
    {
        foreach ((AckWait wait, byte[] reply) in Waits.TakeEnded(CountAcknowledged)) End(wait, reply);
    }

    /// <summary>
    /// The snapshot point of a full synchronization: all stripes are locked. The stream begins if there was none, and the replicas that wait receive.
    /// </summary>
    internal (ReplicaClient[] Replicas, RdbReplication Position) BeginSynchronization(SynchronizationKind kind)
    {
        if (!Stream.HasBacklog)
        {
            Stream.Begin();
            _changes.RequestEffects(Stream, isOn: !State.IsReplica);
        }

        if (_changes.HasRequests) _changes.ApplyLocked(); // also if replica-acks has just begun the stream

        long offset = State.IsReplica ? Stream.Visible : Stream.ForgetDatabase();
        lock (_lock)
        {
            ReplicaClient[] group = [.. _list.All.Where(replica => replica is { State: ReplicaState.Waiting, IsConnected: true } && replica.Kind == kind)];
            foreach (ReplicaClient replica in group)
            {
                if (replica.Main is { } main) BeginStreaming(main, offset);
                replica.BeginReceiving(replica.Main is null ? Stream.TryPin(offset) : null, _clock.SteadyMs);
            }

            return (group, new RdbReplication(State.IsReplica ? State.StreamDatabase : 0, State.Id, offset));
        }
    }

    /// <summary>The position in the stream of the data of now, for a dump file; null: nothing is kept. All stripes are locked.</summary>
    internal RdbReplication? CurrentPosition() => !Stream.HasBacklog ? null : State.IsReplica ? _host.PositionOfReplica : new RdbReplication(0, State.Id, Stream.Offset);

    /// <summary>
    /// Goes on from the position in a stream that a loaded file had: replicas that were there can go on. At the start, before the server is in use.
    /// </summary>
    internal void Continue(RdbReplication position)
    {
        using LockScope locked = _keyspace.LockAll();
        State.Continue(position.Id, position.Offset);
        Stream.Reset(position.Offset);
        _changes.RequestEffects(Stream, isOn: true);
        _changes.ApplyLocked();
        _withoutReplicasSinceMs = _clock.SteadyMs;
    }

    /// <summary>The figures of now. From any thread.</summary>
    internal ReplicationFigures Figures()
    {
        int online = 0;
        long offset = Stream.Offset, lag = 0, behind = 0, silentMs = 0, nowMs = _clock.SteadyMs;
        foreach (ReplicaClient replica in _list.All)
        {
            if (replica.Position is { } position) behind = Math.Max(behind, offset - position.Offset);
            if (replica.State != ReplicaState.Online) continue;
            online++;
            if (replica.IsBeforePsync) continue; // it acknowledges nothing
            lag = Math.Max(lag, offset - replica.AcknowledgedOffset);
            silentMs = Math.Max(silentMs, nowMs - replica.AcknowledgedMs);
        }

        int failed = TooSlow.Select(static slow => slow.Times).DefaultIfEmpty().Max();
        long backlog = Stream.HasBacklog ? (long)Math.Min(_settings.ReplicationBacklogBytes, long.MaxValue) : 0;
        double window = backlog > 0 && Counts.BytesPerSecond > 0 ? backlog / Counts.BytesPerSecond : double.NaN;
        return new ReplicationFigures(online, lag, 100.0 * behind / LimitBytes, silentMs / 1000.0, offset, backlog, window, failed, _goodReplicas, _gate.LacksReplicas, State.Acks.Figures(nowMs), Counts, LinkNow());
    }

    /// <summary>Replicas that were too slow for their last synchronizations, and for how many in a row.</summary>
    internal (string Name, int Times)[] TooSlow
    {
        get
        {
            lock (_lock) return [.. _overflows.Select(static each => (each.Key, each.Value))];
        }
    }

    private LinkFigures? LinkNow()
    {
        if (!State.IsReplica) return null;
        ReplicaLinkStatus? link = State.LinkStatus;
        bool isUp = link is { State: ReplicaLinkState.Connected };
        double down = isUp || link is { State: ReplicaLinkState.Sync } ? 0 : (link?.AbsentMs ?? 0) / 1000.0;
        return new LinkFigures(isUp, down, link is { } status ? Math.Max(0, status.ReadOffset - status.AppliedOffset) : 0);
    }

    /// <summary>Does what is due. Called some ten times a second.</summary>
    internal void Tick(long nowMs)
    {
        Failover.Advance();
        if (_list.All.Length > 0)
        {
            CloseOverLimit(nowMs);
            BeginIfDue(nowMs);
            CountGood();
        }

        if (nowMs < _nextSecondMs) return;
        _nextSecondMs = nowMs + SecondMs;
        CountGood();
        if (State.IsReplica || !Stream.HasBacklog) Volatile.Write(ref _withoutReplicasSinceMs, nowMs); // so that it is never older than the role
        Counts.NoteOffset(nowMs, Stream.Offset);
        if (_list.All.Length > 0) TickOfSecond(nowMs);
        else EndBacklogIfDue(nowMs);
        if (Stream.HasBacklog) Stream.Trim();
    }

    private void TickOfSecond(long nowMs)
    {
        // A replica of another primary passes that one's PING on.
        if (!State.IsReplica && !_pause.HoldsForServer && !IsStopping && nowMs - _lastPingMs >= _settings.ReplicaPingSeconds * (long)SecondMs)
        {
            _lastPingMs = nowMs;
            if (Stream.HasBacklog) State.AppendAsPrimary(() => Stream.Append("*1\r\n$4\r\nPING\r\n"u8));
        }

        long timeoutMs = _settings.ReplicationTimeoutSeconds * (long)SecondMs;
        foreach (ReplicaClient replica in _list.All)
        {
            if (replica.AwaitsData)
            {
                EventLoop.Post(replica.Connection, () =>
                {
                    if (replica.AwaitsData) replica.Connection.Send("\n"u8); // it is not forgotten
                });
            }
            else if (replica.State is ReplicaState.Online or ReplicaState.Loading or ReplicaState.Streaming or ReplicaState.AwaitsChannel && !replica.IsBeforePsync && nowMs - replica.HeardMs(nowMs) > timeoutMs)
            {
                if (replica.Close()) _log.Warning(LogEvents.ReplicaClosed, $"Replica {replica.Name} is closed: it has acknowledged nothing for {_settings.ReplicationTimeoutSeconds} seconds (repl-timeout).");
            }
            else if (replica.State == ReplicaState.Served && nowMs - replica.ProgressMs > timeoutMs)
            {
                replica.Close();
            }
        }
    }

    public void Appended()
    {
        ReplicaFeeder[] feeders = _feeders;
        if (feeders.Length == 0) return;

        // The record's end was stored before, and Wake looks at the feeder's flag: the feeder sets the flag, and then looks at the end.
        Interlocked.MemoryBarrier();
        foreach (ReplicaFeeder feeder in feeders) feeder.Wake();
    }

    private void Attach(ReplicaClient replica, ReplicaState state)
    {
        replica.State = state;
        replica.Session.Type = ClientType.Replica;
        if (_settings.ReplicaTcpDelay) replica.Connection.SetNoDelay(false);
        ReplicaFeeder feeder = FeederOf(replica);
        feeder.Add(replica);
        lock (_lock)
        {
            if (_list.All.Length == 0) _lastPingMs = _clock.SteadyMs;
            _list.All = [.. _list.All, replica];
            _payloadVersion = VersionOf(_list.All);
            if (!_feeders.Contains(feeder)) _feeders = [.. _feeders, feeder];
        }

        CountGood();
    }

    private static int VersionOf(ReplicaClient[] replicas)
    {
        if (replicas.Length == 0) return RdbFormat.Version;
        int version = replicas[0].Announced.DataVersion;
        return Array.TrueForAll(replicas, replica => replica.Announced.DataVersion == version) ? version : RdbFormat.VersionWithoutFieldExpiries;
    }

    // On the replica's loop.
    private void OnHasData(ReplicaClient replica)
    {
        replica.NoteHasData(_clock.SteadyMs);
        if (replica.Announced.OnlyData && replica.TakePosition() is { } position) Stream.Unpin(position);

        if (replica.Main is { } main)
        {
            main.NoteAcknowledged(_clock.SteadyMs);
            replica.Close(); // as in Redis
        }

        CountGood();
        if (!replica.IsBeforePsync || replica.Announced.OnlyData) return;

        // It will acknowledge nothing, so it cannot be waited for.
        replica.State = ReplicaState.Online;
        FeederOf(replica).Wake();
    }

    private void BeginIfDue(long nowMs)
    {
        int waiting = 0;
        long sinceMs = long.MaxValue; // in the future for a replica whose last synchronizations have failed
        SynchronizationKind kind = default;
        foreach (ReplicaClient replica in _list.All)
        {
            if (replica.State != ReplicaState.Waiting) continue;
            if (waiting++ == 0) kind = replica.Kind;
            sinceMs = Math.Min(sinceMs, replica.WaitsSinceMs);
        }

        if (waiting == 0) return;
        bool isFull = _settings.ReplicaSyncsMax > 0 && waiting >= _settings.ReplicaSyncsMax;
        if (!isFull && nowMs - sinceMs < _settings.ReplicaSyncDelaySeconds * (long)SecondMs) return;
        _data.TryBeginSynchronization(() => new FullSynchronization(_list, kind, _settings, _data, _buffers, _clock, _log).Run(BeginSynchronization));
    }

    // Beyond the limit the stream is not kept for a replica any more. It would only synchronize again and fail in the same way, so it gets more the next time.
    private void CloseOverLimit(long nowMs)
    {
        ClientOutputBufferLimit limit = _settings.ReplicaClientLimit;
        long end = Stream.Offset;
        foreach (ReplicaClient replica in _list.All)
        {
            if (replica.Position is not { } position || !replica.IsConnected) continue;
            long behind = end - position.Offset;
            bool isOnline = replica.State == ReplicaState.Online;
            long most = LimitBytes;
            if (!isOnline)
            {
                lock (_lock) most = Math.Min(most << Math.Min(LimitDoublingsMax, _overflows.GetValueOrDefault(replica.Name)), ReplicationStream.BehindBytesMax);
            }

            bool isOverSoft = isOnline && limit.SoftBytes > 0 && (ulong)behind > Math.Max(limit.SoftBytes, _settings.ReplicationBacklogBytes);
            bool isTooLong = replica.OverSoftLimitMs(isOverSoft, nowMs) > limit.SoftSeconds * (long)SecondMs;
            if (behind <= most && !isTooLong) continue;
            if (!replica.Close()) continue;
            Counts.NoteOverflow(isOnline);
            if (!isOnline) RememberOverflow(replica.Name);
            _log.Warning(LogEvents.ReplicaClosed, isOnline
                ? FormattableString.Invariant($"Replica {replica.Name} is closed: it is {behind} bytes behind (client-output-buffer-limit replica).")
                : FormattableString.Invariant($"Replica {replica.Name} is closed: {behind} bytes were written while it was sent the data and loaded it, and {most} may wait (client-output-buffer-limit replica). Its next synchronization may be {Math.Min(most * 2, LimitBytes << LimitDoublingsMax)} bytes behind, and begins {(PauseMs(replica.Name) is > 0 and var pause ? $"after {pause / SecondMs} seconds" : "at once")}."));
        }
    }

    // The loop that looks at the limits has not looked for so long that the stream reached its own.
    public void Abandoned(ReplicaPosition position)
    {
        if (Array.Find(_list.All, replica => replica.Position == position) is not { } replica || !replica.Close()) return;
        Counts.NoteOverflow(replica.State == ReplicaState.Online);
        _log.Warning(LogEvents.ReplicaClosed, FormattableString.Invariant($"Replica {replica.Name} is closed: it is {Stream.Offset - position.Offset} bytes behind, more than is kept of the stream."));
    }

    private void RememberOverflow(string name)
    {
        lock (_lock)
        {
            if (_overflows.Count >= RememberedOverflowsMax && !_overflows.ContainsKey(name)) _overflows.Clear();
            _overflows[name] = Math.Min(CountedOverflowsMax, _overflows.GetValueOrDefault(name) + 1);
        }
    }

    // How long a replica waits for its next synchronization, because the last ones failed with the largest limit: it would only load both servers.
    private long PauseMs(string name)
    {
        lock (_lock)
        {
            int pauses = _overflows.GetValueOrDefault(name) - LimitDoublingsMax - 1;
            return pauses <= 0 ? 0 : SecondMs << pauses;
        }
    }

    /// <summary>Counts the replicas that are good enough, and refuses writes if there are too few (min-replicas-to-write).</summary>
    internal void CountGood()
    {
        long nowMs = _clock.SteadyMs;
        int good = 0;
        foreach (ReplicaClient replica in _list.All)
        {
            if (replica.IsShownOnline && nowMs - replica.AcknowledgedMs <= _settings.ReplicaLagSecondsMax * (long)SecondMs) good++;
        }

        _goodReplicas = good;
        bool tooFew = !State.IsReplica && _settings.ReplicasToWriteMin > 0 && _settings.ReplicaLagSecondsMax > 0 && good < _settings.ReplicasToWriteMin;
        _gate.LacksReplicas = tooFew;
    }

    private void EndBacklogIfDue(long nowMs)
    {
        if (!Stream.HasBacklog || State.IsReplica || State.Acks.Term is not null || _settings.BacklogSeconds == 0 || nowMs - Volatile.Read(ref _withoutReplicasSinceMs) <= _settings.BacklogSeconds * SecondMs) return;
        if (!_keyspace.TryLockAll(_keyspace.Scripts.Busy, out LockScope locked)) return; // a second later
        using LockScope all = locked;
        lock (_asking) // replica-acks begins with it
        {
            if (State.IsReplica || _settings.ReplicaAcks > 0 || State.Acks.Term is not null) return;
            lock (_lock)
            {
                if (_list.All.Length > 0) return;

                // Offsets stand still from here on, so this history must not be known any more.
                State.ChangeId();
                _changes.RequestEffects(Stream, isOn: false);
                _changes.ApplyLocked();
                Stream.Release();
            }
        }

        _log.Notice(LogEvents.BacklogReleased, $"The replication backlog is released: there were no replicas for {_settings.BacklogSeconds} seconds (repl-backlog-ttl).");
    }

    private void OnRoleChanged()
    {
        if (Stream.HasBacklog) Stream.ForgetDatabase(); // the other server's stream selects its own
        _list.ForgetAsked();
        Volatile.Write(ref _withoutReplicasSinceMs, _clock.SteadyMs);
        CountGood();
        ChangeRoleOfAcks();
        if (State.IsReplica)
        {
            EndAllWaits();
            Failover.NoteReplica();
        }
    }

    // The role is set first, so later waits see it.
    private void EndAllWaits()
    {
        foreach (AckWait wait in Waits.TakeAll()) End(wait, "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)\r\n"u8.ToArray());
    }

    private void End(AckWait wait, byte[] reply) => _host.ReplyLater(wait.Session, wait.Late, reply);
}
