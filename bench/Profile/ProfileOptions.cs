using System.Globalization;

namespace RedKite.Profile;

/// <summary>What the command line asks for.</summary>
internal sealed record ProfileOptions(ProfileScenario Scenario)
{
    // Beyond, the files outgrow what viewers open; the time of a run stays bounded.
    private const int SecondsMax = 120;
    private const int LoopsMax = 64;

    internal static string Usage { get; } = $"""
        usage: ./dev bench profile SCENARIO [options]

        Starts the server, warms it up and samples its stacks under load: the runtime's own profile of managed frames and,
        where perf is on PATH, one with native and kernel frames too.

        scenarios
        {string.Join('\n', ProfileScenario.All.Select(scenario => $"  {scenario.Name,-10} {scenario.Purpose}"))}

        options
          --seconds 5    length of each profile
          --loops 1      event loops of the server
          --keys N       instead of the scenario's own number of keys
          --out FOLDER   instead of artifacts/profiles/SCENARIO-<date>
          --no-build     profile the RedKite that was built last

        files
          methods.txt         the hottest methods, running and waiting apart
          trace.nettrace      the profile itself: PerfView, Visual Studio, dotnet-trace
          speedscope.json     the same for https://www.speedscope.app
          perf-methods.txt    the hottest methods with native and kernel frames
          perf.data           for perf report and perf annotate
          perf.collapsed      its stacks, one a line: flame graphs, speedscope

        Exit status: 0 profiled, 1 wrong arguments, 2 something that is needed did not start or ended early.
        """;

    internal int Seconds { get; private init; } = 5;

    internal int Loops { get; private init; } = 1;

    internal int Keys { get; private init; } = Scenario.Keys;

    /// <summary>Null: a folder under artifacts/profiles.</summary>
    internal string? OutputFolder { get; private init; }

    internal bool Build { get; private init; } = true;

    /// <exception cref="FormatException">An argument is not understood; the message says which.</exception>
    internal static ProfileOptions Parse(IReadOnlyList<string> arguments)
    {
        string known = string.Join(", ", ProfileScenario.All.Select(scenario => scenario.Name));
        if (arguments.Count == 0) throw new FormatException($"which scenario of {known}?");
        ProfileScenario scenario = Array.Find(ProfileScenario.All, scenario => scenario.Name == arguments[0])
            ?? throw new FormatException($"{arguments[0]} is none of {known}");
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
                _ => throw new FormatException($"{option} is no option"),
            };
        }

        return options;
    }

    private static int ParseNumber(string option, string text, int most) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0 && number <= most
            ? number
            : throw new FormatException(string.Create(CultureInfo.InvariantCulture, $"{option}: {text} is not a whole number from 1 to {most}"));
}
