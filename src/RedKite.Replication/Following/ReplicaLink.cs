using System.Net.Sockets;
using System.Security.Authentication;
using RedKite.Persistence.Log;
using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Replication;

namespace RedKite.Server.Following;

/// <summary>
/// The link of a replica to one primary, on a thread of its own: it connects, receives all data or what is missing of the stream, executes the
/// stream, and connects again when the link breaks, until it is stopped.
/// </summary>
/// <remarks>
/// The stream's offset is <see cref="ReplicationStream.Offset"/>, and moves when commands were executed: of a MULTI without its EXEC nothing was, so
/// that a link that breaks in between goes on at the MULTI.
/// </remarks>
internal sealed partial class ReplicaLink : IReplicaLink, IDisposable
{
    private const long ReplyBytesMax = 1L << 30; // of what a load executes
    private const int TickMs = 1000; // as in Redis: acknowledgements and timeouts

    private readonly ServerCore _core;
    private readonly PrimaryAddress _primary;
    private readonly LinkServices _services;
    private readonly LinkHistory _history;
    private readonly IStreamExecutor _caller;
    private readonly CancellationTokenSource _stop = new();
    private readonly Thread _thread;
    private readonly Timer _timer;
    private volatile PrimaryConnection? _connection;
    private volatile PrimaryConnection? _channel; // a second one, for the data
    private volatile StreamBuffer? _buffer; // of the stream meanwhile
    private volatile SyncReceiver? _receiving;
    private volatile StreamApplier? _applier;
    private volatile ReplicaLinkState _state;
    private volatile bool _isLoading;
    private volatile bool _loadsArriving; // while it is received
    private bool _acknowledgesSoon;
    private long _presentMs = Environment.TickCount64; // when it last had the stream or received data, or began

    internal ReplicaLink(ServerCore core, PrimaryAddress primary, LinkServices services, LinkHistory history)
    {
        _core = core;
        _primary = primary;
        _services = services;
        _history = history;
        _caller = services.NewExecutor();
        _thread = new Thread(Work) { Name = "redkite-replica", IsBackground = true };
        _timer = new Timer(_ => Tick(), null, TickMs, TickMs);
    }

    internal void Start() => _thread.Start();

    internal bool IsCurrentThread => Thread.CurrentThread == _thread;

    /// <summary>Acknowledges the offset when what was received is executed. On the link's thread.</summary>
    internal void AcknowledgeSoon() => _acknowledgesSoon = true;

    /// <summary>How far it is.</summary>
    public ReplicaLinkStatus Status()
    {
        long nowMs = Environment.TickCount64;
        ReplicaLinkState state = _state;
        long applied = _services.Replicas.Stream.Offset;
        SyncReceiver? receiving = _receiving;
        return new ReplicaLinkStatus(
            state,
            state == ReplicaLinkState.Connected && _connection is { } connection ? nowMs - connection.LastReceivedMs : -1,
            applied + (_applier?.WaitingBytes ?? 0),
            applied,
            Counts.DownMs(nowMs),
            nowMs - Volatile.Read(ref _presentMs),
            receiving is { HasBegun: true } ? receiving.TotalBytes : -1,
            _loadsArriving ? 0 : receiving?.ReceivedBytes ?? 0, // as in Redis, where INFO persistence shows it
            receiving is null ? -1 : nowMs - receiving.LastReceivedMs,
            _buffer?.Bytes ?? 0,
            _buffer?.PeakBytes ?? 0);
    }

    /// <summary>Ends the link, and waits until nothing more of the stream is executed. The current thread has no stripe locked.</summary>
    public void Dispose()
    {
        _stop.Cancel();
        _caller.BeginEnd();
        _connection?.Close();
        _channel?.Close();
        if (_thread.ThreadState != System.Threading.ThreadState.Unstarted) _thread.Join();
        _timer.Dispose();
        _caller.Remove();
        _stop.Dispose();
    }

