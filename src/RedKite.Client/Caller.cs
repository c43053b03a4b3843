using System.Buffers;
using System.Diagnostics;
using RedKite.Net;
using RedKite.Protocol;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Durability;
using RedKite.Server.Execution.Slices;
using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Client;

/// <summary>
/// What executes commands on the threads of the host: an executor with a session, for one call at a time. A <see cref="RedKiteSession"/> owns
/// one; a <see cref="RedKiteClient"/> takes one from a pool for each call.
/// </summary>
internal sealed class Caller : CallTarget, IStreamExecutor
{
    /// <summary>The largest reply that is read as one object.</summary>
    internal const long ReplyBytesMax = 1024 * 1024 * 1024;

    // How often a waiting call checks a test's clock and whether the server has stopped.
    private const int SleepMsMax = 100;
    private const int HeldLookMs = 5; // between looks whether a pause has ended that holds work: one that gives slots takes milliseconds

    private readonly Engine _engine;
    private readonly CommandExecutor _executor;
    private readonly DirectRunner _direct;
    private readonly SliceRunner _slices;
    private readonly bool _onlyLooks;
    private readonly CommandOrigin _origin;
    private Session _session;
    private int _isTaken;
    private volatile bool _ended;
    private long _blockedReplyStart; // in the replies of the last run

    /// <param name="engine">The server.</param>
    /// <param name="onlyLooks">Whether its commands leave access times alone and are not counted as calls, hits or key uses.</param>
    /// <param name="origin">Where its commands come from.</param>
    internal Caller(Engine engine, bool onlyLooks = false, CommandOrigin origin = CommandOrigin.Client)
    {
        _engine = engine;
        _onlyLooks = onlyLooks;
        _origin = origin;
        _executor = new CommandExecutor(engine, origin);
        if (onlyLooks || origin == CommandOrigin.Log) engine.Metrics.Forget(_executor.Metrics);
        _direct = new DirectRunner(_executor);
        _slices = new SliceRunner(engine, _executor);
        _session = NewSession();
    }

    internal override ReplyWriter Reply => _executor.Reply;

    public Session Session => _session;

    ReplyWriter IStreamExecutor.Reply => Reply;

    /// <summary>What the caller's transactions and scripts may do.</summary>
    internal UnitWork UnitWork => _executor.Environment.UnitWork;

    /// <summary>What becomes of keys and fields that its commands find expired. Set while no call is in progress.</summary>
    internal ExpiryPolicy Expiry
    {
        get => _executor.Time.CallersExpiry;
        set => _executor.Time.CallersExpiry = value;
    }

    public bool HasEnded => _ended;

    /// <summary>Whether its calls are spans: they are the host's, and something listens.</summary>
    internal bool MakesSpans => CommandSpans.HasListeners && !_onlyLooks && _origin == CommandOrigin.Client;

    /// <summary>The request's command, as spans name it.</summary>
    internal string CommandName => Find(_engine.Commands)?.FullName ?? CommandSpans.Unknown;

    /// <summary>Whether any call of a client may take it; otherwise a session owns it.</summary>
    internal bool IsPooled { get; init; }

    /// <summary>What removes it after its call; null: it is for more than one call.</summary>
    internal ITemporaryCallers? Temporary { get; init; }

    /// <summary>Whether calls return before the append-only file has what they changed, whatever its policy is. Of the call in progress.</summary>
    internal bool SkipsLogWait { get; set; }

    /// <summary>The most memory that a reply may take. Of the call in progress.</summary>
    internal long BytesMax { get; set; } = ReplyBytesMax;

    /// <summary>Takes it for a call. From any thread.</summary>
    internal bool TryTake() => Volatile.Read(ref _isTaken) == 0 && Interlocked.CompareExchange(ref _isTaken, 1, 0) == 0;

    internal override void End()
    {
        _executor.Reply.Clear();
        Request.Clear();
        Temporary?.Remove(this);
        Volatile.Write(ref _isTaken, 0);
    }

    /// <summary>Whether the last request has set something that only later ones of the same connection would notice, and that is forgotten.</summary>
    internal bool WasStateful { get; set; }

    /// <summary>Executes the request.</summary>
    internal override void Execute()
    {
        if (MakesSpans) ExecuteWithSpan();
        else ExecuteNow();
    }

