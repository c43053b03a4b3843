using System.Diagnostics;
using System.Globalization;

namespace RedKite.Figures;

/// <param name="Sets">SETs per <paramref name="Gets"/> GETs.</param>
/// <param name="IsMixed">Whether SETs and GETs share each pipeline, instead of a phase of SETs and one of GETs.</param>
internal sealed record Workload(int Keys, int ValueBytes, int Clients, int Seconds, int Sets = 1, int Gets = 10, bool IsMixed = false)
{
    /// <summary>The keys that the load requests.</summary>
    internal KeyForm KeyForm => IsMixed ? KeyForm.Memtier : KeyForm.RedisBenchmark;
}

internal readonly record struct LoadResult(double Operations, double PerSecond);

/// <summary>
/// The load, in a process of its own on the load's cores, with random keys: redis-benchmark runs a number of SETs and then a
/// number of GETs, because it cannot mix them; `redkite bench` sends the same numbers of both within each pipeline.
/// </summary>
/// <param name="connecting">Arguments of redis-benchmark for how it connects, such as a user or TLS.</param>
internal sealed class LoadGenerator(string cpus, params string[] connecting)
{
    /// <summary>The generators, for the description of a scenario.</summary>
    internal const string Description = "redis-benchmark in phases of SETs and GETs, `redkite bench` for mixed ones";

    // The rate of one thread of the load per unit of pipeline depth. A round lasts about the requested seconds at depth 1, and
    // less at depths above 16, where its rate stops growing.
    private const int OperationsPerSecondAndDepth = 40_000;
    private const int GrowingDepthMax = 16;
    private const int RoundOperationsMin = 20_000;
    private const int VerbOperationsMin = 1000;

    private readonly string _redisBenchmark = PeerProgram.RequireRedisBenchmark();

    /// <summary>One round of SETs and GETs.</summary>
    internal LoadResult Run(int port, Workload workload, int pipeline)
    {
        long operations = CountOperations(workload.Seconds, pipeline);
        return workload.IsMixed ? RunMixed(port, workload, pipeline, operations) : RunPhases(port, workload, pipeline, operations);
    }

    /// <summary>An exact number of GETs of the keys of <see cref="KeyForm.RedisBenchmark"/>.</summary>
    internal void RunGets(int port, int keys, int clients, int pipeline, long count) =>
        RunVerb("get", port, new Workload(keys, ValueBytes: 1, clients, Seconds: 0), pipeline, count);

    /// <summary>An exact number of SETs of these keys.</summary>
    internal void RunSets(int port, int keys, int valueBytes, int clients, int pipeline, long count) =>
        RunVerb("set", port, new Workload(keys, valueBytes, clients, Seconds: 0), pipeline, count);

    /// <summary>The operations of a round of about this length.</summary>
    internal static long CountOperations(int seconds, int pipeline) =>
        Math.Max(RoundOperationsMin, (long)seconds * OperationsPerSecondAndDepth * Math.Min(pipeline, GrowingDepthMax));

    private LoadResult RunPhases(int port, Workload workload, int pipeline, long operations)
    {
        long sets = workload.Sets == 0 ? 0 : Math.Max(VerbOperationsMin, operations * workload.Sets / (workload.Sets + workload.Gets));
        long gets = Math.Max(VerbOperationsMin, operations * workload.Gets / (workload.Sets + workload.Gets));
        var elapsed = Stopwatch.StartNew();
        if (sets > 0) RunVerb("set", port, workload, pipeline, sets);
        RunVerb("get", port, workload, pipeline, gets);
        return new LoadResult(sets + gets, (sets + gets) / elapsed.Elapsed.TotalSeconds);
    }

    private void RunVerb(string verb, int port, Workload workload, int pipeline, long count) =>
        RunPinned(
            [_redisBenchmark, "-h", "127.0.0.1", "-p", Text(port), "-t", verb, "-n", Text(count), "-c", Text(workload.Clients),
            "-P", Text(pipeline), "-d", Text(workload.ValueBytes), "-r", Text(workload.Keys), "-q", .. connecting]);

    private LoadResult RunMixed(int port, Workload workload, int pipeline, long operations)
    {
        long perClient = operations / workload.Clients / pipeline * pipeline; // whole batches
        var elapsed = Stopwatch.StartNew();
        RunPinned(
            [Repository.HostProgram, "bench", "-s", "127.0.0.1", "-p", Text(port), "-t", "1", "-c", Text(workload.Clients), "-n", Text(perClient),
            "--pipeline", Text(pipeline), "-d", Text(workload.ValueBytes), "--ratio", $"{Text(workload.Sets)}:{Text(workload.Gets)}",
            "--key-prefix", workload.KeyForm.Prefix, "--key-maximum", Text(workload.Keys - 1),
            // Otherwise every connection of every round requests the same keys.
            "--distinct-client-seed", "--randomize", "--hide-histogram"]);
        double done = perClient * workload.Clients;
        return new LoadResult(done, done / elapsed.Elapsed.TotalSeconds);
    }

    private void RunPinned(string[] command) => ExternalProgram.Run("taskset", ["-c", cpus, .. command]);

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}
