using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Execution;

/// <summary>
/// Measures what lies around the execution of one executor's commands: how long they waited for their turn, and how long sending their replies took. Both
/// are sampled, but every long wait is recorded.
/// </summary>
internal sealed class WaitMeter(ExecutorCore core)
{
    // Inputs per second for which waiting and sending are recorded. Recording every input cost a GET at pipeline 16 some 3 % of the server's CPU.
    private const int SplitsPerSecond = 1000;
    private const int SplitStrideMax = 4096;

    private const int UnsentAtFirst = 16;

    private readonly CommandTime _time = core.Environment.Time;
    private readonly ExecutorMetrics _metrics = core.Environment.Metrics;
    private readonly bool _diagnoses = core.Engine.Settings.Diagnostics;
    private long _currentIteration; // 0: a caller in the process
    private long _iteration; // the loop's iteration whose start was read
    private int _splitWeight; // how many inputs this one represents in the samples of waiting and sending; 0: it is not sampled
    private SampleGap _splitGap = new(0x85EBCA6B);
    private int _splitStride = 1;
    private int _untilSplit = 1; // inputs until waiting and sending are noted
    private Unsent[] _unsent = new Unsent[UnsentAtFirst]; // of inputs whose sending is timed
    private int _unsentCount;
    private RequestLogEntry? _unsentSlow;
    private long _readsAdapted;

    /// <summary>Begins with the input that a connection received in an iteration of the loop: all input of one iteration became ready together.</summary>
    internal void BeginInput(long iteration)
    {
        _currentIteration = iteration;
        _splitWeight = 0;
        if (--_untilSplit > 0) return;
        _untilSplit = _splitGap.Next(_splitStride);
        _splitWeight = _diagnoses ? _splitStride : 0;
    }

    /// <summary>Begins a batch, or an iteration with it.</summary>
    internal void BeginBatch(long start)
    {
        if (_iteration == _currentIteration && _currentIteration != 0) return;
        _iteration = _currentIteration; // a caller in the process has no iterations
        _time.IterationStart = start;
    }

    /// <summary>Begins a single request of a caller in the process, which has no batch.</summary>
    internal void BeginDirect(long start)
    {
        _iteration = 0;
        _time.IterationStart = start;
    }

    /// <summary>How long a command waited for its turn that began at a timestamp.</summary>
    internal long WaitedNs(long start) => ServerClock.TicksToNs(start - _time.IterationStart);

    /// <summary>Whether <see cref="NoteSplit"/> is to be called for commands that have waited and executed this long.</summary>
    internal bool NotesSplit(long ns) => _splitWeight > 0 || (_diagnoses && ns >= Timeline.NoticeableNs);

    /// <summary>Notes how long commands waited, and that their replies are to be sent.</summary>
    internal void NoteSplit(Command command, CommandMetrics metrics, int count, long waitedNs, long ended)
    {
        if (waitedNs >= Timeline.NoticeableNs) metrics.Waiting.Record(waitedNs, count);
        else if (_splitWeight > 0) metrics.Waiting.Record(waitedNs, (long)count * _splitWeight);
        if (_splitWeight <= 0) return;
        if (_unsentCount == _unsent.Length) Array.Resize(ref _unsent, 2 * _unsentCount);
        _unsent[_unsentCount++] = new Unsent(command, count, ended);
    }

    /// <summary>Adds the time to send a slow command's reply to its log entry.</summary>
    internal void NoteUnsent(RequestLogEntry entry) => _unsentSlow = entry;

    /// <summary>Forgets replies that were not sent: their client wanted none.</summary>
    internal void ForgetUnsent()
    {
        _unsentCount = 0;
        _unsentSlow = null;
    }

    /// <summary>Notes that the replies so far were sent.</summary>
    internal void NoteSent()
    {
        if (_unsentCount > 0 || _unsentSlow is not null) RecordSent();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void RecordSent()
    {
        long now = Stopwatch.GetTimestamp();
        for (int i = 0; i < _unsentCount; i++)
        {
            Unsent unsent = _unsent[i];
            _metrics.Of(unsent.Command.Index).Sending.Record(ServerClock.TicksToNs(now - unsent.Ended), (long)unsent.Count * Math.Max(1, _splitWeight));
        }

        _unsentCount = 0;
        if (_unsentSlow is { } slow) slow.SendingMicroseconds = ServerClock.TicksToNs(now - slow.EndedTicks) / 1000;
        _unsentSlow = null;
    }

    /// <summary>Adapts the sampling of waiting and sending to the load. About once a second.</summary>
    internal void AdaptSampling()
    {
        _splitStride = (int)Math.Clamp((_metrics.Reads - _readsAdapted) / SplitsPerSecond, 1, SplitStrideMax);
        _readsAdapted = _metrics.Reads;
    }

    private readonly struct Unsent(Command command, int count, long ended)
    {
        internal Command Command { get; } = command;

        internal int Count { get; } = count;

        internal long Ended { get; } = ended;
    }
}
