using System.Runtime.CompilerServices;
using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Execution.Eviction;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Executes requests on the thread that read them: parse a batch, prefetch its keys, then for each command lock, execute,
/// unlock, and count. One executor belongs to one loop, or to one in-process caller at a time. Its <see cref="RunMeter"/> measures.
/// </summary>
internal sealed class CommandExecutor
{
    // Measured in the design: looking keys up in batches of 64 hides the memory's latency; more gains nothing.
    private const int BatchMax = 64;

    // Entries are prefetched this many requests ahead: with what is read and replied meanwhile they must stay in the first-level
    // cache (docs/performance-log.md, round 47).
    private const int EntriesAhead = 8;

    // Replies are sent when a batch of this size is waiting, so that a long pipeline does not pile them up.
    private const int ReplyBytesToSend = 256 * 1024;

    private readonly Keyspace _keyspace;
    private readonly CommandTable _commands;
    private readonly AttentionWord _attention;
    private long _pathWord; // by which the batch's path was decided
    private SlotRouting? _slots; // the same; null: slots decide nothing
    private bool _readsReplica; // the same: the client has said READONLY
    private readonly int _heeded = -1; // the server's attention flags that concern this executor
    private readonly RequestParser _parser = new();
    private readonly BatchRequest[] _requests = new BatchRequest[BatchMax];
    private readonly InvocationPublisher _publisher;
    private readonly CommandStripes _stripes;
    private int _loggedStart; // in the input: requests that are to be logged together
    private int _loggedEnd; // 0: there are none
    private int _loggedSlot; // with slots, that of all of them
    private int _heldStripe = -1; // by the short path; for the crash report
    private Command? _lastCommand; // the command of the last request's name
    private byte[] _inlineLine = []; // the batch's inline request as it came, if it has quotes

    /// <param name="engine">What all executors share.</param>
    /// <param name="origin">Where its commands come from.</param>
    internal CommandExecutor(Engine engine, CommandOrigin origin = CommandOrigin.Client)
    {
        Origin = origin;
        if (origin == CommandOrigin.Log) _heeded = ~(int)(ServerAttention.Loading | ServerAttention.LoadingBeside | ServerAttention.IsReplica | ServerAttention.Clustered);
        else if (origin == CommandOrigin.Primary) _heeded = ~(int)(ServerAttention.Loading | ServerAttention.LoadingBeside | ServerAttention.IsReplica | ServerAttention.ScriptBusy | ServerAttention.HasBehaviors | ServerAttention.PausedByTest | ServerAttention.Clustered);
        Engine = engine;
        Reply = new ReplyWriter(engine.Buffers);
        _keyspace = engine.Keyspace;
        GivesUpWaiting = origin == CommandOrigin.Client ? _keyspace.Scripts.Busy : null;
        _commands = engine.Commands;
        _attention = engine.Attention;
        Environment = new CommandEnvironment(engine.Keyspace, engine.Changes, engine.Settings, engine.Clock, engine.Commands, engine.Buffers, engine.Metrics.NewExecutor()) { GivesUpWaiting = GivesUpWaiting };
        Environment.Blocking.NeverWaits = origin != CommandOrigin.Client;
        Time = Environment.Time;
        Recording = Environment.Recording;

        // Each part knows those that were made before it.
        var core = new ExecutorCore(engine, Environment, Reply, origin);
        Waits = new WaitMeter(core);
        Account = new CommandAccount(core, Waits);
        Admission = new Admission(core, Account);
        Meter = new RunMeter(core, Account, Waits, _parser, _requests);
        Invoker = new Invoker(core, Account, Admission, Meter);
        Evictor = Invoker.Evictor;
        _publisher = Invoker.Publisher;
        _stripes = Invoker.Stripes;
        Writes = core.Writes;
    }

    internal Engine Engine { get; }

    /// <summary>Where its commands come from.</summary>
    internal CommandOrigin Origin { get; }

    /// <summary>Whether its commands come from no client, so that no rule for clients refuses them: they were executed before, here or on a primary.</summary>
    internal bool IsTrusted => Origin != CommandOrigin.Client;

    /// <summary>Up while a command of a client is refused rather than wait for a stripe, because a script is busy; null: its commands always wait.</summary>
    internal WaitFlag? GivesUpWaiting { get; }

