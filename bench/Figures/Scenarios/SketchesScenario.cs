using System.Globalization;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>Bloom filters against sets: server CPU of adding elements, a thousand with each command and one with each command of a pipeline.</summary>
internal static class SketchesScenario
{
    private const int Batch = 1000;
    private const int CountDefault = 200_000;
    private const int WarmUpRounds = 10;
    private const double RatioMax = 0.5;

    internal static Report Run(Options options)
    {
        int count = (options.Keys ?? CountDefault) / Batch * Batch;
        var report = new Report("sketches", $"One connection to RedKite with one loop on core {Machine.ServerCpus}; CPU of the server until it is idle, medians of {options.Rounds} interleaved rounds after {WarmUpRounds} others. A round adds {count} new elements of 20 bytes to a new value: "
            + $"by as many SADDs in pipelines of 64 KiB, or by BF.MADDs of {Batch} elements, to a filter that is reserved for {count} elements or that grows from 100 by itself.");
        var table = new Table("server CPU for each element", new("operation"), new("cpu ns/element", "F0"), new("range ns/element", "F0"));
        report.Tables.Add(table);
        using var servers = new ServerGroup([ServerUnderTest.Start(ServerKind.Available(options, report).First(kind => kind.Name == "redkite"))]);
        using var pipe = new CommandPipe(servers[0].Port);
        (string Name, Action Prepare, Action Add)[] operations =
        [
            ("SADD", static () => { }, () => AddToSet(pipe, count)),
            ("BF.MADD to a reserved filter", () => pipe.Run("BF.RESERVE", "filter", "0.01", count.ToString(CultureInfo.InvariantCulture)), () => AddToFilter(pipe, count)),
            ("BF.MADD to a growing filter", static () => { }, () => AddToFilter(pipe, count)),
        ];
        var costs = operations.Select(_ => new List<double>()).ToArray();
        for (int round = -WarmUpRounds; round < options.Rounds; round++)
        {
            for (int i = 0; i < operations.Length; i++)
            {
                pipe.Run("FLUSHALL", "SYNC");
                operations[i].Prepare();
                double cost = Cost(servers[0], operations[i].Add) / count;
                if (round >= 0) costs[i].Add(cost);
            }
        }

        for (int i = 0; i < operations.Length; i++) table.Add(operations[i].Name, Median.Of(costs[i]), Spread.Of(costs[i]).Range);
        for (int i = 1; i < operations.Length; i++) report.Targets.Add(Target.AtMost(RatioMax, $"{operations[i].Name} / SADD", Spread.OfRatios(costs[i], costs[0])));
        return report;
    }

    // Nanoseconds of the server.
    private static double Cost(ServerUnderTest server, Action add)
    {
        IdleWait.Run(server, IdleWait.AfterRound);
        CpuClock before = server.Cpu;
        add();
        IdleWait.Run(server, IdleWait.AfterRound);
        return (server.Cpu - before).TotalSeconds * 1e9;
    }

    private static void AddToSet(CommandPipe pipe, int count)
    {
        for (int i = 0; i < count; i++) pipe.Begin(3, "SADD"u8).Add("set"u8).AddNumbered("element:"u8, i, digits: 12);
        pipe.Flush();
    }

    private static void AddToFilter(CommandPipe pipe, int count)
    {
        for (int i = 0; i < count; i++)
        {
            if (i % Batch == 0) pipe.Begin(2 + Batch, "BF.MADD"u8).Add("filter"u8);
            pipe.AddNumbered("element:"u8, i, digits: 12);
        }

        pipe.Flush();
    }
}
