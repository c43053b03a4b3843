using System.Diagnostics;
using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Streams;

/// <summary>Runs the stream of a seed and, if the servers differ, writes a report for debugging.</summary>
internal static class StreamTest
{
    public const string SeedVariable = "REDKITE_SEED";
    public const string StepsVariable = "REDKITE_STEPS";

    /// <summary>Comma-separated command names to restrict the templates to; OBJECT means all its subcommands.</summary>
    public const string CommandsVariable = "REDKITE_COMMANDS";

    private const int LastCommands = 20;
    private const int ExitWaitMs = 5_000;  // a crashing process closes its socket before it exits
    private const int LineMax = 200;
    private const int ShownStepsMax = 100;   // a nondeterministic crash cannot be shrunk
    private const int OutputLines = 60;      // enough for a stack trace
    // The gate runs this part of a stream's steps: a fixed seed finds little that its beginning does not.
    private const int GatePart = 3;
    // In a long run REDKITE_SEED stands for this many seeds.
    private const int FixedSeeds = 3;

    /// <summary>The seeds of a run: in the gate one; in a long run those that are kept, and new ones, or fixed ones from REDKITE_SEED on.</summary>
    public static int[] Seeds(int[] kept)
    {
        int[] seeds = TestScale.GivenSeed is { } given ? [.. Enumerable.Range(given, FixedSeeds)] : [Random.Shared.Next(1_000_000, int.MaxValue)];
        return TestScale.IsLong ? [.. seeds, .. kept] : [seeds[0]];
    }

    /// <summary>The number of steps or rounds: all of them in a long run, a part of them in the gate.</summary>
    public static int Steps(int count) => Read(StepsVariable) ?? TestScale.Of(gate: (count + GatePart - 1) / GatePart, full: count);

    /// <summary>Returns null if all replies were equal or allowed to differ, otherwise the report.</summary>
    public static string? Run(ServerPair pair, int seed, int count, IReadOnlyList<CommandFamily> families)
    {
        families = OnlyChosen(families);
        if (families.Count == 0) return null;
        List<Step> steps = StreamGenerator.Generate(seed, count, families);
        return StreamRunner.Run(pair, steps, seed) is { } difference ? Report(pair, seed, count, steps, difference) : null;
    }

    private static IReadOnlyList<CommandFamily> OnlyChosen(IReadOnlyList<CommandFamily> families)
    {
        if (Environment.GetEnvironmentVariable(CommandsVariable) is not { Length: > 0 } chosen) return families;
        string[] names = chosen.ToUpperInvariant().Split(',');
        return [.. families
            .Select(family => family with { Templates = [.. family.Templates.Where(template => names.Contains(template.Name.Split(' ')[0]))] })
            .Where(family => family.Templates.Length > 0)];
    }

    private static string Report(ServerPair pair, int seed, int count, List<Step> steps, Difference difference)
    {
        StringBuilder report = new();
        report.Append(CultureInfo.InvariantCulture, $"Step {difference.StepIndex} of seed {seed} differs. Replay: {SeedVariable}={seed} {StepsVariable}={count}\n");
        report.Append(difference);
        if (pair.Subject.Server.WaitForExit(ExitWaitMs) is { } exitCode)
        {
            report.Append(CultureInfo.InvariantCulture, $"The server under test has exited with code {exitCode}. Its last output:\n");
            report.AppendJoin('\n', pair.Subject.Server.Output.TakeLast(OutputLines)).Append('\n');
        }

        report.Append("Last commands:\n").AppendJoin('\n', steps.Take(difference.StepIndex + 1).TakeLast(LastCommands).Select(step => Shorten(step.ToString()))).Append('\n');
        if (pair.Subject.Server.WaitForExit(0) is not null) return report.ToString(); // shrinking needs a running server
        Stopwatch clock = Stopwatch.StartNew();
        (List<Step> smallest, Difference smallestDifference) = Shrinker.Shrink(steps, difference, candidate => StreamRunner.Run(pair, candidate, seed));
        report.Append(CultureInfo.InvariantCulture, $"Smallest transcript found in {clock.ElapsedMilliseconds} ms ({smallest.Count} steps):\n");
        if (smallest.Count > ShownStepsMax) report.Append(CultureInfo.InvariantCulture, $"(the last {ShownStepsMax} of them)\n");
        report.AppendJoin('\n', smallest.TakeLast(ShownStepsMax)).Append('\n');
        report.Append(smallestDifference);
        return report.ToString();
    }

    private static string Shorten(string line) => line.Length <= LineMax ? line : $"{line.AsSpan(0, LineMax)}... ({line.Length} characters)";

    private static int? Read(string variable) =>
        int.TryParse(Environment.GetEnvironmentVariable(variable), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out int value) ? value : null;
}
