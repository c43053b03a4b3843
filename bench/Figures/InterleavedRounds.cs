namespace RedKite.Figures;

/// <summary>The cost of one round of load.</summary>
/// <param name="CpuNs">Server CPU per operation until the server is idle again.</param>
/// <param name="LaterNs">The part of it after the last reply.</param>
internal readonly record struct Round(double CpuNs, double LaterNs, LoadResult Load, double? HitShare);

/// <summary>
/// The measurement that the scenarios share. The servers take turns, one round each, so that disturbances of the machine
/// affect all of them alike; every second pass runs in the opposite order. Uncounted rounds warm each server up first, and
/// each server is idle before the next one's turn.
/// </summary>
internal static class InterleavedRounds
{
    private const int WarmUpRounds = 2;

    // At pipeline 1 a round has too few requests to reach the JIT's last tier, so compilation would run into the first
    // measured rounds.
    private const int WarmUpPipeline = 64;

    /// <summary>Returns each server's rounds in order: rounds with the same index are adjacent in time.</summary>
    /// <param name="report">Receives a note if a server was not idle in time.</param>
    internal static Dictionary<ServerUnderTest, Round[]> Measure(
        IReadOnlyList<ServerUnderTest> servers, LoadGenerator load, Workload workload, int pipeline, int rounds, Report? report = null)
    {
        Dictionary<ServerUnderTest, Round[]> measured = servers.ToDictionary(server => server, _ => new Round[rounds]);
        foreach (ServerUnderTest server in servers) WarmUp(server, load, workload, pipeline);
        for (int round = 0; round < rounds; round++)
        {
            Console.Error.WriteLine($"pipeline {pipeline}: round {round + 1} of {rounds}");
            foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse()) measured[server][round] = MeasureRound(server, load, workload, pipeline, report);
        }

        return measured;
    }

    private static void WarmUp(ServerUnderTest server, LoadGenerator load, Workload workload, int pipeline)
    {
        for (int i = 0; i < WarmUpRounds; i++)
        {
            load.Run(server.Port, workload, WarmUpPipeline);
            if (pipeline != WarmUpPipeline) load.Run(server.Port, workload, pipeline);
        }

        IdleWait.Run(server, IdleWait.AfterRound);
    }

    private static Round MeasureRound(ServerUnderTest server, LoadGenerator load, Workload workload, int pipeline, Report? report)
    {
        (long Hits, long Lookups)? lookupsBefore = Lookups.Read(server);
        double before = server.Cpu.TotalSeconds;
        LoadResult result = load.Run(server.Port, workload, pipeline);
        double used = server.Cpu.TotalSeconds - before;
        LaterWork later = IdleWait.Run(server, IdleWait.AfterRound);
        if (!later.BecameIdle) report?.AddNote($"{server.Name} was still busy {IdleWait.AfterRound.TotalSeconds:F0} s after a round: CPU that it used even later is not counted");
        return new Round(
            1e9 * (used + later.CpuSeconds) / result.Operations, 1e9 * later.CpuSeconds / result.Operations,
            result, Lookups.HitShare(lookupsBefore, Lookups.Read(server)));
    }
}
