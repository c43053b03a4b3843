namespace RedKite.Figures;

/// <summary>What one round of load cost a server.</summary>
internal readonly record struct Round(double CpuNs, double UserNs, LoadResult Load, double? HitShare);

/// <summary>
/// The measurement that the scenarios share: the servers take turns, a round each, so that whatever the machine does
/// besides falls on all of them alike, and every other time in the opposite order. Rounds before these are not counted and
/// warm each server up.
/// </summary>
internal static class RoundsByTurns
{
    private const int WarmUpRounds = 2;

    // At a pipeline of one the same seconds hold a fraction of the requests: too few for the runtime to have compiled the
    // code to the end, which it does beside the first counted rounds then.
    private const int WarmUpPipeline = 64;

    /// <summary>Each server's rounds, in the order in which they were made: rounds of the same number are neighbours in time.</summary>
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
