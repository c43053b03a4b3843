using System.Globalization;
using System.Net.Sockets;
using System.Text;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Migration;

/// <summary>
/// Sends what MIGRATE serializes to other servers, on the thread pool: no loop waits for the network, and no stripe is locked. It keeps
/// connections for a while, and bounds how many commands send at a time; further ones wait for their turn.
/// </summary>
internal sealed class MigrationService(ServerClock clock, WriteGate gate, ServerLog log)
{
    /// <summary>So many commands have payloads in memory at a time.</summary>
    internal const int RunningMax = 64;

    /// <summary>So many idle connections are kept; a further one replaces the one that is idle for longest. As in Redis.</summary>
    internal const int IdleMax = 64;

    /// <summary>How long an idle connection is kept, as in Redis.</summary>
    internal const int IdleMs = 10_000;

    /// <summary>How long commands that write wait at most for a command that sends keys for the last time.</summary>
    internal const int HoldMsMax = 1000;

    private const string VersionError = "ERR DUMP payload version or checksum are wrong";

    private readonly Lock _lock = new();
    private readonly List<MigrationConnection> _idle = []; // the one that is idle for longest first
    private readonly LinkedList<MigrationTicket> _waiting = new();
    private readonly HashSet<Transfer> _transfers = [];
    private readonly MigrationHolders _holders = new();
    private readonly MigrationClaims _claims = new();
    private int _running;
    private bool _hasEnded;
    private long _keys;
    private long _sent;
    private long _failures;

    /// <summary>Connections that are kept.</summary>
    internal int IdleConnections
    {
        get
        {
            lock (_lock) return _idle.Count;
        }
    }

    /// <summary>Commands that have their ticket.</summary>
    internal int Running => Volatile.Read(ref _running);

    /// <summary>Keys that commands have claimed, which others wait for. For tests.</summary>
    internal int ClaimedKeys
    {
        get
        {
            lock (_lock) return _claims.Count;
        }
    }

    /// <summary>Keys that targets have accepted.</summary>
    internal long Keys => Interlocked.Read(ref _keys);

    /// <summary>Transfers that have ended.</summary>
    internal long Transfers => Interlocked.Read(ref _sent);

    /// <summary>Those of them that ended with an error.</summary>
    internal long Failures => Interlocked.Read(ref _failures);

    /// <summary>Gets a command its ticket.</summary>
    /// <returns>Whether it has it already; otherwise its ticket is pending.</returns>
    internal bool TryBegin(MigrationTicket ticket)
    {
        lock (_lock)
        {
            if (_hasEnded || (_running < RunningMax && _waiting.Count == 0))
            {
                _running++;
                ticket.Take();
                return true;
            }

            _waiting.AddLast(ticket.Node);
            return false;
        }
    }

    /// <summary>Ends a command's ticket, or its wait for it: the next one has it.</summary>
    internal void End(MigrationTicket ticket)
    {
        lock (_lock)
        {
            ticket.StopTimer();
            ticket.Node.List?.Remove(ticket.Node); // it waits for its turn, or for a key
            foreach (MigrationTicket next in _claims.ReleaseAll(ticket)) Grant(next);
            ReturnTicket(ticket);
        }
    }

