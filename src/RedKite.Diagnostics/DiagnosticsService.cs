using System.Diagnostics;
using System.Globalization;
using RedKite.Persistence.Files;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Logging;
using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// Watches one server: observes it every second, keeps the history, evaluates the rules. It has a thread of its own, which takes no
/// lock of the data and never waits for a client.
/// </summary>
internal sealed class DiagnosticsService : IDisposable
{
    // A sample takes about 50 microseconds of CPU, most of it to sleep and wake: a thousandth of a core.
    private const int SamplesPerSecond = 20;
    private const int SaveEverySeconds = 300;
    private const double NoticeableMs = Timeline.NoticeableNs / 1e6;
    private const double NoticeableStallMs = 50; // a thread of low priority is late by some milliseconds on a busy machine

    private readonly ServerParts _parts;
    private readonly ObservationReader _reader;
    private readonly MemoryReturn _memoryReturn;
    private readonly BackgroundSlowdown _slowdown;
    private readonly Thread _thread;
    private readonly Culprits _culprits;
    private readonly string _fileSystem;
    private readonly double[] _totals = new double[MetricTable.All.Count];
    private volatile Observation? _latest;
    private volatile bool _stopping;
    private Exception? _failure;
    private int _skippedSeconds;
    private TimeSpan _paused = GC.GetTotalPauseDuration();

    internal DiagnosticsService(ServerParts parts)
    {
        _parts = parts;
        _reader = new ObservationReader(parts);
        _fileSystem = MachineReader.FileSystemOf(parts.Core.Settings.DirectoryPath);
        Array.Fill(_totals, double.NaN);
        _memoryReturn = new MemoryReturn(parts.Core.Configuration.Settings, parts.Core.Actions, parts.Core.Buffers);
        _slowdown = new BackgroundSlowdown(parts.Core.Configuration.Settings, parts.Core.Actions);
        Survey = new KeySurvey(parts, _slowdown);
        CommandHistory = new RankedHistory(RankedTable.Commands, parts.Core.Commands.All.Select(command => command.FullName));
        LoopHistory = new RankedHistory(RankedTable.Loops, Enumerable.Range(0, parts.Core.LoopCount).Select(loop => loop.ToString(CultureInfo.InvariantCulture)));
        Findings = new FindingTracker(FindingTable.Rules, parts.Core.Log);
        _culprits = new Culprits(parts, this);
        _thread = new Thread(Run) { Name = "diagnostics", IsBackground = true, Priority = ThreadPriority.BelowNormal };
    }

    internal MetricHistory History { get; } = new(MetricTable.All.Count);

    /// <summary>The history of each command, by <see cref="Model.Command.Index"/>.</summary>
    internal RankedHistory CommandHistory { get; }

    /// <summary>The history of each event loop, by its position in the report of loops.</summary>
    internal RankedHistory LoopHistory { get; }

    internal IReadOnlyList<RankedHistory> RankedHistories => [CommandHistory, LoopHistory];

    internal FindingTracker Findings { get; }

    internal KeySurvey Survey { get; }

    /// <summary>For <see cref="Culprits"/>, on the diagnostics thread.</summary>
    internal ErrorSeconds Errors { get; } = new();

    /// <inheritdoc cref="Errors"/>
    internal ClientInput Input { get; } = new();

    /// <summary>The latest observation; null during the first second.</summary>
    internal Observation? Latest => _latest;

    internal void Start()
    {
        if (HistoryPath is { } path && HistoryFile.Load(path, History, MetricTable.All, RankedHistories) is { } problem) _parts.Core.Log.Warning(LogEvents.MetricHistoryUnreadable, problem);
        _parts.Core.Timeline.Add(TimelineKind.Started, _parts.Core.Clock.NowMs, 0, "");
        _thread.Start();
        Survey.Start();
    }

    /// <summary>Ends the current second at the next sample: tests do not wait for the wall clock.</summary>
    internal void SkipSecond() => Interlocked.Increment(ref _skippedSeconds);

    /// <summary>Ends the thread, and saves the history.</summary>
    public void Dispose()
    {
        Survey.Dispose();
        _stopping = true;
        RunWatch runs = _parts.Core.Metrics.Runs;
        runs.Wake();
        if (_thread.IsAlive) _thread.Join();
        _reader.Dispose();
    }

    /// <summary>Facts about durability that are text: the data folder's file system, and why something does not work now.</summary>
    internal Dictionary<string, string> DurabilityFacts => new()
    {
        ["data_file_system"] = _fileSystem,
        ["unloaded_dump"] = _parts.Durability.Unloaded.Path ?? "",
        ["save_failure"] = _parts.Durability.Saves.Failure ?? "",
        ["rewrite_failure"] = _parts.Durability.Rewrites.Failure ?? "",
        ["backup_failure"] = _parts.Backup.Status.Error,
        ["log_failure"] = _parts.Durability.Log.Log?.Writer.Failure?.Message ?? "",
    };

