using RedKite.Store.Memory;

namespace RedKite.Server.Metrics;

/// <summary>What clients make the server keep beside the data and their connections' buffers.</summary>
internal enum Kept
{
    /// <summary>Of single clients: queued commands, watches, subscriptions, prefixes, lists of fields, blocked requests, names.</summary>
    Clients,

    /// <summary>Channels and patterns, each once, however many clients subscribe to them.</summary>
    Channels,

    /// <summary>Keys that tracking clients have read.</summary>
    Tracking,

    /// <summary>The entries of SLOWLOG and COMMANDLOG.</summary>
    RequestLogs,

    /// <summary>Users with their rules, as they are declared and as requests are checked by them.</summary>
    Users,

    /// <summary>The entries of ACL LOG.</summary>
    Denials,

    /// <summary>The samples of LATENCY.</summary>
    Latency,

    /// <summary>The keys of HOTKEYS.</summary>
    HotKeys,
}

/// <summary>
/// Counts what clients make the server keep, from any thread, and reports it to the limit of memory at once: a transaction that is being queued grows
/// faster than anything that is looked at ten times a second. Each addition is two atomic operations, so clients report their own state in steps.
/// </summary>
internal sealed class KeptMemory(MemoryBudget budget)
{
    /// <summary>A client reports a change of this much at once, and a smaller one within a second.</summary>
    internal const long StepBytes = 1 << 10;

    private readonly long[] _bytes = new long[Enum.GetValues<Kept>().Length];

    internal long this[Kept kind] => Interlocked.Read(ref _bytes[(int)kind]);

    /// <summary>Bytes of all kinds.</summary>
    internal long Bytes => this[Kept.Clients] + OthersBytes;

    /// <summary>Bytes of what belongs to no single client.</summary>
    internal long OthersBytes
    {
        get
        {
            long sum = 0;
            for (int kind = (int)Kept.Clients + 1; kind < _bytes.Length; kind++) sum += this[(Kept)kind];
            return sum;
        }
    }

    internal void Add(Kept kind, long bytes)
    {
        if (bytes == 0) return;
        Interlocked.Add(ref _bytes[(int)kind], bytes);
        budget.Add(bytes);
    }
}