    /// <summary>
    /// Claims a key for a command that has its ticket, so that no other command sends it meanwhile: the removal by one would look like a client's to
    /// the other, which would remove the key from the target. Keys are told apart by their names alone, as they may change databases.
    /// </summary>
    /// <param name="ticket">The command's ticket.</param>
    /// <param name="key">The hash of the key's name.</param>
    /// <param name="waits">
    /// Whether the command waits for the key if another one has it. It gives up its ticket and its other keys for that, so that commands never
    /// wait for each other.
    /// </param>
    /// <param name="timeout">How long it waits at most; then its ticket <see cref="MigrationTicket.HasExpired"/>.</param>
    /// <returns>Whether it has the key; otherwise, if it waits, its ticket is pending, and then it has the key, too.</returns>
    internal bool TryClaim(MigrationTicket ticket, ulong key, bool waits, TimeSpan timeout)
    {
        lock (_lock)
        {
            if (_claims.TryAdd(ticket, key)) return true;
            if (!waits) return false;
            foreach (MigrationTicket next in _claims.ReleaseAll(ticket)) Grant(next);
            ticket.Renew();
            ReturnTicket(ticket);
            if (_hasEnded)
            {
                Expire(ticket);
                return false;
            }

            _claims.Wait(ticket, key);
            ticket.StartTimer(clock.Provider, timeout, Overdue);
            return false;
        }
    }

    /// <summary>Lets others send the keys that a command has sent and need not send again.</summary>
    /// <param name="ticket">The command's ticket.</param>
    /// <param name="kept">The keys that it sends again.</param>
    internal void Release(MigrationTicket ticket, IEnumerable<ulong> kept)
    {
        lock (_lock)
        {
            foreach (MigrationTicket next in _claims.ReleaseAllBut(ticket, [.. kept])) Grant(next);
        }
    }

    /// <summary>Whether the target is known to read only older payloads, from a connection that is kept.</summary>
    internal bool TakesOnlyOldPayloads(MigrationTarget target)
    {
        lock (_lock) return _idle.Exists(connection => connection.TakesOnlyOldPayloads && connection.Key == target.ConnectionKey);
    }

    /// <summary>Sends requests, of which each has one reply of one line.</summary>
    /// <param name="target">Where they are sent.</param>
    /// <param name="requests">The requests. They are released when the transfer ends.</param>
    /// <param name="count">How many they are.</param>
    /// <param name="pausesWrites">Whether commands that write wait meanwhile: then it takes a second at most.</param>
    internal Transfer Send(MigrationTarget target, Payload[] requests, int count, bool pausesWrites)
    {
        var transfer = new Transfer(new TransferTimeout(target.Timeout, pausesWrites ? TimeSpan.FromMilliseconds(HoldMsMax) : null, clock.Provider));
        lock (_lock)
        {
            if (_hasEnded) transfer.Cancel();
            _transfers.Add(transfer);
        }

        transfer.Completion = Task.Run(() => RunAsync(transfer, target, requests, new TransferResult(count)));
        return transfer;
    }

    /// <summary>Makes commands that write wait, for <see cref="HoldMsMax"/> at most. Those that have begun are completed.</summary>
    /// <returns>Lets them begin again earlier.</returns>
    internal MigrationHold HoldWrites() => new(_holders, gate, clock.Provider);

    /// <summary>Closes connections that are idle for long. Ten times a second or so.</summary>
    internal void Tick() => Tick(clock.SteadyMs);

    /// <inheritdoc cref="Tick()"/>
    internal void Tick(long steadyMs)
    {
        lock (_lock)
        {
            while (_idle.Count > 0 && steadyMs - _idle[0].IdleSinceMs > IdleMs)
            {
                _idle[0].Dispose();
                _idle.RemoveAt(0);
            }
        }
    }

    /// <summary>Ends all transfers, and waits for them: they use the server's buffers, and wake its loops. Later ones end at once.</summary>
    internal void Stop()
    {
        lock (_lock)
        {
            _hasEnded = true;
            foreach (Transfer transfer in _transfers) transfer.Cancel();
            foreach (MigrationTicket ticket in _claims.EndWaits()) Expire(ticket);
            TakeNext(int.MaxValue);
            foreach (MigrationConnection connection in _idle) connection.Dispose();
            _idle.Clear();
        }

        SpinWait.SpinUntil(() =>
        {
            lock (_lock) return _transfers.Count == 0;
        });
    }

