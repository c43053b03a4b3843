using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Executes requests on the thread that read them: parse a batch, prefetch its keys, then for each command lock, execute,
/// unlock, and count. One executor belongs to one loop, or to one in-process caller at a time.
/// </summary>
/// <remarks>
/// Commands that are fast are not timed one by one: a run of them in one batch shares the time that the run took, so that
/// always-on metrics cost two clock reads a batch. When a run as a whole took so long that one of its commands may have been
/// slow, nobody can say which one; so the next ones are timed one by one for a while, and the slow log gets what is true.
/// </remarks>
internal sealed class CommandExecutor
{
    // Measured in the design: looking keys up in batches of 64 hides the memory's latency; more gains nothing.
    private const int BatchMax = 64;

    // Entries are asked for so many requests ahead: with what is read and replied meanwhile they must stay in the first-level
    // cache (docs/performance-log.md, round 47).
    private const int EntriesAhead = 8;

    // The memory of a long value comes by itself once its first lines are read one after the other.
    private const int EntryBytesAhead = 512;
    private const int EntryOverhead = 32; // an entry's header and, where only its value is known, a short key

    // Replies are sent when a batch of this size is waiting, so that a long pipeline does not pile them up.
    private const int ReplyBytesToSend = 256 * 1024;

    // How many commands are timed one by one after a run that took long: some 60 microseconds' worth of time, after at least
    // a millisecond of it.
    private const int CommandsToTime = 1000;

    private readonly Keyspace _keyspace;
    private readonly CommandTable _commands;
    private readonly RequestParser _parser = new();
    private readonly Request[] _requests = new Request[BatchMax];
    private readonly SlowPath _slowPath;
    private long _runStart;
    private Command? _lastCommand; // what the last request's name stands for
    private int _runFirst;
    private int _commandsToTime;
    private int _replyBytes; // of one request of the last batch, on average
    private byte[] _inlineLine = []; // the batch's inline request as it came, if it has quotes

    internal CommandExecutor(RedKiteServer server)
    {
        Server = server;
        _keyspace = server.Keyspace;
        _commands = server.Commands;
        Metrics = new ExecutorMetrics(server.Commands.All.Count);
        _slowPath = new SlowPath(this);
        Waiters = new WaiterService(this);
        ReadTime();
    }

    internal RedKiteServer Server { get; }

    internal ReplyWriter Reply { get; } = new();

    internal ExecutorMetrics Metrics { get; }

    /// <summary>Lets clients wait, and serves those whose keys this executor's commands made readable.</summary>
    internal WaiterService Waiters { get; }

    /// <summary>Hashes of the keys that are locked for the command that executes, on the path that locks several.</summary>
    internal KeyHashes KeyHashes { get; } = new();

    /// <summary>Whether a stripe that is locked for the command has observers, so that changes are recorded.</summary>
    internal bool IsObserved { get; set; }

    /// <summary>What the command changed, as far as it is observed.</summary>
    internal ChangeList Changes { get; } = new();

    /// <summary>The commands that stand for the request.</summary>
    internal EffectWriter Effects { get; } = new();

    /// <summary>Whether commands execute where none may wait.</summary>
    internal bool DeniesBlocking { get; set; }

    /// <summary>The time that commands go by, in Unix milliseconds.</summary>
    internal long NowMs { get; private set; }

    /// <summary>The access clock of what is touched now.</summary>
    internal uint NewAccessClock { get; private set; }

    /// <summary>Whether an access only sets the clock: no LFU counter, and the client did not ask for no trace.</summary>
    internal bool TouchesByClock { get; private set; }

    /// <summary>The stripes that are locked for the command that executes, on the path that locks several.</summary>
    internal StripeSet HeldStripes { get; set; }

    /// <summary>Reads the clock.</summary>
    internal void ReadTime() => SetTime(Stopwatch.GetTimestamp());

