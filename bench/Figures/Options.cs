using System.Globalization;

namespace RedKite.Figures;

/// <summary>What the command line asks for. Every number has the default that the published figures are made with.</summary>
internal sealed record Options
{
    internal const string Usage = """
        usage: ./dev bench [scenario...] [options]

        scenarios (all of them but types when none is named)
          cpu      server CPU for each operation: RedKite, Redis and the floor, by turns in one run
          loops    CPU for each operation with two event loops against one
          cache    user-mode CPU for each GET with 5,000,000 keys against 10,000
          memory   resident bytes for each of 5,000,000 string keys
          growth   the longest operation while 10,000,000 keys are loaded in process
          expiry   how soon 10,000,000 keys that expire at one moment are gone, though nobody touches them
          idle     resident bytes for each of 10,000 idle connections, and CPU beside them
          loadgen  CPU of `redkite bench` for each operation against redis-benchmark's, at the floor
          tail     latencies in an open loop at half the capacity, and the time from start to first reply
          types    the data types beside Redis: CPU of each operation, memory, delays while a value is freed
          all      every one of them but types, which takes half an hour

        options
          --pipelines 1,16,64     depths that cpu, loops and loadgen measure (idle measures 16, cache 64)
          --rounds 15             counted rounds for each server; the median is reported
          --seconds 1             length of a round of load
          --user-seconds 2        cache: user-mode CPU that a round lasts for (its clock is sampled)
          --clients 50            connections of the load
          --keys N                instead of the scenario's own number of keys
          --value-bytes N         instead of the scenario's own size of values
          --connections 10000     idle: idle connections
          --only LIST             types: these rows, such as zadd,hashes,free-one-set, or cpu-rows, memory-rows, freeing-rows
          --quick                 types: shorter rounds and smaller values, for a first look
          --servers LIST          of redkite,redis,floor: the servers to measure
          --redkite-command TEXT  start this instead of RedKite; {port}, {dir} and {loops} are filled in
          --no-build              measure the RedKite that was built last
          --json FILE             append each scenario's result to FILE as one line of JSON
          --write-readme          write the results into README.md, between its figures markers

        Exit status: 0 measured (met or not), 1 wrong arguments, 2 something that is needed did not start.
        """;

    internal IReadOnlyList<string> Scenarios { get; private init; } = [];
    internal IReadOnlyList<int> Pipelines { get; private init; } = [1, 16, 64];
    internal int Rounds { get; private init; } = 15;
    internal int Seconds { get; private init; } = 1;
    internal int UserSeconds { get; private init; } = 2;
    internal int Clients { get; private init; } = 50;
    internal int? Keys { get; private init; }
    internal int? ValueBytes { get; private init; }
    internal int Connections { get; private init; } = 10_000;
    internal IReadOnlyList<string> Only { get; private init; } = [];
    internal bool Quick { get; private init; }
    internal IReadOnlyList<string> Servers { get; private init; } = ["redkite", "redis", "floor"];
    internal string? RedKiteCommand { get; private init; }
    internal bool Build { get; private init; } = true;
    internal string? JsonFile { get; private init; }
    internal bool WriteReadme { get; private init; }

    /// <summary>The arguments as they were given, for the record beside the figures.</summary>
    internal string CommandLine { get; private init; } = "";

    /// <param name="named">Scenarios that run only when they are named.</param>
    /// <exception cref="FormatException">An argument is not understood; the message says which.</exception>
    internal static Options Parse(string[] arguments, IReadOnlyCollection<string> scenarioNames, params IReadOnlyCollection<string> named)
    {
        var options = new Options { CommandLine = string.Join(' ', ["./dev", "bench", .. arguments.Select(Quote)]) };
        List<string> scenarios = [];
        for (int i = 0; i < arguments.Length; i++)
        {
            string argument = arguments[i];
            string Value() => ++i < arguments.Length ? arguments[i] : throw new FormatException($"{argument} needs a value");
            int Number() => ParseNumber(argument, Value());
            options = argument switch
            {
                "--pipelines" => options with { Pipelines = [.. Value().Split(',').Select(text => ParseNumber(argument, text))] },
                "--rounds" => options with { Rounds = Number() },
                "--seconds" => options with { Seconds = Number() },
                "--user-seconds" => options with { UserSeconds = Number() },
                "--clients" => options with { Clients = Number() },
                "--keys" => options with { Keys = Number() },
                "--value-bytes" => options with { ValueBytes = Number() },
                "--connections" => options with { Connections = Number() },
                "--only" => options with { Only = Value().Split(',') },
                "--quick" => options with { Quick = true },
                "--servers" => options with { Servers = ParseServers(Value(), options.Servers) },
                "--redkite-command" => options with { RedKiteCommand = Value() },
                "--no-build" => options with { Build = false },
                "--json" => options with { JsonFile = Value() },
                "--write-readme" => options with { WriteReadme = true },
                _ when argument == "all" || scenarioNames.Contains(argument) => AddScenario(options, argument),
                _ => throw new FormatException($"{argument} is neither a scenario nor an option"),
            };
        }

        if (options is { WriteReadme: true, RedKiteCommand: not null })
        {
            throw new FormatException("--write-readme is for RedKite's own figures: it does not go with --redkite-command");
        }

        bool all = scenarios.Count == 0 || scenarios.Contains("all");
        return options with { Scenarios = all ? [.. scenarioNames.Except(named), .. scenarios.Where(named.Contains)] : scenarios };

        Options AddScenario(Options unchanged, string name)
        {
            scenarios.Add(name);
            return unchanged;
        }
    }

    private static int ParseNumber(string option, string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0
            ? number
            : throw new FormatException($"{option}: {text} is not a whole number above zero");

    private static string[] ParseServers(string text, IReadOnlyList<string> known)
    {
        string[] named = text.Split(',');
        return Array.Find(named, name => !known.Contains(name)) is { } unknown
            ? throw new FormatException($"--servers: {unknown} is none of {string.Join(", ", known)}")
            : named;
    }

    private static string Quote(string argument) => argument.Contains(' ', StringComparison.Ordinal) ? $"\"{argument}\"" : argument;
}
