using System.Globalization;
using RedKite.Figures.Scenarios;

namespace RedKite.Figures;

/// <summary>The parsed command line. The defaults are those of the published figures.</summary>
internal sealed record Options
{
    internal const string Usage = """
        usage: ./dev bench [scenario...] [options]

        scenarios (default: all)
          cpu      server CPU per operation: RedKite, Redis, Valkey and the floor, in interleaved rounds
          newkeys  server CPU of loading 3,000,000 new keys, until the server is idle again
          loops    CPU per operation with two event loops against one
          diagnostics  CPU per operation with diagnostics on against off, a debug package under load, the keys that BUSYKEYS finds
          cache    user-mode CPU per GET with 5,000,000 keys against 10,000
          memory   resident bytes per key with 5,000,000 strings
          growth   longest operation while 10,000,000 keys are loaded in process
          expiry   time to remove 10,000,000 untouched keys that expire at the same moment
          idle     resident bytes per connection with 10,000 idle connections, and CPU with and without them
          loadgen  CPU per operation of `redkite bench` against redis-benchmark, with the floor as the server
          tail     open-loop latencies at half the capacity, and the time from start to first reply
          behaviors  server CPU per GET with 1 to 40 behaviors, relative to none
          names    case-insensitive name lookup, step by step: calls per second of 32 threads
          guards   CPU of a user's key patterns, TLS and eviction, latency during TLS handshakes, hit rates
          durability  synced and logged writes, snapshots and loads against Redis and Valkey: rate, CPU, latency, memory
          replication  a primary's and a replica's CPU per SET, full synchronization and failover against Redis and Valkey
          cluster  cluster mode against none and Redis: CPU, bytes per key, failover, slots that move (ten minutes)
          types    data types against Redis and Valkey: CPU per operation, memory, delays while a value is freed
          messages  scripts, transactions, messages and tracking against Redis: CPU per operation
          vectors  vector sets against Redis: CPU of VADD and VSIM, recall, memory (100,000 vectors, or --keys)
          documents  JSON documents against strings of the same bytes: CPU of a field and of loading
          sketches  Bloom filters against sets: CPU of adding a thousand elements at once
          embedding  the server in the process: calls of the typed client, a distributed cache against one over loopback, start of a test server
          churn    an hour: resident memory of a full server against maxmemory while values shrink and grow back
          all      everything but churn, with types in its quick form; each section is written when it is measured

        options
          --pipelines 1,16,64     pipeline depths of cpu, loops, diagnostics and loadgen (idle uses 16, cache 64)
          --rounds 5              measured rounds per server; tables show the median and the range
          --seconds 1             length of a round
          --user-seconds 1        cache: user-mode CPU per round (its clock is sampled)
          --clients 50            client connections
          --keys N                overrides the scenario's number of keys (replication: that of full synchronizations; cluster: ten times as many in one slot)
          --value-bytes N         overrides the scenario's value size
          --connections 10000     idle: number of idle connections
          --only LIST             types: rows such as zadd,hashes,free-one-set, or cpu-rows, memory-rows, freeing-rows;
                                  messages: rows such as evalsha-p16,publish-p1
                                  vectors: random,clustered
                                  guards: users,tls,handshakes,hitrates,eviction
                                  diagnostics: cost,package,hotkeys
                                  durability: always,everysec,snapshot,load, and 100,000,000 keys: largest
                                  replication: primary,apply,fullsync,away,failover,acks
                                  cluster: cpu,memory,failover,moves
          --quick                 types and messages: shorter rounds and smaller values (half an hour without it)
          --minutes 60            churn: its length
          --away-seconds 60       replication: how long a replica is away
          --servers LIST          servers to measure: redkite,redis,valkey,floor
          --redkite-command TEXT  start this command instead of RedKite; {port}, {dir} and {loops} are substituted
          --no-build              measure the existing build of RedKite
          --json FILE             append each scenario's result to FILE as one line of JSON
          --write-figures         write the results into bench/Results and docs/reference/figures.md; other sections stay

        Exit status: 0 measured (targets met or not), 1 invalid arguments, 2 a required program is missing or failed.
        """;

    internal IReadOnlyList<string> Scenarios { get; private init; } = [];
    internal IReadOnlyList<int> Pipelines { get; private init; } = [1, 16, 64];
    internal int Rounds { get; private init; } = 5;
    internal int Seconds { get; private init; } = 1;
    internal int UserSeconds { get; private init; } = 1;
    internal int Clients { get; private init; } = 50;
    internal int? Keys { get; private init; }
    internal int? ValueBytes { get; private init; }
    internal int Connections { get; private init; } = 10_000;
    internal IReadOnlyList<string> Only { get; private init; } = [];
    internal int Minutes { get; private init; } = 60;
    internal int AwaySeconds { get; private init; } = 60;
    internal bool Quick { get; private init; }
    internal IReadOnlyList<string> Servers { get; private init; } = ["redkite", "redis", "valkey", "floor"];
    internal string? RedKiteCommand { get; private init; }
    internal bool Build { get; private init; } = true;
    internal string? JsonFile { get; private init; }
    internal bool WriteFigures { get; private init; }

    /// <summary>The command line as given, recorded with the figures.</summary>
    internal string CommandLine { get; private init; } = "";

    /// <exception cref="FormatException">An argument is invalid; the message names it.</exception>
    internal static Options Parse(string[] arguments, IReadOnlyCollection<string> scenarioNames)
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
                "--minutes" => options with { Minutes = Number() },
                "--away-seconds" => options with { AwaySeconds = Number() },
                "--quick" => options with { Quick = true },
                "--servers" => options with { Servers = ParseServers(Value(), options.Servers) },
                "--redkite-command" => options with { RedKiteCommand = Value() },
                "--no-build" => options with { Build = false },
                "--json" => options with { JsonFile = Value() },
                "--write-figures" => options with { WriteFigures = true },
                _ when argument == "all" || scenarioNames.Contains(argument) => AddScenario(options, argument),
                _ => throw new FormatException($"{argument} is neither a scenario nor an option"),
            };
        }

        if (options is { WriteFigures: true, RedKiteCommand: not null })
        {
            throw new FormatException("--write-figures cannot be combined with --redkite-command: the page holds RedKite's own figures");
        }

        bool all = scenarios.Count == 0 || scenarios.Contains("all");
        return all ? options with { Scenarios = [.. scenarioNames.Where(name => name != ChurnScenario.Name)], Quick = true } : options with { Scenarios = scenarios };

        Options AddScenario(Options unchanged, string name)
        {
            scenarios.Add(name);
            return unchanged;
        }
    }

    private static int ParseNumber(string option, string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0
            ? number
            : throw new FormatException($"{option}: {text} is not a positive integer");

    private static string[] ParseServers(string text, IReadOnlyList<string> known)
    {
        string[] named = text.Split(',');
        return Array.Find(named, name => !known.Contains(name)) is { } unknown
            ? throw new FormatException($"--servers: {unknown} is not one of {string.Join(", ", known)}")
            : named;
    }

    private static string Quote(string argument) => argument.Contains(' ', StringComparison.Ordinal) ? $"\"{argument}\"" : argument;
}