    // A command that has got the key that it waited for.
    private void Grant(MigrationTicket ticket)
    {
        ticket.StopTimer();
        _waiting.AddLast(ticket.Node);
        TakeNext(_hasEnded ? int.MaxValue : RunningMax);
    }

    private void ReturnTicket(MigrationTicket ticket)
    {
        if (!ticket.Leave()) return;
        _running--;
        TakeNext(_hasEnded ? int.MaxValue : RunningMax);
    }

    // On the clock's thread. The command may have got the key just before.
    private void Overdue(MigrationTicket ticket)
    {
        lock (_lock)
        {
            if (ticket.WaitsForKey) Expire(ticket);
        }
    }

    private static void Expire(MigrationTicket ticket)
    {
        ticket.StopTimer();
        ticket.Node.List?.Remove(ticket.Node);
        ticket.Expire();
    }

    private void TakeNext(int runningMax)
    {
        while (_running < runningMax && _waiting.First is { } next)
        {
            _waiting.RemoveFirst();
            next.Value.Take();
            _running++;
        }
    }

    private async Task<TransferResult> RunAsync(Transfer transfer, MigrationTarget target, Payload[] requests, TransferResult result)
    {
        try
        {
            // As in Redis, an idle connection that has broken is replaced once, if no key was answered. One that has timed out is not.
            MigrationConnection? kept = TakeIdle(target);
            if (kept is null || (!await TryAsync(kept, transfer.Timeout, target, requests, result).ConfigureAwait(false) && !transfer.Timeout.HasEnded && result.Outcomes[0] == TransferOutcome.Unknown))
            {
                result.BeginAgain();
                await TryAsync(null, transfer.Timeout, target, requests, result).ConfigureAwait(false);
            }

            Interlocked.Increment(ref _sent);
            if (result.Failure != TransferFailure.None || result.Error is not null) Interlocked.Increment(ref _failures);
            return result;
        }
        finally
        {
            foreach (Payload part in requests) part.Buffer.Release();
            transfer.Timeout.Dispose();
            lock (_lock) _transfers.Remove(transfer);
        }
    }

    private async Task<bool> TryAsync(MigrationConnection? connection, TransferTimeout timeout, MigrationTarget target, Payload[] requests, TransferResult result)
    {
        TransferFailure stage = TransferFailure.Connecting;
        try
        {
            if (connection is null && target.Port < 0) throw new IOException("there is no such port");
            connection ??= await MigrationConnection.OpenAsync(target, timeout).ConfigureAwait(false);
            stage = TransferFailure.Writing;
            byte[] greeting = Greeting(target, connection, out int greetings);
            await connection.SendAsync(greeting, timeout).ConfigureAwait(false);
            stage = TransferFailure.Reading;
            if (!await IsWelcomeAsync(connection, timeout, target, greetings, result).ConfigureAwait(false))
            {
                Keep(connection);
                return true;
            }

            stage = TransferFailure.Writing;
            foreach (Payload part in requests) await connection.SendAsync(part.Buffer.Memory.Slice(part.Start, part.Length), timeout).ConfigureAwait(false);
            stage = TransferFailure.Reading;
            for (int i = 0; i < result.Outcomes.Length; i++) Note(result, i, connection, await connection.ReceiveAsync(timeout).ConfigureAwait(false));
            Keep(connection);
            return true;
        }
#pragma warning disable CA1031 // A transfer fails only through its result: the thread that reads the result holds stripes, where an exception would end the process.
        catch (Exception failure)
#pragma warning restore CA1031
        {
            connection?.Dispose();
            if (failure is not (IOException or SocketException or OperationCanceledException or ObjectDisposedException or ArgumentException or NotSupportedException))
            {
                log.OfClient(LogEvents.TransferFailed, isWarning: true, "A bug ended a transfer of MIGRATE: ", failure.ToString()); // which may name the target
            }

            // As in Redis, only a name that is not found, or no port, is a failure to connect; a target that does not answer cannot be written to.
            bool isUnknown = stage == TransferFailure.Connecting && failure is not OperationCanceledException and not SocketException { SocketErrorCode: not (SocketError.HostNotFound or SocketError.NoData or SocketError.TryAgain or SocketError.NoRecovery) };
            result.Fail(isUnknown || stage != TransferFailure.Connecting ? stage : TransferFailure.Writing);
            return false;
        }
    }

