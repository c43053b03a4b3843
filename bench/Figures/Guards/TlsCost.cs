namespace RedKite.Figures.Guards;

/// <summary>CPU per GET over TLS, next to the same without TLS, against Redis.</summary>
internal static class TlsCost
{
    internal const string Name = "tls";

    private const int Keys = 100_000;
    private const int ValueBytes = 256;

    private static readonly (int Pipeline, double ByRedisMax)[] Depths = [(1, 1.1), (16, 0.95)];

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        int keys = options.Keys ?? Keys;
        var table = new Table("GET over TLS", new("pipeline"), new("server"), new("plain ns/op"), new("range plain"), new("tls ns/op"), new("range tls"),
            new("tls / plain", "F2"), new("tls / redis's", "F2"), new("range tls / redis's", "F2"));
        report.Tables.Add(table);
        using var servers = new TlsServers(kinds);
        foreach (ServerUnderTest server in servers) KeyLoader.Load(server, KeyForm.RedisBenchmark, keys, options.ValueBytes ?? ValueBytes);
        var plainLoad = new LoadGenerator(Machine.LoadCpus);
        var tlsLoad = new LoadGenerator(Machine.LoadCpus, servers.ClientArguments);
        List<GuardedLoad> loads = [.. servers.SelectMany(server => (GuardedLoad[])[new("plain", server, plainLoad, server.Port), new("tls", server, tlsLoad, servers.TlsPortOf(server))])];
        foreach ((int pipeline, double byRedisMax) in Depths)
        {
            Dictionary<GuardedLoad, double[]> measured = GuardedLoad.MeasureGets(loads, keys, pipeline, options, report);
            double[]? redis = servers.FirstOrDefault(server => server.Name == "redis") is { } peer ? Of(peer, "tls") : null;
            foreach (ServerUnderTest server in servers)
            {
                Spread plain = Spread.Of(Of(server, "plain")), tls = Spread.Of(Of(server, "tls"));
                Spread? byRedis = redis is null ? null : Spread.OfRatios(tls.Values, redis);
                table.Add(pipeline, server.Name, plain.Median, plain.Range, tls.Median, tls.Range, Median.OfRatios(tls.Values, plain.Values), byRedis?.Median, byRedis?.Range);
                if (server.Name == "redkite" && byRedis is not null) report.Targets.Add(Target.AtMost(byRedisMax, $"RedKite / Redis, TLS GET p{pipeline}", byRedis));
            }

            double[] Of(ServerUnderTest server, string name) => measured[loads.Single(one => one.Server == server && one.Name == name)];
        }
    }
}
