using System.Diagnostics;
using System.Globalization;

namespace RedKite.Figures.Types;

/// <summary>
/// Server CPU per operation on each type. Both servers run at the same time in interleaved rounds with the same data, which
/// is loaded before the measurement.
/// </summary>
internal static class TypeCpu
{
    private const double RoundCpuSeconds = 0.4;
    private const double QuickRoundCpuSeconds = 0.12;
    private const double PlanningCpuSeconds = 0.05;
    private const int SampleNumber = 4711;

    // Work that a server does after its replies to the loading must not count in the round.
    private const int SettleMs = 60;

    // The JIT first counts calls and then optimizes, on the same core: a profile of GEOSEARCH still had counting after three seconds.
    private static readonly TimeSpan WarmUpTime = TimeSpan.FromSeconds(5);

    internal static void Measure(IReadOnlyList<ServerKind> kinds, IReadOnlyList<TypeOperation> operations, int rounds, bool quick, Report report)
    {
        if (operations.Count == 0) return;
        string redisBenchmark = ExternalProgram.Find("redis-benchmark") ?? throw new CannotMeasureException("redis-benchmark is not on PATH");
        var table = new Table("server CPU for each operation", new("operation"), new("redis cpu ns/op"), new("redkite cpu ns/op"),
            new("redis / redkite", "F2"), new("lowest", "F2"), new("highest", "F2"), new("at least", "F1"), new("met"));
        report.Tables.Add(table);

        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (TypeOperation operation in operations)
        {
            Dictionary<string, double[]> cpuNs = MeasureByTurns(servers, operation, redisBenchmark, rounds, quick);
            AddRow(table, operation, cpuNs.GetValueOrDefault("redis"), cpuNs.GetValueOrDefault("redkite"));
        }
    }

    private static Dictionary<string, double[]> MeasureByTurns(
        ServerGroup servers, TypeOperation operation, string redisBenchmark, int rounds, bool quick)
    {
        foreach (ServerUnderTest server in servers) Load(server, operation);
        CheckReplies(servers, operation);

        // Twice, because operations cost more each in small numbers than in large ones.
        int count = RoundSize.For(PlanningCpuSeconds, servers.Max(server => MeasureRound(server, operation, redisBenchmark, RoundSize.Smallest)));
        count = RoundSize.For(quick ? QuickRoundCpuSeconds : RoundCpuSeconds, servers.Max(server => MeasureRound(server, operation, redisBenchmark, count)));
        foreach (ServerUnderTest server in servers) WarmUp(server, operation, redisBenchmark, count, quick);
        Console.Error.WriteLine($"{operation.Name}: {rounds} rounds of {count} operations");
        Dictionary<string, double[]> cpuNs = servers.ToDictionary(server => server.Name, _ => new double[rounds]);
        for (int round = 0; round < rounds; round++)
        {
            foreach (ServerUnderTest server in servers) cpuNs[server.Name][round] = MeasureRound(server, operation, redisBenchmark, count);
        }

        return cpuNs;
    }

    private static void Load(ServerUnderTest server, TypeOperation operation)
    {
        using var pipe = new CommandPipe(server.Port);
        pipe.Run("FLUSHALL");
        operation.Load?.Invoke(pipe);
        pipe.Flush();
    }

    // An operation that fails or finds nothing would be cheap, so both servers must give the same reply.
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

    private static void WarmUp(ServerUnderTest server, TypeOperation operation, string redisBenchmark, int count, bool quick)
    {
        var warmingUp = Stopwatch.StartNew();
        do
        {
            MeasureRound(server, operation, redisBenchmark, count);
        }
        while (!quick && server.Name == "redkite" && warmingUp.Elapsed < WarmUpTime);
    }

    private static double MeasureRound(ServerUnderTest server, TypeOperation operation, string redisBenchmark, int count)
    {
        using (var pipe = new CommandPipe(server.Port)) Prepare(pipe, operation, count);
        Thread.Sleep(SettleMs);
        CpuClock before = server.Cpu;
        ExternalProgram.Run("taskset", ["-c", Machine.LoadCpus, redisBenchmark, "-h", "127.0.0.1", "-p", Text(server.Port), "-n", Text(count),
            "-c", Text(RoundSize.Clients), "-P", Text(RoundSize.Pipeline), "-r", Text(operation.Range), "-q", .. operation.Words]);
        return 1e9 * (server.Cpu - before).TotalSeconds / count;
    }

    private static void Prepare(CommandPipe pipe, TypeOperation operation, int count)
    {
        if (operation.Fresh is { } key) pipe.Run("DEL", key);
        // The load sends whole batches, so it may send a few more than requested.
        operation.Supply?.Invoke(pipe, count + RoundSize.Smallest);
        pipe.Flush();
    }

    private static void AddRow(Table table, TypeOperation operation, double[]? redis, double[]? redKite)
    {
        double? ratio = null, lowest = null, highest = null;
        if (redis is not null && redKite is not null)
        {
            double[] ratios = [.. redis.Zip(redKite, (one, other) => one / other)];
            (ratio, lowest, highest) = (Median.Of(ratios), ratios.Min(), ratios.Max());
        }

        table.Add(
            operation.Name, redis is null ? null : Median.Of(redis), redKite is null ? null : Median.Of(redKite), ratio, lowest, highest,
            operation.RatioMin, ratio is null ? null : ratio >= operation.RatioMin ? "yes" : "NO");
    }

    private static string Text(long number) => number.ToString(CultureInfo.InvariantCulture);
}
