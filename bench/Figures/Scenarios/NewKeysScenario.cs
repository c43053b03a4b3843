namespace RedKite.Figures.Scenarios;

/// <summary>
/// The CPU of loading new keys, including all that a server does for them after its last reply: it is watched until it is
/// idle. Each round is a new process, because keys are new only once.
/// </summary>
internal static class NewKeysScenario
{
    private const int Keys = 3_000_000;
    private const int ValueBytes = 256;
    private const int RoundsMax = 3;
    private const double LaterShareMax = 0.1;

    private static readonly TimeSpan Quiet = TimeSpan.FromSeconds(3);
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(120);

    internal static Report Run(Options options)
    {
        int keys = options.Keys ?? Keys;
        int valueBytes = options.ValueBytes ?? ValueBytes;
        int rounds = Math.Min(RoundsMax, options.Rounds);
        var report = new Report("newkeys", $"Server CPU for each of {keys:N0} new keys with {valueBytes}-byte values, set over one connection in pipelines of 1,000: "
            + $"until the last reply, and later, until the server has used less than 2 % of a core for {Quiet.TotalSeconds:F0} s (watched for at most {Longest.TotalSeconds:F0} s). "
            + $"Medians of {rounds} interleaved rounds, each a new process after a warm-up that leaves no data behind; servers (RedKite with one loop) on core {Machine.ServerCpus}.");
        var table = new Table("new keys", new("server"), new("cpu ns/key"), new("later ns/key"), new("in all ns/key"), new("range in all"),
            new("idle after s", "F1"), new("RSS bytes/key"));
        report.Tables.Add(table);

        List<ServerKind> kinds = ServerKind.Available(options, report);
        Dictionary<ServerKind, List<Loading>> measured = kinds.ToDictionary(kind => kind, _ => new List<Loading>());
        for (int round = 0; round < rounds; round++)
        {
            foreach (ServerKind kind in round % 2 == 0 ? kinds : kinds.AsEnumerable().Reverse()) measured[kind].Add(Measure(kind, keys, valueBytes, report));
        }

        foreach (ServerKind kind in kinds)
        {
            List<Loading> loadings = measured[kind];
            Spread total = Spread.Of(loadings.Select(loading => loading.LoadNs + loading.LaterNs));
            table.Add(
                kind.Name, Median.Of(loadings.Select(loading => loading.LoadNs)), Median.Of(loadings.Select(loading => loading.LaterNs)), total.Median, total.Range,
                Median.Of(loadings.Select(loading => loading.IdleAfterSeconds)), Median.Of(loadings.Select(loading => loading.ResidentBytes)));
            if (kind.Name != "redkite") continue;
            report.Targets.Add(Target.AtMost(LaterShareMax, "RedKite's later CPU / CPU until the last reply", Spread.Of(loadings.Select(loading => loading.LaterNs / loading.LoadNs))));
        }

        return report;
    }

    private static Loading Measure(ServerKind kind, int keys, int valueBytes, Report report)
    {
        using ServerUnderTest server = ServerUnderTest.Start(kind);
        KeyLoader.WarmUp(server, valueBytes);
        IdleWait.Run(server, Longest);
        long resident = server.ResidentBytes;
        double before = server.Cpu.TotalSeconds;
        KeyLoader.Load(server, KeyForm.Memory, keys, valueBytes);
        double loaded = server.Cpu.TotalSeconds;
        LaterWork later = IdleWait.Run(server, Longest, Quiet);
        if (!later.BecameIdle) report.AddNote($"{kind.Name} was still busy after {Longest.TotalSeconds:F0} s: CPU that it used even later is not counted");
        return new Loading(
            1e9 * (loaded - before) / keys, 1e9 * later.CpuSeconds / keys, later.Seconds, (double)(server.ResidentBytes - resident) / keys);
    }

    private readonly record struct Loading(double LoadNs, double LaterNs, double IdleAfterSeconds, double ResidentBytes);
}