    /// <summary>
    /// Executes every whole request of the input. Replies are in <see cref="Reply"/>; the connection, if there is one, is
    /// sent what has piled up on the way.
    /// </summary>
    /// <returns>How many bytes are done with.</returns>
    internal int Run(Session session, Span<byte> input)
    {
        Reply.Resp3 = session.Resp3;
        NoteTouchMode(session);
        var cmd = new CommandContext(this, session, input);
        int position = 0;
        while (true)
        {
            int count = ReadBatch(session, input, ref position, out ParseStatus status);
            if (count > 0)
            {
                int done = ExecuteBatch(ref cmd, session, count);
                if (done < count || session.ClosesAfterReply || session.Waiter is not null) return Rewind(session, input, done);
            }

            if (status == ParseStatus.Error)
            {
                int length = Reply.Length;
                Reply.Error(_parser.ErrorText);
                if (session.ReplyMode != ReplyMode.On) Reply.Truncate(length);
                _slowPath.NoteError(null);
                session.CloseAfterReply();
                return position;
            }

            if (status == ParseStatus.Incomplete) return position;
            if (Reply.Length >= ReplyBytesToSend && session.Connection is { } connection)
            {
                SendReplies(session, connection);
                if (connection.IsClosing) return position;
            }
        }
    }

    /// <summary>Sends what was replied so far.</summary>
    internal void SendReplies(Session session, Net.Connection connection)
    {
        session.BytesSent += Reply.Length;
        Metrics.BytesSent += Reply.Length;
        Metrics.Writes++;
        connection.Send(Reply.Written);
        if (Reply.Overflowed) connection.Close();
        Reply.ClearAndKeepRoom();
    }

    /// <summary>Notes an access where that takes more than setting the clock.</summary>
    internal void TouchSlow(Session session, Entry entry)
    {
        if (session.NoTouch) return;
        entry.SetAccessClock(AccessClock.TouchLfu(entry.AccessClock, NowMs, Server.Settings.LfuDecayMinutes, Server.Settings.LfuLogFactor));
    }

    /// <summary>Counts an error that a command replied elsewhere than in <see cref="Reply"/>.</summary>
    internal void CountError(Command command, ReplyWriter reply)
    {
        Metrics.CountError(reply.LastErrorCode);
        Metrics.Of(command.Index).Failed++;
    }

    /// <summary>After a command that may have changed how accesses are noted.</summary>
    internal void NoteTouchMode(Session session) => TouchesByClock = !session.NoTouch && !Server.CountsFrequency;

    // Reads up to a batch of whole requests. An inline request is a batch of its own: unquoting changes the input, so it
    // must not be read twice. Not taken into the event loop's code: there its variables live in memory, which cost a
    // pipelined GET 6 % of all its CPU.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private int ReadBatch(Session session, Span<byte> input, ref int position, out ParseStatus status)
    {
        _parser.Clear();
        _inlineLine = [];
        bool trusted = session.Authenticated || !Server.RequiresLogin(session);
        var limits = new RequestLimits(Server.Settings.ProtoMaxBulkLength, trusted);
        int batchMax = trusted ? BatchMax : 1; // AUTH changes the limits of what follows it
        int count = 0;
        status = ParseStatus.Complete;
        while (count < batchMax)
        {
            if (count > 0 && position < input.Length && input[position] != '*') return count;
            int start = position;
            if (count == 0 && position < input.Length && input[position] != '*') KeepInlineLine(input[position..]);
            status = _parser.Parse(input, ref position, limits, ref session.Partial, out int first, out int arguments);
            if (status != ParseStatus.Complete) return count;
            if (session.Partial.IsBegun) session.Partial = default;
            if (arguments == 0)
            {
                // An empty request counts for CLIENT REPLY SKIP, so what stands before it is executed first.
                if (count > 0)
                {
                    position = start;
                    return count;
                }

                if (session.ReplyMode == ReplyMode.SkipNext) session.ReplyMode = ReplyMode.On;
                continue;
            }

            bool inline = input[start] != '*';
            ref Request request = ref _requests[count++];
            request.First = first;
            request.Count = arguments;
            request.Start = start;
            request.End = position;
            ReadOnlySpan<ArgumentSlice> slices = _parser.Arguments(first, arguments);
            Command? command = _lastCommand;
            if (!_parser.Repeats) _lastCommand = command = _commands.Find(input.Slice(slices[0].Start, slices[0].Length));
            request.Command = command;
            request.Hash = 0;
            if (command is not null && command.FirstKey > 0 && command.FirstKey < arguments)
            {
                ArgumentSlice key = slices[command.FirstKey];
                request.Hash = _keyspace.Hash(input.Slice(key.Start, key.Length));
            }

            if (inline) return count;
        }

        return count;
    }

