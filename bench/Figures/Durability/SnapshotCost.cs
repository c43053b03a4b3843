using System.Diagnostics;

namespace RedKite.Figures.Durability;

/// <summary>
/// A snapshot of millions of keys: its CPU for each key on an idle server; and under writes, the growth of the resident memory, the latency of
/// reads beside it, and how long everything stands still at its beginning.
/// </summary>
internal static class SnapshotCost
{
    internal const string Name = "snapshot";

    private const int Keys = 5_000_000;
    private const int ValueBytes = 64;
    private const int WritesPerSecond = 100_000;
    private const int QuietSeconds = 10;
    private const double GrowthMax = 1.1;
    private const double TailMax = 2;
    private const double CutMsMax = 1;
    private const double MiB = 1 << 20;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        int keys = options.Keys ?? Keys;
        var table = new Table(FormattableString.Invariant($"BGSAVE of {keys:N0} keys of {ValueBytes} bytes; all but the first two columns under {WritesPerSecond:N0} SETs a second"), new("server"),
            new("cpu ns/key idle"), new("seconds idle", "F1"), new("seconds", "F1"), new("SETs/s"), new("RSS before MiB"), new("largest / before", "F3"), new("copied MiB"),
            new("p99.9 ms without", "F3"), new("p99.9 ms", "F3"), new("longest ms without", "F2"), new("longest ms", "F2"), new("cut ms", "F2"));
        report.Tables.Add(table);
        Dictionary<string, double> cpu = [];
        foreach (ServerKind kind in kinds)
        {
            using ServerUnderTest server = ServerUnderTest.Start(kind, cpus: $"{Machine.ServerCpus},{Machine.LoadCpus}");
            KeyLoader.Load(server, KeyForm.Memtier, keys, ValueBytes);
            using SetupConnection connection = server.Connect();
            (cpu[kind.Name], double idleSeconds) = MeasureIdle(server, connection, keys);

            Measured(server, keys, () => Thread.Sleep(QuietSeconds * 1000)); // not counted: the server compiles its code and grows its buffers
            SteadyLoad.Result without = Measured(server, keys, () => Thread.Sleep(QuietSeconds * 1000));
            long before = SavedData.ResidentBytes(server), largest = before;
            double seconds = 0;
            SteadyLoad.Result with = Measured(server, keys, () => seconds = SavedData.Save(connection, () => largest = Math.Max(largest, SavedData.ResidentBytes(server))));
            double cutMs = (connection.ReadInfo("stats", "latest_fork_usec") ?? 0) / 1e3;
            double growth = (double)largest / before;
            table.Add(kind.Name, cpu[kind.Name], idleSeconds, seconds, with.WritesPerSecond, before / MiB, growth, (connection.ReadInfo("persistence", "rdb_last_cow_size") ?? 0) / MiB,
                without.P999Ms, with.P999Ms, without.LongestMs, with.LongestMs, cutMs);
            if (kind.Name != "redkite") continue;
            report.Targets.Add(Target.AtMost(GrowthMax, "largest RSS during a snapshot under writes / before", growth));
            report.Targets.Add(Target.AtMost(TailMax, "p99.9 of reads with a snapshot / without", with.P999Ms / without.P999Ms));
            report.Targets.Add(Target.AtMost(CutMsMax, "ms that everything stands still", cutMs));
        }

        if (cpu.TryGetValue("redkite", out double ours) && cpu.TryGetValue("redis", out double redis)) report.Targets.Add(Target.AtMost(1, "RedKite / Redis, CPU of a snapshot for each key", ours / redis));
    }

    private static (double CpuNs, double Seconds) MeasureIdle(ServerUnderTest server, SetupConnection connection, int keys)
    {
        double before = SavedData.CpuSeconds(server);
        long start = Stopwatch.GetTimestamp();
        SavedData.Save(connection, () => { });
        return (1e9 * (SavedData.CpuSeconds(server) - before) / keys, Stopwatch.GetElapsedTime(start).TotalSeconds);
    }

    private static SteadyLoad.Result Measured(ServerUnderTest server, int keys, Action run)
    {
        using var load = new SteadyLoad(server, keys, ValueBytes, WritesPerSecond);
        run();
        return load.End();
    }
}
