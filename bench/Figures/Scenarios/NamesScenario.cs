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
        var report = new Report("names", $"Calls in one second, in all, by {Threads} threads that look up {NameSet.Names.Length} names in random order, "
            + $"in three casings each (lower, upper, mixed) or as they are declared: median of {rounds} interleaved rounds after a warm-up round, with the range. In this process, on all cores.");
        Measure(report, rounds, "three casings mixed", mixed: true);
        Measure(report, rounds, "casings that match the declared names", mixed: false);
        return report;
    }

    private static void Measure(Report report, int rounds, string title, bool mixed)
    {
        var table = new Table(title, new("step"), new("million calls", "F1"), new("range", "F1"), new("by the dictionary", "F2"), new("range by the dictionary", "F2"));
        report.Tables.Add(table);

        IReadOnlyList<LookupStep> steps = LookupStep.NewSteps();
        Dictionary<LookupStep, double[]> measured = steps.ToDictionary(step => step, _ => new double[rounds]);
        foreach (LookupStep step in steps) step.CountCalls(Threads, TimeSpan.FromSeconds(1), mixed);
        for (int round = 0; round < rounds; round++)
        {
            Console.Error.WriteLine($"{title}: round {round + 1} of {rounds}");
            foreach (LookupStep step in round % 2 == 0 ? steps : steps.Reverse()) measured[step][round] = step.CountCalls(Threads, TimeSpan.FromSeconds(1), mixed);
        }

        foreach (LookupStep step in steps)
        {
            Spread own = Spread.Of(measured[step].Select(calls => calls / 1e6)), ratio = Spread.OfRatios(measured[step], measured[steps[0]]);
            table.Add(step.Name, own.Median, own.Range, ratio.Median, ratio.Range);
            if (step == steps[^1]) report.Targets.Add(Target.AtLeast(ByDictionaryMin, $"{step.Name} / {steps[0].Name}, {title}", ratio));
        }
    }
}
