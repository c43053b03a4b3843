using System.Diagnostics;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Execution.Eviction;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// The one sequence in which every command executes, for every caller: resolve the row, check what its client may do, lock, run
/// the handler, publish the changes, serve blocked clients, unlock, count.
/// </summary>
/// <remarks>
/// Callers differ in where they enter. A client's request takes all of it (<see cref="TryInvoke"/>). A blocked client's
/// request was checked before and executes under locks that are held already (<see cref="CommandRunner.Run"/>). The batch's short path in
/// <see cref="CommandExecutor"/> is the same sequence for requests that need nothing but a lock, the handler and an unlock.
/// </remarks>
internal sealed partial class Invoker
{
    private const int BusyPollMs = 1;

    private const long Waits = -1; // a command, instead of an end

    private readonly ExecutorCore _core;
    private readonly CommandEnvironment _environment;
    private readonly CommandTime _time;
    private readonly InvocationRecording _recording;
    private readonly Engine _engine;
    private readonly Keyspace _keyspace;
    private readonly Admission _admission;
    private readonly RunMeter _meter;
    private readonly CommandRunner _runner;
    private readonly NestedExecutor _nested;

    internal Invoker(ExecutorCore core, CommandAccount account, Admission admission, RunMeter meter)
    {
        _core = core;
        _environment = core.Environment;
        _time = _environment.Time;
        _recording = _environment.Recording;
        _engine = core.Engine;
        _keyspace = core.Keyspace;
        _admission = admission;
        _meter = meter;
        Account = account;
        var noted = new NotedKeys(core);
        var effects = new UnitEffects(core);
        Publisher = new InvocationPublisher(core, effects, noted);
        _runner = new CommandRunner(core, Publisher);
        Blocked = new BlockedClientServer(core, _runner, admission, account, noted);
        Evictor = new Evictor(core, Publisher, Blocked);
        Stripes = new CommandStripes(core);
        _nested = new NestedExecutor(core, _runner, Publisher, effects, Stripes, admission, account);
        PausedWrites = new PausedWrites(core);
        _environment.Nested = _nested;
    }

    internal ReplyWriter Reply => _core.Reply;

    /// <summary>Publishes what commands have changed.</summary>
    internal InvocationPublisher Publisher { get; }

    /// <summary>Serves the clients that commands unblock.</summary>
    internal BlockedClientServer Blocked { get; }

    /// <summary>Keeps memory under its limit.</summary>
    internal Evictor Evictor { get; }

    /// <summary>The commands that wait until they may write.</summary>
    internal PausedWrites PausedWrites { get; }

    internal CommandStripes Stripes { get; }

    internal CommandAccount Account { get; }

    /// <summary>Where in the input of the last run MULTI began the transaction that its session is in; -1: not in this input. Of a primary's stream.</summary>
    internal int UnitStart { get; set; }

    /// <inheritdoc cref="RunMeter.BeginTimingBehaviors"/>
    internal TimeSpan BeginTimingBehaviors() => _meter.BeginTimingBehaviors();

