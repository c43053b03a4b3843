using System.Diagnostics;
using System.Globalization;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Execution.Eviction;

/// <summary>
/// The share of reads that find their key in a cache of a tenth of all keys, under accesses with Zipf's distribution (0.99), compared with
/// redis-server: the same requests in the same order and at the same rate, because both servers count seconds.
/// </summary>
[Alone]
public sealed class HitRateTests : NetworkTests
{
    private const int Keys = 50_000;
    private const int Fitting = Keys / 10;
    private const int Requests = 160_000;
    private const int RequestsPerSecond = 40_000;
    private const int PipelineLength = 50;
    private const int Seed = 20261122;

    // Random samples and where seconds begin make the rates of either server differ from run to run.
    private const double Noise = 0.01;

    private static readonly string Value = new('v', 200);

    [Theory]
    [InlineData("allkeys-lru")]
    [InlineData("allkeys-lfu")]
    [InlineData("allkeys-random")]
    public async Task Hit_rate_is_at_least_that_of_Redis(string policy)
    {
        using var oracle = new Oracle();
        await using RedKiteServer server = await StartAsync("epoll");
        int[] trace = Trace();
        using var redis = new Cache(oracle.Port, policy);
        using var redKite = new Cache(server.Port, policy);

        // By turns, so that a busy machine slows both.
        long start = Stopwatch.GetTimestamp();
        for (int i = 0; i < trace.Length; i += PipelineLength)
        {
            int[] keys = trace[i..(i + PipelineLength)];
            redis.Use(keys, isCounted: i >= trace.Length / 2);
            redKite.Use(keys, isCounted: i >= trace.Length / 2);
            TimeSpan ahead = TimeSpan.FromSeconds((i + PipelineLength) / (double)RequestsPerSecond) - Stopwatch.GetElapsedTime(start);
            if (ahead > TimeSpan.FromMilliseconds(2)) Thread.Sleep(ahead);
        }

        TestContext.Current.SendDiagnosticMessage(string.Create(CultureInfo.InvariantCulture, $"{policy}: {redKite.HitRate:F4}, redis-server {redis.HitRate:F4}"));
        Assert.InRange(redKite.HitRate, redis.HitRate - Noise, 1);
    }

    private static int[] Trace()
    {
        double[] sums = new double[Keys];
        double sum = 0;
        for (int i = 0; i < Keys; i++) sums[i] = sum += 1 / Math.Pow(i + 1, 0.99);
        var random = new Random(Seed);
        int[] names = [.. Enumerable.Range(0, Keys)];
        random.Shuffle(names);
        int[] trace = new int[Requests];
        for (int i = 0; i < Requests; i++)
        {
            int rank = Array.BinarySearch(sums, random.NextDouble() * sum);
            trace[i] = names[rank < 0 ? ~rank : rank];
        }

        return trace;
    }

    /// <summary>A server with room for a tenth of the keys: a key that a read misses is written.</summary>
    private sealed class Cache : IDisposable
    {
        private readonly RespConnection _connection;
        private int _reads;
        private int _hits;

        internal Cache(int port, string policy)
        {
            _connection = RespConnection.Connect(port);
            _connection.Run($"CONFIG SET maxmemory-policy {policy} maxmemory-samples 10").IsOk();
            for (int i = 0; i < Fitting; i += PipelineLength) Write(Enumerable.Range(i, PipelineLength).Select(key => -1 - key));
            Thread.Sleep(1200); // buffers are counted once a second
            string used = _connection.Run("INFO memory").Text.Split("\r\n").Single(line => line.StartsWith("used_memory:", StringComparison.Ordinal));
            _connection.Run($"CONFIG SET maxmemory {used["used_memory:".Length..]}").IsOk();
        }

        internal double HitRate => (double)_hits / _reads;

        internal void Use(int[] keys, bool isCounted)
        {
            _connection.Send(string.Concat(keys.Select(key => $"GET {Name(key)}\r\n")));
            List<int> missing = [];
            foreach (int key in keys)
            {
                if (_connection.Read().IsNull) missing.Add(key);
            }

            if (isCounted)
            {
                _reads += keys.Length;
                _hits += keys.Length - missing.Count;
            }

            Write(missing);
        }

        public void Dispose() => _connection.Dispose();

        private void Write(IEnumerable<int> keys)
        {
            int[] distinct = [.. keys.Distinct()];
            _connection.Send(string.Concat(distinct.Select(key => $"SET {Name(key)} {Value}\r\n")));
            foreach (int _ in distinct) _connection.Read().IsOk();
        }

        private static string Name(int key) => key.ToString("D8", CultureInfo.InvariantCulture);
    }
}
