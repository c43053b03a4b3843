using System.Diagnostics;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Execution.Blocking;
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
/// request was checked before and executes under locks that are held already (<see cref="Run"/>). The batch's short path in
/// <see cref="CommandExecutor"/> is the same sequence for requests that need nothing but a lock, the handler and an unlock.
/// </remarks>
internal sealed partial class Invoker
{
    private const int BusyPollMs = 1;

    private const long Waits = -1; // a command, instead of an end

    private readonly CommandExecutor _executor;
    private readonly CommandEnvironment _environment;
    private readonly CommandTime _time;
    private readonly InvocationRecording _recording;
    private readonly Engine _engine;
    private readonly Keyspace _keyspace;
    private readonly BlockedClientServer _blocked;
    private readonly NestedExecutor _nested;
    private readonly ScriptedTimes _scriptedTimes = new();

    internal Invoker(CommandExecutor executor)
    {
        _executor = executor;
        _environment = executor.Environment;
        _time = _environment.Time;
        _recording = _environment.Recording;
        _engine = executor.Engine;
        _keyspace = _engine.Keyspace;
        _blocked = new BlockedClientServer(this, executor.Admission, _engine, _environment);
        _nested = new NestedExecutor(this, executor.Admission, _engine, _environment);
        PausedWrites = new PausedWrites(_engine, _environment, Reply);
        _environment.Nested = _nested;
    }

    /// <summary>Whether a key that clients are blocked on was changed.</summary>
    internal bool MayServe => _blocked.HasNoted;

    internal ReplyWriter Reply => _executor.Reply;

    /// <summary>The commands that wait until they may write.</summary>
    internal PausedWrites PausedWrites { get; }

    internal CommandAccount Account => _executor.Account;

    /// <inheritdoc cref="RunMeter.BeginTimingBehaviors"/>
    internal TimeSpan BeginTimingBehaviors() => _executor.Meter.BeginTimingBehaviors();

    /// <summary>Executes a client's request.</summary>
    /// <param name="now">The timestamp at its start; on return, at its end.</param>
    /// <returns>False when it must wait: nothing was done.</returns>
    internal bool TryInvoke(ref CommandContext cmd, ref CommandExecutor.Request request, ReadOnlySpan<ArgumentSlice> arguments, ref long now)
    {
        Session session = cmd.Session;
        ReplyMode replies = session.ReplyMode;
        if (replies == ReplyMode.SkipNext) session.ReplyMode = ReplyMode.SkipThis;
        bool isOutOfMemory = _keyspace.Budget.IsExceeded && !_executor.Evictor.TryEvict();
        session.WriteDeferred(Reply); // as in Redis, invalidations of evicted keys precede the reply
        long length = Reply.Length;
        Command? command = request.Command;
        cmd.Begin(command!, arguments, request.Hash);
        if (Resolve(ref cmd, ref command) && _executor.Admission.AdmitsOrReply(ref cmd, command!, isOutOfMemory))
        {
            if (TryPauseForTest(cmd) || _engine.Pause.TryPause(cmd, command!, _time.SteadyMs, isOfClient: !_executor.IsTrusted) || (!Admission.IsQueued(cmd, command!) && PausedWrites.TryPause(cmd, command!)))
            {
                session.ReplyMode = replies;
                return false;
            }

            if (RunsScript(cmd, command!) && !Admission.IsQueued(cmd, command!) && WaitForScriptMutex(now) is { } busy)
            {
                Account.Reject(command!, Reply, busy);
                AbortTransaction(session, command);
            }
            else if (_engine.Interceptor is { } interceptor && _executor.Origin != CommandOrigin.Primary)
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
            if (_executor.Origin != CommandOrigin.Log || command?.RunsQueued == true) AbortTransaction(session, command);
        }
        else if (session.Tracking is { CachingGiven: true } tracking && command?.KeepsCaching != true)
        {
            tracking.CachingGiven = false; // a refused command counts, too
        }

        if (replies != ReplyMode.On) DropReply(session, Reply, length);
        session.CountKept(_engine.Kept);
        if (command is { BeginsUnit: true } && session.Transaction is { Count: 0 }) _executor.UnitStart = request.Start;
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
            return start;
        }

