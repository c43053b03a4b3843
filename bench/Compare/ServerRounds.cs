using RedKite.Figures;

namespace RedKite.Compare;

/// <summary>
/// Server CPU per operation of both builds under the same load, in interleaved rounds. Each launch starts both servers
/// and loads their keys; every second launch begins with the other build.
/// </summary>
internal static class ServerRounds
{
    // As in the published figures.
    private const int ValueBytes = 256;
    private const int Clients = 50;

    internal static void Build(string root)
    {
        Console.Error.WriteLine($"building {root}/src/RedKite.Host");
        ExternalProgram.Run("dotnet", ["build", "src/RedKite.Host", "-c", "Release", "--nologo", "-v", "quiet"], root);
    }

    /// <returns>The base's and the working copy's measurements, by scenario.</returns>
    internal static (Dictionary<string, Measurements> Base, Dictionary<string, Measurements> Diff) Run(
        CompareOptions options, string baseRoot, string diffRoot)
    {
        ServerKind before = ServerKind.RedKite("base", Repository.HostProgramOf(baseRoot));
        ServerKind after = ServerKind.RedKite("diff", Repository.HostProgramOf(diffRoot));
        var load = new LoadGenerator(Machine.LoadCpus);
        var workload = new Workload(options.Keys, ValueBytes, Clients, options.Seconds);

        Dictionary<string, Dictionary<string, Measurements>> measured = new() { [before.Name] = [], [after.Name] = [] };
        for (int launch = 1; launch <= options.Launches; launch++)
        {
            Console.Error.WriteLine($"servers: launch {launch} of {options.Launches}");
            ServerKind[] order = launch % 2 == 1 ? [before, after] : [after, before];
            using var servers = new ServerGroup(order.Select(kind => ServerUnderTest.Start(kind)));
            foreach (ServerUnderTest server in servers) KeyLoader.Load(server, workload.KeyForm, options.Keys, ValueBytes);
            foreach (int pipeline in options.Pipelines)
            {
                foreach ((ServerUnderTest server, Round[] rounds) in InterleavedRounds.Measure(servers, load, workload, pipeline, options.Rounds))
                {
                    Add(measured[server.Name], CompareOptions.ScenarioName(pipeline), rounds);
                }
            }
        }

        return (measured[before.Name], measured[after.Name]);
    }

    private static void Add(Dictionary<string, Measurements> scenarios, string scenario, Round[] rounds)
    {
        var launch = new Measurements([[.. rounds.Select(round => round.CpuNs)]], BytesPerOperation: null);
        scenarios[scenario] = scenarios.TryGetValue(scenario, out Measurements? earlier) ? earlier.FollowedBy(launch) : launch;
    }
}
