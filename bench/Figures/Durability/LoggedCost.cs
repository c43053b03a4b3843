namespace RedKite.Figures.Durability;

/// <summary>CPU per SET with an append-only log that is synced each second, against none.</summary>
internal static class LoggedCost
{
    internal const string Name = "everysec";

    private const int Keys = 100_000;
    private const int ValueBytes = 64;
    private const int Pipeline = 16;
    private const double WithByWithoutMax = 1.15;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        var table = new Table(FormattableString.Invariant($"SET with and without a log, appendfsync everysec, pipeline {Pipeline}"), new("server"), new("cpu ns/op without"), new("range without"),
            new("cpu ns/op with"), new("range with"), new("with / without", "F2"), new("range with / without", "F2"));
        report.Tables.Add(table);
        var load = new LoadGenerator(Machine.LoadCpus);
        var workload = new Workload(options.Keys ?? Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds, Sets: 1, Gets: 0, IsMixed: true);
        foreach (ServerKind kind in kinds)
        {
            using ServerUnderTest without = ServerUnderTest.Start(kind, $"{kind.Name} without");
            using ServerUnderTest with = ServerUnderTest.Start(kind with { Command = $"{kind.Command} --appendonly yes --auto-aof-rewrite-percentage 0" }, $"{kind.Name} with");
            Dictionary<ServerUnderTest, Round[]> measured = InterleavedRounds.Measure([without, with], load, workload, Pipeline, options.Rounds, report);
            Spread before = Spread.Of(measured[without].Select(round => round.CpuNs)), after = Spread.Of(measured[with].Select(round => round.CpuNs));
            Spread ratio = Spread.OfRatios(after.Values, before.Values);
            table.Add(kind.Name, before.Median, before.Range, after.Median, after.Range, ratio.Median, ratio.Range);
            if (kind.Name == "redkite") report.Targets.Add(Target.AtMost(WithByWithoutMax, $"CPU per SET p{Pipeline} with a log / without", ratio));
        }
    }
}
