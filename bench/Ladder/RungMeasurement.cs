using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>One rung: its server is started, filled with the keys, measured at each depth, and ended.</summary>
internal static class RungMeasurement
{
    // Sixteen SETs with 256-byte values are more than a pipe takes in one read (4 KiB), so some of them come in two pieces.
    private const int FillingPipeline = 16;
    private const int FillingSecondsMax = 30;
    private const int WarmUpSeconds = 1;

    // What is under way at the end of a measurement is waited for; a server that needs longer than this hangs.
    private const int AnswerSecondsMax = 2;

    internal static void Run(Rung rung, LadderOptions options, LadderReport report)
    {
        string? serverCpus = rung.OnAllCores ? null : options.ServerCpus;
        using StageProcess server = StageProcess.Start(rung, serverCpus);
        Console.Error.WriteLine($"{rung.Name}: filling it with {options.Keys} keys");
        TimeSpan before = server.Cpu;
        LoadFigures filled = Load(FillingPipeline, seconds: 0, FillingSecondsMax);
        if (filled.Hung)
        {
            report.AddHungWhileFilling(rung, filled, server.Cpu - before);
            return;
        }

        foreach (int pipeline in options.Pipelines)
        {
            Console.Error.WriteLine($"{rung.Name}: pipeline {pipeline}");
            Load(pipeline, WarmUpSeconds, WarmUpSeconds + AnswerSecondsMax);
            before = server.Cpu;
            LoadFigures figures = Load(pipeline, options.Seconds, options.Seconds + AnswerSecondsMax);
            report.Add(rung, pipeline, figures, server.Cpu - before);
            if (figures.Hung) return;
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