    internal ReplyWriter Reply { get; }

    internal CommandEnvironment Environment { get; }

    internal CommandTime Time { get; }

    internal InvocationRecording Recording { get; }

    internal Invoker Invoker { get; }

    internal CommandAccount Account { get; }

    internal Admission Admission { get; }

    internal WaitMeter Waits { get; }

    internal RunMeter Meter { get; }

    /// <inheritdoc cref="Invoker.UnitStart"/>
    internal int UnitStart => Invoker.UnitStart;

    /// <summary>Keeps memory under its limit.</summary>
    internal Evictor Evictor { get; }

    /// <summary>The replies that wait for replicas.</summary>
    internal WriteReplies Writes { get; }

    internal ExecutorMetrics Metrics => Environment.Metrics;

    /// <summary>
    /// Executes every whole request of the input. Replies are in <see cref="Reply"/>; if there is a connection, accumulated replies
    /// are sent on the way. Execution stops where the client waits, is paused, is to be closed or has not taken its replies;
    /// without a connection, also where the replies have become large.
    /// </summary>
    /// <returns>The number of bytes that were consumed.</returns>
    internal int Run(Session session, Span<byte> input)
    {
        session.IsExecuting = true;
        Invoker.UnitStart = -1;
        Recording.Changes.ClientId = session.Id;
        Waits.ForgetUnsent();
        Writes.Begin(session);
        int consumed = (session.Attention & SessionAttention.ReceivesSlots) == 0 ? ExecuteInput(session, input) : ExecuteReceived(session, input);
        if (Engine.Tracking.HasBroadcast) Broadcast(session);
        session.IsExecuting = false;
        Recording.Changes.ClientId = 0;
        Writes.End(session, Reply.Length > 0);
        return consumed;
    }

    // From the node that has these slots still: what expires is its to remove, and of the replies that are switched off the first error is kept.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private int ExecuteReceived(Session session, Span<byte> input)
    {
        ExpiryPolicy policy = Time.CallersExpiry;
        Time.CallersExpiry = ExpiryPolicy.Keep;
        long errors = Reply.Errors;
        int consumed = ExecuteInput(session, input);
        Time.CallersExpiry = policy;
        if (Reply.Errors != errors && session.ReplyMode != ReplyMode.On) session.Reception!.Fail("the destination has refused a command");
        return consumed;
    }

    private int ExecuteInput(Session session, Span<byte> input)
    {
        Reply.Resp3 = session.Resp3;
        Environment.Accesses.BeginClient(session);
        var cmd = new CommandContext(Environment, session, input, Reply, session.DatabaseIndex);
        int position = 0;
        while (true)
        {
            int count = ReadBatch(session, input, ref position, out ParseStatus status);
            if (input.Length > Engine.Settings.ClientQueryBufferLimit && session.Connection is not null) count = CutAtTooLarge(session, count, ref position, ref status);
            if (count > 0)
            {
                Meter.SampleKeys(session, input, count);
                int done = ExecuteBatchOrStop(ref cmd, session, count);
                if (done < count || session.ClosesAfterReply || session.Blocked is not null)
                {
                    position = Rewind(session, input, done);
                    if (session.IsPaused || session.ClosesAfterReply || session.Blocked is not null) return position;
                    status = ParseStatus.Complete; // requests read behind a large reply are read again after it was sent
                }
            }

            if (status == ParseStatus.Error)
            {
                long length = Reply.Length;
                Reply.Error(_parser.ErrorText);
                if (session.ReplyMode != ReplyMode.On) Reply.Truncate(length);
                Account.NoteError(null, Reply);
                NoteBrokenLimit(_parser.BrokenLimit);
                Engine.CloseAfterProtocolError(session);
                return position;
            }

            if (status == ParseStatus.Incomplete) return position;
            if (Reply.Length < ReplyBytesToSend && !Reply.Overflowed) continue;
            if (session.Connection is { } connection)
            {
                if (Engine.Tracking.HasBroadcast) Broadcast(session);
                SendReplies(session, connection);
                if (connection.IsClosing || session.Counts.IsSuspended) return position;
            }
            else if (Reply.IsChained || Reply.Overflowed)
            {
                return position;
            }
        }
    }

