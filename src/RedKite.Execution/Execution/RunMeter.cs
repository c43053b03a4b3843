using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedKite.Protocol;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>
/// Measures what one executor executes in runs: the time of short commands, the
/// keys that are hot. Commands that execute one by one are counted by <see cref="CommandAccount"/>.
/// </summary>
/// <remarks>
/// Short commands are not timed one by one: a run of them in one batch shares the time that the run took, so that
/// always-on metrics cost two clock reads a batch. When a run as a whole took long, its slow command is the one at which the
/// diagnostics thread saw the executor twice (<see cref="RunProgress"/>); the run's time is noted as its own, because the others take
/// microseconds. In case none was seen twice, and to find slow ones that follow, the client's next commands are timed one by one.
/// </remarks>
internal sealed class RunMeter
{
    // How many commands are timed one by one after a run that took long: some 60 microseconds' worth of time, after at least
    // a millisecond of it.
    private const int CommandsToTime = 1000;

    // Calls in the process of which one is timed: reading the clock takes 33 ns here, a GET without it 40.
    private const int DirectStride = 16;

    private static readonly long NoticeableTicks = Timeline.NoticeableNs * Stopwatch.Frequency / 1_000_000_000;

    private readonly Engine _engine;
    private readonly CommandTime _time;
    private readonly ScriptMutexHold _scriptMutexHold;
    private readonly CommandAccount _account;
    private readonly WaitMeter _waits;
    private readonly ExecutorMetrics _metrics;
    private readonly RunProgress _progress;
    private readonly RunWatch _watch;
    private readonly RequestParser _parser;
    private readonly BatchRequest[] _requests;
    private readonly bool _diagnoses;
    private long _runStart;
    private int _runFirst;
    private long _commandsAdapted;
    private int _untilSample; // requests until a key is sampled
    private long _interceptedMs; // the coarse clock at the last command that behaviors surrounded
    private SampleGap _directGap = new(0xC2B2AE35);
    private int _untilDirect;
    private long _directNs; // what a call in the process takes on average
    private readonly ReplyWriter _reply;
    private readonly long[] _replyStarts; // of requests of short commands, while slots are counted
    private SlotStatistics _slotsKept;
    private bool _timesBehaviors; // a behavior has asked for the time since its command's turn came

    internal RunMeter(ExecutorCore core, CommandAccount account, WaitMeter waits, RequestParser parser, BatchRequest[] requests)
    {
        _engine = core.Engine;
        _time = core.Environment.Time;
        _scriptMutexHold = core.Environment.ScriptMutexHold;
        _account = account;
        _waits = waits;
        _metrics = core.Environment.Metrics;
        _progress = _metrics.Progress;
        _watch = _engine.Metrics.Runs;
        _parser = parser;
        _requests = requests;
        _reply = core.Reply;
        _replyStarts = new long[requests.Length];
        _diagnoses = _engine.Settings.Diagnostics;
        if (!_diagnoses) _metrics.HotKeys.SwitchOff();
    }

    /// <summary>The first request of the current run.</summary>
    internal int RunFirst => _runFirst;

    /// <summary>Whether what short commands take is added to the counts of their slots.</summary>
    internal bool CountsSlots => _slotsKept != SlotStatistics.None;

    /// <summary>From now on short commands are counted by slot, or not. Of a run in progress nothing was noted: its replies so far are not counted.</summary>
    internal void CountSlots(SlotStatistics kept)
    {
        if (kept == _slotsKept) return;
        _slotsKept = kept;
        Array.Fill(_replyStarts, _reply.Length);
    }

    /// <summary>Notes where the reply to a short command begins.</summary>
    internal void NoteReplyStart(int index) => _replyStarts[index] = _reply.Length;

    /// <summary>Counts a batch of several requests.</summary>
    internal void BeginPipeline()
    {
        _progress.BeginPipeline();
        if (_watch.Sleeps) _watch.Wake();
    }

    /// <summary>Begins a batch and its first run.</summary>
    internal void BeginBatch(Session session)
    {
        long start = Stopwatch.GetTimestamp();
        _waits.BeginBatch(start);

        _scriptMutexHold.EndIfOverdue(start);
        if (start - _time.IterationStart >= NoticeableTicks) _engine.Note(TimelineKind.LongWait, session, _waits.WaitedNs(start));
        BeginRun(first: 0, start);
    }

    /// <summary>Begins a run. Its short commands share two readings of the clock, and the first one is the time that the commands use.</summary>
    internal void BeginRun(int first, long timestamp)
    {
        _runFirst = first;
        _runStart = timestamp;
        _progress.Begin();
        _time.Set(timestamp);
    }

