namespace RedKite.Figures.Scenarios;

/// <summary>
/// The share of a lookup that waits for memory: the same GETs take more user-mode time when the keys no longer fit the
/// processor's caches. Prefetching for a whole batch keeps the difference small.
/// </summary>
internal static class CacheScenario
{
    private const int ManyKeys = 5_000_000;
    private const int FewKeys = 10_000;
    private const int ValueBytes = 32;
    private const int Pipeline = 64;
    private const double ManyByFewMax = 1.6;

    // The warm-up round, which also determines the length of the measured rounds.
    private const long WarmUpGets = 2_000_000;
    private const long RoundGetsMax = 200_000_000;

    internal static Report Run(Options options)
    {
        int manyKeys = options.Keys ?? ManyKeys;
        int valueBytes = options.ValueBytes ?? ValueBytes;
        var load = new LoadGenerator(Machine.LoadCpus);
        var report = new Report("cache", $"User-mode CPU per GET at pipeline {Pipeline} with {manyKeys:N0} keys against {FewKeys:N0}, all hits, "
            + $"{valueBytes}-byte values: median of {options.Rounds} interleaved rounds, each with about {options.UserSeconds} s of user-mode CPU or more, "
            + "because the kernel only samples a thread's mode: one sample every 10 ms. CPU counts until the server is idle again. redis-benchmark "
            + $"with {options.Clients} connections on core {Machine.LoadCpus}, servers (RedKite with one loop) on core {Machine.ServerCpus}.");
        var table = new Table("user-mode CPU", new("server"), new("keys", "N0"), new("user ns/GET", "F1"), new("cpu ns/GET", "F1"),
            new("range user", "F1"), new("range cpu", "F1"), new("hits", "P1"), new("user, many / few", "F2"), new("range many / few", "F2"));
        report.Tables.Add(table);

        List<ServerKind> kinds = ServerKind.Available(options, report);
        using var few = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        using var many = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (ServerUnderTest server in few) KeyLoader.Load(server, KeyForm.RedisBenchmark, FewKeys, valueBytes);
        foreach (ServerUnderTest server in many) KeyLoader.Load(server, KeyForm.RedisBenchmark, manyKeys, valueBytes);

        for (int i = 0; i < kinds.Count; i++)
        {
            Console.Error.WriteLine($"{kinds[i].Name}: measuring GETs");
            (GetRound[] fewRounds, GetRound[] manyRounds) = MeasureInterleaved(few[i], many[i], manyKeys, load, options);
            double?[] known = [.. fewRounds.Concat(manyRounds).Select(round => round.UserNs)];
            Spread? ratio = known.Contains(null) ? null : Spread.OfRatios(manyRounds.Select(round => round.UserNs!.Value), fewRounds.Select(round => round.UserNs!.Value));
            AddRow(table, kinds[i].Name, FewKeys, fewRounds, ratio: null);
            AddRow(table, kinds[i].Name, manyKeys, manyRounds, ratio);
            if (ratio is null) report.AddNote("user-mode CPU is not shown for rounds of less than 100 clock ticks: see --user-seconds");
            else if (kinds[i].Name == "redkite") report.Targets.Add(Target.AtMost(ManyByFewMax, "RedKite's user-mode CPU, many keys / few", ratio));
        }

        return report;
    }

    private readonly record struct GetRound(double? UserNs, double RoughUserNs, double CpuNs, double? HitShare);

    private static (GetRound[] Few, GetRound[] Many) MeasureInterleaved(
        ServerUnderTest few, ServerUnderTest many, int manyKeys, LoadGenerator load, Options options)
    {
        // The second warm-up round runs compiled code, so its speed determines the number of GETs.
        Measure(few, FewKeys, WarmUpGets);
        double userNs = Measure(few, FewKeys, WarmUpGets).RoughUserNs;
        Measure(many, manyKeys, WarmUpGets);
        Measure(many, manyKeys, WarmUpGets);
        long gets = Math.Clamp((long)(options.UserSeconds * 1e9 / Math.Max(userNs, 1)), WarmUpGets, RoundGetsMax);

        var fewRounds = new GetRound[options.Rounds];
        var manyRounds = new GetRound[options.Rounds];
        for (int round = 0; round < options.Rounds; round++)
        {
            if (round % 2 == 0) fewRounds[round] = Measure(few, FewKeys, gets);
            manyRounds[round] = Measure(many, manyKeys, gets);
            if (round % 2 == 1) fewRounds[round] = Measure(few, FewKeys, gets);
        }

        return (fewRounds, manyRounds);

        GetRound Measure(ServerUnderTest server, int keys, long count)
        {
            (long Hits, long Lookups)? lookupsBefore = Lookups.Read(server);
            CpuClock before = server.Cpu;
            load.RunGets(server.Port, keys, options.Clients, Pipeline, count);
            CpuClock used = server.Cpu - before;
            LaterWork later = IdleWait.Run(server, IdleWait.AfterRound);
            return new GetRound(1e9 * used.ReadableUserSeconds / count, 1e9 * used.UserSeconds / count, 1e9 * (used.TotalSeconds + later.CpuSeconds) / count, Lookups.HitShare(lookupsBefore, Lookups.Read(server)));
        }
    }

    private static void AddRow(Table table, string name, int keys, GetRound[] rounds, Spread? ratio)
    {
        double[] userNs = [.. rounds.Select(round => round.UserNs).OfType<double>()];
        Spread? user = userNs.Length == rounds.Length ? new Spread(userNs) : null;
        Spread cpu = Spread.Of(rounds.Select(round => round.CpuNs));
        table.Add(name, keys, user?.Median, cpu.Median, user?.Range, cpu.Range, Median.OfKnown(rounds.Select(round => round.HitShare)), ratio?.Median, ratio?.Range);
    }
}
