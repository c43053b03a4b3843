using System.Diagnostics;
using System.Globalization;
using RedKite.Figures.Durability;

namespace RedKite.Figures.Replication;

/// <summary>
/// A full synchronization of millions of keys: its time to a replica that keeps nothing, and to one of the same kind until that has loaded the data; the primary's resident
/// memory and the latency of its reads meanwhile, under writes.
/// </summary>
internal static class FullSyncCost
{
    internal const string Name = "fullsync";

    private const int Keys = 5_000_000;
    private const int ValueBytes = 64;
    private const int WritesPerSecond = 20_000;
    private const int QuietSeconds = 10;
    private const int SyncMsMax = 600_000;
    private const int PollMs = 50;
    private const double TailMax = 2;
    private const double GrowthMax = 1.1;
    private const double MiB = 1 << 20;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        int keys = options.Keys ?? Keys;
        var table = new Table(FormattableString.Invariant($"full synchronization of {keys:N0} keys of {ValueBytes} bytes; the last columns with a replica that keeps nothing, under {WritesPerSecond:N0} SETs a second"), new("server"),
            new("seconds to the end of the data", "F2"), new("seconds until loaded", "F2"), new("MiB sent"), new("RSS before MiB"), new("largest / before", "F3"), new("p99.9 ms without", "F3"), new("p99.9 ms", "F3"), new("longest ms", "F2"));
        report.Tables.Add(table);
        Dictionary<string, (double Sent, double Loaded)> seconds = [];
        foreach (ServerKind kind in kinds)
        {
            string cpus = $"{Machine.ServerCpus},{Machine.LoadCpus}";
            using ServerUnderTest server = ServerUnderTest.Start(kind with { Command = $"{kind.Command} --repl-diskless-sync-delay 0 --client-output-buffer-limit 'replica 0 0 0'" }, cpus: cpus);
            KeyLoader.Load(server, KeyForm.Memtier, keys, ValueBytes);
            (double sent, long bytes) = Send(server);
            double loaded = Load(server, kind, cpus);
            seconds[kind.Name] = (sent, loaded);
            Measured(server, keys, () => Thread.Sleep(QuietSeconds * 1000)); // not counted: the server compiles its code and grows its buffers
            SteadyLoad.Result without = Measured(server, keys, () => Thread.Sleep(QuietSeconds * 1000));
            long before = SavedData.ResidentBytes(server), largest = before;
            SteadyLoad.Result with = Measured(server, keys, () =>
            {
                using var sink = new ReplicaSink(server);
                var waiting = Task.Run(sink.WaitForData);
                while (!waiting.Wait(PollMs)) largest = Math.Max(largest, SavedData.ResidentBytes(server));
            });
            double growth = (double)largest / before;
            table.Add(kind.Name, sent, loaded, bytes / MiB, before / MiB, growth, without.P999Ms, with.P999Ms, with.LongestMs);
            if (kind.Name != "redkite") continue;
            report.Targets.Add(Target.AtMost(GrowthMax, "largest RSS during a full synchronization under writes / before", growth));
            report.Targets.Add(Target.AtMost(TailMax, "p99.9 of reads with a full synchronization / without", with.P999Ms / without.P999Ms));
        }

        if (!seconds.TryGetValue("redkite", out (double Sent, double Loaded) ours) || !seconds.TryGetValue("redis", out (double Sent, double Loaded) redis)) return;
        report.Targets.Add(Target.AtMost(1, "RedKite / Redis, time to send the data", ours.Sent / redis.Sent));
        report.Targets.Add(Target.AtMost(1, "RedKite / Redis, time until a replica of the same kind has loaded it", ours.Loaded / redis.Loaded));
    }

    private static (double Seconds, long Bytes) Send(ServerUnderTest server)
    {
        using var sink = new ReplicaSink(server);
        sink.WaitForData();
        return (sink.SyncSeconds, sink.SyncBytes);
    }

    private static double Load(ServerUnderTest server, ServerKind kind, string cpus)
    {
        using ServerUnderTest replica = ServerUnderTest.Start(kind, $"{kind.Name} replica", cpus: cpus);
        using SetupConnection connection = replica.Connect();
        long start = Stopwatch.GetTimestamp();
        connection.Run("REPLICAOF", "127.0.0.1", server.Port.ToString(CultureInfo.InvariantCulture));
        ApplyCost.WaitFor(server, replica, SyncMsMax);
        return Stopwatch.GetElapsedTime(start).TotalSeconds;
    }

    private static SteadyLoad.Result Measured(ServerUnderTest server, int keys, Action run)
    {
        using var load = new SteadyLoad(server, keys, ValueBytes, WritesPerSecond);
        run();
        return load.End();
    }
}
