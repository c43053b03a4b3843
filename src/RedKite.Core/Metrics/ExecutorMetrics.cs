using RedKite.Net;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>
/// The counters of one executor, which alone writes them; INFO and the like read them meanwhile and sum over all executors.
/// A command's histogram is created by its first call.
/// </summary>
internal sealed class ExecutorMetrics
{
    private const int ErrorClassesMax = 128;

    private readonly CommandMetrics?[] _commands;

    /// <param name="commandCount">The number of commands.</param>
    /// <param name="limits">The server's counts of limits that were reached; null: none are shared.</param>
    internal ExecutorMetrics(int commandCount, LimitCounts? limits = null)
    {
        _commands = new CommandMetrics?[commandCount];
        Limits = limits ?? new LimitCounts();
    }

    /// <summary>Counts of the limits that were reached, for the whole server.</summary>
    internal LimitCounts Limits { get; }

    /// <summary>The executor's position in a run of short commands.</summary>
    internal RunProgress Progress { get; } = new();

    internal long KeyspaceHits { get; private set; }

    internal long KeyspaceMisses { get; private set; }

    /// <summary>Changes to the keyspace: rdb_changes_since_last_save.</summary>
    internal long Changes { get; private set; }

    internal long CommandsProcessed { get; private set; }

    internal long BytesReceived { get; private set; }

    internal long BytesSent { get; private set; }

    /// <summary>Receives and sends on connections.</summary>
    internal long Reads { get; private set; }

    internal long Writes { get; private set; }

    /// <summary>Stopwatch ticks of background work, and how often its time ran out before the work was done.</summary>
    internal long SweepTicks { get; private set; }

    internal long SweepsCut { get; private set; }

    /// <summary>The work of active defragmentation: blocks and keys that it moved or left, and its time.</summary>
    internal DefragmentationCounts Defragmentation { get; private set; }

    /// <summary>The share of the loop's time that defragmentation takes now; 0: it does not run.</summary>
    internal int DefragmentationCpuPercent { get; set; }

    /// <summary>Keys that were removed because memory exceeded its limit.</summary>
    internal long EvictedKeys { get; private set; }

    /// <summary>Those of them that had been used within the last minute.</summary>
    internal long EvictedYoungKeys { get; private set; }

    internal long ErrorReplies { get; private set; }

    internal long UnexpectedErrorReplies { get; private set; }

    /// <summary>Failed logins: acl_access_denied_auth. CONFIG RESETSTAT keeps it, as in Redis.</summary>
    internal long AuthenticationsDenied { get; private set; }

    /// <summary>Commands that a user was denied: acl_access_denied_cmd.</summary>
    internal long CommandsDenied { get; private set; }

    /// <summary>Commands with a key that a user was denied: acl_access_denied_key.</summary>
    internal long KeysDenied { get; private set; }

    /// <summary>Commands with a channel that a user was denied: acl_access_denied_channel.</summary>
    internal long ChannelsDenied { get; private set; }

    /// <summary>Searches of vector sets that have ended, those of additions included, and the bytes of vectors that they read.</summary>
    internal long VectorSearches { get; private set; }

    internal long VectorBytesRead { get; private set; }

    /// <summary>Elements that a filter had no room for.</summary>
    internal long FilterAdditionsRefused { get; private set; }

    /// <summary>Samples that were stored in time series.</summary>
    internal long SeriesSamples { get; private set; }

    /// <summary>Those of them that were not newer than all others of their series, so that a chunk was rewritten.</summary>
    internal long SeriesSamplesLate { get; private set; }

    /// <summary>Payloads of RESTORE that were checked: dump_payload_sanitizations.</summary>
    internal long PayloadsChecked { get; private set; }

    /// <summary>The counts by slot; null: no command was counted yet.</summary>
    internal SlotCounters? Slots { get; private set; }

    /// <summary>The counts by slot, to add to.</summary>
    internal SlotCounters CountedSlots => Slots ??= new SlotCounters();

    /// <summary>The keys that are used most.</summary>
    internal HotKeySketch HotKeys { get; } = new();

    /// <summary>Errors by class. The dictionary itself is the lock, because errors are rare.</summary>
    internal Dictionary<string, long> ErrorsByClass { get; } = new(StringComparer.Ordinal);

    /// <summary>A lookup found its key, or did not.</summary>
    internal void CountHit() => KeyspaceHits++;

    internal void CountMiss() => KeyspaceMisses++;

    /// <summary>A key that was found as a hit has expired since.</summary>
    internal void CountHitAsMiss()
    {
        KeyspaceHits--;
        KeyspaceMisses++;
    }

    internal void CountChanges(long changes) => Changes += changes;

    internal void CountCommands(long commands) => CommandsProcessed += commands;

    /// <summary>Bytes were received at once.</summary>
    internal void CountRead(long bytes)
    {
        BytesReceived += bytes;
        Reads++;
    }