    // Unquoting changes the line in place, but CLIENT PAUSE may make it be read again.
    private void KeepInlineLine(ReadOnlySpan<byte> input)
    {
        int end = input.IndexOf((byte)'\n');
        if (end > 0 && input[..end].IndexOfAny((byte)'"', (byte)'\'') >= 0) _inlineLine = input[..end].ToArray();
    }

    // Back to the first request that was not executed. What is known of a partial one behind it would be misread there.
    private int Rewind(Session session, Span<byte> input, int done)
    {
        session.Partial = default;
        int end = done == 0 ? _requests[0].Start : _requests[done - 1].End;
        if (session.IsPaused) _inlineLine.CopyTo(input[end..]);
        return end;
    }

    private int ExecuteBatch(ref CommandContext cmd, Session session, int count)
    {
        int asked = count; // entries that were asked for
        if (count > 1)
        {
            PrefetchBuckets(_keyspace.Databases[session.DatabaseIndex], count);
            asked = 0;
        }

        int replied = Reply.Length;
        BeginRun(first: 0, Stopwatch.GetTimestamp());
        session.LastInteractionMs = NowMs;
        bool isPlain = IsPlain(session);
        Stripe? held = null;
        int i = 0;
        while (i < count)
        {
            if (i == asked) asked = PrefetchEntries(i, count);
            ref Request request = ref _requests[i];
            Command? command = request.Command;
            if (isPlain && command is not null && (command.IsShort || request.Count == command.OneKeyCount) && command.Accepts(request.Count))
            {
                // One lock serves neighbours of the same stripe; with a single loop, the whole run.
                Stripe stripe = _keyspace.Stripes[_keyspace.StripeOf(request.Hash)];
                if (stripe != held)
                {
                    held?.Exit();
                    stripe.Enter();
                    held = stripe;
                }

                cmd.Begin(command, _parser.Arguments(request.First, request.Count), request.Hash);
                long errors = Reply.Errors;
                command.Handler(ref cmd);
                if (Reply.Errors != errors) _slowPath.NoteError(command);
                if (stripe.HasTouched)
                {
                    ServeWaiters(_keyspace.StripeOf(request.Hash), session);
                    held = null;
                }

                i++;
                continue;
            }

            held?.Exit();
            held = null;
            long now = EndRun(cmd, i);
            if (!_slowPath.Execute(ref cmd, ref request, _parser.Arguments(request.First, request.Count), ref now)) break;
            if (_commandsToTime > 0) _commandsToTime--;
            i++;
            BeginRun(i, now);
            isPlain = IsPlain(session);
            if (session.ClosesAfterReply || Reply.Overflowed || session.Waiter is not null) break;
        }

        held?.Exit();
        EndRun(cmd, i);
        if (i > 0) _replyBytes = (Reply.Length - replied) / i;
        session.CommandsProcessed += i;
        if (i > _runFirst) session.LastCommand = _requests[i - 1].Command;
        return i;
    }

    // A command of the short path touched keys that clients wait for. Its stripe is given back.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void ServeWaiters(int stripe, Session session)
    {
        var locked = LockScope.Adopt(_keyspace, StripeSet.Of(stripe));
        try
        {
            Waiters.Serve(ref locked);
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, locked.Held, "serving blocked clients"))
        {
            throw;
        }
        finally
        {
            HeldStripes = StripeSet.Empty;
            locked.Dispose();
        }

