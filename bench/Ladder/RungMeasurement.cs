using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>Measures one rung: starts its server, loads the keys, measures each depth, stops the server.</summary>
internal static class RungMeasurement
{
    // Sixteen SETs of 256 bytes exceed what a pipe reads at once (4 KiB), so some of them arrive in two pieces.
    private const int LoadingPipeline = 16;
    private const int LoadingSecondsMax = 30;

    // The same for every rung, at each depth: the JIT's last tier takes two seconds on a core that is shared with the load.
    private const int WarmUpSeconds = 3;

    // Time for outstanding replies at the end of a measurement; a server that needs longer hangs.
    private const int AnswerSecondsMax = 2;

    internal static void Run(Rung rung, LadderOptions options, LadderReport report)
    {
        string? serverCpus = rung.OnAllCores ? null : options.ServerCpus;
        using StageProcess server = StageProcess.Start(rung, serverCpus);
        Console.Error.WriteLine($"{rung.Name}: loading {options.Keys} keys");
        TimeSpan before = server.Cpu;
        LoadFigures loaded = Load(LoadingPipeline, seconds: 0, LoadingSecondsMax);
        if (loaded.Outcome != LoadOutcome.Finished)
        {
            report.AddUnfinishedLoading(rung, loaded, server.Cpu - before);
            return;
        }

        foreach (int pipeline in options.Pipelines)
        {
            Console.Error.WriteLine($"{rung.Name}: pipeline {pipeline}");
            Load(pipeline, WarmUpSeconds, WarmUpSeconds + AnswerSecondsMax);
            before = server.Cpu;
            LoadFigures figures = Load(pipeline, options.Seconds, options.Seconds + AnswerSecondsMax);
            report.Add(rung, pipeline, figures, server.Cpu - before);
            if (figures.Outcome != LoadOutcome.Finished) return;
        }

        LoadFigures Load(int pipeline, int seconds, int secondsMax)
        {
            var load = new LoadOptions(
                server.Port, options.LoadThreads, options.Clients, pipeline, options.Keys, options.ValueBytes, options.Ratio, seconds, secondsMax);
            LoadFigures figures = LoadProcess.Run(load, options.LoadCpus);
            return figures.FirstError is null ? figures : throw new CannotMeasureException($"{rung.Name} replied with an error: {figures.FirstError}");
        }
    }
}
