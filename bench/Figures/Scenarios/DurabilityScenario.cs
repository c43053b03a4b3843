using RedKite.Figures.Durability;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>The cost of keeping data on disk, next to Redis's and Valkey's. Each part can be measured alone.</summary>
internal static class DurabilityScenario
{
    private static readonly (string Name, Action<IReadOnlyList<ServerKind>, Options, Report> Measure)[] Parts =
    [
        (SyncedWrites.Name, SyncedWrites.Measure),
        (LoggedCost.Name, LoggedCost.Measure),
        (SnapshotCost.Name, SnapshotCost.Measure),
        (DumpTimes.Name, DumpTimes.Measure),
        (DumpTimes.LargestName, DumpTimes.MeasureLargest),
    ];

    /// <summary>The parts that --only accepts.</summary>
    internal static IReadOnlyList<string> Names { get; } = [.. Parts.Select(part => part.Name)];

    internal static Report Run(Options options)
    {
        // Scenarios that are run together share --only, so names of other scenarios' rows are not a mistake there.
        if (options.Scenarios.Count == 1) RowSelection.Check(options.Only, Names);
        var report = new Report("durability", $"Files of all servers on the same disk. Synced and logged SETs: `redkite bench` on core {Machine.LoadCpus}, servers (RedKite with one loop) on core {Machine.ServerCpus}, medians of {options.Rounds} "
            + "interleaved rounds, with their range; logs are not rewritten meanwhile. Snapshots and loads: servers on both cores. CPU includes child processes. Reads beside a snapshot: one each millisecond, each from when it was due; "
            + "a server's writes are the same before and during its snapshot. A load counts from the start of the process until the data is there.");
        List<ServerKind> kinds = [.. ServerKind.Available(options, report).Where(kind => kind.Name != "floor")];
        IEnumerable<(string Name, Action<IReadOnlyList<ServerKind>, Options, Report> Measure)> parts = RowSelection.Of(Parts, part => part.Name, "durability", options.Only);
        // Minutes and gigabytes: only when it is named.
        if (!options.Only.Contains(DumpTimes.LargestName)) parts = parts.Where(part => part.Name != DumpTimes.LargestName);
        foreach ((_, Action<IReadOnlyList<ServerKind>, Options, Report> measure) in parts) measure(kinds, options, report);
        return report;
    }
}
