using System.Globalization;

namespace RedKite.Compare;

/// <summary>The parsed command line.</summary>
internal sealed record CompareOptions
{
    internal const string Usage = """
        usage: ./dev bench compare BASE [options]             the working copy against a git revision
               ./dev bench compare --base DIR --diff DIR      two folders of BenchmarkDotNet's results

        what (at least one, unless folders are given)
          --filter GLOB       microbenchmarks, as in './dev bench micro'; may be repeated
          --scenario LIST     server CPU per operation: cpu-p1, cpu-p16, ... (the number is the pipeline depth)

        options
          --threshold 5%      smaller differences count as none
          --launches 10       alternating starts of each build, at least 3
          --iterations 10     microbenchmarks: measurements per launch
          --rounds 5          scenarios: measurements per launch
          --seconds 1         scenarios: length of a round
          --keys 1000000      scenarios: keys, all loaded first
          --results DIR       keep the microbenchmarks' results in DIR/base and DIR/diff

        Exit status: 0 nothing is slower, 1 something is slower or allocates more, 2 not compared (invalid arguments, or a
        failed build or start), 3 the launches vary too much for a verdict on something, and nothing is slower.
        """;

    private const string ScenarioPrefix = "cpu-p";

    internal string? Revision { get; private init; }
    internal string? BaseFolder { get; private init; }
    internal string? DiffFolder { get; private init; }
    internal IReadOnlyList<string> Filters { get; private init; } = [];

    /// <summary>The pipeline depths of the server scenarios.</summary>
    internal IReadOnlyList<int> Pipelines { get; private init; } = [];
    internal double ThresholdPercent { get; private init; } = 5;
    internal int Launches { get; private init; } = 10;
    internal int Iterations { get; private init; } = 10;
    internal int Rounds { get; private init; } = 5;
    internal int Seconds { get; private init; } = 1;
    internal int Keys { get; private init; } = 1_000_000;
    internal string? ResultsFolder { get; private init; }

    /// <exception cref="FormatException">An argument is invalid; the message names it.</exception>
    internal static CompareOptions Parse(string[] arguments)
    {
        var options = new CompareOptions();
        for (int i = 0; i < arguments.Length; i++)
        {
            string argument = arguments[i];
            string Value() => ++i < arguments.Length ? arguments[i] : throw new FormatException($"{argument} needs a value");
            int Number() => ParseNumber(argument, Value());
            options = argument switch
            {
                "--base" => options with { BaseFolder = Value() },
                "--diff" => options with { DiffFolder = Value() },
                "--filter" => options with { Filters = [.. options.Filters, Value()] },
                "--scenario" => options with { Pipelines = [.. options.Pipelines, .. Value().Split(',').Select(ParseScenario)] },
                "--threshold" => options with { ThresholdPercent = ParsePercent(argument, Value()) },
                "--launches" => options with { Launches = Number() },
                "--iterations" => options with { Iterations = Number() },
                "--rounds" => options with { Rounds = Number() },
                "--seconds" => options with { Seconds = Number() },
                "--keys" => options with { Keys = Number() },
                "--results" => options with { ResultsFolder = Value() },
                // A revision that begins with a dash would be an option to git too.
                _ when argument.StartsWith('-') => throw new FormatException($"{argument} is not an option"),
                _ when options.Revision is null => options with { Revision = argument },
                _ => throw new FormatException($"{argument}: the base is already {options.Revision}"),
            };
        }

        return options.Checked();
    }

    internal static string ScenarioName(int pipeline) => string.Create(CultureInfo.InvariantCulture, $"{ScenarioPrefix}{pipeline}");

    private CompareOptions Checked()
    {
        bool folders = BaseFolder is not null || DiffFolder is not null;
        bool chosen = Filters.Count > 0 || Pipelines.Count > 0;
        if (folders && (BaseFolder is null || DiffFolder is null)) throw new FormatException("--base and --diff go together");
        if (folders && (Revision is not null || chosen)) throw new FormatException("--base and --diff measure nothing: they take no revision, --filter or --scenario");
        if (!folders && Revision is null) throw new FormatException("the base revision is missing");
        if (!folders && !chosen) throw new FormatException("--filter or --scenario is required");
        return this;
    }

    private static int ParseScenario(string name) =>
        name.StartsWith(ScenarioPrefix, StringComparison.Ordinal)
            ? ParseNumber("--scenario", name[ScenarioPrefix.Length..])
            : throw new FormatException($"--scenario: {name} is not {ScenarioPrefix} followed by a pipeline depth");

    private static double ParsePercent(string option, string text) =>
        double.TryParse(text.TrimEnd('%'), NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out double percent) && percent is > 0 and < 100
            ? percent
            : throw new FormatException($"{option}: {text} is not between 0% and 100%");

    private static int ParseNumber(string option, string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0
            ? number
            : throw new FormatException($"{option}: {text} is not a positive integer");
}
