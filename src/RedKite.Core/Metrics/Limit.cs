namespace RedKite.Server.Metrics;

/// <summary>A limit of what clients can make the server keep that is counted in <see cref="LimitCounts"/>.</summary>
internal enum Limit
{
    RequestArguments,
    ArgumentBytes,
    UnauthenticatedRequest,
    MonitorOutput,
    QueuedCommands,
    QueuedBytes,
    KeysWatched,
    Subscriptions,
    TrackedPrefixes,
    ClientStateBytes,
    KeysTracked,
    TrackedNameBytes,
    BlockedKeys,
    ClientNameBytes,
    CachedScripts,
    CachedScriptBytes,
    Functions,
    FunctionBytes,
    ScriptMemory,
    Users,
    RulesPerUser,
    RuleBytesPerUser,
    AclLogEntries,
    RequestLogEntries,
    LoginAddresses,
    Connections,
}

/// <summary>How often each limit has refused a request, closed a client, or dropped the oldest entry. From any thread: limits are rarely reached.</summary>
internal sealed class LimitCounts
{
    private readonly long[] _counts = new long[Enum.GetValues<Limit>().Length];

    internal long this[Limit limit] => Interlocked.Read(ref _counts[(int)limit]);

    internal void Note(Limit limit, long count = 1) => Interlocked.Add(ref _counts[(int)limit], count);

    /// <summary>CONFIG RESETSTAT.</summary>
    internal void Reset()
    {
        for (int i = 0; i < _counts.Length; i++) Interlocked.Exchange(ref _counts[i], 0);
    }
}