    // Before the replies are sent: when a client acts on its reply, all invalidations have been sent. The client's own follow its reply.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Broadcast(Session session)
    {
        Engine.Tracking.Broadcast(Recording.Changes);
        session.WriteDeferred(Reply);
    }

    private void NoteBrokenLimit(RequestLimit limit)
    {
        if (limit == RequestLimit.Arguments) Engine.Limits.Note(Limit.RequestArguments);
        else if (limit == RequestLimit.ArgumentBytes) Engine.Limits.Note(Limit.ArgumentBytes);
        else if (limit == RequestLimit.Unauthenticated) Engine.Limits.Note(Limit.UnauthenticatedRequest);
    }

    /// <summary>Sends the replies so far.</summary>
    internal void SendReplies(Session session, Net.Connection connection)
    {
        session.Counts.BytesSent += Reply.Length;
        if (Reply.Length > session.Counts.ReplyBytesPeak) session.Counts.ReplyBytesPeak = Reply.Length;
        Metrics.CountSent(Reply.Length);
        Metrics.CountWrite();
        if (Writes.Count > 0) Writes.AwaitIn(connection);
        if (Reply.IsChained || Reply.Overflowed) SendLarge(session, connection);
        else connection.Send(Reply.Tail);
        Reply.Clear();
        Waits.NoteSent();
    }

    // The connection takes over the chunks as they are. If a reply grew too large, nothing of it is sent.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void SendLarge(Session session, Net.Connection connection)
    {
        if (Reply.Overflowed)
        {
            Engine.CloseOverLimit(session, connection);
            return;
        }

        foreach (ReplyChunk chunk in Reply.Chunks) connection.Queue((SharedBuffer)chunk.Owner, chunk.Start, chunk.Length);
        connection.Queue(Reply.Tail);
        connection.Flush();
    }

    // Reads up to a batch of whole requests. An inline request is a batch of its own: unquoting changes the input, so it
    // must not be read twice. Never inlined into the event loop: there its variables would be kept in memory, which cost a
    // pipelined GET 6 % of its total CPU.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private int ReadBatch(Session session, Span<byte> input, ref int position, out ParseStatus status)
    {
        _parser.Clear();
        _inlineLine = [];
        bool trusted = session.Authenticated || !Engine.RequiresLogin(session);
        RequestLimits limits = IsTrusted ? RequestLimits.OfLog : new RequestLimits(Engine.Settings.ProtoMaxBulkLength, trusted, Engine.Settings.RequestArgumentsMax);
        int batchMax = trusted ? BatchMax : 1; // AUTH changes the limits of later requests
        int count = 0;
        status = ParseStatus.Complete;
        while (count < batchMax)
        {
            if (count > 0 && position < input.Length && input[position] != '*') return count;
            int start = position;
            if (count == 0 && position < input.Length && input[position] != '*') KeepInlineLine(input[position..]);
            status = _parser.Parse(input, ref position, limits, ref session.Partial, out int first, out int arguments);
            if (status != ParseStatus.Complete) return count;
            if (arguments == 0)
            {
                // An empty request counts for CLIENT REPLY SKIP, so the requests before it are executed first.
                if (count > 0)
                {
                    position = start;
                    return count;
                }

                if (session.ReplyMode == ReplyMode.SkipNext) session.ReplyMode = ReplyMode.On;
                continue;
            }

            bool inline = input[start] != '*';
            ref BatchRequest request = ref _requests[count++];
            request.First = first;
            request.Count = arguments;
            request.Start = start;
            request.End = position;
            ReadOnlySpan<ArgumentSlice> slices = _parser.Arguments(first, arguments);
            Command? command = _lastCommand;
            if (!_parser.Repeats) _lastCommand = command = _commands.Find(input.Slice(slices[0].Start, slices[0].Length));
            request.Command = command;
            request.Hash = 0;
            if (command is not null && command.EarlyKey > 0 && command.EarlyKey < arguments)
            {
                ArgumentSlice key = slices[command.EarlyKey];
                request.Hash = _keyspace.Hash(input.Slice(key.Start, key.Length));
            }

            if (inline) return count;
        }

        return count;
    }

