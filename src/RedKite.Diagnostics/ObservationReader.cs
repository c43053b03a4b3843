using System.Diagnostics;
using RedKite.Net;
using RedKite.Persistence.Types;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Diagnostics;

/// <summary>Observes a server once a second: reads everything that metrics are computed from. On the diagnostics thread.</summary>
internal sealed class ObservationReader : IDisposable
{
    private readonly ServerParts _parts;
    private readonly MachineReader _machine;
    private const int HotKeyEverySeconds = 5;

    private readonly LatencyInterval _waiting;
    private readonly LatencyInterval _executing;
    private readonly LatencyInterval _sending;
    private readonly CommandReader _commands;
    private readonly FamilyReader _families;
    private readonly DurabilityReader _durability;
    private int _observations;
    private double _hottestKeyPercent;
    private readonly int[] _heldSamples;
    private readonly Dictionary<LoopMetrics, long> _workedBefore = [];
    private int _samples;
    private long _lastTimestamp;
    private double _stallMs;

    internal ObservationReader(ServerParts parts)
    {
        _parts = parts;
        var scratch = new LatencyInterval.Scratch();
        _waiting = new LatencyInterval(scratch);
        _executing = new LatencyInterval(scratch);
        _sending = new LatencyInterval(scratch);
        _commands = new CommandReader(parts.Core.Commands.All.Count);
        _families = new FamilyReader(parts.Core.Commands.All);
        _durability = new DurabilityReader(parts, scratch);
        _machine = new MachineReader(parts.Core.Configuration.Settings.DirectoryPath);
        _heldSamples = new int[parts.Core.Metrics.Keyspace.Stripes.Length];
        _lastTimestamp = Stopwatch.GetTimestamp();
    }

    /// <summary>Samples which stripes are locked. Called many times a second.</summary>
    /// <param name="lateMs">How much later than planned the thread woke.</param>
    internal void Sample(double lateMs)
    {
        _stallMs = Math.Max(_stallMs, lateMs);
        Stripe[] stripes = _parts.Core.Metrics.Keyspace.Stripes;
        for (int i = 0; i < stripes.Length; i++)
        {
            if (stripes[i].IsLocked) _heldSamples[i]++;
        }

        _samples++;
    }

    public void Dispose() => _machine.Dispose();

    internal Observation Read(long? unixMs = null)
    {
        long timestamp = Stopwatch.GetTimestamp();
        double seconds = Stopwatch.GetElapsedTime(_lastTimestamp, timestamp).TotalSeconds;
        _lastTimestamp = timestamp;
        MetricsRegistry registry = _parts.Core.Metrics;
        Keyspace keyspace = registry.Keyspace;
        Settings settings = _parts.Core.Configuration.Settings;
        long keys = 0, expiring = 0;
        double stale = 0;
        foreach (Database database in keyspace.Databases)
        {
            keys += database.VisibleCount;
            expiring += database.Expiring;
            stale += database.StaleKeys;
        }

        var observation = new Observation
        {
            UnixMs = unixMs ?? DateTimeOffset.UtcNow.ToUnixTimeMilliseconds(),
            Seconds = seconds,
            Totals = ServerTotals.Of(registry),
            Server = registry.Server,
            Actions = _parts.Core.Actions,
            Memory = MemoryFigures.Of(registry),
            Machine = _machine.Read(_stallMs),
            Runtime = RuntimeFigures.Read(),
            Waiting = ReadLatency(_waiting, registry, metrics => metrics.Waiting),
            Latency = ReadLatency(_executing, registry, metrics => metrics.Latency),
            Sending = ReadLatency(_sending, registry, metrics => metrics.Sending),
            Families = _families.Read(registry.Executors),
            EachCommand = _commands.Read(registry.Executors, seconds),
            Loops = ReadLoops(registry, seconds, out RankedRecord[] eachLoop),
            EachLoop = eachLoop,
            Stripes = ReadStripes(keyspace),
            ConnectedClients = _parts.Core.Clients.Count,
            Messages = new MessageFigures(_parts.Core.Messages, _parts.Core.Tracking),
            Migrations = new MigrationFigures(_parts.Migrations),
            SlotMoves = _parts.SlotMoves() is { } moves ? new SlotMoveFigures(moves.Completed, moves.Failed, moves.WaitingBytes, moves.Active, moves.SentBytes) : default,
            Cluster = _parts.Cluster()?.Figures() ?? ClusterFigures.None,
            Redirects = _parts.Cluster() is null ? default : new RedirectFigures(registry.ErrorsOf("MOVED"), registry.ErrorsOf("ASK"), registry.ErrorsOf("TRYAGAIN"), registry.ErrorsOf("CROSSSLOT"), registry.ErrorsOf("CLUSTERDOWN")),
            WatchingClients = _parts.Core.Watched.Clients,
            WatchedKeys = _parts.Core.Watched.Count,
            TransactionsExecuted = _parts.Core.Transactions.Executed,
            TransactionsRefused = _parts.Core.Transactions.Refused,
            LargestTransaction = _parts.Core.Transactions.TakeLargest(),
            LongCallNs = _parts.Core.LongCalls.TotalNs,
            ScriptsExecuted = _parts.Core.Script.Executed,
            ScriptsKilled = _parts.Core.Script.Killed,
            LongestScriptMicroseconds = _parts.Core.Script.TakeLongestNs() / 1000,
            ScriptFigures = _parts.Core.Script.Figures(),
            Blocked = _parts.Blocking(),
            Tls = _parts.Tls(),
            Durability = _durability.Read(),
            Replication = _parts.Replicas.Figures(),
            Link = _parts.Core.Replication.LinkCounts,
            Keys = keys,
            LargestKeyBytes = _parts.KeySurvey() is { } survey ? survey.Largest(1).FirstOrDefault()?.Bytes ?? 0 : double.NaN,
            LargestDocumentBytes = _parts.KeySurvey() is { } seen ? LargestDocument(seen) : double.NaN,
            HottestKeyPercent = ReadHottestKey(registry),
            ExpiringKeys = expiring,
            KeysCalls = CallsOf(registry, "keys"u8),
            ExpiredStalePercent = expiring == 0 ? 0 : 100 * stale / expiring,
            ExpiredKeys = keyspace.ExpiredKeys,
            ExpiredFields = keyspace.ExpiredFields,
            Users = _parts.Core.Users.Figures,
            MaxClients = settings.MaxClients,
            MaxMemoryBytes = (long)settings.MaxMemoryBytes,
            MemoryRefusals = registry.ErrorsOf("OOM"),
            UptimeSeconds = (_parts.Core.Clock.NowMs - _parts.Core.Run.StartedMs) / 1000.0,
        };
        _parts.Core.LongCalls.BeginSecond();
        _stallMs = 0;
        return observation;
    }