    /// <summary>Moves on to the run's next command.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Advance() => _progress.Advance();

    /// <summary>Shares the time since the run's start among its commands; returns the time now.</summary>
    internal long EndRun(scoped in CommandContext cmd, int end)
    {
        int length = end - _runFirst;
        _progress.End();
        if (length == 0) return _runStart; // just now
        long now = Stopwatch.GetTimestamp();
        long ns = ServerClock.TicksToNs(now - _runStart);
        long lockedNs = _engine.LockWaitNs(_runStart, ns);
        ns -= lockedNs;
        long each = ns / length;
        bool tracksLatency = _engine.Settings.LatencyTracking;
        long waited = _waits.WaitedNs(_runStart) + lockedNs;
        bool notesSplit = _waits.NotesSplit(waited + ns);
        int i = _runFirst;
        while (i < end)
        {
            Command command = _requests[i].Command!;
            int same = i + 1;
            while (same < end && _requests[same].Command == command) same++;
            if (command.Is(CommandFlags.Write)) cmd.Session.Counts.BytesWritten += _requests[same - 1].End - _requests[i].Start;
            CommandMetrics metrics = _metrics.Of(command.Index);
            metrics.CountCalls(each * (same - i), same - i);
            if (tracksLatency)
            {
                metrics.Latency.Record(each, same - i);
                if (notesSplit) _waits.NoteSplit(command, metrics, same - i, waited + (each * (i + same - 1 - (2 * _runFirst)) / 2), now); // behind half of its neighbours
            }

            i = same;
        }

        if (_slotsKept != SlotStatistics.None) CountRunBySlot(end, each);
        _metrics.CountCommands(length);
        cmd.Session.Counts.CommandsProcessed += length;
        if (ns + lockedNs >= _engine.LongNs) NoteLongRun(cmd, length, ns, lockedNs, now);
        return now;
    }