    /// <summary>Bytes were given to a connection, which sends them with a write that is counted by itself.</summary>
    internal void CountSent(long bytes) => BytesSent += bytes;

    internal void CountWrite() => Writes++;

    /// <summary>A slice of background work has ended.</summary>
    /// <param name="ticks">The stopwatch ticks that it took.</param>
    /// <param name="wasCut">Whether its time ran out before the work was done.</param>
    internal void CountSweep(long ticks, bool wasCut)
    {
        SweepTicks += ticks;
        if (wasCut) SweepsCut++;
    }

    internal void CountDefragmentation(in DefragmentationCounts counts) => Defragmentation += counts;

    internal void CountEvicted(bool wasYoung)
    {
        EvictedKeys++;
        if (wasYoung) EvictedYoungKeys++;
    }

    internal void CountDeniedLogin() => AuthenticationsDenied++;

    internal void CountDeniedCommand() => CommandsDenied++;

    internal void CountDeniedKey() => KeysDenied++;

    internal void CountDeniedChannel() => ChannelsDenied++;

    internal void CountVectorSearch(long bytesRead)
    {
        VectorSearches++;
        VectorBytesRead += bytesRead;
    }

    internal void CountRefusedFilterAddition() => FilterAdditionsRefused++;

    internal void CountSeriesSample(bool isLate)
    {
        SeriesSamples++;
        if (isLate) SeriesSamplesLate++;
    }

    internal void CountCheckedPayload() => PayloadsChecked++;

    /// <summary>Counts an error reply by its class. Classes beyond a limit share one count, because scripts can invent classes.</summary>
    internal void CountError(string errorClass)
    {
        ErrorReplies++;
        lock (ErrorsByClass)
        {
            if (!ErrorsByClass.ContainsKey(errorClass) && ErrorsByClass.Count >= ErrorClassesMax) errorClass = "ERRORSTATS_OVERFLOW";
            ErrorsByClass.TryGetValue(errorClass, out long count);
            ErrorsByClass[errorClass] = count + 1;
        }
    }

    /// <summary>Nanoseconds of all commands.</summary>
    internal long CommandNs
    {
        get
        {
            long ns = 0;
            foreach (CommandMetrics? command in _commands) ns += command?.TotalNs ?? 0;
            return ns;
        }
    }

    internal CommandMetrics Of(int command) => _commands[command] ?? Begin(command);

    internal CommandMetrics? Peek(int command) => Volatile.Read(ref _commands[command]);

    /// <summary>CONFIG RESETSTAT. From any thread: counts that arrive meanwhile may survive it.</summary>
    internal void Reset()
    {
        EvictedKeys = EvictedYoungKeys = KeyspaceHits = KeyspaceMisses = CommandsProcessed = BytesReceived = BytesSent = Reads = Writes = SweepTicks = SweepsCut = ErrorReplies = UnexpectedErrorReplies = VectorSearches = VectorBytesRead = FilterAdditionsRefused = SeriesSamples = SeriesSamplesLate = PayloadsChecked = 0;
        Defragmentation = default;
        foreach (CommandMetrics? command in _commands) command?.Reset();
        Slots?.Reset();
        lock (ErrorsByClass) ErrorsByClass.Clear();
    }

    /// <summary>Adds the counters of an executor that has ended.</summary>
    internal void Add(ExecutorMetrics other)
    {
        KeyspaceHits += other.KeyspaceHits;
        KeyspaceMisses += other.KeyspaceMisses;
        Changes += other.Changes;
        CommandsProcessed += other.CommandsProcessed;
        BytesReceived += other.BytesReceived;
        BytesSent += other.BytesSent;
        Reads += other.Reads;
        Writes += other.Writes;
        SweepTicks += other.SweepTicks;
        SweepsCut += other.SweepsCut;
        Defragmentation += other.Defragmentation;
        EvictedKeys += other.EvictedKeys;
        EvictedYoungKeys += other.EvictedYoungKeys;
        AuthenticationsDenied += other.AuthenticationsDenied;
        CommandsDenied += other.CommandsDenied;
        KeysDenied += other.KeysDenied;
        ChannelsDenied += other.ChannelsDenied;
        VectorSearches += other.VectorSearches;
        VectorBytesRead += other.VectorBytesRead;
        FilterAdditionsRefused += other.FilterAdditionsRefused;
        SeriesSamples += other.SeriesSamples;
        SeriesSamplesLate += other.SeriesSamplesLate;
        PayloadsChecked += other.PayloadsChecked;
        ErrorReplies += other.ErrorReplies;
        UnexpectedErrorReplies += other.UnexpectedErrorReplies;
        if (other.Slots is { } slots) CountedSlots.Add(slots);
        for (int i = 0; i < _commands.Length; i++)
        {
            if (other._commands[i] is { } metrics) Of(i).Add(metrics);
        }

        lock (ErrorsByClass)
        {
            foreach ((string errorClass, long count) in other.ErrorsByClass) ErrorsByClass[errorClass] = ErrorsByClass.GetValueOrDefault(errorClass) + count;
        }
    }

