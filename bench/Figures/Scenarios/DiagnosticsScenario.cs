using RedKite.Figures.Diagnostics;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>The cost of the diagnostics and what they find, of RedKite only. Each part can be measured alone.</summary>
internal static class DiagnosticsScenario
{
    private static readonly (string Name, Action<ServerKind, Options, Report> Measure)[] Parts =
    [
        (DiagnosticsCost.Name, DiagnosticsCost.Measure),
        (PackageTail.Name, PackageTail.Measure),
        (HotKeysFound.Name, HotKeysFound.Measure),
    ];

    /// <summary>The parts that --only accepts.</summary>
    internal static IReadOnlyList<string> Names { get; } = [.. Parts.Select(part => part.Name)];

    internal static Report Run(Options options)
    {
        // Scenarios that are run together share --only, so names of other scenarios' rows are not a mistake there.
        if (options.Scenarios.Count == 1) RowSelection.Check(options.Only, Names);
        var report = new Report("diagnostics", $"One loop on core {Machine.ServerCpus}, {options.Clients} connections on core {Machine.LoadCpus}. Cost: CPU per operation with `diagnostics yes`, the default, "
            + $"against `diagnostics no`, until the server is idle again, median of {options.Rounds} interleaved rounds: {options.Keys ?? DiagnosticsCost.Keys:N0} keys, all loaded first, "
            + $"{options.ValueBytes ?? DiagnosticsCost.ValueBytes}-byte values, SET:GET 1:10; {LoadGenerator.Description}. The part of the observing threads that does not depend on the load is in it. "
            + "Package: `redkite debug-package` with its defaults, 15 seconds of the log among them, while `redkite bench` sends requests in an open loop. Hottest keys: BUSYKEYS after a minute "
            + "of GETs by Zipf's distribution with the exponent 1.");
        if (!options.Servers.Contains("redkite"))
        {
            report.Notes.Add("not measured: it compares RedKite with itself");
            return report;
        }

        foreach ((_, Action<ServerKind, Options, Report> measure) in RowSelection.Of(Parts, part => part.Name, "diagnostics", options.Only)) measure(ServerKind.RedKite(options), options, report);
        return report;
    }
}