    // A request that is larger than client-query-buffer-limit is not executed, whichever part of it arrived last: it is left as if it were incomplete, and the loop closes the client.
    private int CutAtTooLarge(Session session, int count, ref int position, ref ParseStatus status)
    {
        for (int i = 0; i < count; i++)
        {
            if (_requests[i].End - _requests[i].Start <= Engine.Settings.ClientQueryBufferLimit) continue;
            session.Partial = null;
            position = _requests[i].Start;
            status = ParseStatus.Incomplete;
            return i;
        }

        return count;
    }

    // Unquoting changes the line in place, but CLIENT PAUSE may make it be read again.
    private void KeepInlineLine(ReadOnlySpan<byte> input)
    {
        int end = input.IndexOf((byte)'\n');
        if (end > 0 && input[..end].IndexOfAny((byte)'"', (byte)'\'') >= 0) _inlineLine = input[..end].ToArray();
    }

    // Back to the first request that was not executed. The state of a partial request behind it would be misread there.
    private int Rewind(Session session, Span<byte> input, int done)
    {
        session.Partial = null;
        int end = done == 0 ? _requests[0].Start : _requests[done - 1].End;
        if (session.IsPaused) _inlineLine.CopyTo(input[end..]);
        return end;
    }

    // A handler that throws leaves the store in an unknown state. The filter sits outside of the batch's loop: inside, it would
    // keep the loop's variables out of registers.
    private int ExecuteBatchOrStop(ref CommandContext cmd, Session session, int count)
    {
        try
        {
            return ExecuteBatch(ref cmd, session, count);
        }
        catch (Exception failure) when (_heldStripe >= 0 && _keyspace.FailStop.Ends(failure, StripeSet.Of(_heldStripe), cmd.Command?.FullName))
        {
            throw;
        }
    }

