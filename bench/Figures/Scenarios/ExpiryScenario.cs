using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;

namespace RedKite.Figures.Scenarios;

/// <summary>The time until untouched keys that expire at the same moment are removed, and the share of a core that it takes.</summary>
internal static class ExpiryScenario
{
    private const int Keys = 10_000_000;
    private const int ValueBytes = 32;
    private const int LoadedKeys = 100_000;
    private const int Pipeline = 16;
    private const double SecondsTarget = 2;
    private const int RoundsMax = 3;

    // A slower server is stopped; the table shows the share of keys that it had removed by then.
    private const double SecondsMax = 15;

    // Loading may take this many times the duration estimated from the warm-up or from the previous attempt.
    private const int LoadSlowdown = 4;
    private const int LoadAttempts = 3;

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(20);

    internal static Report Run(Options options)
    {
        int keys = options.Keys ?? Keys;
        int valueBytes = options.ValueBytes ?? ValueBytes;
        int rounds = options.Quick ? 1 : Math.Min(RoundsMax, options.Rounds);
        var load = new LoadGenerator(Machine.LoadCpus);
        var report = new Report("expiry", $"{keys:N0} strings with 15-byte keys and {valueBytes}-byte values expire at the same moment, untouched: INFO is "
            + $"polled every {PollInterval.TotalMilliseconds:F0} ms until it counts no key with an expiry, for at most {SecondsMax:F0} seconds. Once without load, once with "
            + $"redis-benchmark with {options.Clients} connections and pipelines of {Pipeline} on core {Machine.LoadCpus}; servers (RedKite with one loop) on core {Machine.ServerCpus}. "
            + $"Without load the median of {rounds} measurements, with load one: compare orders of magnitude. The share of a core is the growth of expire_cycle_cpu_milliseconds; RSS left is the share of the keys' memory still resident two seconds later.");
        var table = new Table("keys that expire at one moment", new("server"), new("beside"), new("seconds", "F2"), new("range seconds", "F2"), new("removed", "P0"),
            new("share of a core", "P0"), new("RSS left", "P0"));
        report.Tables.Add(table);

        foreach (ServerKind kind in ServerKind.Available(options, report))
        {
            foreach (bool loaded in (bool[])[false, true])
            {
                var workload = new Workload(LoadedKeys, options.ValueBytes ?? ValueBytes, options.Clients, options.Seconds);
                Expiry[] expiries = [.. Enumerable.Range(0, loaded ? 1 : rounds).Select(_ => Measure(kind, keys, valueBytes, loaded ? server => load.Run(server.Port, workload, Pipeline) : null))];
                Spread seconds = Spread.Of(expiries.Select(expiry => expiry.Seconds));
                table.Add(kind.Name, loaded ? "load" : "nothing", seconds.Median, seconds.Range, Median.Of(expiries.Select(expiry => expiry.Removed)),
                    Median.Of(expiries.Select(expiry => expiry.Share)), Median.Of(expiries.Select(expiry => expiry.ResidentLeft)));
                if (kind.Name == "redkite" && !loaded) report.Targets.Add(Target.AtMost(SecondsTarget, "RedKite's seconds without load", seconds));
            }
        }

        return report;
    }

    private static Expiry Measure(ServerKind kind, int keys, int valueBytes, Action<ServerUnderTest>? loadOnce)
    {
        TimeSpan? loading = null;
        for (int attempt = 0; attempt < LoadAttempts; attempt++)
        {
            using ServerUnderTest server = ServerUnderTest.Start(kind);
            if (Measure(server, keys, valueBytes, ref loading, loadOnce) is { } expiry) return expiry;
            Console.Error.WriteLine($"{kind.Name}: the first of {keys} keys expired while they were loaded, in {loading.Value.TotalSeconds:F0} s");
        }

        throw new CannotMeasureException($"{kind.Name} takes too long to load {keys} keys");
    }

    // Returns null if keys expired before all were loaded; `loading` is then the time that loading takes.
    private static Expiry? Measure(
        ServerUnderTest server, int keys, int valueBytes, [NotNull] ref TimeSpan? loading, Action<ServerUnderTest>? loadOnce)
    {
        TimeSpan aKey = KeyLoader.WarmUp(server, valueBytes);
        loadOnce?.Invoke(server);
        Thread.Sleep(500); // Time for work that a server does after its replies.
        long resident = server.ResidentBytes;
        DateTime expiry = DateTime.UtcNow + TimeSpan.FromSeconds(1) + (LoadSlowdown * (loading ?? keys * aKey));
        var watch = Stopwatch.StartNew();
        KeyLoader.LoadExpiring(server, KeyForm.Memory, keys, valueBytes, expiry);
        loading = watch.Elapsed;
        long loaded = server.ResidentBytes;
        using SetupConnection connection = server.Connect();
        if (CountExpiring(connection) != keys) return null;

        using var over = new CancellationTokenSource();
        Task load = loadOnce is null ? Task.CompletedTask : Task.Factory.StartNew(
            () => { while (!over.IsCancellationRequested) loadOnce(server); }, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        try
        {
            TimeSpan left = expiry - DateTime.UtcNow;
            if (left > TimeSpan.Zero) Thread.Sleep(left);
            long sweepMs = SweepMs(connection);
            (double seconds, long remaining) = Watch(connection);
            double share = (SweepMs(connection) - sweepMs) / (1000 * seconds);
            Thread.Sleep(2000);
            double residentLeft = (double)(server.ResidentBytes - resident) / (loaded - resident);
            return new Expiry(seconds, 1 - ((double)remaining / keys), share, residentLeft);
        }
        finally
        {
            over.Cancel();
            load.Wait();
        }
    }

    private static (double Seconds, long Remaining) Watch(SetupConnection connection)
    {
        var watch = Stopwatch.StartNew();
        while (true)
        {
            long remaining = CountExpiring(connection);
            if (remaining == 0 || watch.Elapsed.TotalSeconds > SecondsMax) return (watch.Elapsed.TotalSeconds, remaining);
            Thread.Sleep(PollInterval);
        }
    }

    private static long CountExpiring(SetupConnection connection)
    {
        const string Field = "expires=";
        string keyspace = connection.Run("INFO", "keyspace");
        int at = keyspace.IndexOf(Field, StringComparison.Ordinal);
        return at < 0 ? 0 : long.Parse(keyspace.AsSpan(at + Field.Length, keyspace.AsSpan(at + Field.Length).IndexOf(',')), CultureInfo.InvariantCulture);
    }

    private static long SweepMs(SetupConnection connection) =>
        connection.ReadInfo("stats", "expire_cycle_cpu_milliseconds") ?? throw new CannotMeasureException("INFO has no expire_cycle_cpu_milliseconds");

    private readonly record struct Expiry(double Seconds, double Removed, double Share, double ResidentLeft);
}
