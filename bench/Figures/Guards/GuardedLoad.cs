namespace RedKite.Figures.Guards;

/// <summary>A way to load a server: as a user, over TLS, or neither.</summary>
/// <param name="Name">The name in tables.</param>
internal sealed record GuardedLoad(string Name, ServerUnderTest Server, LoadGenerator Load, int Port)
{
    // A short run is this part of a long one.
    private const int ShortPart = 5;
    private const int WarmUpRuns = 3;

    /// <summary>
    /// Server CPU per GET in each round, in interleaved rounds. A round is the difference of a long and a short run with as many
    /// connections, so that handshakes and logins cancel out.
    /// </summary>
    internal static Dictionary<GuardedLoad, double[]> MeasureGets(
        IReadOnlyList<GuardedLoad> loads, int keys, int pipeline, Options options, Report report)
    {
        long gets = LoadGenerator.CountOperations(options.Seconds, pipeline);
        Dictionary<GuardedLoad, double[]> measured = loads.ToDictionary(load => load, _ => new double[options.Rounds]);
        foreach (GuardedLoad load in loads)
        {
            for (int i = 0; i < WarmUpRuns; i++) load.RunGets(keys, pipeline, gets, options, report);
        }

        for (int round = 0; round < options.Rounds; round++)
        {
            Console.Error.WriteLine($"pipeline {pipeline}: round {round + 1} of {options.Rounds}");
            foreach (GuardedLoad load in round % 2 == 0 ? loads : loads.Reverse())
            {
                double shortRun = load.RunGets(keys, pipeline, gets / ShortPart, options, report);
                double longRun = load.RunGets(keys, pipeline, gets, options, report);
                measured[load][round] = 1e9 * (longRun - shortRun) / (gets - (gets / ShortPart));
            }
        }

        return measured;
    }

    // CPU seconds until the server is idle again.
    private double RunGets(int keys, int pipeline, long gets, Options options, Report report)
    {
        double before = Server.Cpu.TotalSeconds;
        Load.RunGets(Port, keys, options.Clients, pipeline, gets);
        double used = Server.Cpu.TotalSeconds - before;
        LaterWork later = IdleWait.Run(Server, IdleWait.AfterRound);
        if (!later.BecameIdle) report.AddNote($"{Server.Name} was still busy after a round: CPU that it used even later is not counted");
        return used + later.CpuSeconds;
    }
}