    private void ExecuteWithSpan()
    {
        using Activity? span = CommandSpans.Begin(CommandName, _session.DatabaseIndex);
        try
        {
            ExecuteNow();
            CommandSpans.NoteReply(span, Reply);
        }
        catch (Exception failure)
        {
            CommandSpans.NoteFailure(span, failure);
            throw;
        }
    }

    private void ExecuteNow()
    {
        if (RefusesSize()) return;
        int database = _session.DatabaseIndex;
        ISyncedLog? log = BeginLogged(out long failures);
        OutputDeadline? deadline = TermOfNow;
        Command? command = Find(_engine.Commands);
        RowHandler handler = default;
        if (command is null || !_direct.TryRunShort(_session, command, Request.Bytes, Request.Slices, ref handler))
        {
            deadline = ExecuteFully(command, _session);
            WasStateful = ForgetState(database);
        }

        if (log is not null) WaitForLog(log, failures);
        if (_session.Own.UnackedOffset != 0) WaitForAcks();
        if (deadline is not null) ThrowIfLate(deadline);
    }

    /// <summary>Executes a GET that copies the value straight from the store to where the caller wants it.</summary>
    /// <returns>The value's length; -1: there is none. Null: it has been executed by the whole sequence, and the reply is a string or error.</returns>
    internal override int? ExecuteGet(Span<byte> destination)
    {
        using Activity? span = MakesSpans ? CommandSpans.Begin("GET", _session.DatabaseIndex) : null;
        if (RefusesSize()) return null;
        ISyncedLog? log = BeginLogged(out long failures);
        OutputDeadline? deadline = TermOfNow;
        Command? command = Find(_engine.Commands);
        var handler = new GetInto(destination);
        bool isShort = command is not null && _direct.TryRunShort(_session, command, Request.Bytes, Request.Slices, ref handler);
        if (!isShort) deadline = ExecuteFully(command, _session);
        CommandSpans.NoteReply(span, Reply);
        if (log is not null) WaitForLog(log, failures);
        if (deadline is not null) ThrowIfLate(deadline);
        return isShort && Reply.Length == 0 ? handler.Length : null;
    }

    /// <summary>Executes the request for another session; if its command waits, <see cref="Session.Blocked"/> is set.</summary>
    internal void ExecuteFor(Session session)
    {
        if (RefusesSize()) return;
        _ = BeginLogged(out _);
        session.Own.Deadline = DeadlineOfNow;
        Invoke(Find(_engine.Commands), session);
    }

    /// <summary>Executes the request for another session, as a span.</summary>
    internal void ExecuteForWithSpan(Session session)
    {
        using Activity? span = MakesSpans ? CommandSpans.Begin(CommandName, session.DatabaseIndex) : null;
        ExecuteFor(session);
        CommandSpans.NoteReply(span, Reply);
    }

    /// <summary>Executes the whole requests of a buffer in the protocol's form, until one has blocked or the replies have become large.</summary>
    /// <returns>How many bytes of it were executed.</returns>
    public int Run(Session session, Span<byte> request, long bytesMax, out bool goesOn)
    {
        ISyncedLog? log = BeginLogged(out long failures);
        OutputDeadline? deadline = session.Own.Deadline = DeadlineOfNow;
        Reply.BytesMax = bytesMax;
        _executor.Time.Read();
        session.NoteUser(); // there is no loop that could
        int consumed;
        try
        {
            consumed = _executor.Run(session, request);
            UnitStart = _executor.UnitStart;
            while (session.IsPaused)
            {
                // The link waits itself: it holds a lock here. When it ends, it must know what was executed: nothing is thrown.
                if (_origin == CommandOrigin.Primary) break;
                _executor.Environment.ScriptMutexHold.End();
                if (_origin == CommandOrigin.Client) WaitForAcks(session); // of what was executed: the role may change in the pause
                WaitToRetry(session);
                int before = consumed;
                consumed += _executor.Run(session, request[consumed..]);
                if (_executor.UnitStart >= 0) UnitStart = before + _executor.UnitStart;
            }
        }
        finally
        {
            _executor.Environment.ScriptMutexHold.End();
        }

        goesOn = WaitIfBlocked(session) || Reply.IsChained;
        if (_origin == CommandOrigin.Client)
        {
            WaitForLog(log, failures);
            WaitForAcks(session);
            ThrowIfLate(session.Own.Deadline);
            if (_blockedReplyStart > 0) ThrowIfLate(deadline); // of the replies before that of the command that waited
        }

        if (_origin != CommandOrigin.Primary) CheckOverflow(bytesMax);
        return consumed;
    }