    /// <summary>Executes a client's request.</summary>
    /// <param name="now">The timestamp at its start; on return, at its end.</param>
    /// <returns>False when it must wait: nothing was done.</returns>
    internal bool TryInvoke(ref CommandContext cmd, ref BatchRequest request, ReadOnlySpan<ArgumentSlice> arguments, ref long now)
    {
        Session session = cmd.Session;
        ReplyMode replies = session.ReplyMode;
        if (replies == ReplyMode.SkipNext) session.ReplyMode = ReplyMode.SkipThis;
        bool isOutOfMemory = _keyspace.Budget.IsExceeded && !Evictor.TryEvict();
        session.WriteDeferred(Reply); // as in Redis, invalidations of evicted keys precede the reply
        long length = Reply.Length;
        Command? command = request.Command;
        cmd.Begin(command!, arguments, request.Hash);
        if (Resolve(ref cmd, ref command) && _admission.AdmitsOrReply(ref cmd, command!, isOutOfMemory))
        {
            if (TryPauseForTest(cmd) || _admission.TryPauseForMove(cmd) || _engine.Pause.TryPause(cmd, command!, _time.SteadyMs, isOfClient: !_core.IsTrusted) || (!Admission.IsQueued(cmd, command!) && PausedWrites.TryPause(cmd, command!)))
            {
                session.ReplyMode = replies;
                return false;
            }

            if (RunsScript(cmd, command!) && !Admission.IsQueued(cmd, command!) && WaitForScriptMutex(now) is { } busy)
            {
                Account.Reject(command!, Reply, busy);
                AbortTransaction(session, command);
            }
            else if (_engine.Interceptor is { } interceptor && _core.Origin != CommandOrigin.Primary)
            {
                if (!interceptor.Execute(this, ref cmd, command!, arguments, request.Hash, now, isShort: false)) session.Transaction?.Abort();
                now = Stopwatch.GetTimestamp();
            }
            else
            {
                long end = LockAndRun(ref cmd, command!, arguments, request.Hash, now, mayWait: true);
                if (end == Waits)
                {
                    session.ReplyMode = replies;
                    return false;
                }

                now = end;
            }
        }
        else if (session.Transaction is not null || session.Watch is not null)
        {
            // Of a log's transaction, a command that no log should have is left out alone: the others were acknowledged.
            if (_core.Origin != CommandOrigin.Log || command?.RunsQueued == true) AbortTransaction(session, command);
        }
        else if (session.Tracking is { CachingGiven: true } tracking && command?.KeepsCaching != true)
        {
            tracking.EndCaching(); // a refused command counts, too
        }

        if (replies != ReplyMode.On) DropReply(session, Reply, length);
        if (session.Own.UnackedOffset != 0) _core.Writes.NoteInvoked(session, length, Reply.Length);
        session.CountKept(_engine.Kept);
        if ((session.Attention & SessionAttention.Asks) != 0 && session.Transaction is null && command?.KeepsAsking != true) session.Ask(false); // for one command, or transaction
        if (command is { BeginsUnit: true } && session.Transaction is { Count: 0 }) UnitStart = request.Start;
        return true;
    }

    /// <summary>Locks the stripes of the command's keys, executes its handler, unlocks, and counts.</summary>
    /// <returns>The timestamp at the end; <see cref="Waits"/> if the command may wait and must: nothing was done.</returns>
    internal long LockAndRun(ref CommandContext cmd, Command command, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash, long start, bool mayWait = false)
    {
        if (command.Parent is not null && command.FirstKey > 0) firstKeyHash = _keyspace.Hash(cmd[command.FirstKey]);
        cmd.Begin(command, arguments, firstKeyHash);
        int requestBytes = cmd.Arguments.FramedBytes;
        if (Admission.IsQueued(cmd, command))
        {
            QueueInTransaction(cmd, cmd.Session.Transaction!);
            Account.CountQueued(cmd, requestBytes);
            return start;
        }

        long errors = Reply.Errors - _nested.Errors;
        long replied = Reply.Length;
        StripeSet stripes = Stripes.Of(cmd, command, requestBytes);
        bool isScript = RunsScript(cmd, command);
        if (!isScript) _environment.ScriptMutexHold.End();
        LockScope locked;
        if (isScript)
        {
            locked = _keyspace.LockForScript(stripes);
        }
        else if (!TryLockOrReply(command, stripes, out locked))
        {
            _environment.KeyHashes.Forget(); // of these keys: the next command may take none of its own
            AbortTransaction(cmd.Session, command);
            return start;
        }

        try
        {
            if (mayWait && ((!isScript && PausedWrites.TryPauseSinceSnapshotPoint(cmd, command)) || _admission.TryPauseLate(cmd, command)))
            {
                _environment.KeyHashes.Forget();
                return Waits;
            }

            if (_admission.RejectsLate(cmd, command))
            {
                // The keys' slot is elsewhere. Or of callers in the process alone: the role changes behind the loops' commands, and the last save begins behind them.
                _environment.KeyHashes.Forget();
                AbortTransaction(cmd.Session, command);
                return start;
            }

            _environment.HeldStripes = stripes;
            _runner.Run(ref cmd, stripes);
            locked.Include(_environment.HeldStripes); // what a script has claimed
            if (Blocked.MayServe())
            {
                if (isScript || command.RunsQueued) Blocked.ReadTime();
                Blocked.Serve(ref locked);
            }
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, locked.Held, command.FullName))
        {
            throw;
        }
        finally
        {
            _environment.HeldStripes = StripeSet.Empty;
            locked.Dispose();
        }

