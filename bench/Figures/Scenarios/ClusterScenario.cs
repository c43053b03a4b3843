using RedKite.Figures.Cluster;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>What cluster mode costs, and what clients notice of failovers and of slots that move, next to Redis and Valkey. Each part can be measured alone.</summary>
internal static class ClusterScenario
{
    private static readonly (string Name, Action<Options, Report> Measure)[] Parts =
    [
        (ClusterCpu.Name, ClusterCpu.Measure),
        (SlotMemory.Name, SlotMemory.Measure),
        (ShardFailover.Name, ShardFailover.Measure),
        (SlotMoves.Name, SlotMoves.Measure),
    ];

    /// <summary>The parts that --only accepts.</summary>
    internal static IReadOnlyList<string> Names { get; } = [.. Parts.Select(static part => part.Name)];

    internal static Report Run(Options options)
    {
        // Scenarios that are run together share --only, so names of other scenarios' rows are not a mistake there.
        if (options.Scenarios.Count == 1) RowSelection.Check(options.Only, Names);
        var report = new Report("cluster", $"CPU: `redkite bench` on core {Machine.LoadCpus}, servers (RedKite with one loop) on core {Machine.ServerCpus}; a node has all slots; medians of {options.Rounds} interleaved rounds, with their range. Memory: growth of the resident set, each round "
            + "in a new process. Failovers and moves: servers on both cores, waits of writes by the clock, each until a node has accepted it. What replica-acks costs: `./dev bench replication --only acks`.");
        foreach ((string name, Action<Options, Report> measure) in RowSelection.Of(Parts, static part => part.Name, "cluster", options.Only))
        {
            Console.Error.WriteLine($"cluster: {name}");
            try
            {
                measure(options, report);
            }
            catch (CannotMeasureException failure)
            {
                report.Notes.Add($"{name} is not measured: {failure.Message}"); // the other parts are
            }
        }

        return report;
    }
}
