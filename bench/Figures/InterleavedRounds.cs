namespace RedKite.Figures;

/// <summary>The cost of one round of load.</summary>
internal readonly record struct Round(double CpuNs, double UserNs, LoadResult Load, double? HitShare);

/// <summary>
/// The measurement that the scenarios share. The servers take turns, one round each, so that disturbances of the machine
/// affect all of them alike; every second pass runs in the opposite order. Uncounted rounds warm each server up first.
/// </summary>
internal static class InterleavedRounds
{
    private const int WarmUpRounds = 2;

    // At pipeline 1 a round has too few requests to reach the JIT's last tier, so compilation would run into the first
    // measured rounds.
    private const int WarmUpPipeline = 64;

    /// <summary>Returns each server's rounds in order: rounds with the same index are adjacent in time.</summary>
    internal static Dictionary<ServerUnderTest, Round[]> Measure(
        IReadOnlyList<ServerUnderTest> servers, LoadGenerator load, Workload workload, int pipeline, int rounds)
    {
        Dictionary<ServerUnderTest, Round[]> measured = servers.ToDictionary(server => server, _ => new Round[rounds]);
        foreach (ServerUnderTest server in servers)
        {
            for (int i = 0; i < WarmUpRounds; i++)
            {
                load.Run(server.Port, workload, WarmUpPipeline);
                load.Run(server.Port, workload, pipeline);
            }
        }

        for (int round = 0; round < rounds; round++)
        {
            Console.Error.WriteLine($"pipeline {pipeline}: round {round + 1} of {rounds}");
            foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse()) measured[server][round] = MeasureRound(server, load, workload, pipeline);
        }

        return measured;
    }

    private static Round MeasureRound(ServerUnderTest server, LoadGenerator load, Workload workload, int pipeline)
    {
        (long Hits, long Lookups)? lookupsBefore = Lookups.Read(server);
        CpuClock before = server.Cpu;
        LoadResult result = load.Run(server.Port, workload, pipeline);
        CpuClock used = server.Cpu - before;
        return new Round(
            1e9 * used.TotalSeconds / result.Operations, 1e9 * used.UserSeconds / result.Operations,
            result, Lookups.HitShare(lookupsBefore, Lookups.Read(server)));
    }
}