    /// <summary>Where in the input of the last <see cref="Run"/> a transaction of a primary's stream began that has not ended; -1: nowhere.</summary>
    public int UnitStart { get; private set; }

    /// <summary>Executes all requests of some text in the protocol's form, and reads their replies. Ends nothing.</summary>
    internal List<RedKiteReply> RunAll(Session session, ReadOnlySpan<byte> requests)
    {
        var replies = new List<RedKiteReply>();
        byte[] copy = ArrayPool<byte>.Shared.Rent(requests.Length);
        try
        {
            requests.CopyTo(copy);
            int consumed = 0;
            do
            {
                int executed = Run(session, copy.AsSpan(consumed, requests.Length - consumed), ReplyBytesMax, out _);
                RedKiteReply.ParseAll(Reply, replies);
                Reply.Clear();
                if (executed == 0) throw replies.Count > 0 && replies[^1].IsError ? replies[^1].ToException() : new InvalidOperationException("The requests cannot be read.");
                consumed += executed;
            }
            while (consumed < requests.Length);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(copy);
        }

        return replies;
    }

    /// <summary>Forgets what the last commands have set for its session, if they have.</summary>
    internal bool ForgetState(int database)
    {
        bool hasState = _session.DatabaseIndex != database;
        _session.DatabaseIndex = 0;
        if (!hasState && !_session.HasOwnState(_engine.Users.InProcess)) return false;
        Reset();
        return true;
    }

    /// <summary>Takes over the reply of a command that has waited, whose wait has ended, and cleans up behind it.</summary>
    /// <param name="blocked">What the command waited as.</param>
    internal void TakeReply(BlockedClient blocked)
    {
        blocked.Session.Blocked = null;
        blocked.Session.Own.Deadline = blocked.ReplyDeadline;
        _engine.Blocked.Remove(blocked);
        blocked.Dispose();
        _executor.Time.Read();
        if (!blocked.IsCallCounted) _executor.Account.CountWaited(blocked);
        if (!blocked.DropsReply) WriteReplyOf(blocked);
        blocked.ReleaseReply();
    }

    /// <summary>Forgets everything that commands have set for its session.</summary>
    internal void Reset()
    {
        Discard(_session);
        _session = NewSession();
    }

    /// <summary>Forgets what a session has set in the server.</summary>
    public void Discard(Session session)
    {
        while (session.TryTakeDelivery(out Payload delivery)) delivery.Buffer.Release();
        session.Subscriptions?.End(session);
        _engine.Watched.Closed(session);
        session.Transaction = null;
        session.EndCountingKept(_engine.Kept);
    }

    /// <summary>Lets calls in progress end, which throw; what comes later throws, too.</summary>
    public void BeginEnd() => _ended = true;

    /// <summary>Keeps its counts, and forgets everything else. After <see cref="BeginEnd"/> and the last call.</summary>
    public void Remove()
    {
        _engine.Metrics.Remove(_executor.Metrics);
        Discard(_session);
    }

    private Session NewSession()
    {
        Session session = _engine.Clients.AddCaller(_engine.Clock.SteadyMs, _engine.Users.InProcess);
        session.NoTouch = _onlyLooks;
        return session;
    }

    /// <summary>Why a call fails whose reply did not return in time. The other exit is that of connections, <see cref="Connection.BeginReplies"/>, which are closed then.</summary>
    internal static IOException LeaseEnded(OutputDeadline missed)
    {
        missed.NoteMissed();
        return new IOException("The lease of this node in its cluster ended before the reply could be returned: whether the command was executed in time is not known.");
    }

    // Until when the reply may be returned to what is executed now; null: without end, for nothing is executed by a lease.
    private OutputDeadline? DeadlineOfNow => _origin == CommandOrigin.Client ? _engine.Routing.Lease?.DeadlineOfNow() : null;

    // The same for the short path, which is not taken if it has passed.
    private OutputDeadline? TermOfNow => _origin == CommandOrigin.Client ? _engine.Routing.Lease?.Term : null;

