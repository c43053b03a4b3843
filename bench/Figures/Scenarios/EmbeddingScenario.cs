using Microsoft.Extensions.Caching.Distributed;
using Microsoft.Extensions.DependencyInjection;
using RedKite.Testing;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// The server inside a program: what calls of the typed client cost, what a read of a distributed cache costs against one over loopback, and how long a test server takes to start.
/// All of it in this process.
/// </summary>
internal static class EmbeddingScenario
{
    private const int ValueBytes = 32;
    private const int Calls = 2_000_000;
    private const int CacheReads = 20_000;
    private const int Servers = 50;
    private const double GetNsMax = 100, SetNsMax = 150, CacheByLoopbackMin = 10, StartMsMax = 20;

    private delegate void Operation(int calls);

    internal static Report Run(Options options)
    {
        var report = new Report("embedding", $"The server in this process: CPU of one thread for each call of the typed client, with {ValueBytes}-byte values and 16-byte keys; CPU of the whole process for each read "
            + $"of a {ValueBytes}-byte entry of IDistributedCache, in process and by Microsoft.Extensions.Caching.StackExchangeRedis over loopback to the same server; wall time to start test servers one after the other. Median of "
            + $"{options.Rounds} interleaved rounds after a warm-up round, with the range.");
        MeasureCalls(report, options.Rounds);
        MeasureCache(report, options.Rounds);
        MeasureStart(report, options.Rounds);
        return report;
    }

    private static void MeasureCalls(Report report, int rounds)
    {
        RedKiteServer server = Start(port: null);
        RedKiteClient client = server.CreateClient();
        byte[] key = "key:000000000001"u8.ToArray(), value = new byte[ValueBytes], buffer = new byte[2 * ValueBytes];
        client.Set(key, value);
        (string Name, Operation Run)[] operations =
        [
            ("GET into a buffer", calls => { for (int i = 0; i < calls; i++) client.Get(key, buffer); }),
            ("GET into a buffer, key as string", calls => { for (int i = 0; i < calls; i++) client.Get("key:000000000001", buffer); }),
            ("GET as array", calls => { for (int i = 0; i < calls; i++) client.Get(key); }),
            ("SET", calls => { for (int i = 0; i < calls; i++) client.Set(key, value); }),
            ("INCR", calls => { for (int i = 0; i < calls; i++) client.Increment("number"u8); }),
            ("Execute GET", calls => { for (int i = 0; i < calls; i++) client.Execute("GET", "key:000000000001"); }),
        ];
        var table = new Table("typed client", new("call"), new("cpu ns"), new("range ns"), new("million calls/s", "F1"), new("bytes allocated", "F0"));
        report.Tables.Add(table);
        double[][] measured = [.. operations.Select(_ => new double[rounds])];
        double[] allocated = new double[operations.Length];
        for (int round = -1; round < rounds; round++)
        {
            for (int i = 0; i < operations.Length; i++)
            {
                long bytes = GC.GetAllocatedBytesForCurrentThread(), start = KernelCpuClock.ReadThreadNs();
                operations[i].Run(Calls);
                double ns = (KernelCpuClock.ReadThreadNs() - start) / (double)Calls;
                allocated[i] = (GC.GetAllocatedBytesForCurrentThread() - bytes) / (double)Calls;
                if (round >= 0) measured[i][round] = ns;
            }
        }

        for (int i = 0; i < operations.Length; i++)
        {
            Spread ns = Spread.Of(measured[i]);
            table.Add(operations[i].Name, ns.Median, ns.Range, 1000 / ns.Median, allocated[i]);
            if (operations[i].Name == "GET into a buffer") report.Targets.Add(Target.AtMost(GetNsMax, "GET into a buffer, ns", ns));
            if (operations[i].Name == "SET") report.Targets.Add(Target.AtMost(SetNsMax, "SET, ns", ns));
        }

        server.StopAsync().GetAwaiter().GetResult();
    }