    /// <summary>The current input of the rules.</summary>
    internal DiagnosticsView View(long nowUnixSeconds)
    {
        Configuration configuration = _parts.Core.Configuration;
        return new DiagnosticsView(History, [.. _totals], nowUnixSeconds, configuration.Get)
        {
            Facts = new Dictionary<string, string>([.. SystemFacts.Current, .. DurabilityFacts]),
            Culprits = _culprits,
            SettingsWithoutEffect = [.. SettingTable.Rows.Where(row => row.NoEffect is not null && configuration.Get(row.Name) != row.DefaultText).Select(row => row.Name)],
        };
    }

    private DateTimeOffset Now => DateTimeOffset.UtcNow.AddSeconds(Volatile.Read(ref _skippedSeconds));

    private string? HistoryPath
    {
        get
        {
            Settings settings = _parts.Core.Configuration.Settings;
            return settings.MetricsHistoryPath.Length == 0 ? null : Path.Combine(settings.DirectoryPath, settings.MetricsHistoryPath);
        }
    }

    private void Run()
    {
        RunWatch runs = _parts.Core.Metrics.Runs;
        long period = Stopwatch.Frequency / SamplesPerSecond;
        long due = Stopwatch.GetTimestamp() + period;
        long second = Now.ToUnixTimeSeconds();
        int observed = 0;
        while (true)
        {
            double waitMs = Math.Ceiling((due - Stopwatch.GetTimestamp()) * 1000.0 / Stopwatch.Frequency); // rounded down, the last millisecond would be spent spinning
            runs.Wait((int)Math.Max(0, waitMs), _parts.Core.LongNs);
            if (_stopping) break;
            runs.Look(_parts.Core.Metrics.Executors);
            if (Stopwatch.GetTimestamp() < due) continue;
            double lateMs = Stopwatch.GetElapsedTime(due).TotalMilliseconds;
            due = Math.Max(due + period, Stopwatch.GetTimestamp());
            _reader.Sample(Math.Max(0, lateMs));
            runs.SleepIfIdle(_parts.Core.Metrics.Executors);
            NoteStalls(lateMs);

            // When the wall clock's second ends, so that each second has exactly one observation.
            long now = Now.ToUnixTimeSeconds();
            if (now == second) continue;
            try
            {
                Observe(second);
            }
#pragma warning disable CA1031 // Whatever fails here, the server continues without this second.
            catch (Exception failure)
#pragma warning restore CA1031
            {
                NoteFailure(failure);
            }

            second = now;
            if (++observed % SaveEverySeconds == 0) Save();
        }

        Save();
    }

    // One line for each kind of failure: it may fail every second.
    private void NoteFailure(Exception failure)
    {
        if (_failure?.GetType() != failure.GetType()) _parts.Core.Log.Warning(LogEvents.ObservationFailed, $"The server could not be observed: {failure.Message}");
        _failure = failure;
    }

    // Records what stopped all threads. The runtime's own count distinguishes garbage collections from other stalls.
    private void NoteStalls(double lateMs)
    {
        TimeSpan paused = GC.GetTotalPauseDuration();
        double pausedMs = (paused - _paused).TotalMilliseconds;
        _paused = paused;
        if (pausedMs >= NoticeableMs) _parts.Core.Timeline.Add(TimelineKind.GarbageCollection, _parts.Core.Clock.NowMs, (long)(pausedMs * 1000), "");
        else if (lateMs >= NoticeableStallMs) _parts.Core.Timeline.Add(TimelineKind.Stall, _parts.Core.Clock.NowMs, (long)(lateMs * 1000), "");
    }

    private void Observe(long second)
    {
        Observation observation = _reader.Read(Now.ToUnixTimeMilliseconds());
        var values = new double[MetricTable.All.Count];
        foreach (Metric metric in MetricTable.All)
        {
            double value = metric.Read(observation);
            double before = _totals[metric.Index];
            _totals[metric.Index] = value;
            values[metric.Index] = metric.Kind == MetricKind.Gauge ? value : Math.Max(0, value - before) / observation.Seconds;
        }

        _latest = observation;
        Errors.Add(_parts.Core.Metrics.Executors);
        Input.EndSecond(_parts.Core.Clients.All.Select(session => (session.Id, session.Counts.BytesWritten)));
        History.Add(second, values);
        CommandHistory.Add(second, observation.EachCommand);
        LoopHistory.Add(second, observation.EachLoop);
        _slowdown.Look(observation.Loops.BusiestPercent);
        _memoryReturn.Look(observation, _parts.Core.Metrics.Keyspace);
        Findings.Evaluate(View(second), observation.UnixMs);
    }

    private void Save()
    {
        if (HistoryPath is not { } path) return;
        try
        {
            HistoryFile.Save(path, History, MetricTable.All, RankedHistories);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            _parts.Core.Log.Warning(LogEvents.MetricHistoryUnwritable, $"The metric history {path} cannot be written: {FileFailure.ReasonOf(failure)}");
        }
    }
}