    // The last thing before a reply is returned.
    private void ThrowIfLate(OutputDeadline? deadline)
    {
        if (deadline is not { HasPassed: true }) return;
        Reply.Clear();
        throw LeaseEnded(deadline);
    }

    // What the parser checks of a connection's requests.
    private bool RefusesSize()
    {
        if (Request.LargestArgument <= _engine.Settings.ProtoMaxBulkLength && !Request.IsTooLarge) return false;
        _engine.Limits.Note(Metrics.Limit.ArgumentBytes);
        Reply.Error("ERR an argument is larger than proto-max-bulk-len"u8);
        return true;
    }

    // The whole sequence, on this thread up to the reply. Returns until when that may be returned.
    private OutputDeadline? ExecuteFully(Command? command, Session session)
    {
        session.Own.Deadline = DeadlineOfNow;
        Invoke(command, session);
        WaitIfBlocked(session);
        CheckOverflow(BytesMax);
        return session.Own.Deadline;
    }

    private void Invoke(Command? command, Session session)
    {
        Reply.BytesMax = BytesMax;
        session.NoteUser();

        // The host's writes may have been those of any session of the pool: WAIT and WAITAOF wait for all that was written so far.
        if (IsPooled && command?.Is(CommandFlags.Blocking) == true) _engine.NoteWritten(session, hasChanged: false);
        try
        {
            while (!_direct.TryRun(session, command, Request.Bytes, Request.Slices)) WaitToRetry(session);
        }
        finally
        {
            _executor.Environment.ScriptMutexHold.End();
        }
    }

    // Before the command looks whether writes are refused.
    private ISyncedLog? BeginLogged(out long failures)
    {
        ISyncedLog? log = _origin == CommandOrigin.Client ? _engine.SyncedLog.Log : null;
        failures = log?.Failures ?? 0;
        _executor.Invoker.Blocked.BeginLogged(log, failures);
        return log;
    }

    private void WaitForLog(ISyncedLog? log, long failures)
    {
        if (log is null || SkipsLogWait || log.WaitUntilSynced(failures)) return;
        if (Reply.Tail.StartsWith("-MISCONF "u8)) return; // refused behind a wait, in which the log failed: nothing was executed
        Reply.Clear();
        throw new IOException($"The command was executed, but the append-only file cannot be written: {log.FailureText ?? "it failed meanwhile"}");
    }

    // Of the request, whose reply becomes an error if too few replicas have acknowledged it.
    private void WaitForAcks()
    {
        long offset = _session.Own.UnackedOffset;
        _session.Own.UnackedOffset = 0;
        if (_origin != CommandOrigin.Client || EventLoop.IsOnLoop || _session.Own.UnackedTerm is not { } term) return; // a loop that waited could not receive the acknowledgement
        ReadOnlySpan<byte> error = _engine.Replication.Acks.Wait(term, offset, AckTimeoutMs);
        if (error.IsEmpty) return;
        Reply.Clear();
        Reply.Raw(error);
    }

    // Of the requests of a buffer: only the replies of those become errors that have written what was not acknowledged. One that was blocked is the last.
    private void WaitForAcks(Session session)
    {
        WriteReplies writes = _executor.Writes;
        if (session.Own.UnackedOffset != 0) writes.NoteLast(session, _blockedReplyStart, Reply.Length);
        if (writes.Count > 0 && writes.Term is { } term && !EventLoop.IsOnLoop)
        {
            ReadOnlySpan<byte> error = _engine.Replication.Acks.Wait(term, writes.LastOffset, AckTimeoutMs);
            if (!error.IsEmpty) writes.Fail(Reply, term.Position, error);
        }

        writes.Clear();
    }

    private long AckTimeoutMs() => _engine.Settings.ReplicaAcksTimeoutMs;

    private void CheckOverflow(long bytesMax)
    {
        if (!Reply.Overflowed) return;
        Reply.Clear();
        throw new InsufficientMemoryException($"The reply is larger than {bytesMax} bytes, which a caller in the process can take.");
    }

    private void WaitToRetry(Session session)
    {
        WaitForGate(session);
        ThrowIfEnded();
    }

    // Sleeps while the next command must not write.
    private void WaitForGate(Session session)
    {
        _executor.Environment.ScriptMutexHold.End();
        _engine.WriteGate.WaitToRetry();
        session.IsPaused = false;
        _executor.Time.Read();
    }

