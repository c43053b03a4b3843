using RedKite.Figures.Names;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// Case-insensitive name lookup, step by step: the total number of calls that many threads make in a second. docs/name-lookup.md
/// explains the steps.
/// </summary>
internal static class NamesScenario
{
    private const int Threads = 32;
    private const int RoundsMax = 3;
    private const double ByDictionaryMin = 1;

    internal static Report Run(Options options)
    {
        int rounds = Math.Min(RoundsMax, options.Rounds);
        var report = new Report("names", $"Calls in one second, in all, by {Threads} threads that look up {NameSet.Names.Length} names in three casings each "
            + $"(lower, upper, mixed), in random order: median of {rounds} interleaved rounds after a warm-up round, with the range. In this process, on all cores.");
        var table = new Table("lookups", new("step"), new("million calls", "F1"), new("range", "F1"), new("by the dictionary", "F2"), new("range by the dictionary", "F2"));
        report.Tables.Add(table);

        IReadOnlyList<LookupStep> steps = LookupStep.All;
        Dictionary<LookupStep, double[]> measured = steps.ToDictionary(step => step, _ => new double[rounds]);
        foreach (LookupStep step in steps) step.CountCalls(Threads, TimeSpan.FromSeconds(1));
        for (int round = 0; round < rounds; round++)
        {
            Console.Error.WriteLine($"names: round {round + 1} of {rounds}");
            foreach (LookupStep step in round % 2 == 0 ? steps : steps.Reverse()) measured[step][round] = step.CountCalls(Threads, TimeSpan.FromSeconds(1));
        }

        foreach (LookupStep step in steps)
        {
            Spread own = Spread.Of(measured[step].Select(calls => calls / 1e6)), ratio = Spread.OfRatios(measured[step], measured[steps[0]]);
            table.Add(step.Name, own.Median, own.Range, ratio.Median, ratio.Range);
            if (step == steps[^1]) report.Targets.Add(Target.AtLeast(ByDictionaryMin, $"{step.Name} / {steps[0].Name}", ratio));
        }

        return report;
    }
}