    private static void MeasureCache(Report report, int rounds)
    {
        RedKiteServer server = Start(port: 0);
        ServiceProvider inProcess = new ServiceCollection().AddSingleton(server).AddRedKiteCache().BuildServiceProvider();
        ServiceProvider loopback = new ServiceCollection().AddLogging().AddStackExchangeRedisCache(options => options.Configuration = $"127.0.0.1:{server.Port}").BuildServiceProvider();
        IDistributedCache ours = inProcess.GetRequiredService<IDistributedCache>(), theirs = loopback.GetRequiredService<IDistributedCache>();
        ours.Set("key", new byte[ValueBytes], new DistributedCacheEntryOptions { SlidingExpiration = TimeSpan.FromHours(1) });
        var table = new Table("IDistributedCache.Get of an entry with a sliding expiry", new("cache"), new("cpu us", "F2"), new("range us", "F2"));
        report.Tables.Add(table);
        double[] oursUs = new double[rounds], theirsUs = new double[rounds];
        for (int round = -1; round < rounds; round++)
        {
            double ourUs = ProcessUs(() => Read(ours)), theirUs = ProcessUs(() => Read(theirs));
            if (round >= 0) (oursUs[round], theirsUs[round]) = (ourUs, theirUs);
        }

        table.Add("in process", Spread.Of(oursUs).Median, Spread.Of(oursUs).Range);
        table.Add("StackExchange.Redis over loopback", Spread.Of(theirsUs).Median, Spread.Of(theirsUs).Range);
        report.Targets.Add(Target.AtLeast(CacheByLoopbackMin, "IDistributedCache.Get over loopback / in process", Spread.OfRatios(theirsUs, oursUs)));
        loopback.Dispose();
        inProcess.DisposeAsync().AsTask().GetAwaiter().GetResult();
        server.StopAsync().GetAwaiter().GetResult();

        static void Read(IDistributedCache cache)
        {
            for (int i = 0; i < CacheReads; i++) cache.Get("key");
        }

        static double ProcessUs(Action action)
        {
            long start = KernelCpuClock.ReadProcessNs(Environment.ProcessId);
            action();
            return (KernelCpuClock.ReadProcessNs(Environment.ProcessId) - start) / 1000.0 / CacheReads;
        }
    }

    private static void MeasureStart(Report report, int rounds)
    {
        var table = new Table("test server", new("what"), new("ms", "F1"), new("range ms", "F1"));
        report.Tables.Add(table);
        double[] starts = new double[rounds], cycles = new double[rounds];
        for (int round = -1; round < rounds; round++)
        {
            double started = 0;
            long begin = System.Diagnostics.Stopwatch.GetTimestamp();
            for (int i = 0; i < Servers; i++)
            {
                long start = System.Diagnostics.Stopwatch.GetTimestamp();
                RedKiteTestServer server = RedKiteTestServer.StartAsync().GetAwaiter().GetResult();
                started += System.Diagnostics.Stopwatch.GetElapsedTime(start).TotalMilliseconds;
                server.DisposeAsync().AsTask().GetAwaiter().GetResult();
            }

            if (round >= 0) (starts[round], cycles[round]) = (started / Servers, System.Diagnostics.Stopwatch.GetElapsedTime(begin).TotalMilliseconds / Servers);
        }

        table.Add("start", Spread.Of(starts).Median, Spread.Of(starts).Range);
        table.Add("start and stop", Spread.Of(cycles).Median, Spread.Of(cycles).Range);
        report.Targets.Add(Target.AtMost(StartMsMax, "start of a test server, ms", Spread.Of(starts)));
    }

    private static RedKiteServer Start(int? port)
    {
        var options = new RedKiteOptions { Port = port };
        options.Settings["loops"] = "1";
        return RedKiteServer.StartAsync(options).GetAwaiter().GetResult();
    }
}