        NoteTouchMode(session);
        Waiters.Deliver();
    }

    // Whether nothing about the client or the server asks for the long way.
    private bool IsPlain(Session session) => !session.NeedsAttention && !Server.TimesEachCommand && _commandsToTime == 0 && !Server.Pause.IsActive;

    // Ahead of the execution every key's bucket is asked for and then, when the buckets have come, some keys' entries at a
    // time: lookups do not wait for memory one after the other. Each pass does nothing else, because a prefetch waits for its
    // address to be translated, and only close neighbours wait together (docs/performance-log.md, round 35).
    private void PrefetchBuckets(Database database, int count)
    {
        for (int i = 0; i < count; i++)
        {
            ref Request request = ref _requests[i];
            request.Bucket = request.Hash != 0 ? database.PrefetchBucket(request.Hash) : 0;
        }
    }

    /// <summary>
    /// How much of each entry of a request will probably be read or written. How long a value is stands in the entry, which has
    /// not come yet: what is written is about as long as the request, what is read as the last batch's replies.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal int EntryBytes(int requestBytes, int keys) => Math.Min((Math.Max(requestBytes, _replyBytes) / keys) + EntryOverhead, EntryBytesAhead);

    private int PrefetchEntries(int first, int count)
    {
        int end = Math.Min(first + EntriesAhead, count);
        for (int i = first; i < end; i++)
        {
            ref readonly Request request = ref _requests[i];
            if (request.Bucket == 0) continue;
            bool mayAdd = request.Command!.Is(CommandFlags.Write);
            Database.PrefetchEntry(request.Bucket, request.Hash, mayAdd, EntryBytes(request.End - request.Start, keys: 1));
        }

        return end;
    }

    // A run of short commands shares two readings of the clock, and the time that commands go by is the first of them.
    private void BeginRun(int first, long timestamp)
    {
        _runFirst = first;
        _runStart = timestamp;
        SetTime(timestamp);
    }

    private void SetTime(long timestamp)
    {
        NowMs = Server.Clock.MsAt(timestamp);
        NewAccessClock = Server.CountsFrequency ? AccessClock.NewLfu(NowMs) : AccessClock.Lru(NowMs);
    }

    // Shares the time since the run's start among its commands; returns the time now.
    private long EndRun(scoped in CommandContext cmd, int end)
    {
        int length = end - _runFirst;
        if (length == 0) return _runStart; // just now
        long now = Stopwatch.GetTimestamp();
        long ns = RedKiteServer.TicksToNs(now - _runStart);
        long each = ns / length;
        int i = _runFirst;
        while (i < end)
        {
            Command command = _requests[i].Command!;
            int same = i + 1;
            while (same < end && _requests[same].Command == command) same++;
            CommandMetrics metrics = Metrics.Of(command.Index);
            metrics.Calls += same - i;
            metrics.TotalNs += each * (same - i);
            if (Server.TracksLatency) metrics.Latency.Record(each, same - i);
            i = same;
        }

        Metrics.CommandsProcessed += length;
        if (ns >= Math.Min(Server.SlowLog.ThresholdNs, Server.LatencyMonitor.ThresholdNs)) NoteLongRun(cmd, length, ns);
        return now;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteLongRun(scoped in CommandContext cmd, int length, long ns)
    {
        if (length > 1)
        {
            _commandsToTime = CommandsToTime;
            return;
        }

        if (ns >= Server.SlowLog.ThresholdNs) _slowPath.NoteSlow(cmd, ns);
        if (ns >= Server.LatencyMonitor.ThresholdNs) Server.LatencyMonitor.AddCommand(cmd.Command, NowMs, ns);
    }

    /// <summary>A request of the current batch.</summary>
    internal struct Request
    {
        internal Command? Command;
        internal int First;
        internal int Count;
        internal int Start;
        internal int End;
        internal ulong Hash; // of the first key; 0: none
        internal nint Bucket; // where the key's entry would be, as far as it was known without a lock
    }
}
