using System.Globalization;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Replication;

/// <summary>How far FAILOVER is.</summary>
internal enum FailoverState
{
    None,

    /// <summary>Commands that write wait until a replica has everything.</summary>
    WaitingForSync,

    /// <summary>The server asks the replica to become the primary, and follows it.</summary>
    InProgress,
}

/// <summary>
/// FAILOVER: hands the role of the primary over to a replica. Commands that write wait until it has everything; then this server becomes its
/// replica and asks it to take over, with PSYNC FAILOVER. From any thread.
/// </summary>
internal sealed class Failover(ReplicaList replicas, IReplicationHost host, ClientPause pause, ServerClock clock, ServerLog log)
{
    private readonly Lock _lock = new();
    private volatile FailoverState _state;
    private string? _host; // null: the first replica that has everything
    private int _port;
    private long _deadlineMs; // steady; 0: none
    private bool _forces;
    private long _offset; // that the target has, when the role changes; -1: it may lack something
    private bool _isEnding; // the server becomes a primary again, until which no other one begins
    private Task _roleChanges = Task.CompletedTask; // one after the other, in the order in which they were decided

    internal FailoverState State => _state;

    /// <summary>Whether the target is to be asked to take over: not any more when the failover is being ended.</summary>
    internal bool HandsOver
    {
        get
        {
            lock (_lock) return _state == FailoverState.InProgress && !_isEnding;
        }
    }

    /// <summary>Begins.</summary>
    /// <param name="host">The replica's host; null: any replica.</param>
    /// <param name="port">Its port.</param>
    /// <param name="timeoutMs">How long it may take until the replica has everything; 0: without limit.</param>
    /// <param name="forces">Whether the role is then handed over nevertheless.</param>
    /// <returns>An error; null: it has begun.</returns>
    internal string? Begin(string? host, int port, long timeoutMs, bool forces)
    {
        lock (_lock)
        {
            if (_state != FailoverState.None) return "ERR FAILOVER already in progress.";
            if (replicas.State.IsReplica) return "ERR FAILOVER is not valid when server is a replica.";
            if (replicas.All.Length == 0) return "ERR FAILOVER requires connected replicas.";
            if (forces && (timeoutMs == 0 || host is null)) return "ERR FAILOVER with force option requires both a timeout and target HOST and IP.";
            if (host is not null)
            {
                if (Find(host, port) is not { } target) return "ERR FAILOVER target HOST and PORT is not a replica.";
                if (target.State != ReplicaState.Online) return "ERR FAILOVER target replica is not online.";
            }

            (_host, _port, _forces) = (host, port, forces);
            _deadlineMs = timeoutMs == 0 ? 0 : clock.SteadyMs + timeoutMs;
            _state = FailoverState.WaitingForSync;
            pause.Hold(PauseReason.Handover);
        }

        log.Notice(LogEvents.FailoverChanged, host is null ? "FAILOVER requested." : string.Create(CultureInfo.InvariantCulture, $"FAILOVER requested to {host}:{port}."));
        replicas.AskForOffsets();
        return null;
    }

    /// <summary>Ends what was begun.</summary>
    /// <returns>An error; null: it has ended.</returns>
    internal string? Abort()
    {
        if (_state == FailoverState.None) return "ERR No failover in progress.";
        End("Failover manually aborted");
        return null;
    }

    /// <summary>Goes on if the replica has everything, or the time is over.</summary>
    internal void Advance()
    {
        if (_state != FailoverState.WaitingForSync) return;
        PrimaryAddress? next;
        lock (_lock)
        {
            if (_state != FailoverState.WaitingForSync) return;
            long offset = replicas.Stream.Offset;
            ReplicaClient? target = _host is null
                ? replicas.All.FirstOrDefault(replica => replica.State == ReplicaState.Online && replica.AcknowledgedOffset == offset)
                : Find(_host, _port);
            bool isOver = _deadlineMs != 0 && clock.SteadyMs >= _deadlineMs;
            bool hasAll = target is { State: ReplicaState.Online } && target.AcknowledgedOffset == offset;
            next = hasAll ? new PrimaryAddress(target!.Host, target.Announced.ListeningPort) : isOver && _forces ? new PrimaryAddress(_host!, _port) : null;
            _offset = hasAll ? offset : -1;
            if (next is not null) BeginChange(next);
            else if (!isOver) return;
        }

        if (next is null) End("Replica never caught up before timeout");
    }

    // With the lock.
    private void BeginChange(PrimaryAddress next)
    {
        _state = FailoverState.InProgress;
        log.Notice(LogEvents.FailoverChanged, string.Create(CultureInfo.InvariantCulture, $"Failing over to {next.Host}:{next.Port}."));
        Change(next);
    }

    private void Change(PrimaryAddress? primary) => _roleChanges = _roleChanges.ContinueWith(_ => host.ChangeRole(primary), TaskScheduler.Default);

    /// <summary>
    /// Whether the target has everything. What was already executing when writes began to wait, a script or a command that waited for a stripe, may
    /// have ended since it did: then it may not take over, unless that was forced.
    /// </summary>
    /// <param name="offset">The stream's end: nothing is appended any more.</param>
    internal bool TargetHasAll(long offset)
    {
        lock (_lock) return _offset < 0 || _offset == offset;
    }

    /// <summary>The replica has taken over: it has accepted this server as its replica.</summary>
    internal void Succeed()
    {
        lock (_lock)
        {
            if (_state != FailoverState.InProgress || _isEnding) return;
            Finish();
        }

        log.Notice(LogEvents.FailoverChanged, "Failover has succeeded.");
        host.ResumePaused();
    }

    /// <summary>The replica does not take over: this server stays the primary.</summary>
    internal void Refuse(string reason = "Failover target rejected psync request") => End(reason);

    /// <summary>The server has become a replica by another command meanwhile: there is nothing to hand over.</summary>
    internal void NoteReplica()
    {
        lock (_lock)
        {
            if (_state != FailoverState.WaitingForSync) return; // in progress it is the failover itself
            Finish();
        }

        log.Warning(LogEvents.FailoverChanged, "Failover aborted: the server follows another primary now");
        host.ResumePaused();
    }

    // Clients write again when this server is a primary again.
    private void End(string reason)
    {
        bool changesBack;
        lock (_lock)
        {
            if (_state == FailoverState.None || _isEnding) return;
            changesBack = _isEnding = _state == FailoverState.InProgress;
            if (!changesBack)
            {
                Finish();
            }
            else
            {
                Change(null);
                _roleChanges = _roleChanges.ContinueWith(
                    _ =>
                    {
                        lock (_lock) Finish();
                        host.ResumePaused();
                    },
                    TaskScheduler.Default);
            }
        }

        log.Warning(LogEvents.FailoverChanged, $"Failover aborted: {reason}");
        if (!changesBack) host.ResumePaused();
    }

    // With the lock: state and pause change together, as another failover may begin at once.
    private void Finish()
    {
        _state = FailoverState.None;
        _isEnding = false;
        pause.Release(PauseReason.Handover);
    }

    private ReplicaClient? Find(string host, int port) => replicas.All.FirstOrDefault(replica => replica.Announced.ListeningPort == port && replica.Host.Equals(host, StringComparison.OrdinalIgnoreCase));
}
