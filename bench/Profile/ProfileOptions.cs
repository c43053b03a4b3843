using System.Globalization;

namespace RedKite.Profile;

/// <summary>The parsed command line.</summary>
internal sealed record ProfileOptions(ProfileScenario Scenario)
{
    // Larger files exceed what viewers can open, and a run's time is limited.
    private const int SecondsMax = 120;
    private const int LoopsMax = 64;

    internal static string Usage { get; } = $"""
        usage: ./dev bench profile SCENARIO [options]

        Starts the server, warms it up and samples its stacks under load: the runtime's profile of managed frames and, if
        perf is on PATH, a second one that includes native and kernel frames.

        scenarios
        {string.Join('\n', ProfileScenario.All.Select(scenario => $"  {scenario.Name,-10} {scenario.Purpose}"))}

        options
          --seconds 5    length of each profile
          --loops 1      event loops of the server
          --keys N       overrides the scenario's number of keys
          --out FOLDER   output folder (default artifacts/profiles/SCENARIO-<date>)
          --no-build     profile the existing build of RedKite

        files
          methods.txt         the hottest methods; waiting is listed separately
          trace.nettrace      the profile for PerfView, Visual Studio, dotnet-trace
          speedscope.json     the same for https://www.speedscope.app
          perf-methods.txt    the hottest methods with native and kernel frames
          perf.data           for perf report and perf annotate
          perf.collapsed      its stacks, one per line: flame graphs, speedscope

        Exit status: 0 profiled, 1 invalid arguments, 2 a required program is missing, failed or exited early.
        """;

    internal int Seconds { get; private init; } = 5;

    internal int Loops { get; private init; } = 1;

    internal int Keys { get; private init; } = Scenario.Keys;

    /// <summary>Null: a folder under artifacts/profiles.</summary>
    internal string? OutputFolder { get; private init; }

    internal bool Build { get; private init; } = true;

    /// <exception cref="FormatException">An argument is invalid; the message names it.</exception>
    internal static ProfileOptions Parse(IReadOnlyList<string> arguments)
    {
        string known = string.Join(", ", ProfileScenario.All.Select(scenario => scenario.Name));
        if (arguments.Count == 0) throw new FormatException($"the scenario is missing: one of {known}");
        ProfileScenario scenario = Array.Find(ProfileScenario.All, scenario => scenario.Name == arguments[0])
            ?? throw new FormatException($"{arguments[0]} is not one of {known}");
        var options = new ProfileOptions(scenario);
        for (int i = 1; i < arguments.Count; i++)
        {
            string option = arguments[i];
            string Value() => ++i < arguments.Count ? arguments[i] : throw new FormatException($"{option} needs a value");
            int Number(int most) => ParseNumber(option, Value(), most);
            options = option switch
            {
                "--seconds" => options with { Seconds = Number(SecondsMax) },
                "--loops" => options with { Loops = Number(LoopsMax) },
                "--keys" => options with { Keys = Number(int.MaxValue) },
                "--out" => options with { OutputFolder = Value() },
                "--no-build" => options with { Build = false },
                _ => throw new FormatException($"{option} is not an option"),
            };
        }

        return options;
    }

    private static int ParseNumber(string option, string text, int most) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0 && number <= most
            ? number
            : throw new FormatException(string.Create(CultureInfo.InvariantCulture, $"{option}: {text} is not an integer from 1 to {most}"));
}
