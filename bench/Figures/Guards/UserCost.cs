namespace RedKite.Figures.Guards;

/// <summary>CPU per GET of a user with ten key patterns, of which the last one allows the keys, over the default user.</summary>
internal static class UserCost
{
    internal const string Name = "users";

    private const int Keys = 100_000;
    private const int ValueBytes = 256;
    private const int Pipeline = 16;
    private const int Patterns = 10;
    private const double LimitedByDefaultMax = 1.05;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        int keys = options.Keys ?? Keys;
        var table = new Table($"GET of a user with {Patterns} key patterns, pipeline {Pipeline}", new("server"), new("default user ns/op"), new("range default"),
            new("limited user ns/op"), new("range limited"), new("limited / default", "F2"), new("range limited / default", "F2"));
        report.Tables.Add(table);
        var load = new LoadGenerator(Machine.LoadCpus);
        var limitedLoad = new LoadGenerator(Machine.LoadCpus, "--user", "limited", "-a", "secret");
        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (ServerUnderTest server in servers)
        {
            KeyLoader.Load(server, KeyForm.RedisBenchmark, keys, options.ValueBytes ?? ValueBytes);
            using SetupConnection connection = server.Connect();
            string[] patterns = [.. Enumerable.Range(1, Patterns - 1).Select(number => $"~tenant{number}:*"), $"~{KeyForm.RedisBenchmark.Prefix}*"];
            connection.Run(["ACL", "SETUSER", "limited", "on", ">secret", "+@all", .. patterns]);
        }

        List<GuardedLoad> loads = [.. servers.SelectMany(server => (GuardedLoad[])[new("default", server, load, server.Port), new("limited", server, limitedLoad, server.Port)])];
        Dictionary<GuardedLoad, double[]> measured = GuardedLoad.MeasureGets(loads, keys, Pipeline, options, report);
        foreach (ServerUnderTest server in servers)
        {
            Spread byDefault = Spread.Of(Of(server, "default")), limited = Spread.Of(Of(server, "limited"));
            Spread ratio = Spread.OfRatios(limited.Values, byDefault.Values);
            table.Add(server.Name, byDefault.Median, byDefault.Range, limited.Median, limited.Range, ratio.Median, ratio.Range);
            if (server.Name == "redkite") report.Targets.Add(Target.AtMost(LimitedByDefaultMax, $"RedKite, GET p{Pipeline}, user with {Patterns} patterns / default user", ratio));
        }

        double[] Of(ServerUnderTest server, string name) => measured[loads.Single(one => one.Server == server && one.Name == name)];
    }
}
