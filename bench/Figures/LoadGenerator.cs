using System.Diagnostics;
using System.Globalization;
using System.Text.Json;

namespace RedKite.Figures;

/// <param name="Sets">SETs per <paramref name="Gets"/> GETs.</param>
internal sealed record Workload(int Keys, int ValueBytes, int Clients, int Seconds, int Sets = 1, int Gets = 10);

/// <param name="P99Ms">Null if the generator does not report it.</param>
internal readonly record struct LoadResult(double Operations, double PerSecond, double? P99Ms, double? P999Ms);

/// <summary>
/// The load: memtier_benchmark if it is on PATH, otherwise redis-benchmark, in a process of its own on the load's cores.
/// Both request random keys. memtier_benchmark mixes SETs and GETs for a given time; redis-benchmark runs a number of
/// SETs and then a number of GETs.
/// </summary>
internal sealed class LoadGenerator
{
    // The rate of redis-benchmark's single thread per unit of pipeline depth. A round lasts about the requested seconds at
    // depth 1, and less at depths above 16, where its rate stops growing.
    private const int OperationsPerSecondAndDepth = 40_000;
    private const int GrowingDepthMax = 16;
    private const int RoundOperationsMin = 20_000;
    private const int VerbOperationsMin = 1000;

    private readonly string? _memtier = ExternalProgram.Find("memtier_benchmark");
    private readonly string? _redisBenchmark = ExternalProgram.Find("redis-benchmark");
    private readonly string _cpus;

    internal LoadGenerator(string cpus)
    {
        _cpus = cpus;
        if (_memtier is null && _redisBenchmark is null)
        {
            throw new CannotMeasureException("neither memtier_benchmark nor redis-benchmark is on PATH");
        }
    }

    internal string Name => _memtier is not null ? "memtier_benchmark" : "redis-benchmark";

    internal KeyForm KeyForm => _memtier is not null ? KeyForm.Memtier : KeyForm.RedisBenchmark;

    /// <summary>One round of SETs and GETs.</summary>
    internal LoadResult Run(int port, Workload workload, int pipeline) =>
        _memtier is not null ? RunMemtier(port, workload, pipeline) : RunRedisBenchmark(port, workload, pipeline);

    /// <summary>An exact number of GETs of the keys of <see cref="KeyForm.RedisBenchmark"/>.</summary>
    internal void RunGets(int port, int keys, int clients, int pipeline, long count)
    {
        if (_redisBenchmark is null) throw new CannotMeasureException("redis-benchmark is not on PATH");
        RunVerb("get", port, new Workload(keys, ValueBytes: 1, clients, Seconds: 0), pipeline, count);
    }

    private LoadResult RunRedisBenchmark(int port, Workload workload, int pipeline)
    {
        long operations = Math.Max(
            RoundOperationsMin, (long)workload.Seconds * OperationsPerSecondAndDepth * Math.Min(pipeline, GrowingDepthMax));
        long sets = Math.Max(VerbOperationsMin, operations * workload.Sets / (workload.Sets + workload.Gets));
        long gets = Math.Max(VerbOperationsMin, operations * workload.Gets / (workload.Sets + workload.Gets));

        var elapsed = Stopwatch.StartNew();
        RunVerb("set", port, workload, pipeline, sets);
        RunVerb("get", port, workload, pipeline, gets);
        return new LoadResult(sets + gets, (sets + gets) / elapsed.Elapsed.TotalSeconds, P99Ms: null, P999Ms: null);
    }

    private void RunVerb(string verb, int port, Workload workload, int pipeline, long count) =>
        RunPinned(
            _redisBenchmark!, "-h", "127.0.0.1", "-p", Text(port), "-t", verb, "-n", Text(count), "-c", Text(workload.Clients),
            "-P", Text(pipeline), "-d", Text(workload.ValueBytes), "-r", Text(workload.Keys), "-q");

    private LoadResult RunMemtier(int port, Workload workload, int pipeline)
    {
        string file = Path.GetTempFileName();
        try
        {
            RunPinned(
                _memtier!, "-s", "127.0.0.1", "-p", Text(port), "-P", "redis", "-t", "1", "-c", Text(workload.Clients),
                "--test-time", Text(workload.Seconds), "--pipeline", Text(pipeline), "-d", Text(workload.ValueBytes),
                "--ratio", $"{workload.Sets}:{workload.Gets}", "--key-maximum", Text(workload.Keys),
                "--hide-histogram", "--json-out-file", file, "-o", "/dev/null");
            return ReadMemtierResult(file, workload.Seconds);
        }
        finally
        {
            File.Delete(file);
        }
    }

    private static LoadResult ReadMemtierResult(string file, int askedSeconds)
    {
        using JsonDocument document = JsonDocument.Parse(File.ReadAllText(file));
        JsonElement all = document.RootElement.GetProperty("ALL STATS");
        JsonElement totals = all.GetProperty("Totals");
        JsonElement percentiles = totals.GetProperty("Percentile Latencies");
        double perSecond = totals.GetProperty("Ops/sec").GetDouble();
        // The run lasts a little longer than requested; for versions that do not report the duration, the requested one counts.
        double seconds = all.TryGetProperty("Runtime", out JsonElement runtime) && runtime.TryGetProperty("Total duration", out JsonElement ms)
            ? ms.GetDouble() / 1000
            : askedSeconds;
        return new LoadResult(perSecond * seconds, perSecond, Percentile("p99.00"), Percentile("p99.90"));

        double? Percentile(string name) => percentiles.TryGetProperty(name, out JsonElement value) ? value.GetDouble() : null;
    }

    private void RunPinned(string program, params string[] arguments) => ExternalProgram.Run("taskset", ["-c", _cpus, program, .. arguments]);

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}