        long errors = Reply.Errors - _nested.Errors;
        long replied = Reply.Length;
        StripeSet stripes = StripesOf(cmd, command, requestBytes);
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
            if (mayWait && !isScript && PausedWrites.TryPauseSinceSnapshotPoint(cmd, command))
            {
                _environment.KeyHashes.Forget();
                return Waits;
            }

            if (_executor.Admission.RefusalOfLateWrite(cmd, command) is { } refusal)
            {
                // Callers in the process alone: the role changes behind the loops' commands, and the last save begins behind them.
                _environment.KeyHashes.Forget();
                Account.Reject(command, Reply, refusal);
                AbortTransaction(cmd.Session, command);
                return start;
            }

            _environment.HeldStripes = stripes;
            Run(ref cmd, stripes);
            locked.Include(_environment.HeldStripes); // what a script has claimed
            if (_blocked.HasNoted)
            {
                if (isScript || command.RunsQueued) _blocked.ReadTime();
                _blocked.Serve(ref locked);
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
        _blocked.Deliver();
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
            if (_executor.Admission.RefusesWrite(cmd, command)) _engine.Blocked.EndForRole(blocked, _engine.Buffers); // a replica since it was admitted: who changed the role did not see it
        }

        _environment.Accesses.BeginClient(cmd.Session);

