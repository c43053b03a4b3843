using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Eviction;

/// <summary>
/// Converts maxmemory into the limit of the stored data: the process's fixed share, connections and their buffers, and scripts, which
/// used_memory counts as well, are taken off. They change slowly and are read about ten times a second.
/// </summary>
internal sealed class MemoryLimit(Settings settings, Keyspace keyspace)
{
    // The process's growth is counted up to this part of maxmemory. If it grows more, something is wrong that evictions cannot fix.
    private const int GrowthPartMax = 8;

    // Under a smaller limit the growth is not counted: some megabytes of compiled code would take what is left for data.
    private const ulong GrowthLimitMin = 128 << 20;

    // The weight of a new measurement; earlier ones, about two seconds of them, have the rest.
    private const int GrowthWeight = 16;

    // What the limit must leave for data at the start.
    private const long DataBytesMin = 4 << 20;

    private readonly Lock _changing = new();

    private int _freeingStripe;
    private long _othersBytes; // what used_memory counts and does not report to the budget itself, as of the last Apply

    /// <summary>The stripe of the last eviction of a value with a structure, which may not be free yet.</summary>
    internal int FreeingStripe
    {
        get => Volatile.Read(ref _freeingStripe);
        set => Volatile.Write(ref _freeingStripe, value);
    }

    /// <summary>
    /// Whether all of the process's memory is the server's. Then used_memory includes what the process had at the start and, under a limit, by how
    /// much it has grown since apart from the store, the clients and the scripts: compiled code, the managed heap. In a host's
    /// process, that memory is the host's.
    /// </summary>
    internal bool OwnsProcess { get; init; }

    /// <summary>Whether there is no limit at the moment, whatever the setting says: on a replica, whose primary evicts.</summary>
    internal Func<bool> IsSuspended { get; init; } = static () => false;

    /// <summary>For tests: called between the measurement and its application.</summary>
    internal event Action? Measured;

    /// <summary>Refuses a limit that the program itself exceeds, so that no key could ever be written.</summary>
    /// <exception cref="RedKiteConfigException">It does.</exception>
    internal void CheckAtStart()
    {
        long resident = OwnsProcess ? ProcessMemory.ResidentBytes : 0;
        if (resident == 0 || settings.MaxMemoryBytes == 0 || settings.MaxMemoryBytes >= (ulong)(resident + DataBytesMin)) return;
        throw new RedKiteConfigException(FormattableString.Invariant(
            $"maxmemory '{settings.MaxMemoryBytes}': the program itself takes {resident >> 20} MiB, which count, so no key could be written: set at least {(resident + DataBytesMin + (1 << 20) - 1) >> 20}mb, or 0 for no limit"));
    }

    /// <summary>Applies the setting, or what else uses memory. From any thread.</summary>
    /// <param name="registry">The counters; null: the server has not started yet.</param>
    /// <param name="reports">Whether every stripe reports its exact usage.</param>
    internal void Apply(MetricsRegistry? registry, bool reports)
    {
        if (settings.MaxMemoryBytes == 0 && keyspace.Budget.LimitBytes is null) return;
        lock (_changing)
        {
            // Read with the lock: otherwise a limit that was read before CONFIG SET could replace the new one.
            ulong limit = settings.MaxMemoryBytes;
            if (registry is not null && OwnsProcess) registry.Server.NoteGrowth(Growth(registry, limit));
            _othersBytes = registry is null ? 0 : MemoryFigures.UnreportedBytes(registry, ServerTotals.Of(registry));
            Measured?.Invoke();
            Limit(limit, reports);
        }

        if (!keyspace.Budget.IsExceeded) registry?.Server.NoteExceeded(false);
    }

    /// <summary>Takes the buffers of a closed connection off what counts. Called by its loop.</summary>
    internal void NoteReleased(BufferWatch buffers, long bytes)
    {
        if (bytes == 0) return;
        lock (_changing)
        {
            buffers.NoteReleased(bytes);
            _othersBytes -= bytes;
            if (keyspace.Budget.LimitBytes is not null) Limit(settings.MaxMemoryBytes, reports: false);
        }
    }

    // With the lock.
    private void Limit(ulong limit, bool reports) =>
        keyspace.LimitMemory(limit == 0 || IsSuspended() ? null : Math.Max(-1, (long)Math.Min(limit, long.MaxValue / 4) - _othersBytes), reports);

    private static long Growth(MetricsRegistry registry, ulong limit)
    {
        if (limit < GrowthLimitMin) return 0;
        long known = registry.Server.StartupBytes + registry.Keyspace.ResidentBytes + ServerTotals.Of(registry).ClientBytes + registry.Kept.Bytes + registry.ScriptBytes;
        long measured = Math.Clamp(ProcessMemory.ResidentBytes - known, 0, (long)Math.Min(limit / GrowthPartMax, long.MaxValue));
        long before = registry.Server.GrowthBytes;
        return before + ((measured - before) / GrowthWeight);
    }
}
