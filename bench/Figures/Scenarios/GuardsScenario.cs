using RedKite.Figures.Guards;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>The cost of users, TLS and a full memory, next to Redis's. Each part can be measured alone.</summary>
internal static class GuardsScenario
{
    private static readonly (string Name, Action<IReadOnlyList<ServerKind>, Options, Report> Measure)[] Parts =
    [
        (UserCost.Name, UserCost.Measure),
        (TlsCost.Name, TlsCost.Measure),
        (HandshakeTail.Name, HandshakeTail.Measure),
        (HitRates.Name, HitRates.Measure),
        (EvictionCost.Name, EvictionCost.Measure),
    ];

    /// <summary>The parts that --only accepts.</summary>
    internal static IReadOnlyList<string> Names { get; } = [.. Parts.Select(part => part.Name)];

    internal static Report Run(Options options)
    {
        // Scenarios that are run together share --only, so names of other scenarios' rows are not a mistake there.
        if (options.Scenarios.Count == 1) RowSelection.Check(options.Only, Names);
        var report = new Report("guards", $"{options.Clients} connections on core {Machine.LoadCpus}, servers (RedKite with one loop) on core {Machine.ServerCpus}, medians of {options.Rounds} "
            + "interleaved rounds, with their range; ratios are of adjacent rounds. CPU counts until the server is idle again. Users and TLS: redis-benchmark, the difference of a long and a "
            + "short run with as many connections, so that logins and handshakes cancel out; the user's last of ten patterns allows the keys. Handshakes: `redkite bench` sends plain requests "
            + "in an open loop while redis-benchmark makes TLS connections with the lowest priority; p99.9 covers the whole load. Hit rates: the same trace for all servers, what a read misses is written.");
        List<ServerKind> kinds = [.. ServerKind.Available(options, report).Where(kind => kind.Name != "valkey")];
        foreach ((_, Action<IReadOnlyList<ServerKind>, Options, Report> measure) in RowSelection.Of(Parts, part => part.Name, "guards", options.Only)) measure(kinds, options, report);
        return report;
    }
}
