using RedKite.Figures.Replication;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>The cost of replicas, of being one, and of losing a primary, next to Redis's. Each part can be measured alone.</summary>
internal static class ReplicationScenario
{
    private static readonly (string Name, Action<IReadOnlyList<ServerKind>, Options, Report> Measure)[] Parts =
    [
        (PrimaryCost.Name, PrimaryCost.Measure),
        (ApplyCost.Name, ApplyCost.Measure),
        (FullSyncCost.Name, FullSyncCost.Measure),
        (AwayReplica.Name, AwayReplica.Measure),
        (FailoverTime.Name, FailoverTime.Measure),
        (AcknowledgedWrites.Name, AcknowledgedWrites.Measure),
    ];

    /// <summary>The parts that --only accepts.</summary>
    internal static IReadOnlyList<string> Names { get; } = [.. Parts.Select(part => part.Name)];

    internal static Report Run(Options options)
    {
        // Scenarios that are run together share --only, so names of other scenarios' rows are not a mistake there.
        if (options.Scenarios.Count == 1) RowSelection.Check(options.Only, Names);
        var report = new Report("replication", $"SETs: `redkite bench` on core {Machine.LoadCpus}, servers (RedKite with one loop) on core {Machine.ServerCpus}, medians of {options.Rounds} rounds, with their range. Replicas that keep nothing are threads of the "
            + "measuring program on the load's core: they read the stream and acknowledge once a second. Full synchronizations, replicas that were away and failovers: servers on both cores. Reads beside a synchronization: one each millisecond, each from when it was due.");
        List<ServerKind> kinds = [.. ServerKind.Available(options, report).Where(kind => kind.Name != "floor")];
        foreach ((string name, Action<IReadOnlyList<ServerKind>, Options, Report> measure) in RowSelection.Of(Parts, part => part.Name, "replication", options.Only))
        {
            Console.Error.WriteLine($"replication: {name}");
            try
            {
                measure(kinds, options, report);
            }
            catch (CannotMeasureException failure)
            {
                report.Notes.Add($"{name} is not measured: {failure.Message}"); // the other parts are
            }
        }

        return report;
    }
}