    private void Work()
    {
        int retryMs = 0;
        try
        {
            _services.WaitForLoops(_stop.Token);
            _core.Changes.UnsubscribeFromEffects(_services.Replicas.Stream); // commands that began before the server became a replica have ended
        }
        catch (OperationCanceledException)
        {
            return;
        }

        while (!_stop.IsCancellationRequested)
        {
            bool wasConnected = false;
            try
            {
                Run(ref wasConnected);
            }
            catch (Exception failure) when (failure is OperationCanceledException or ObjectDisposedException)
            {
                // It is stopped, or the attempt has taken too long.
                NoteFailure("the attempt to connect has taken too long", $"Timeout connecting to the MASTER {_primary.Host}:{_primary.Port}");
            }
            catch (Exception failure) when (failure is IOException or SocketException or AuthenticationException or RedKiteConfigException or InsufficientMemoryException)
            {
                NoteFailure(failure.Message, $"MASTER <-> REPLICA sync with {_primary.Host}:{_primary.Port}: {failure.Message}");
            }
#pragma warning disable CA1031 // Whatever it is, a replica that is behind is better than none.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                NoteFailure("a bug", $"A bug ended the link to {_primary.Host}:{_primary.Port}: {failure}");
            }

            if (_state is ReplicaLinkState.Connected or ReplicaLinkState.Sync) Volatile.Write(ref _presentMs, Environment.TickCount64);
            _state = ReplicaLinkState.Connect;
            if (wasConnected)
            {
                Counts.NoteDown(Environment.TickCount64);
                if (!_stop.IsCancellationRequested) Counts.NoteBreak();
            }

            retryMs = wasConnected ? _services.RetryMsMin : Math.Clamp(retryMs * 2, _services.RetryMsMin, _services.RetryMsMax);
            _stop.Token.WaitHandle.WaitOne(retryMs);
        }
    }

    private LinkCounts Counts => _core.Replication.LinkCounts;

    private void NoteFailure(string reason, string line)
    {
        if (_stop.IsCancellationRequested) return;
        Counts.NoteFailure(reason);
        _core.Log.Warning(LogEvents.LinkFailed, line);
    }

    // Up to the link's end.
    private void Run(ref bool wasConnected)
    {
        _state = ReplicaLinkState.Connecting;
        Counts.NoteAttempt();
        using var connecting = CancellationTokenSource.CreateLinkedTokenSource(_stop.Token);
        connecting.CancelAfter(TimeSpan.FromSeconds(_core.Settings.ReplicationTimeoutSeconds));
        using PrimaryConnection connection = PrimaryConnection.Open(_primary.Host, _primary.Port, _core.Settings.BindSourceAddress, _services.Tls(), connecting.Token);
        _connection = connection;
        Session? session = null;
        try
        {
            if (_stop.IsCancellationRequested) return;
            _state = ReplicaLinkState.Handshake;
            var handshake = new PrimaryHandshake(connection, _core.Settings, _core.Log, _services.Port(), _services.Identity());
            handshake.Introduce();
            SyncAnswer answer = Ask(handshake);
            _services.Answered(answer.MainClientId > 0 || answer.IsFull, _stop.Token);
            if (answer.MainClientId > 0) SynchronizeApart(connection, answer.MainClientId, connecting.Token);
            else if (answer.IsFull) Synchronize(connection, answer);
            else Continue(answer);

            _acknowledgesSoon = false;
            lock (_core.Replication.Applying) _core.Replication.NoteSelected(_history.Database);
            session = _core.Clients.AddPrimary(
                new OutgoingEnd(connection.RemoteAddress, connection.LocalAddress, connection.Close), _core.Clock.SteadyMs, _core.Users.InProcess, _history.Database);
            var applier = new StreamApplier(_core, _services.Replicas.Stream, _caller, session);
            _applier = applier;
            wasConnected = true;
            Counts.NoteUp(Environment.TickCount64);
            _state = ReplicaLinkState.Connected;
            Acknowledge(connection); // a primary sends the stream only then
            while (true)
            {
                applier.Receive(connection);
                if (!_acknowledgesSoon) continue;
                _acknowledgesSoon = false;
                Acknowledge(connection);
            }
        }
        finally
        {
            _connection = null;
            _applier = null;
            _core.Metrics.Server.PrimaryBytes = 0;
            if (session is not null)
            {
                lock (_core.Replication.Applying) _history.NoteSelected(_core.Replication.StreamDatabase); // that of the offset
                _caller.Discard(session);
                _core.Clients.Remove(session);
                session.EndCountingKept(_core.Kept);
                if (!_stop.IsCancellationRequested) _core.Log.Notice(LogEvents.LinkFailed, "Connection with master lost. What is missing of the stream will be requested when it is back.");
            }
        }
    }

    private SyncAnswer Ask(PrimaryHandshake handshake)
    {
        Failover failover = _services.Replicas.Failover;
        bool handsOver = failover.HandsOver;
        if (handsOver && !failover.TargetHasAll(_services.Replicas.Stream.Offset))
        {
            failover.Refuse("Commands that had begun before ended behind what the target has");
            throw new IOException("the target of the failover lacks a part of the stream");
        }

        try
        {
            SyncAnswer answer = handshake.AskForStream(_history.IsKnown ? _core.Replication.Id : null, _services.Replicas.Stream.Offset, handsOver);
            if (handsOver) failover.Succeed();
            return answer;
        }
        catch (IOException) when (handsOver)
        {
            failover.Refuse();
            throw;
        }
    }

    private void Continue(in SyncAnswer answer)
    {
        if (!_services.Replicas.Stream.HasBacklog) _services.Replicas.Stream.Begin();
        if (answer.Id is { } id) _core.Replication.AdoptId(id, _services.Replicas.Stream.Offset);
        Counts.NotePartial();
        _core.Log.Notice(LogEvents.LinkConnected, "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization.");
    }

    // The data comes on a second connection; the stream meanwhile on the first one, into memory.
    private void SynchronizeApart(PrimaryConnection connection, long mainClientId, CancellationToken connecting)
    {
        Settings settings = _core.Settings;
        _core.Log.Notice(LogEvents.SyncBegun, "PSYNC is not possible, initialize RDB channel.");
        using PrimaryConnection channel = PrimaryConnection.Open(_primary.Host, _primary.Port, settings.BindSourceAddress, _services.Tls(), connecting);
        _channel = channel;
        StreamBuffer? buffer = null;
        try
        {
            _stop.Token.ThrowIfCancellationRequested();
            SyncAnswer answer = new PrimaryHandshake(channel, settings, _core.Log, _services.Port()).AskForData(mainClientId);
            ulong limit = settings.ReplicaSyncBufferBytes > 0 ? settings.ReplicaSyncBufferBytes : settings.ReplicaClientLimit.HardBytes;
            _buffer = buffer = connection.BeginBuffering(limit > 0 ? (long)Math.Min(limit, LogChain.KeptBytesMax) : LogChain.KeptBytesMax, channel.Close);
            Synchronize(channel, answer);
            _core.Log.Notice(LogEvents.LinkConnected, FormattableString.Invariant($"MASTER <-> REPLICA sync: {buffer.Bytes} bytes of the stream were received meanwhile."));
        }
        finally
        {
            _channel = null;
            if (buffer is not null) connection.EndBuffering(buffer);
        }
    }

    // On the timer's thread.
    private void Tick()
    {
        if (_connection is not { } connection) return;
        try
        {
            long timeoutMs = _core.Settings.ReplicationTimeoutSeconds * 1000L;
            if (_isLoading)
            {
                connection.SendEmptyLine();
                if (_receiving?.WaitsSinceMs is > 0 and long sinceMs && Environment.TickCount64 - sinceMs > timeoutMs) CloseSilent(connection); // what is loaded still arrives
            }
            else if (Environment.TickCount64 - Math.Max(connection.LastReceivedMs, _channel?.LastReceivedMs ?? 0) > timeoutMs) CloseSilent(connection);
            else if (_state == ReplicaLinkState.Connected) Acknowledge(connection);
        }
        catch (Exception failure) when (failure is IOException or ObjectDisposedException or InvalidOperationException)
        {
            connection.Close();
        }
    }

    private void CloseSilent(PrimaryConnection connection)
    {
        _core.Log.Warning(LogEvents.LinkFailed, _state == ReplicaLinkState.Connected
            ? "MASTER timeout: no data nor PING received..."
            : "Timeout receiving bulk data from MASTER... If the problem persists try to set the 'repl-timeout' parameter in redis.conf to a larger value.");
        connection.Close();
        _channel?.Close();
    }

    // A primary from before PSYNC takes none.
    private void Acknowledge(PrimaryConnection connection)
    {
        if (!_history.IsKnown) return;
        long offset = _services.Replicas.Stream.Offset;
        bool isCertain = !_services.Data.LogLacksData; // otherwise the base of what was loaded is not in force yet
        if (isCertain && _services.SyncedOffset(offset) is { } synced) connection.Send("REPLCONF", "ACK", Text(offset), "FACK", Text(synced));
        else connection.Send("REPLCONF", "ACK", Text(offset));

        static string Text(long number) => number.ToString(System.Globalization.CultureInfo.InvariantCulture);
    }
}
