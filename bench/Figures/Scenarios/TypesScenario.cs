using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// The data types against Redis: CPU per operation, memory of small and large values, and the delay of other commands
/// while a large value is freed. Each row can be measured alone.
/// </summary>
internal static class TypesScenario
{
    private const int Elements = 1_000_000;
    private const int QuickElements = 100_000;
    private const int QuickRounds = 5;
    private const int QuickFreeingRounds = 2;

    private const string Cpu = "cpu-rows";
    private const string Memory = "memory-rows";
    private const string Freeing = "freeing-rows";

    /// <summary>The tables and rows that --only accepts.</summary>
    internal static IReadOnlyList<string> Names { get; } =
    [
        Cpu, Memory, Freeing, .. TypeOperations.All.Select(operation => operation.Name), .. TypeShape.All.Select(shape => shape.Name),
        .. TypeFreeing.Values.Select(value => value.Name),
    ];

    internal static Report Run(Options options)
    {
        RowSelection.Check(options.Only, Names);
        int elements = options.Keys ?? (options.Quick ? QuickElements : Elements);
        int rounds = options.Quick ? Math.Min(QuickRounds, options.Rounds) : options.Rounds;
        var report = new Report("types", $"CPU: redis-benchmark with {RoundSize.Clients} connections, pipeline {RoundSize.Pipeline}, on core {Machine.LoadCpus}, "
            + $"servers (RedKite with one loop) on core {Machine.ServerCpus}; medians of {rounds} interleaved rounds until the server is idle again, \"later\" the part after the last reply, and ratios of adjacent rounds. "
            + "Memory: growth from a warm server without data, per value or, for one large value, per element. "
            + $"Freeing: the longest GET of a connection that sends them without a pause, by wall clock and by the CPU that the server used meanwhile; "
            + $"the lowest maximum of several windows counts, because the machine delays some of them and the server all; the range shows the worst one.");
        List<ServerKind> kinds = ServerKind.Available(options, report);
        TypeCpu.Measure(kinds, RowSelection.Of(TypeOperations.All, static row => row.Name, Cpu, options.Only), rounds, options.Quick, report);
        TypeMemory.Measure(kinds, RowSelection.Of(TypeShape.All, static row => row.Name, Memory, options.Only), elements, report);
        TypeFreeing.Measure(kinds, RowSelection.Of(TypeFreeing.Values, static row => row.Name, Freeing, options.Only), elements, options.Quick ? QuickFreeingRounds : rounds, options.Quick, report);
        return report;
    }
}