    private void ThrowIfEnded()
    {
        if (!_ended) return;
        Reply.Clear();
        throw CallerPool.ServerStopped();
    }

    // Sleeps while the command that was executed last waits for a key, and adds its reply; false when it does not wait.
    private bool WaitIfBlocked(Session session)
    {
        if (session.Blocked is not { } blocked) return false;
        _blockedReplyStart = Reply.Length;
        if (blocked.Work is not null) Work(blocked);
        while (!blocked.Sleep((int)Math.Clamp(blocked.DeadlineMs - _executor.Time.SteadyMs, 1, SleepMsMax)))
        {
            _executor.Time.Read();
            if ((_ended || blocked.DeadlineMs <= _executor.Time.SteadyMs) && blocked.TryEnd()) break;
        }

        if (!_ended || _origin == CommandOrigin.Primary)
        {
            TakeReply(blocked);
            return true;
        }

        session.Blocked = null;
        _engine.Blocked.Remove(blocked);
        blocked.Dispose();
        blocked.ReleaseReply();
        ThrowIfEnded();
        return true;
    }

    // Does the work that the command waits for, unless the server stops meanwhile.
    private void Work(BlockedClient blocked)
    {
        while (true)
        {
            while (blocked.Work is PendingWork { Pending: { } pending } && !pending.Wait(SleepMsMax)) EndIfStopped();
            _executor.Time.Read();
            bool isHeld = IsHeld(blocked);
            if (isHeld) _slices.DiscardForPause(blocked);
            else if (!_slices.RunSlice(blocked)) return;
            EndIfStopped();
            if (isHeld || _engine.Pause.IsLastSave) Thread.Sleep(HeldLookMs);
            Thread.Yield(); // to threads that wait for the stripes
        }

        void EndIfStopped()
        {
            if (_ended && _origin != CommandOrigin.Primary && blocked.TryEnd()) blocked.Wake(); // a command of the stream is executed whole
        }
    }

    /// <summary>Runs slices of the work that a command of another session waits for, until that is pending or has ended.</summary>
    /// <returns>What it is pending for; null: it has ended.</returns>
    internal Task? WorkFor(BlockedClient blocked)
    {
        while (true)
        {
            if (blocked.Work is PendingWork { Pending: { IsCompleted: false } pending }) return pending;
            _executor.Time.Read();
            bool isHeld = IsHeld(blocked);
            if (isHeld) _slices.DiscardForPause(blocked);
            else if (!_slices.RunSlice(blocked)) return null;
            if (isHeld || _engine.Pause.IsLastSave) return Task.Delay(HeldLookMs);
            Thread.Yield();
        }
    }

    // What it would write behind the last one that another node gets, when that gets the role or slots, would be lost.
    private bool IsHeld(BlockedClient blocked) => !_executor.IsTrusted && _engine.HoldsWork(blocked, _executor.Time.SteadyMs);

    private void WriteReplyOf(BlockedClient blocked)
    {
        if (blocked.Reply is null) Reply.Raw(blocked.Block.ReplyAtDeadline(blocked.Session.Resp3));
        foreach (Payload part in blocked.Reply ?? []) Reply.Raw(part.Bytes);
    }

    // GET, whose reply is not built.
    private ref struct GetInto(Span<byte> destination) : IShortHandler
    {
        private readonly Span<byte> _destination = destination;

        internal int Length { get; private set; } = -1;

        public bool ReadsClock => true;

        public void Execute(ref CommandContext cmd)
        {
            Entry entry = cmd.Find(cmd.Command.FirstKey);
            if (cmd.Time.MayBeStale && entry.Exists && entry.ExpiryMs != Database.NoExpiry) entry = FindAgain(cmd);
            if (!entry.Exists || !cmd.IsTypeOrReply(entry, DataType.String)) return;
            ReadOnlySpan<byte> value = entry.Value;
            Length = value.Length;
            if (value.Length <= _destination.Length) value.CopyTo(_destination);
            else value[.._destination.Length].CopyTo(_destination);
        }

        // By the time of now, it may have expired.
        private static Entry FindAgain(scoped in CommandContext cmd)
        {
            cmd.Time.Read();
            Entry entry = cmd.Peek(cmd.Command.FirstKey);
            if (entry.Exists) return entry;
            cmd.Metrics.CountHitAsMiss();
            return entry;
        }
    }
}