    private int ExecuteBatch(ref CommandContext cmd, Session session, int count)
    {
        bool refuses = _keyspace.Budget.IsExceeded && !TryEvictFor(count);
        int prefetched = count; // the number of requests whose entries were prefetched
        if (count > 1)
        {
            PrefetchBuckets(_keyspace.Databases[session.DatabaseIndex], count);
            prefetched = 0;
            Meter.BeginPipeline();
        }

        if ((Reply.TakeEvents() & ReplyEvents.Delivery) != 0) session.WriteDeferred(Reply); // invalidations of evicted keys
        long replied = Reply.Length;
        Writes.Refresh(replied);
        Meter.BeginBatch(session);
        session.Counts.LastInteractionMs = Time.SteadyMs;
        bool needsInvoker = refuses || Time.CallersExpiry == ExpiryPolicy.Hide || _requests[count - 1].End - _requests[0].Start >= Engine.LargeRequests.Threshold; // which finds out which request is large
        BatchPath path = PathOf(session, needsInvoker);
        Stripe? held = null;
        int i = 0;
        while (i < count)
        {
            if (i == prefetched) prefetched = PrefetchEntries(i, count);
            ref BatchRequest request = ref _requests[i];
            Command? command = request.Command;
            bool isShort = command is not null && (command.IsShort || request.Count == command.OneKeyCount) && command.Accepts(request.Count);
            if (isShort && (path == BatchPath.Short || (path == BatchPath.Slotted && _slots!.Serves(KeyHasher.SlotOf(request.Hash))) || MayBeShort(path, session, cmd, request, i)))
            {
                // One lock serves neighbours of the same stripe; with a single loop, the whole run.
                int index = _keyspace.StripeOf(request.Hash);
                Stripe stripe = _keyspace.Stripes[index];
                if (stripe != held)
                {
                    held = Release(held, cmd);
                    if (!stripe.EnterOrGiveWay(GivesUpWaiting))
                    {
                        path = PathOf(session, needsInvoker: true); // a script is busy: the invoker refuses the command
                        continue;
                    }

                    if (_attention.Word != _pathWord)
                    {
                        stripe.Exit(); // the role or the slots have changed since, or the data is about to be saved for the last time: what this wrote might be lost
                        path = PathOf(session, needsInvoker);
                        Writes.Refresh(Reply.Length);
                        continue;
                    }

                    held = stripe;
                    _heldStripe = index;
                    Recording.Begin(stripe);
                }

                long changes = Metrics.Changes;
                cmd.Begin(command!, _parser.Arguments(request.First, request.Count), request.Hash);
                if (Recording.IsInSnapshot && Invoker.PausedWrites.TryPauseShort(cmd, command!, request.Hash)) break;
                command!.Handler(ref cmd);
                if (Reply.Events != ReplyEvents.None)
                {
                    if (Reply.Length - replied >= Engine.LargeReplies.Threshold) Meter.NoteLargeReply(cmd, i, Reply.Length - replied);
                    count = NoteEvents(command, session, i, count);
                }

                if (Recording.IsOn && !JoinsRun(cmd, changes))
                {
                    if (PublishAndServe(cmd, changes, session)) held = null;
                    if (Reply.Events != ReplyEvents.None)
                    {
                        count = NoteEvents(failed: null, session, i, count);
                        Writes.SkipTo(Reply.Length);
                    }
                }

                i++;
                Meter.Advance();
                continue;
            }

            held = Release(held, cmd);
            if (isShort && path == BatchPath.Intercepted)
            {
                if (Engine.WriteGate.KeyRule is not null && IsPaused(ref cmd, command!, request)) break;
                ExecuteIntercepted(ref cmd, Engine.Interceptor!, ref request, i++);
                if (Reply.Events != ReplyEvents.None) count = NoteEvents(failed: null, session, i - 1, count);
                Writes.SkipTo(Reply.Length);
                if (session.ClosesAfterReply) break;
                continue;
            }

            long now = Meter.EndRun(cmd, i);
            if (!Invoker.TryInvoke(ref cmd, ref request, _parser.Arguments(request.First, request.Count), ref now)) break;
            if (session.CommandsToTime > 0) session.CommandsToTime--;
            i++;
            Meter.BeginRun(i, now);
            needsInvoker |= _keyspace.Budget.IsExceeded; // the command may have set the limit: before each of the others, the invoker evicts or refuses
            path = PathOf(session, needsInvoker);
            if (Reply.Events != ReplyEvents.None) count = NoteEvents(failed: null, session, i - 1, count);
            Writes.Refresh(Reply.Length);
            if (session.ClosesAfterReply || session.Blocked is not null) break;
        }

        Release(held, cmd);
        Time.HidesExpired = false;
        Meter.EndRun(cmd, i);
        if (i > 0) _stripes.ReplyBytes = (int)Math.Min((Reply.Length - replied) / i, int.MaxValue);
        if (i > Meter.RunFirst) session.Counts.LastCommand = _requests[i - 1].Command;
        return i;
    }

    // Ends a run of the short path on one stripe.
    private Stripe? Release(Stripe? held, scoped in CommandContext cmd)
    {
        if (_loggedEnd > 0) PublishRun(cmd);
        held?.Exit();
        _heldStripe = -1;
        return null;
    }

    // Evicts keys, because memory exceeds its limit. False: requests of the batch must be refused, which the invoker does.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryEvictFor(int count)
    {
        if (Evictor.TryEvict()) return true;
        for (int i = 0; i < count; i++)
        {
            if (_requests[i].Command is { } command && command.Is(CommandFlags.DenyOom)) return false;
        }

        return true;
    }

    // Handles what a handler left in the writer's events. After a large reply the batch ends: it is sent before anything else
    // executes, so that no command changes what its client may never learn.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private int NoteEvents(Command? failed, Session session, int index, int count)
    {
        ReplyEvents events = Reply.TakeEvents();
        if ((events & ReplyEvents.Error) != 0 && failed is not null) Account.NoteError(failed, Reply);
        if ((events & ReplyEvents.Delivery) != 0)
        {
            long length = Reply.Length;
            session.WriteDeferred(Reply);
            Writes.NotePushed(Reply.Length - length);
        }

        return (events & ReplyEvents.Large) != 0 ? index + 1 : count;
    }

