using System.Diagnostics;
using System.Globalization;
using RedKite.Figures.Durability;

namespace RedKite.Figures.Replication;

/// <summary>
/// A full synchronization of millions of keys: its time to a replica that keeps nothing, and to one of the same kind until that has loaded the data; the primary's resident
/// memory and the latency of its reads meanwhile, under writes. The servers run at the same time and take turns; each round's ratios are of its neighbours.
/// </summary>
internal static class FullSyncCost
{
    internal const string Name = "fullsync";

    private const int Keys = 5_000_000;
    private const int ValueBytes = 64;
    private const int WritesPerSecond = 20_000;
    private const int WindowSeconds = 10; // of latencies, with and without
    private const int RoundsMax = 3;
    private const int SyncMsMax = 600_000;
    private const int PollMs = 50;
    private const double TailMax = 2;
    private const double GrowthMax = 1.1;
    private const double MiB = 1 << 20;

    private sealed class Measured
    {
        internal List<double> Sent { get; } = [];
        internal List<double> Loaded { get; } = [];
        internal List<double> TailWithout { get; } = [];
        internal List<double> Tail { get; } = [];
        internal List<double> Longest { get; } = [];
        internal List<double> Before { get; } = [];
        internal List<double> Growth { get; } = [];
        internal long SyncBytes { get; set; }
        internal int Syncs { get; set; }
    }

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report)
    {
        int keys = options.Keys ?? Keys, rounds = Math.Min(options.Rounds, RoundsMax);
        string cpus = $"{Machine.ServerCpus},{Machine.LoadCpus}";
        var times = new Table(FormattableString.Invariant($"full synchronization of {keys:N0} keys of {ValueBytes} bytes"), new("server"),
            new("seconds to the end of the data", "F2"), new("range", "F2"), new("seconds until a replica of the same kind has loaded it", "F2"), new("its range", "F2"), new("MiB sent"));
        var effects = new Table(FormattableString.Invariant($"reads and memory during full synchronizations to a replica that keeps nothing, one after the other for {WindowSeconds} seconds, under {WritesPerSecond:N0} SETs a second"), new("server"),
            new("p99.9 ms without", "F3"), new("p99.9 ms", "F3"), new("range", "F3"), new("longest ms", "F2"), new("RSS before MiB"), new("largest / before", "F3"), new("its range", "F3"), new("synchronizations"));
        report.Tables.AddRange([times, effects]);
        ServerKind[] compared = [.. kinds.Where(kind => kind.Name != "valkey")]; // no target names it
        using var servers = new ServerGroup(compared.Select(kind => ServerUnderTest.Start(kind with { Command = $"{kind.Command} --repl-diskless-sync-delay 0 --client-output-buffer-limit 'replica 0 0 0'" }, cpus: cpus)));
        Dictionary<string, Measured> measured = compared.ToDictionary(kind => kind.Name, _ => new Measured());
        foreach (ServerUnderTest server in servers) KeyLoader.Load(server, KeyForm.Memtier, keys, ValueBytes);
        foreach (ServerUnderTest server in servers) Window(server, keys, until => Thread.Sleep(until)); // not counted: the server compiles its code and grows its buffers
        for (int round = 0; round < rounds; round++)
        {
            Console.Error.WriteLine($"full synchronization: round {round + 1} of {rounds}");
            IEnumerable<ServerUnderTest> inTurn = round % 2 == 0 ? servers : servers.Reverse();
            foreach (ServerUnderTest server in inTurn) MeasureTimes(server, compared.First(kind => kind.Name == server.Name), cpus, measured[server.Name]);
            foreach (ServerUnderTest server in inTurn) MeasureEffects(server, keys, measured[server.Name]);
        }

        foreach ((string name, Measured of) in measured)
        {
            Spread sent = Spread.Of(of.Sent), loaded = Spread.Of(of.Loaded), tail = Spread.Of(of.Tail), growth = Spread.Of(of.Growth);
            times.Add(name, sent.Median, sent.Range, loaded.Median, loaded.Range, of.SyncBytes / MiB);
            effects.Add(name, Median.Of(of.TailWithout), tail.Median, tail.Range, of.Longest.Max(), Median.Of(of.Before) / MiB, growth.Median, growth.Range, of.Syncs);
        }

        if (!measured.TryGetValue("redkite", out Measured? ours)) return;
        report.Targets.Add(Target.AtMost(GrowthMax, "largest RSS during full synchronizations under writes / before", Spread.Of(ours.Growth)));
        report.Targets.Add(Target.AtMost(TailMax, "p99.9 of reads with full synchronizations / without", Spread.OfRatios(ours.Tail, ours.TailWithout)));
        if (!measured.TryGetValue("redis", out Measured? redis)) return;
        report.Targets.Add(Target.AtMost(1, "RedKite / Redis, time to send the data", Spread.OfRatios(ours.Sent, redis.Sent)));
        report.Targets.Add(Target.AtMost(1, "RedKite / Redis, time until a replica of the same kind has loaded it", Spread.OfRatios(ours.Loaded, redis.Loaded)));
    }

    private static void MeasureTimes(ServerUnderTest server, ServerKind kind, string cpus, Measured measured)
    {
        using (var sink = new ReplicaSink(server))
        {
            sink.WaitForData();
            measured.Sent.Add(sink.SyncSeconds);
            measured.SyncBytes = sink.SyncBytes;
        }

        using ServerUnderTest replica = ServerUnderTest.Start(kind, $"{kind.Name} replica", cpus: cpus);
        using SetupConnection connection = replica.Connect();
        long start = Stopwatch.GetTimestamp();
        connection.Run("REPLICAOF", "127.0.0.1", server.Port.ToString(CultureInfo.InvariantCulture));
        ApplyCost.WaitFor(server, replica, SyncMsMax);
        measured.Loaded.Add(Stopwatch.GetElapsedTime(start).TotalSeconds);
    }

    // Windows of the same length, so that both tails are of as many reads; a synchronization that has begun in it ends.
    private static void MeasureEffects(ServerUnderTest server, int keys, Measured measured)
    {
        measured.TailWithout.Add(Window(server, keys, until => Thread.Sleep(until)).P999Ms);
        long before = SavedData.ResidentBytes(server), largest = before;
        SteadyLoad.Result with = Window(server, keys, until =>
        {
            long endMs = Environment.TickCount64 + (long)until.TotalMilliseconds;
            do
            {
                using var sink = new ReplicaSink(server);
                var waiting = Task.Run(sink.WaitForData);
                while (!waiting.Wait(PollMs)) largest = Math.Max(largest, SavedData.ResidentBytes(server));
                measured.Syncs++;
            }
            while (Environment.TickCount64 < endMs);
        });
        measured.Tail.Add(with.P999Ms);
        measured.Longest.Add(with.LongestMs);
        measured.Before.Add(before);
        measured.Growth.Add((double)largest / before);
    }

    private static SteadyLoad.Result Window(ServerUnderTest server, int keys, Action<TimeSpan> run)
    {
        using var load = new SteadyLoad(server, keys, ValueBytes, WritesPerSecond);
        run(TimeSpan.FromSeconds(WindowSeconds));
        return load.End();
    }
}
