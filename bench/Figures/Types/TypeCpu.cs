using System.Diagnostics;
using System.Globalization;

namespace RedKite.Figures.Types;

/// <summary>
/// Server CPU per operation on each type, until the server is idle again. All servers run at the same time in interleaved
/// rounds with the same data, which is loaded before the measurement, and have the same warm-up.
/// </summary>
internal static class TypeCpu
{
    private const double RoundCpuSeconds = 0.4;
    private const double QuickRoundCpuSeconds = 0.2;
    private const double PlanningCpuSeconds = 0.05;
    private const int SampleNumber = 4711;

    // The JIT first counts calls and then optimizes, on the same core: a profile of GEOSEARCH still had counting after three seconds.
    private static readonly TimeSpan WarmUpTime = TimeSpan.FromSeconds(5);

    // Enough for commands that share their code with those before them: on one core, the JIT waits for a second in which no method is called
    // for the first time before it counts calls at all.
    private static readonly TimeSpan QuickWarmUpTime = TimeSpan.FromSeconds(3);

    internal static void Measure(IReadOnlyList<ServerKind> kinds, IReadOnlyList<TypeOperation> operations, int rounds, bool quick, Report report)
    {
        if (operations.Count == 0) return;
        string redisBenchmark = PeerProgram.RequireRedisBenchmark();
        var table = new Table("server CPU for each operation", new("operation"), new("redkite cpu ns/op"), new("later ns/op"), new("redis cpu ns/op"), new("valkey cpu ns/op"),
            new("redis / redkite", "F2"), new("range redis / redkite", "F2"), new("valkey / redkite", "F2"), new("at least", "F1"), new("met"));
        report.Tables.Add(table);

        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (TypeOperation operation in operations)
        {
            Dictionary<string, Cost[]> costs = MeasureInterleaved(servers, operation, redisBenchmark, rounds, quick);
            AddRow(table, operation, costs);
        }
    }

    /// <param name="TotalNs">CPU per operation.</param>
    /// <param name="LaterNs">The part of it after the last reply.</param>
    private readonly record struct Cost(double TotalNs, double LaterNs);

    private static Dictionary<string, Cost[]> MeasureInterleaved(
        ServerGroup servers, TypeOperation operation, string redisBenchmark, int rounds, bool quick)
    {
        foreach (ServerUnderTest server in servers) Load(server, operation);
        CheckReplies(servers, operation);

        // Twice, because operations cost more each in small numbers than in large ones.
        int count = RoundSize.For(PlanningCpuSeconds, servers.Max(server => MeasureRound(server, operation, redisBenchmark, RoundSize.Smallest).TotalNs));
        count = RoundSize.For(quick ? QuickRoundCpuSeconds : RoundCpuSeconds, servers.Max(server => MeasureRound(server, operation, redisBenchmark, count).TotalNs));
        foreach (ServerUnderTest server in servers) WarmUp(server, operation, redisBenchmark, count, quick ? QuickWarmUpTime : WarmUpTime);
        Console.Error.WriteLine($"{operation.Name}: {rounds} rounds of {count} operations");
        Dictionary<string, Cost[]> costs = servers.ToDictionary(server => server.Name, _ => new Cost[rounds]);
        for (int round = 0; round < rounds; round++)
        {
            foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse()) costs[server.Name][round] = MeasureRound(server, operation, redisBenchmark, count);
        }

        return costs;
    }

    private static void Load(ServerUnderTest server, TypeOperation operation)
    {
        using var pipe = new CommandPipe(server.Port);
        pipe.Run("FLUSHALL");
        operation.Load?.Invoke(pipe);
        pipe.Flush();
    }

    // An operation that fails or finds nothing would be cheap, so all servers must give the same reply.
    private static void CheckReplies(ServerGroup servers, TypeOperation operation)
    {
        int? expected = null;
        foreach (ServerUnderTest server in servers)
        {
            using var pipe = new CommandPipe(server.Port);
            Prepare(pipe, operation, RoundSize.Smallest);
            int replyBytes = pipe.Run(operation.Sample(SampleNumber));
            expected ??= replyBytes;
            if (replyBytes != expected) throw new CannotMeasureException($"{operation.Name}: replies of {expected} and {replyBytes} bytes");
        }
    }

    private static void WarmUp(ServerUnderTest server, TypeOperation operation, string redisBenchmark, int count, TimeSpan duration)
    {
        var warmingUp = Stopwatch.StartNew();
        do
        {
            MeasureRound(server, operation, redisBenchmark, count);
        }
        while (warmingUp.Elapsed < duration);
    }

    private static Cost MeasureRound(ServerUnderTest server, TypeOperation operation, string redisBenchmark, int count)
    {
        using (var pipe = new CommandPipe(server.Port)) Prepare(pipe, operation, count);
        IdleWait.Run(server, IdleWait.AfterRound); // Work that a server does after its replies to the loading must not count.
        double before = server.Cpu.TotalSeconds;
        ExternalProgram.Run("taskset", ["-c", Machine.LoadCpus, redisBenchmark, "-h", "127.0.0.1", "-p", Text(server.Port), "-n", Text(count),
            "-c", Text(RoundSize.Clients), "-P", Text(RoundSize.Pipeline), "-r", Text(operation.Range), "-q", .. operation.Words]);
        double used = server.Cpu.TotalSeconds - before;
        double later = IdleWait.Run(server, IdleWait.AfterRound).CpuSeconds;
        return new Cost(1e9 * (used + later) / count, 1e9 * later / count);
    }

    private static void Prepare(CommandPipe pipe, TypeOperation operation, int count)
    {
        if (operation.Fresh is { } key) pipe.Run("DEL", key);
        // The load sends whole batches, so it may send a few more than requested.
        operation.Supply?.Invoke(pipe, count + RoundSize.Smallest);
        pipe.Flush();
    }

    private static void AddRow(Table table, TypeOperation operation, Dictionary<string, Cost[]> costs)
    {
        double[]? redKite = Totals("redkite"), redis = Totals("redis"), valkey = Totals("valkey");
        Spread? byRedis = redKite is null || redis is null ? null : Spread.OfRatios(redis, redKite);
        Spread? byValkey = redKite is null || valkey is null ? null : Spread.OfRatios(valkey, redKite);
        table.Add(
            operation.Name, MedianOf(redKite), MedianOf(costs.GetValueOrDefault("redkite")?.Select(cost => cost.LaterNs)), MedianOf(redis), MedianOf(valkey),
            byRedis?.Median, byRedis?.Range, byValkey?.Median, operation.RatioMin, byRedis is null ? null : byRedis.Median >= operation.RatioMin ? "yes" : "NO");

        double[]? Totals(string server) => costs.GetValueOrDefault(server)?.Select(cost => cost.TotalNs).ToArray();
    }

    private static double? MedianOf(IEnumerable<double>? values) => values is null ? null : Median.Of(values);

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}