    /// <summary>Adds one part of the time of all commands to a sum.</summary>
    internal void AddLatenciesTo(LatencyHistogram sum, Func<CommandMetrics, LatencyHistogram> part)
    {
        for (int i = 0; i < _commands.Length; i++)
        {
            if (Peek(i) is { } metrics && part(metrics) is { Count: > 0 } latency) latency.AddTo(sum);
        }
    }

    private CommandMetrics Begin(int command)
    {
        var metrics = new CommandMetrics();
        Volatile.Write(ref _commands[command], metrics);
        return metrics;
    }
}

/// <summary>One command's counts in one executor.</summary>
internal sealed class CommandMetrics
{
    private const int ErrorClassesMax = 16;

    internal long Calls { get; private set; }

    internal long TotalNs { get; private set; }

    /// <summary>The time of the last measured call by a script, in ticks of the stopwatch; 0: there was none.</summary>
    internal long TicksInScript { get; private set; }

    /// <summary>Calls that were refused before they executed: wrong number of arguments, no authentication, and so on.</summary>
    internal long Rejected { get; private set; }

    /// <summary>Calls that executed and replied an error.</summary>
    internal long Failed { get; private set; }

    /// <summary>How long calls executed, short waits for locks included.</summary>
    internal LatencyHistogram Latency { get; } = new();

    /// <summary>What the last timed call of a caller in the process took: it stands for the calls until the next one that is timed.</summary>
    internal long SampledNs { get; private set; }

    /// <summary>
    /// How long calls waited for their turn, since the loop had begun to serve the clients that were ready together, and for long for locks: sampled, but
    /// all long waits are included.
    /// </summary>
    internal LatencyHistogram Waiting { get; } = new();

    /// <summary>From the end of calls until the system had taken their replies, or they were queued: sampled.</summary>
    internal LatencyHistogram Sending { get; } = new();

    /// <summary>Failed and rejected calls by the first word of the error; null: none. The dictionary itself is the lock, because errors are rare.</summary>
    internal Dictionary<string, long>? ErrorsByClass { get; private set; }

    /// <summary>Counts calls that have ended.</summary>
    /// <param name="ns">The time of all of them.</param>
    /// <param name="calls">Their number.</param>
    internal void CountCalls(long ns, long calls = 1)
    {
        Calls += calls;
        TotalNs += ns;
    }

    /// <summary>Adds time of calls that are counted otherwise.</summary>
    internal void AddTime(long ns) => TotalNs += ns;

    /// <summary>A script's call took this time, in ticks.</summary>
    internal void NoteScripted(long ticks) => TicksInScript = ticks;

    /// <summary>A call of a caller in the process was timed. It stands for others if it was of the sample, or if there is no other yet.</summary>
    internal void NoteTimed(long ns, bool isOfSample)
    {
        if (isOfSample || SampledNs == 0) SampledNs = ns;
    }

    /// <summary>A call was refused before it executed, with an error of this class.</summary>
    internal void CountRejected(string errorClass)
    {
        Rejected++;
        CountError(errorClass);
    }

    /// <summary>A call has replied an error of this class.</summary>
    internal void CountFailed(string errorClass)
    {
        Failed++;
        CountError(errorClass);
    }

    /// <summary>A call has replied an error whose class another call has counted.</summary>
    internal void CountFailed() => Failed++;

    private void CountError(string errorClass)
    {
        Dictionary<string, long> errors = ErrorsByClass ??= new Dictionary<string, long>(StringComparer.Ordinal);
        lock (errors)
        {
            if (errors.Count < ErrorClassesMax || errors.ContainsKey(errorClass)) errors[errorClass] = errors.GetValueOrDefault(errorClass) + 1;
        }
    }

    /// <summary>The sum over executors.</summary>
    internal static CommandMetrics SumOf(IEnumerable<ExecutorMetrics> executors, int command)
    {
        var sum = new CommandMetrics();
        foreach (ExecutorMetrics executor in executors)
        {
            if (executor.Peek(command) is { } metrics) sum.Add(metrics);
        }

        return sum;
    }

    internal void Add(CommandMetrics other)
    {
        Calls += other.Calls;
        TotalNs += other.TotalNs;
        Rejected += other.Rejected;
        Failed += other.Failed;
        other.Latency.AddTo(Latency);
        other.Waiting.AddTo(Waiting);
        other.Sending.AddTo(Sending);
        if (other.ErrorsByClass is not { } errors) return;
        ErrorsByClass ??= new Dictionary<string, long>(StringComparer.Ordinal);
        lock (errors)
        {
            foreach ((string errorClass, long count) in errors) ErrorsByClass[errorClass] = ErrorsByClass.GetValueOrDefault(errorClass) + count;
        }
    }

    internal void Reset()
    {
        Calls = TotalNs = Rejected = Failed = 0;
        Latency.Clear();
        Waiting.Clear();
        Sending.Clear();
        ErrorsByClass = null;
    }
}