    // The clock is not read for each: a run's commands share its time equally.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void CountRunBySlot(int end, long eachNs)
    {
        SlotCounters slots = _metrics.CountedSlots;
        for (int i = _runFirst; i < end; i++)
        {
            ref readonly BatchRequest request = ref _requests[i];
            long replyEnd = i + 1 < end ? _replyStarts[i + 1] : _reply.Length;
            slots.Add(_slotsKept, KeyHasher.SlotOf(request.Hash), eachNs, request.End - request.Start, replyEnd - _replyStarts[i]);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void NoteLongRun(scoped in CommandContext cmd, int length, long ns, long lockedNs, long end)
    {
        if (length == 1)
        {
            _account.NoteLong(cmd, ns, lockedNs, end);
            return;
        }

        cmd.Session.CommandsToTime = CommandsToTime;
        int slowest = _progress.SlowestOf(length);
        if (slowest < 0) return;
        ref readonly BatchRequest request = ref _requests[_runFirst + slowest];
        CommandContext slow = cmd;
        slow.Begin(request.Command!, _parser.Arguments(request.First, request.Count), request.Hash);
        _account.NoteLong(slow, ns, lockedNs, end);
    }

    /// <summary>
    /// Notes that replies have become large. Among several replies it is not known which one was large, so the replies
    /// of the client's next commands are measured individually.
    /// </summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal void NoteLargeReply(scoped in CommandContext cmd, int index, long replyBytes)
    {
        if (index == _runFirst) _account.NoteLarge(_engine.LargeReplies, cmd, replyBytes);
        else cmd.Session.CommandsToTime = CommandsToTime;
    }

    /// <summary>Records a command that was not part of a run.</summary>
    internal void NoteEnded(Command command, CommandMetrics metrics, long start, long end)
    {
        if (_diagnoses) _waits.NoteSplit(command, metrics, 1, _waits.WaitedNs(start) + _engine.LockWaitNs(start, ServerClock.TicksToNs(end - start)), end);
    }

    /// <summary>Adds the first keys of some of the batch's requests to the sketch of hot keys.</summary>
    internal void SampleKeys(Session session, ReadOnlySpan<byte> input, int count)
    {
        if ((_untilSample -= count) < 0) AddSamples(session, input, count);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void AddSamples(Session session, ReadOnlySpan<byte> input, int count)
    {
        while (_untilSample < 0)
        {
            ref readonly BatchRequest request = ref _requests[Math.Max(0, count + _untilSample)];
            if (request.Hash != 0 && request.Command!.FirstKey > 0)
            {
                ArgumentSlice key = _parser.Arguments(request.First, request.Count)[request.Command.FirstKey];
                _metrics.HotKeys.Add(session.DatabaseIndex, request.Hash, input.Slice(key.Start, key.Length), _time.NowMs);
            }

            _untilSample += _metrics.HotKeys.NextGap();
        }
    }

    /// <summary>Adapts the sampling of keys to the load. About once a second.</summary>
    internal void AdaptSampling()
    {
        _metrics.HotKeys.Adapt(_metrics.CommandsProcessed - _commandsAdapted);
        _commandsAdapted = _metrics.CommandsProcessed;
    }

    /// <summary>Begins a single request of a caller in the process, which has no batch.</summary>
    internal void BeginDirect(long timestamp)
    {
        _waits.BeginDirect(timestamp);
        _time.Set(timestamp);
    }

    /// <summary>Whether the next short command of a caller in the process is timed.</summary>
    internal bool TimesNextDirect => _untilDirect <= 0;

    /// <summary>
    /// Counts a short command of a caller in the process. The clock, whose reading takes as long as the whole command, is read for some of
    /// them: for a random sample, whose last one of a command stands for the calls of it in between, and for each that may have taken long.
    /// </summary>
    /// <param name="cmd">The command.</param>
    /// <param name="start">When it began; 0: the clock was not read.</param>
    /// <param name="mayBeSlow">Whether it may have taken long; false where the clock was not read.</param>
    internal void EndDirect(scoped in CommandContext cmd, long start, bool mayBeSlow)
    {
        CommandMetrics metrics = _metrics.Of(cmd.Command.Index);
        metrics.CountCalls(_directNs);
        _metrics.CountCommands(1);
        if (--_untilSample < 0) SampleDirect(cmd);
        if (--_untilDirect < 0 || mayBeSlow || (start != 0 && metrics.SampledNs == 0)) TimeDirect(cmd, metrics, start);
        else if (_engine.Settings.LatencyTracking) metrics.Latency.Record(metrics.SampledNs > 0 ? metrics.SampledNs : _directNs);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void TimeDirect(scoped in CommandContext cmd, CommandMetrics metrics, long start)
    {
        long end = Stopwatch.GetTimestamp();
        long ns = ServerClock.TicksToNs(end - start);
        long lockedNs = _engine.LockWaitNs(start, ns);
        ns -= lockedNs;
        metrics.AddTime(ns - _directNs);
        metrics.NoteTimed(ns, isOfSample: _untilDirect < 0);
        if (_untilDirect < 0)
        {
            _untilDirect = _directGap.Next(DirectStride);
            if (ns < Timeline.NoticeableNs) _directNs = ((_directNs * 7) + ns) / 8;
        }

        if (_engine.Settings.LatencyTracking) metrics.Latency.Record(ns);
        if (ns + lockedNs >= _engine.LongNs) _account.NoteLong(cmd, ns, lockedNs, end);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void SampleDirect(scoped in CommandContext cmd)
    {
        int key = cmd.Command.FirstKey;
        if (key > 0) _metrics.HotKeys.Add(cmd.Session.DatabaseIndex, cmd.HashOf(key), cmd[key], _time.NowMs);
        while (_untilSample < 0) _untilSample += _metrics.HotKeys.NextGap();
    }

    /// <summary>
    /// Begins a short command that behaviors surround. They may take long, and the time that commands use must not fall behind: a new run begins
    /// when the coarse clock has moved.
    /// </summary>
    /// <returns>The time now; 0: no behavior asks for it.</returns>
    internal long BeginIntercepted(scoped in CommandContext cmd, int index)
    {
        // A precise reading takes a tenth of a pipelined GET.
        long now = _timesBehaviors ? Stopwatch.GetTimestamp() : 0;
        long coarseMs = Environment.TickCount64;
        if (coarseMs != _interceptedMs)
        {
            _interceptedMs = coarseMs;
            BeginRun(index, EndRun(cmd, index));
        }

        return now;
    }

    /// <summary>Leaves out a request that is not counted, because a behavior replied in its place.</summary>
    internal void LeaveOut(scoped in CommandContext cmd, int index)
    {
        EndRun(cmd, index);
        BeginRun(index + 1, Stopwatch.GetTimestamp());
    }

    /// <summary>
    /// The time since the turn came of a short command that behaviors surround and whose turn was not timed: since its run began. From now
    /// on the turn of each is timed.
    /// </summary>
    internal TimeSpan BeginTimingBehaviors()
    {
        _timesBehaviors = true;
        return Stopwatch.GetElapsedTime(_runStart);
    }
}
