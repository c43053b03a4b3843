using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// The data types beside Redis: the CPU of each operation, the memory of small and of large values, and the delay that
/// other commands have while a large value is freed. Any of its rows can be measured alone.
/// </summary>
internal static class TypesScenario
{
    private const int Elements = 1_000_000;
    private const int QuickElements = 100_000;
    private const int QuickRounds = 3;

    private const string Cpu = "cpu-rows";
    private const string Memory = "memory-rows";
    private const string Freeing = "freeing-rows";

    /// <summary>What --only may name: tables and rows.</summary>
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
            + $"servers (RedKite with one loop) on core {Machine.ServerCpus}; medians of {rounds} rounds by turns, and ratios of neighbouring rounds. "
            + "Memory: growth from a warm server without data, for each value or for each element of the one. "
            + $"Freeing: the longest of the GETs that one connection sends without a pause, by the wall's clock and by the CPU that the server used meanwhile; "
            + $"of {rounds} windows (Redis: one) the one whose longest is the shortest is judged, since the machine delays some, the server all.");
        List<ServerKind> kinds = ServerKind.Available(options, report);
        TypeCpu.Measure(kinds, RowSelection.Of(TypeOperations.All, static row => row.Name, Cpu, options.Only), rounds, options.Quick, report);
        TypeMemory.Measure(kinds, RowSelection.Of(TypeShape.All, static row => row.Name, Memory, options.Only), elements, report);
        TypeFreeing.Measure(kinds, RowSelection.Of(TypeFreeing.Values, static row => row.Name, Freeing, options.Only), elements, rounds, report);
        return report;
    }
}
