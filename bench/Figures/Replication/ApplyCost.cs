using System.Globalization;

namespace RedKite.Figures.Replication;

/// <summary>
/// A replica's CPU for each command of the stream. Replicas of all kinds follow the same primary, so that they get the same stream at the same time. It is a
/// valkey-server 8 if there is one: all of them read its data, while a Valkey does not read that of Redis 8.
/// </summary>
internal static class ApplyCost
{
    internal const string Name = "apply";

    private const int Keys = 100_000;
    private const int ValueBytes = 64;
    private const int Pipeline = 16;
    private const int WarmUpRounds = 3;
    private const int PollMs = 2;
    private const int SyncMsMax = 60_000;
    private const double RedKiteByRedisMax = 0.6;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        ServerKind? followed = kinds.FirstOrDefault(kind => kind.Name == "valkey") ?? kinds.FirstOrDefault(kind => kind.Name == "redis");
        if (followed is null)
        {
            report.Notes.Add("without a valkey-server or redis-server as the primary no replica's cost is measured");
            return;
        }

        var table = new Table(FormattableString.Invariant($"a replica's CPU for each SET of its primary, a {followed.Name}-server at pipeline {Pipeline}"), new("replica"), new("cpu ns/command"), new("range"));
        report.Tables.Add(table);
        var load = new LoadGenerator(Machine.LoadCpus);
        var workload = new Workload(Keys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds, Sets: 1, Gets: 0, IsMixed: true);
        using ServerUnderTest primary = ServerUnderTest.Start(followed with { Command = $"{followed.Command} --repl-diskless-sync-delay 0 --client-output-buffer-limit 'replica 0 0 0'" }, "the primary", cpus: Machine.LoadCpus);
        using var replicas = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (ServerUnderTest replica in replicas)
        {
            using SetupConnection connection = replica.Connect();
            connection.Run("REPLICAOF", "127.0.0.1", primary.Port.ToString(CultureInfo.InvariantCulture));
        }

        Dictionary<ServerUnderTest, List<double>> cpu = replicas.ToDictionary(replica => replica, _ => new List<double>());
        for (int round = -WarmUpRounds; round < options.Rounds; round++)
        {
            WaitForAll(primary, replicas);
            Dictionary<ServerUnderTest, double> before = replicas.ToDictionary(replica => replica, replica => replica.Cpu.TotalSeconds);
            LoadResult result = load.Run(primary.Port, workload, Pipeline);
            WaitForAll(primary, replicas);
            foreach (ServerUnderTest replica in replicas)
            {
                if (round >= 0) cpu[replica].Add(1e9 * (replica.Cpu.TotalSeconds - before[replica]) / result.Operations);
            }
        }

        foreach (ServerUnderTest replica in replicas)
        {
            Spread spread = Spread.Of(cpu[replica]);
            table.Add(replica.Name, spread.Median, spread.Range);
        }

        if (replicas.FirstOrDefault(replica => replica.Name == "redkite") is { } ours && replicas.FirstOrDefault(replica => replica.Name == "redis") is { } theirs)
        {
            report.Targets.Add(Target.AtMost(RedKiteByRedisMax, "RedKite / Redis, CPU of a replica for each command", Spread.OfRatios(cpu[ours], cpu[theirs])));
        }
    }

    private static void WaitForAll(ServerUnderTest primary, ServerGroup replicas)
    {
        foreach (ServerUnderTest replica in replicas) WaitFor(primary, replica, SyncMsMax);
    }

    /// <summary>Waits until a replica has executed what its primary has executed now.</summary>
    internal static void WaitFor(ServerUnderTest primary, ServerUnderTest replica, int msMax)
    {
        using SetupConnection of = primary.Connect(), other = replica.Connect();
        long offset = of.ReadInfo("replication", "master_repl_offset") ?? 0;
        long endMs = Environment.TickCount64 + msMax;
        while (!other.Run("INFO", "replication").Contains("master_link_status:up", StringComparison.Ordinal) || other.ReadInfo("replication", "slave_repl_offset") < offset)
        {
            if (Environment.TickCount64 > endMs) throw new CannotMeasureException($"{replica.Name} has not followed its primary within {msMax} ms");
            Thread.Sleep(PollMs);
        }
    }
}