    private static LatencyFigures ReadLatency(LatencyInterval interval, MetricsRegistry registry, Func<CommandMetrics, LatencyHistogram> part) => interval.Read(sum =>
    {
        foreach (ExecutorMetrics executor in registry.Executors) executor.AddLatenciesTo(sum, part);
    });

    // Read every five seconds, because that merges the counts of some thousands of keys.
    private static double LargestDocument(KeySurveyResult survey) =>
        PersistedTypes.Find("ReJSON-RL"u8) is { } type && survey.Types.TryGetValue(type.Stored.Number, out TypeSurvey? documents) && documents.Largest.Count > 0 ? documents.Largest[0].Bytes : 0;

    private double ReadHottestKey(MetricsRegistry registry) =>
        ++_observations % HotKeyEverySeconds == 0 ? _hottestKeyPercent = HotKeySketch.HottestPercent(registry.Executors, _parts.Core.Clock.NowMs) : _hottestKeyPercent;

    private long CallsOf(MetricsRegistry registry, ReadOnlySpan<byte> name)
    {
        if (_parts.Core.Commands.Find(name) is not { } command) return 0; // renamed away
        long calls = 0;
        foreach (ExecutorMetrics executor in registry.Executors) calls += executor.Peek(command.Index)?.Calls ?? 0;
        return calls;
    }

    private LoopFigures ReadLoops(MetricsRegistry registry, double seconds, out RankedRecord[] each)
    {
        double busiest = 0, least = 100, longest = 0;
        int waiting = 0;
        LoopMetrics[] loops = registry.Loops;
        each = new RankedRecord[loops.Length];
        for (int i = 0; i < loops.Length; i++)
        {
            LoopMetrics loop = loops[i];
            long worked = loop.BusyMicroseconds;
            double percent = Math.Clamp((worked - _workedBefore.GetValueOrDefault(loop, worked)) / (seconds * 10_000), 0, 100);
            _workedBefore[loop] = worked;
            loop.UtilizationPercent = percent;
            loop.LongestIterationMicroseconds = loop.TakeLongestIteration().TotalMicroseconds;
            longest = Math.Max(longest, loop.LongestIterationMicroseconds);
            int messages = loop.MessagesWaiting;
            each[i] = new RankedRecord(i, [(float)percent, (float)loop.LongestIterationMicroseconds, messages]);
            waiting += messages;
            busiest = Math.Max(busiest, percent);
            least = Math.Min(least, percent);
        }

        return new LoopFigures(loops.Length, busiest, least, longest, waiting);
    }

    private StripeFigures ReadStripes(Keyspace keyspace)
    {
        long waits = 0, parks = 0, largest = 0, all = 0;
        double waitedMs = 0;
        var heldPercents = new double[keyspace.Stripes.Length];
        double hottest = _samples == 0 ? double.NaN : 0;
        for (int i = 0; i < keyspace.Stripes.Length; i++)
        {
            Stripe stripe = keyspace.Stripes[i];
            waits += stripe.LockWaits;
            parks += stripe.LockParks;
            waitedMs += stripe.LockWaited.TotalMilliseconds;
            largest = Math.Max(largest, stripe.UsedBytes);
            all += stripe.UsedBytes;
            heldPercents[i] = _samples == 0 ? double.NaN : 100.0 * _heldSamples[i] / _samples;
            hottest = Math.Max(hottest, heldPercents[i]);
            _heldSamples[i] = 0;
        }

        _samples = 0;
        return new StripeFigures(waits, parks, waitedMs, hottest, all == 0 ? 1 : (double)largest * keyspace.Stripes.Length / all, heldPercents);
    }
}
