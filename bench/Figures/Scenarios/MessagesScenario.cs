using RedKite.Figures.Messages;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>Scripts, transactions, messages and tracking against Redis: server CPU for each operation.</summary>
internal static class MessagesScenario
{
    private const double RoundCpuSeconds = 0.4;
    private const double QuickRoundCpuSeconds = 0.1;
    private const double PlanningCpuSeconds = 0.05;
    private const double WarmUpCpuSeconds = 2.5;
    private const double QuickWarmUpCpuSeconds = 0.5;

    /// <summary>The rows that --only accepts.</summary>
    internal static IReadOnlyList<string> Names { get; } = [.. MessageRows.All.Select(row => row.Name)];

    internal static Report Run(Options options)
    {
        RowSelection.Check(options.Only, Names);
        var report = new Report("messages", $"Server CPU, until the server is idle again, for each operation that clients on core {Machine.LoadCpus} send to servers (RedKite with one loop) on core "
            + $"{Machine.ServerCpus}: medians of {options.Rounds} interleaved rounds, and ratios of adjacent rounds. A row sends from {RoundSize.Clients} connections at pipeline {RoundSize.Pipeline} unless its name says otherwise; "
            + "publishers are one connection, tracked-get is at pipeline 1.");
        List<ServerKind> kinds = [.. ServerKind.Available(options, report).Where(kind => kind.Name is "redkite" or "redis")];
        var table = new Table("server CPU for each operation", new("operation"), new("redkite cpu ns/op"), new("redis cpu ns/op"),
            new("redkite / redis", "F2"), new("range redkite / redis", "F2"), new("at most", "F1"), new("met"));
        report.Tables.Add(table);
        using var pinned = new PinnedThread();
        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (MessageRow row in RowSelection.Of(MessageRows.All, static row => row.Name, "", options.Only)) AddRow(table, report, row, Measure(servers, row, options));
        return report;
    }

    private static Dictionary<string, double[]> Measure(ServerGroup servers, MessageRow row, Options options)
    {
        var loads = new Dictionary<string, MessageLoad>();
        try
        {
            foreach (ServerUnderTest server in servers)
            {
                using (var pipe = new CommandPipe(server.Port))
                {
                    pipe.Run("FLUSHALL");
                    row.Prepare?.Invoke(pipe);
                }

                loads.Add(server.Name, new MessageLoad(row, server.Port));
            }

            // Planned twice, because operations cost more each in small numbers than in large ones.
            int count = Operations(row, PlanningCpuSeconds, servers.Max(server => Round(server, loads[server.Name], loads[server.Name].Turn)));
            double cost = servers.Max(server => Round(server, loads[server.Name], count));
            foreach (ServerUnderTest server in servers) loads[server.Name].Run(Operations(row, options.Quick ? QuickWarmUpCpuSeconds : WarmUpCpuSeconds, cost));
            count = Operations(row, options.Quick ? QuickRoundCpuSeconds : RoundCpuSeconds, servers.Max(server => Round(server, loads[server.Name], count)));
            Console.Error.WriteLine($"{row.Name}: {options.Rounds} rounds of {count} operations");
            Dictionary<string, double[]> costs = servers.ToDictionary(server => server.Name, _ => new double[options.Rounds]);
            for (int round = 0; round < options.Rounds; round++)
            {
                foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse()) costs[server.Name][round] = Round(server, loads[server.Name], count);
            }

            return costs;
        }
        finally
        {
            foreach (MessageLoad load in loads.Values) load.Dispose();
        }
    }

    private static double Round(ServerUnderTest server, MessageLoad load, int operations)
    {
        IdleWait.Run(server, IdleWait.AfterRound);
        double before = server.Cpu.TotalSeconds;
        load.Run(operations);
        double used = server.Cpu.TotalSeconds - before;
        return 1e9 * (used + IdleWait.Run(server, IdleWait.AfterRound).CpuSeconds) / operations;
    }

    // A whole number of turns of all connections.
    private static int Operations(MessageRow row, double cpuSeconds, double nsPerOperation)
    {
        int turn = row.Clients * row.Pipeline;
        return (int)Math.Ceiling(Math.Clamp(cpuSeconds * 1e9 / Math.Max(nsPerOperation, 1), turn, RoundSize.Largest) / turn) * turn;
    }

    private static void AddRow(Table table, Report report, MessageRow row, Dictionary<string, double[]> costs)
    {
        double[]? redKite = costs.GetValueOrDefault("redkite"), redis = costs.GetValueOrDefault("redis");
        Spread? ratio = redKite is null || redis is null ? null : Spread.OfRatios(redKite, redis);
        table.Add(row.Name, redKite is null ? null : Median.Of(redKite), redis is null ? null : Median.Of(redis), ratio?.Median, ratio?.Range, row.RatioMax,
            ratio is null ? null : ratio.Median <= row.RatioMax ? "yes" : "NO");
        if (ratio is not null) report.Targets.Add(Target.AtMost(row.RatioMax, $"{row.Name}, redkite / redis", ratio));
    }
}