    // AUTH and SELECT. Their replies are awaited before anything else is sent: behind a refused one, RESTORE would write as another user, or into
    // another database.
    private static byte[] Greeting(MigrationTarget target, MigrationConnection connection, out int requests)
    {
        using var text = new MemoryStream();
        requests = 0;
        if (target.Password is { } password)
        {
            requests++;
            if (target.User is { } user) Request("AUTH"u8.ToArray(), user, password);
            else Request("AUTH"u8.ToArray(), password);
        }

        if (connection.Database != target.Database)
        {
            requests++;
            Request("SELECT"u8.ToArray(), Encoding.ASCII.GetBytes(target.Database.ToString(CultureInfo.InvariantCulture)));
        }

        return text.ToArray();

        void Request(params ReadOnlySpan<byte[]> arguments)
        {
            text.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"*{arguments.Length}\r\n")));
            foreach (byte[] argument in arguments)
            {
                text.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"${argument.Length}\r\n")));
                text.Write(argument);
                text.Write("\r\n"u8);
            }
        }
    }

    private static async Task<bool> IsWelcomeAsync(MigrationConnection connection, TransferTimeout timeout, MigrationTarget target, int greetings, TransferResult result)
    {
        for (int i = 0; i < greetings; i++)
        {
            string reply = await connection.ReceiveAsync(timeout).ConfigureAwait(false);
            if (reply is not ['+' or '-', ..]) throw new IOException("the target's reply is none");
            if (reply[0] == '-') result.RefuseAll(reply[1..]);
        }

        connection.NoteSelected(result.IsRefused ? -1 : target.Database);
        return !result.IsRefused;
    }

    // A reply that is neither an error nor what the request replies says nothing: its key must not be removed.
    private void Note(TransferResult result, int request, MigrationConnection connection, string reply)
    {
        switch (reply)
        {
            case ['+' or ':', ..]:
                result.Accept(request);
                Interlocked.Increment(ref _keys);
                break;
            case ['-', .. string error] when error == VersionError:
                result.RefuseVersion(request, error);
                connection.NoteRefusedVersion();
                break;
            case ['-', .. string error]:
                result.Refuse(request, error);
                connection.NoteSelected(-1); // as in Redis
                break;
            default:
                throw new IOException("the target's reply is none");
        }
    }

    private MigrationConnection? TakeIdle(MigrationTarget target)
    {
        lock (_lock)
        {
            for (int i = _idle.Count - 1; i >= 0; i--)
            {
                MigrationConnection connection = _idle[i];
                if (connection.Key != target.ConnectionKey) continue;
                _idle.RemoveAt(i);
                if (!connection.IsBroken) return connection;
                connection.Dispose();
            }

            return null;
        }
    }

    private void Keep(MigrationConnection connection)
    {
        connection.Rest(clock.SteadyMs);
        lock (_lock)
        {
            _idle.Add(connection);
            if (_idle.Count <= IdleMax && !_hasEnded) return;
            _idle[0].Dispose();
            _idle.RemoveAt(0);
        }
    }
}

/// <summary>Requests on their way to a target.</summary>
/// <param name="timeout">Ends it.</param>
internal sealed class Transfer(TransferTimeout timeout)
{
    internal TransferTimeout Timeout => timeout;

    /// <summary>Completes with the result, and never fails.</summary>
    internal Task<TransferResult> Completion { get; set; } = null!;

    /// <summary>Ends it soon. From any thread.</summary>
    internal void Cancel() => timeout.Cancel();
}