        if (_engine.Changes.HasRequests) _engine.Changes.ApplyUnlessBusy();
        if (_engine.Tracking.IsOver) _engine.Tracking.Trim();
        if (_engine.Monitors.IsOn) _engine.Monitors.Show(cmd);
        Blocked.Deliver();
        if (_environment.TakeBusy() is { } busy)
        {
            Reply.Truncate(replied);
            Account.Reject(command, Reply, busy);
            return Stopwatch.GetTimestamp();
        }

        BlockedClient? blocked = cmd.Session.Blocked;
        if (blocked is not null)
        {
            _engine.Blocked.NoteBegun(blocked, _engine.Buffers);
            _engine.RedirectIfMoved(blocked);
            if (_admission.RefusesWrite(cmd, command)) _engine.Blocked.EndForRole(blocked, _engine.Buffers); // a replica since it was admitted: who changed the role did not see it
        }

        _environment.Accesses.BeginClient(cmd.Session);

        long end = Stopwatch.GetTimestamp();
        blocked?.NoteExecuted(end - start);
        Account.Count(cmd, end - start, end, requestBytes, Reply.Length - replied, failed: Reply.Errors - _nested.Errors != errors, blocked);
        if (_engine.Settings.LatencyTracking) _meter.NoteEnded(command, _environment.Metrics.Of(command.Index), start, end);
        if (Reply.Length - replied > _engine.OneReplyBytesMax && cmd.Session is { Connection: { } connection, Type: ClientType.Normal }) _engine.CloseOverLimit(cmd.Session, connection, Reply, replied);
        return end;
    }

    // A thread that waited for the stripes of a busy script would serve none of its clients.
    private bool TryLockOrReply(Command command, StripeSet stripes, out LockScope locked)
    {
        while (!_keyspace.TryLock(stripes, _environment.GivesUpWaiting, out locked))
        {
            if (IsRefusedAsBusy(command)) return false;
        }

        return true;
    }

    // False: the script that a stripe was not waited for has just ended.
    private bool IsRefusedAsBusy(Command command)
    {
        if (_engine.Script.BusyReply is not { } busy) return false;
        Account.Reject(command, Reply, busy);
        return true;
    }

    // Finds the subcommand and checks the number of arguments, or replies what is wrong.
    private bool Resolve(ref CommandContext cmd, ref Command? command)
    {
        cmd.Session.Counts.LastCommand = null; // before it executes, waits or is refused: CLIENT LIST shows itself
        if (command is null)
        {
            if (CutsCrossProtocolAttack(cmd)) return false;
            Account.Reject(null, Reply, UnknownCommandText.Of(cmd));
            return false;
        }

        if (command.Subcommands.Length > 0 && cmd.Count > 1)
        {
            Command? subcommand = CommandTable.FindSubcommand(command, cmd[1]);
            if (subcommand is null)
            {
                string name = UnknownCommandText.Shown(cmd[1]);
                Account.Reject(null, Reply, $"ERR unknown subcommand '{name}'. Try {cmd.ContainerText()} HELP.");
                return false;
            }

            command = subcommand;
        }

        cmd.Session.Counts.LastCommand = command;
        if (!command.Accepts(cmd.Count))
        {
            Account.Reject(command, Reply, $"ERR wrong number of arguments for '{command.FullName}' command");
            return false;
        }

        return true;
    }

    private static bool RunsScript(scoped in CommandContext cmd, Command command) =>
        command.Is(CommandFlags.RunsScript) || command.ExcludesScripts?.Invoke(cmd) == true || (command.RunsQueued && cmd.Session.Transaction is { } transaction && (transaction.Flags & CommandFlags.RunsScript) != 0);

    private bool TryPauseForTest(scoped in CommandContext cmd)
    {
        if (_engine.PausedByTest is not { } rule || cmd.Session.Connection is null || !rule(cmd)) return false;
        cmd.Session.IsPaused = true;
        return true;
    }

    // Waits until this thread may run a script. The error if another thread's takes long: this one has executed nothing.
    private string? WaitForScriptMutex(long now)
    {
        while (!_environment.ScriptMutexHold.Begin(now))
        {
            if (_engine.Script.BusyReply is not { } busy) continue;
            if (_core.Origin != CommandOrigin.Primary) return busy;
            Thread.Sleep(BusyPollMs); // its stream waits for the script
        }

        return null;
    }

    // A command was refused, so EXEC will refuse the transaction. If it is EXEC itself, the transaction ends, and so do its watches.
    private void AbortTransaction(Session session, Command? refused)
    {
        session.Transaction?.Abort();
        if (refused?.RunsQueued != true) return;
        session.Transaction = null;
        _engine.Watched.Closed(session);
    }

    private void QueueInTransaction(scoped in CommandContext cmd, Transaction transaction)
    {
        long replied = Reply.Length;
        if (!_core.IsTrusted && transaction.Count >= _engine.Settings.TransactionCommandsMax)
        {
            RejectInTransaction(Limit.QueuedCommands, "ERR the transaction has too many commands, see max-transaction-commands");
        }
        else if (!_core.IsTrusted && transaction.Bytes + cmd.Arguments.Bytes > _engine.Settings.ClientQueryBufferLimit)
        {
            CloseOrReject(cmd.Session);
        }
        else
        {
            transaction.Queue(cmd, Stripes.OfNested(cmd));
            _environment.KeyHashes.Forget();
            Reply.SimpleString("QUEUED"u8);
        }

        // As in Redis the client is closed: queued commands count as part of the query buffer.
        void CloseOrReject(Session session)
        {
            RejectInTransaction(Limit.QueuedBytes, "ERR the transaction is larger than client-query-buffer-limit");
            if (session.Connection is null) return;
            Reply.Truncate(replied);
            Interlocked.Increment(ref _engine.Metrics.Server.QueryBufferDisconnections);
            _engine.Note(TimelineKind.QueryTooLarge, session);
            _engine.Log.Warning(LogEvents.ClientOverQueryBuffer, $"Closing client that reached max query buffer length: id={session.Id} addr={session.Address}");
            session.CloseAfterReply();
        }

        void RejectInTransaction(Limit limit, string error)
        {
            _engine.Limits.Note(limit);
            Account.Reject(null, Reply, error);
            transaction.Abort();
        }
    }

    private static void DropReply(Session session, ReplyWriter reply, long length)
    {
        // A command that turns replies on is answered.
        if (session.ReplyMode == ReplyMode.On) return;
        if ((session.Attention & SessionAttention.ReceivesSlots) != 0 && !reply.IsChained && length < reply.Length) session.Reception!.NoteReply(reply.Tail[(int)length..]);
        if (length < reply.Length) reply.Truncate(length);
        if (session.ReplyMode == ReplyMode.SkipThis) session.ReplyMode = ReplyMode.On;
    }

    // A web page can make a browser send HTTP here; its first words end the connection before its body is executed.
    private bool CutsCrossProtocolAttack(scoped in CommandContext cmd)
    {
        if (!cmd.Is(0, "POST"u8) && !cmd.Is(0, "HOST:"u8)) return false;
        _engine.Log.Warning(LogEvents.CrossProtocolRequest, "Possible SECURITY ATTACK detected: a client sends HTTP (POST or Host:). This is probably a cross-protocol scripting attack. Connection closed.");
        _engine.CloseAfterProtocolError(cmd.Session);
        if (cmd.Session.ClosesAfterReply) Reply.Truncate(0); // an attacker learns nothing
        return true;
    }
}
