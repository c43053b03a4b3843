namespace RedKite.History;

internal enum HistoryVerb
{
    Record,
    History,
}

/// <summary>The parsed command line.</summary>
internal sealed record HistoryOptions
{
    internal const string Usage = """
        usage: ./dev bench record [options] [-- options of './dev bench']    measure and append to the results file
               ./dev bench history [options]                                 chart the results file as a page

        record
          --scenarios LIST    of './dev bench --help' (default cpu,memory, in short forms)
          --allow-dirty       also measure a working copy with changes, and mark the record

        history
          --out FILE          the page (default artifacts/history.html)

        both
          --results FILE      the results file (default bench/results.ndjson)

        Exit status: 0 done, 2 invalid arguments, uncommitted changes, a malformed line, or no measurement.
        """;

    internal HistoryVerb Verb { get; private init; }
    internal IReadOnlyList<string> Scenarios { get; private init; } = Recorder.DefaultScenarios;
    internal bool AllowDirty { get; private init; }
    internal IReadOnlyList<string> Settings { get; private init; } = [];

    /// <summary>Relative to the repository, like all paths here.</summary>
    internal string ResultsFile { get; private init; } = History.ResultsFile.RepositoryPath;
    internal string Page { get; private init; } = "artifacts/history.html";

    /// <exception cref="FormatException">An argument is invalid; the message names it.</exception>
    internal static HistoryOptions Parse(string[] arguments)
    {
        var options = new HistoryOptions
        {
            Verb = arguments.FirstOrDefault() switch
            {
                "record" => HistoryVerb.Record,
                "history" => HistoryVerb.History,
                _ => throw new FormatException("the first argument must be record or history"),
            },
        };
        bool records = options.Verb == HistoryVerb.Record;
        for (int i = 1; i < arguments.Length; i++)
        {
            string argument = arguments[i];
            string Value() => ++i < arguments.Length ? arguments[i] : throw new FormatException($"{argument} needs a value");
            if (argument == "--" && records) return options with { Settings = arguments[(i + 1)..] };
            options = argument switch
            {
                "--results" => options with { ResultsFile = Value() },
                "--scenarios" when records => options with { Scenarios = Value().Split(',') },
                "--allow-dirty" when records => options with { AllowDirty = true },
                "--out" when !records => options with { Page = Value() },
                _ => throw new FormatException($"{argument} is not an option of {arguments[0]}"),
            };
        }

        return options;
    }
}