        long end = Stopwatch.GetTimestamp();
        blocked?.NoteExecuted(end - start);
        Account.Count(cmd, end - start, end, requestBytes, Reply.Length - replied, failed: Reply.Errors - _nested.Errors != errors, blocked);
        if (_engine.Settings.LatencyTracking) _executor.Meter.NoteEnded(command, _environment.Metrics.Of(command.Index), start, end);
        if (Reply.Length - replied > _engine.OneReplyBytesMax && cmd.Session is { Connection: { } connection, Type: ClientType.Normal }) _engine.CloseOverLimit(cmd.Session, connection, Reply, replied);
        return end;
    }

    // A thread that waited for the stripes of a busy script would serve none of its clients.
    private bool TryLockOrReply(Command command, StripeSet stripes, out LockScope locked)
    {
        while (!_keyspace.TryLock(stripes, _executor.GivesUpWaiting, out locked))
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

    /// <summary>Executes a command inside another one, under its locks.</summary>
    internal void RunNested(ref CommandContext cmd)
    {
        ReplyWriter reply = cmd.Reply;
        bool isOfScript = !ReferenceEquals(reply, Reply); // which gets every reply, whatever its client wants
        CommandMetrics? estimated = isOfScript && cmd.Command.IsShort ? _environment.Metrics.Of(cmd.Command.Index) : null;
        long estimate = estimated is null ? 0 : _scriptedTimes.Estimate(estimated, Math.Min(_engine.SlowLog.Threshold, _engine.LatencyMonitor.ThresholdNs));
        long start = estimate > 0 ? 0 : Stopwatch.GetTimestamp();
        ReplyMode replies = isOfScript ? ReplyMode.On : cmd.Session.ReplyMode;
        long errors = reply.Errors;
        long replied = reply.Length;
        _recording.Changes.IsOfScript = isOfScript;
        Run(ref cmd, _environment.HeldStripes);
        _recording.Changes.IsOfScript = false;
        if (_recording.IsOn) _recording.Clear(); // it is published
        if (_engine.Monitors.IsOn) _engine.Monitors.Show(cmd, isOfScript);
        _environment.Accesses.BeginClient(cmd.Session);
        long end = estimate > 0 ? 0 : Stopwatch.GetTimestamp();
        long ticks = estimate > 0 ? estimate : end - start;
        if (estimated is not null) estimated.TicksInScript = ticks;
        Account.Count(cmd, ticks, end, isOfScript ? 0 : cmd.Arguments.FramedBytes, reply.Length - replied, failed: reply.Errors != errors);

        // CLIENT REPLY SKIP in a transaction skips the reply of the command after EXEC.
        if (replies is ReplyMode.Off or ReplyMode.SkipThis && cmd.Session.ReplyMode == replies) reply.Truncate(replied);
    }

    /// <summary>The stripes that a command needs when it executes inside another one.</summary>
    internal StripeSet StripesOfNested(scoped in CommandContext cmd)
    {
        return cmd.Command.Is(CommandFlags.WalksStripes) ? _keyspace.AllStripes : StripesOf(cmd, cmd.Command, cmd.Arguments.Bytes);
    }

    /// <summary>Executes a handler and publishes what it changed. The stripes that it needs are locked.</summary>
    internal void Run(ref CommandContext cmd, StripeSet held)
    {
        _recording.Begin(held);
        long changes = _environment.Metrics.Changes;
        if (_engine.Monitors.IsOn) _engine.Monitors.ShowScript(cmd);
        bool isReplica = _engine.Replication.IsReplica;
        ExpiryPolicy outer = _time.BeginExpiry(cmd.Command, isFrozen: isReplica || !_engine.Pause.EndIfOver(_time.SteadyMs));
        cmd.Command.Handler(ref cmd);
        _time.EndExpiry(outer);
        if (isReplica && cmd.Command.Is(CommandFlags.Write) && !_executor.IsTrusted) _engine.LocalExpiries.Note(cmd);
        _environment.KeyHashes.Forget();
        if (_environment.Blocking.Request is { } block && !_environment.Blocking.IsServing)
        {
            _environment.Blocking.Request = null;
            if (block.Type is null || cmd.Count <= _engine.Settings.BlockedKeysMax || IsWithinBlockedKeysOrReply(cmd)) _engine.Blocked.Block(cmd, block, held, _time.IterationStart);
        }

        if (_recording.IsOn) Publish(cmd, _environment.Metrics.Changes - changes);
        if (cmd.Session.Tracking is { } tracking) NoteTracked(cmd, tracking);
    }

    private bool IsWithinBlockedKeysOrReply(scoped in CommandContext cmd)
    {
        int keys = 0;
        var extraction = new KeyExtraction(cmd.Command);
        while (extraction.MoveNext(cmd)) keys++;
        if (keys <= _engine.Settings.BlockedKeysMax) return true;
        cmd.ReplyOverLimit(Limit.BlockedKeys, $"ERR too many keys to block on, max-blocked-keys is {_engine.Settings.BlockedKeysMax}");
        return false;
    }

    /// <summary>
    /// Remembers the keys that a tracking client's command has read; for a script, those that its commands read. Behind <see cref="Publish"/>: what the
    /// read itself has changed, such as a key that it found expired, invalidates earlier reads and not this one. CLIENT CACHING applies to one command, or one transaction.
    /// </summary>
    internal void NoteTracked(scoped in CommandContext cmd, ClientTracking tracking)
    {
        if (cmd.Command.Is(CommandFlags.ReadOnly) && !cmd.Command.Is(CommandFlags.RunsScript) && tracking.Remembers) _engine.Tracking.Remember(cmd);
        if (!cmd.Command.KeepsCaching && !_environment.IsInUnit && cmd.Session.Transaction is null) tracking.CachingGiven = false;
    }

    /// <summary>
    /// Publishes what a command changed to everything that observes its stripes, and notes the blocked clients that it may serve.
    /// Its stripes are locked.
    /// </summary>
    /// <param name="cmd">The command.</param>
    /// <param name="changes">How many changes it counted: without any it has no effect.</param>
    internal void Publish(scoped in CommandContext cmd, long changes)
    {
        if (_recording.TakesEffects)
        {
            bool hasEffects = _nested.TakeUnit() || changes > 0;
            if (changes > 0 && !_recording.Effects.ReplacesRequest) PublishRequest(cmd);
            else hasEffects |= _nested.PublishEffects(cmd.Arguments.Input);
            if (hasEffects) _engine.NoteWritten(cmd.Session); // also of a message, and of a key that was found expired
        }

        PublishChanges();
    }

    // The request is the effect: usually it is handed over as it was received.
    private void PublishRequest(scoped in CommandContext cmd)
    {
        if (_engine.Changes.TakesRequests && _recording.Expiries.Count == 0 && _nested.PublishesAtOnce && cmd.Arguments.TryGetRequest(out int start, out int end))
        {
            _engine.Changes.PublishRequests(cmd.Database.Index, cmd.Slot(), cmd.Arguments.Input[start..end]);
            return;
        }

        cmd.EffectRequest();
        _nested.PublishEffects(cmd.Arguments.Input);
    }

    /// <summary>Publishes the changes that the store made by itself: keys that it found expired. The stripe is locked.</summary>
    internal void PublishRecorded()
    {
        if (_recording.TakesEffects) _nested.PublishEffects(request: []);
        PublishChanges();
        _recording.Clear();
    }

    /// <summary>Serves the blocked clients that a command of the short path may serve. Its stripe is locked, and released here.</summary>
    internal void ServeAndExit(int stripe, Session session)
    {
        var locked = LockScope.Adopt(_keyspace, StripeSet.Of(stripe));
        try
        {
            _blocked.Serve(ref locked);
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, locked.Held, "serving blocked clients"))
        {
            throw;
        }
        finally
        {
            _environment.HeldStripes = StripeSet.Empty;
            locked.Dispose();
        }

        _environment.Accesses.BeginClient(session);
        _blocked.Deliver();
    }

    /// <summary>Executes the request of a client whose work is complete or stale; see <see cref="BlockedClientServer.ServeWorking"/>.</summary>
    internal void ServeWorking(ref LockScope locked, BlockedClient client) => _blocked.ServeWorking(ref locked, client);

    /// <summary>Serves the clients of keys that this has changed. The scope may grow, or release all stripes.</summary>
    internal void ServeNoted(ref LockScope locked) => _blocked.Serve(ref locked);

    /// <summary>Delivers their replies to the clients that were served. No stripe is locked.</summary>
    internal void DeliverServed() => _blocked.Deliver();

    /// <summary>Notes the keys whose blocked clients are to be looked at by now: <see cref="ServeAfterSweep"/> serves them.</summary>
    internal void NoteLooks(long steadyMs) => _blocked.NoteLooks(steadyMs);

    /// <summary>Serves blocked clients after the background sweep. No stripe is locked.</summary>
    internal void ServeAfterSweep() => _blocked.ServeNoted();

    private void PublishChanges()
    {
        if ((_recording.Observers & StripeObservers.Values) != 0) _engine.Changes.Publish(_recording.Values);
        if (_recording.Changes.Count == 0) return;
        if ((_recording.Observers & StripeObservers.Events) != 0) _engine.Changes.Publish(_recording.Changes);
        if ((_recording.Observers & StripeObservers.WatchedKeys) != 0) _engine.Watched.Note(_recording.Changes, _keyspace.Databases, _time.Expiry);
        _blocked.Note(_recording.Changes);
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

    private StripeSet StripesOf(scoped in CommandContext cmd, Command command, int requestBytes)
    {
        _environment.KeyHashes.Forget(); // those of a surrounding command, or of one that was refused when it had them
        if (command.Is(CommandFlags.AllStripes) || command.NeedsAllStripes?.Invoke(cmd) == true) return _keyspace.AllStripes;
        StripeSet stripes = command.UsesStripes?.Invoke(cmd) ?? StripeSet.Empty;
        if (command.HasOneKey && command.FirstKey < cmd.Count) return stripes.With(_keyspace.StripeOf(cmd.HashOf(command.FirstKey)));
        int count = 0;
        var keys = new KeyExtraction(command);
        while (keys.MoveNext(cmd))
        {
            count++;
            ulong hash = cmd.HashOf(keys.Argument);
            _environment.KeyHashes.Keep(cmd.Database, keys.Argument, hash);
            stripes = stripes.With(_keyspace.StripeOf(hash));
        }

        if (count > 0) _environment.KeyHashes.PrefetchEntries(mayAdd: command.Is(CommandFlags.Write), _executor.EntryBytes(requestBytes, count));
        return stripes;
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
            if (_executor.Origin != CommandOrigin.Primary) return busy;
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
        if (!_executor.IsTrusted && transaction.Count >= _engine.Settings.TransactionCommandsMax)
        {
            RejectInTransaction(Limit.QueuedCommands, "ERR the transaction has too many commands, see max-transaction-commands");
        }
        else if (!_executor.IsTrusted && transaction.Bytes + cmd.Arguments.Bytes > _engine.Settings.ClientQueryBufferLimit)
        {
            CloseOrReject(cmd.Session);
        }
        else
        {
            transaction.Queue(cmd, StripesOfNested(cmd));
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