    // Where only the log observes a stripe, requests of neighbours are logged together, as they were received, before the stripe is released: a
    // record of its own for each took twice the time. Returns whether the command needs nothing more.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool JoinsRun(scoped in CommandContext cmd, long changesBefore)
    {
        if (Recording.TakesRequestOnly && cmd.Session.Tracking is null && Engine.Changes.TakesRequests)
        {
            if (Metrics.Changes == changesBefore)
            {
                if (Writes.IsOn) Writes.NoteShort(wrote: false, Reply.Length);
                return true;
            }

            if (cmd.Arguments.TryGetRequest(out int start, out int end))
            {
                int slot = cmd.Slot();
                if (_loggedEnd > 0 && (_loggedEnd != start || _loggedSlot != slot)) PublishRun(cmd);
                if (Writes.IsOn) Writes.NoteShort(wrote: true, Reply.Length);
                if (_loggedEnd == 0) _loggedStart = start;

                (_loggedEnd, _loggedSlot) = (end, slot);
                return true;
            }
        }

        if (_loggedEnd > 0) PublishRun(cmd);
        return false;
    }

    private void PublishRun(scoped in CommandContext cmd)
    {
        Engine.Changes.PublishRequests(cmd.Database.Index, _loggedSlot, cmd.Arguments.Input[_loggedStart.._loggedEnd]);
        _loggedEnd = 0;
        Engine.NoteWritten(cmd.Session, hasChanged: true);
        if (Writes.IsOn) Writes.NotePublished(cmd.Session);
        else if (cmd.Session.Own.UnackedOffset != 0) Writes.NoteBegun(cmd.Session, Reply.Length);
    }

    // Publishes what a command of the short path changed, and serves blocked clients; true if its stripe was released for that. It
    // also remembers the keys that the command has read: while any client tracks, every stripe is observed.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool PublishAndServe(scoped in CommandContext cmd, long changesBefore, Session session)
    {
        _publisher.Publish(cmd, Metrics.Changes - changesBefore);
        if (Writes.IsOn)
        {
            Writes.NoteShort(session.Own.UnackedOffset != 0, Reply.Length);
            Writes.NotePublished(session);
        }
        else if (session.Own.UnackedOffset != 0)
        {
            Writes.NoteBegun(session, Reply.Length);
        }

        if (session.Tracking is { } tracking) _publisher.NoteTracked(cmd, tracking);
        if (!Invoker.Blocked.MayServe())
        {
            Recording.Clear(); // the stripe stays locked for the next command
            return false;
        }

        Invoker.Blocked.ServeAndExit(_keyspace.StripeOf(cmd.HashOf(cmd.Command.FirstKey)), session);
        return true;
    }

    // Decided at the begin of a batch, and anew behind each command that may have changed it.
    private BatchPath PathOf(Session session, bool needsInvoker)
    {
        Time.HidesExpired = false;
        _pathWord = _attention.Word;
        var server = (ServerAttention)(int)_pathWord;
        if (needsInvoker) return BatchPath.Invoker;
        SessionAttention client = session.Attention;
        if (((int)(client & ~SessionAttention.Tracks) | ((int)server & _heeded)) == 0) return BatchPath.Short; // tracking: PublishAndServe
        _slots = null;
        if ((server & ServerAttention.Clustered) != 0 && !IsTrusted)
        {
            _slots = Engine.Routing.Value;
            server &= ~ServerAttention.Clustered;
            _readsReplica = (client & SessionAttention.ReadsReplica) != 0;
            Meter.CountSlots(Engine.Settings.SlotStatistics & SlotStatistics.Counted);
            if (server == ServerAttention.None && (client & ~(SessionAttention.Tracks | SessionAttention.ReadsReplica)) == 0) return Meter.CountsSlots ? BatchPath.Counted : BatchPath.Slotted;
            if (server == ServerAttention.IsReplica) client &= ~SessionAttention.ReadsReplica; // it reads
            if (server == ServerAttention.HasBehaviors) return BatchPath.Invoker;
        }

        if (client == SessionAttention.IsRestricted && server == ServerAttention.None) return BatchPath.Permitted;
        if (client != SessionAttention.None) return BatchPath.Invoker;
        if (server == ServerAttention.HasBehaviors && Engine.Interceptor is not null) return BatchPath.Intercepted;
        if (server != ServerAttention.IsReplica || IsTrusted || !Engine.Settings.ReplicaServeStaleData) return BatchPath.Invoker;
        Time.HidesExpired = true;
        return BatchPath.Reading;
    }

