using System.Globalization;

namespace RedKite.Ladder;

/// <summary>The parsed command line. The defaults are those of docs/the-ladder.md.</summary>
internal sealed record LadderOptions
{
    internal const string Usage = """
        usage: ./dev bench ladder [options]

          --stages LIST           stages 1 to 7, or rungs such as 3-10, 5-busy, 6b (default: all)
          --pipelines 1,16        pipeline depths
          --seconds 4             length of each measurement
          --rounds 3              interleaved rounds over all rungs; the table shows medians and ranges
          --clients 50            connections per load thread
          --keys 100000           keys, all loaded first
          --value-bytes 256       value size
          --ratio 1:10            SETs per GETs
          --server-cpus LIST      cores of the servers (Linux with taskset; default 0)
          --load-cpus LIST        cores of the load (default 1)
          --load-threads 1        load threads
          --markdown              print the table as Markdown

        A single rung, for use with other tools:
          RedKite.Ladder serve --stage 1..6 [--port N] [--shards N] [--busy-wait] [--values strings|look-first|buffers]

        Exit status: 0 measured, 1 invalid arguments, 2 a required program is missing or failed.
        """;

    internal IReadOnlyList<Rung> Rungs { get; private init; } = Rung.All;
    internal IReadOnlyList<int> Pipelines { get; private init; } = [1, 16];
    internal int Seconds { get; private init; } = 4;
    internal int Rounds { get; private init; } = 3;
    internal int Clients { get; private init; } = 50;
    internal int Keys { get; private init; } = 100_000;
    internal int ValueBytes { get; private init; } = 256;
    internal string Ratio { get; private init; } = "1:10";
    internal string ServerCpus { get; private init; } = "0";
    internal string LoadCpus { get; private init; } = Environment.ProcessorCount > 1 ? "1" : "0";
    internal int LoadThreads { get; private init; } = 1;
    internal bool Markdown { get; private init; }

    /// <summary>The command line as given, recorded with the figures.</summary>
    internal string CommandLine { get; private init; } = "./dev bench ladder";

    /// <exception cref="FormatException">An argument is invalid; the message names it.</exception>
    internal static LadderOptions Parse(string[] arguments)
    {
        var options = new LadderOptions { CommandLine = string.Join(' ', ["./dev", "bench", "ladder", .. arguments]) };
        for (int i = 0; i < arguments.Length; i++)
        {
            string argument = arguments[i];
            string Value() => ++i < arguments.Length ? arguments[i] : throw new FormatException($"{argument} needs a value");
            int Number() => ParseNumber(argument, Value());
            options = argument switch
            {
                "--stages" => options with { Rungs = Rung.Select(Value()) },
                "--pipelines" => options with { Pipelines = [.. Value().Split(',').Select(text => ParseNumber(argument, text))] },
                "--seconds" => options with { Seconds = Number() },
                "--rounds" => options with { Rounds = Number() },
                "--clients" => options with { Clients = Number() },
                "--keys" => options with { Keys = Number() },
                "--value-bytes" => options with { ValueBytes = Number() },
                "--ratio" => options with { Ratio = Value() },
                "--server-cpus" => options with { ServerCpus = Value() },
                "--load-cpus" => options with { LoadCpus = Value() },
                "--load-threads" => options with { LoadThreads = Number() },
                "--markdown" => options with { Markdown = true },
                _ => throw new FormatException($"{argument} is not an option"),
            };
        }

        return options;
    }

    /// <exception cref="FormatException">The text is not a positive integer.</exception>
    internal static int ParseNumber(string option, string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number > 0
            ? number
            : throw new FormatException($"{option}: {text} is not a positive integer");
}
