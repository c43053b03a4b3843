using System.Runtime.InteropServices;
using RedKite.Bench;
using RedKite.Figures;
using RedKite.Ladder.Stages;

namespace RedKite.Ladder;

/// <summary>
/// How a server of this kind gets fast, as servers that run: measures each rung of the ladder by turns. The same program
/// is each rung's server (<c>serve</c>) and the load (<c>load</c>), in processes of their own. <see cref="LadderOptions.Usage"/>
/// is the manual, docs/the-ladder.md the story.
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
        // An interrupted run ends as a finished one does, through ProcessExit, which ends the servers: left to itself, the
        // runtime ends at these signals without raising it.
        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, context => End(context, 130));
        using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => End(context, 143));
        using PosixSignalRegistration hangUp = PosixSignalRegistration.Create(PosixSignal.SIGHUP, context => End(context, 129));

        LadderReport report = new(options);
        try
        {
            // By turns: what slows the machine for a while then slows a round of several rungs, and not all of one rung's.
            for (int round = 1; round <= options.Rounds; round++)
            {
                if (options.Rounds > 1) Console.Error.WriteLine($"round {round} of {options.Rounds}");
                foreach (Rung rung in options.Rungs) RungMeasurement.Run(rung, options, report);
            }
        }
        finally
        {
            // What was measured before a rung failed is shown all the same.
            Console.Write(options.Markdown ? report.ToMarkdown() : report.ToText());
        }

        return 0;
    }

    private static void End(PosixSignalContext context, int status)
    {
        context.Cancel = true;
        Environment.Exit(status);
    }
}