    // Whether a short command of a batch takes the short path although not every one does. What the user's permissions do not certainly allow goes
    // through the invoker, where the whole check decides.
    private bool MayBeShort(BatchPath path, Session session, scoped in CommandContext cmd, in BatchRequest request, int index)
    {
        Command command = request.Command!;
        if (_slots is { } slots)
        {
            if (!slots.Serves(KeyHasher.SlotOf(request.Hash)) && !(path == BatchPath.Reading && _readsReplica && slots.ServesReads(KeyHasher.SlotOf(request.Hash)))) return false;
            if (Meter.CountsSlots) Meter.NoteReplyStart(index);
        }

        if (path == BatchPath.Counted) return true;
        if (path == BatchPath.Reading) return command.Is(CommandFlags.ReadOnly);
        if (path != BatchPath.Permitted || session.User.Permissions is not { } permissions || request.Count <= command.FirstKey) return false;
        return permissions.AllowsShort(command, cmd.Arguments.At(_parser.Arguments(request.First, request.Count)[command.FirstKey]));
    }

    // Whether a command that behaviors surround must wait for its key. Nothing is locked here.
    private bool IsPaused(ref CommandContext cmd, Command command, in BatchRequest request)
    {
        cmd.Begin(command, _parser.Arguments(request.First, request.Count), request.Hash);
        return Invoker.PausedWrites.TryPause(cmd, command);
    }

    // A command of the short path that behaviors surround: it belongs to the current run like others. Nothing is locked here.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void ExecuteIntercepted(ref CommandContext cmd, ICommandInterceptor interceptor, ref BatchRequest request, int index)
    {
        long now = Meter.BeginIntercepted(cmd, index);
        ReadOnlySpan<ArgumentSlice> arguments = _parser.Arguments(request.First, request.Count);
        long replied = Reply.Length;
        if (interceptor.Execute(Invoker, ref cmd, request.Command!, arguments, request.Hash, now, isShort: true)) Meter.Advance();
        else Meter.LeaveOut(cmd, index); // a behavior replied in its place
        if (cmd.Session.Own.UnackedOffset != 0) Writes.NoteInvoked(cmd.Session, replied, Reply.Length);
    }

    // Before the execution every key's bucket is prefetched and then, when the buckets have arrived, some keys' entries at a
    // time: lookups do not wait for memory one after the other. Each pass does nothing else, because a prefetch waits for its
    // address to be translated, and only close neighbours wait together (docs/performance-log.md, round 35).
    private void PrefetchBuckets(Database database, int count)
    {
        for (int i = 0; i < count; i++)
        {
            ref BatchRequest request = ref _requests[i];
            request.Bucket = request.Hash != 0 ? database.PrefetchBucket(request.Hash) : 0;
        }
    }

    private int PrefetchEntries(int first, int count)
    {
        int end = Math.Min(first + EntriesAhead, count);
        int replyBytes = _stripes.ReplyBytes;
        for (int i = first; i < end; i++)
        {
            ref readonly BatchRequest request = ref _requests[i];
            if (request.Bucket == 0) continue;
            bool mayAdd = request.Command!.Is(CommandFlags.Write);
            Database.PrefetchEntry(request.Bucket, request.Hash, mayAdd, CommandStripes.EntryBytes(request.End - request.Start, replyBytes, keys: 1));
        }

        return end;
    }

    // How the short commands of a batch are executed. Which commands are short, their rows say; all others go through the invoker.
    private enum BatchPath
    {
        /// <summary>As all others: something about the server or the client has to be looked at.</summary>
        Invoker,

        /// <summary>Each needs nothing but a lock, its handler and an unlock.</summary>
        Short,

        /// <summary>So do those that only read: on a replica, where what has expired is hidden from them.</summary>
        Reading,

        /// <summary>So do those whose key is in a slot that the node serves.</summary>
        Slotted,

        /// <summary>The same, and what each takes is added to the counts of its slot.</summary>
        Counted,

        /// <summary>So do those that the permissions of the client's user certainly allow.</summary>
        Permitted,

        /// <summary>Behaviors surround each.</summary>
        Intercepted,
    }
}
