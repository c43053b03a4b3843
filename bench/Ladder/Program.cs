using RedKite.Bench;
using RedKite.Figures;
using RedKite.Ladder.Stages;

namespace RedKite.Ladder;

/// <summary>
/// Measures the rungs of the ladder in interleaved rounds. The same program is each rung's server (<c>serve</c>) and the
/// load (<c>load</c>), in separate processes. <see cref="LadderOptions.Usage"/> is the manual, docs/the-ladder.md the
/// explanation.
/// </summary>
internal static class Program
{
    internal static async Task<int> Main(string[] arguments)
    {
        try
        {
            switch (arguments)
            {
                case ["serve", .. string[] options]:
                    await ServeAsync(StageOptions.Parse(options));
                    return 0;
                case ["load", .. string[] options]:
                    Console.WriteLine(LoadRun.Execute(LoadOptions.FromArguments(options)).ToJson());
                    return 0;
            }

            if (arguments.Contains("--help") || arguments.Contains("-h"))
            {
                Console.WriteLine(LadderOptions.Usage);
                return 0;
            }

            return Measure(LadderOptions.Parse(arguments));
        }
        catch (FormatException wrongArgument)
        {
            await Console.Error.WriteLineAsync($"{wrongArgument.Message}\n{LadderOptions.Usage}");
            return 1;
        }
        catch (Exception cannot) when (cannot is CannotMeasureException or BenchException)
        {
            await Console.Error.WriteLineAsync(cannot.Message);
            return 2;
        }
    }

    private static async Task ServeAsync(StageOptions options)
    {
        using StageServer server = new(options.CreateStage(), options.Port);
        Console.WriteLine($"stage {options.Stage} listens on 127.0.0.1:{server.Port}");
        await server.RunAsync();
    }

    private static int Measure(LadderOptions options)
    {
        using var exitSignals = new ExitSignals();

        LadderReport report = new(options);
        try
        {
            // Interleaved: a slow phase of the machine then affects one round of several rungs rather than all rounds of one.
            for (int round = 1; round <= options.Rounds; round++)
            {
                if (options.Rounds > 1) Console.Error.WriteLine($"round {round} of {options.Rounds}");
                foreach (Rung rung in options.Rungs) RungMeasurement.Run(rung, options, report);
            }
        }
        finally
        {
            // Show the results even if a later rung failed.
            Console.Write(options.Markdown ? report.ToMarkdown() : report.ToText());
        }

        return 0;
    }
}
