using System.Globalization;
using RedKite.Figures.Types;
using RedKite.Figures.Vectors;

namespace RedKite.Figures.Scenarios;

/// <summary>Vector sets against Redis: server CPU of additions and searches, recall of the same searches, memory of each vector.</summary>
internal static class VectorsScenario
{
    private const int CountDefault = 100_000;
    private const int Queries = 200;
    private const int Chunks = 20;
    private const int WarmUpVectors = 2000;
    private const int WantedEffort = 200;
    private const double RecallMin = 0.95;
    private const double CpuShareMax = 0.7;

    private static readonly int[] Efforts = [50, 100, WantedEffort, 400];

    internal static Report Run(Options options)
    {
        RowSelection.Check(options.Only, VectorData.Names);
        int count = options.Keys ?? CountDefault;
        var report = new Report("vectors", $"{count} vectors of {VectorData.Dimensions} dimensions in one set, with the defaults of VADD (Q8, M 16, EF 200), and {Queries} searches for the {VectorData.Wanted} nearest. "
            + $"\"random\": independent components, so that all are about equally far from each other; \"clustered\": around 1,000 centres. Both servers (RedKite with one loop) get the same commands from one connection each: "
            + $"additions in {Chunks} parts at the same time, on two cores that they exchange after each part, and searches in turns, on core {Machine.ServerCpus}. CPU is until the server is idle again; ratios of searches are of adjacent turns. Recall is the share of the exact answers, which the tool computes from the floats. "
            + "Memory is what grows with the set, after as many vectors were added and removed as warm the servers up.");
        List<ServerKind> kinds = [.. ServerKind.Available(options, report).Where(kind => kind.Name is "redkite" or "redis")];
        var adding = new Table("an addition, and memory of each vector", new("vectors"), new("server"), new("cpu us of VADD", "F1"), new("used_memory", "F0"), new("resident bytes", "F0"));
        var searching = new Table("a search", new("vectors"), new("EF"), new("server"), new("recall at 10", "F3"), new("cpu us of VSIM", "F1"));
        report.Tables.AddRange([adding, searching]);
        using var pinned = new PinnedThread();
        foreach (string name in VectorData.Names.Where(name => options.Only.Count == 0 || options.Only.Contains(name)))
        {
            Console.Error.WriteLine($"{name}: exact answers");
            Measure(report, kinds, VectorData.Create(name, count, Queries), options.Rounds, adding, searching);
        }

        return report;
    }

    private static void Measure(Report report, List<ServerKind> kinds, VectorData data, int rounds, Table adding, Table searching)
    {
        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        List<VectorSide> sides = [];
        try
        {
            foreach (ServerUnderTest server in servers) sides.Add(new VectorSide(server));
            foreach (VectorSide side in sides) side.WarmUp(data, Math.Min(WarmUpVectors, data.Vectors.Length));
            Add(sides, data);
            foreach (VectorSide side in sides) adding.Add(data.Name, side.Name, side.AddingCost, side.UsedBytes / data.Vectors.Length, side.ResidentBytes / data.Vectors.Length);
            foreach (int effort in Efforts) Search(sides, data, effort, effort == WantedEffort ? rounds : 1, searching);
            Search(sides, data, VectorClient.Exact, 1, searching);
            AddTargets(report, sides, data);
        }
        finally
        {
            foreach (VectorSide side in sides) side.Dispose();
        }
    }

    private static void Add(List<VectorSide> sides, VectorData data)
    {
        int all = data.Vectors.Length;
        for (int chunk = 0; chunk < Chunks; chunk++)
        {
            Console.Error.WriteLine($"{data.Name}: additions, part {chunk + 1} of {Chunks}");
            int from = (int)((long)all * chunk / Chunks);
            int to = (int)((long)all * (chunk + 1) / Chunks);
            if (to == from) continue;
            Thread[] adding = [.. sides.Select((side, i) => side.Adding(data, from, to - from, core: (i + chunk) % Math.Min(2, Machine.Cores)))];
            foreach (Thread thread in adding) thread.Start();
            foreach (Thread thread in adding) thread.Join();
        }

        foreach (VectorSide side in sides) side.Pin(Machine.ServerCpus);
        foreach (VectorSide side in sides) side.NoteMemory();
    }

    private static void Search(List<VectorSide> sides, VectorData data, int effort, int rounds, Table searching)
    {
        Console.Error.WriteLine($"{data.Name}: searches with EF {effort}");
        for (int round = 0; round < rounds; round++)
        {
            foreach (VectorSide side in InTurn(sides, round)) side.Search(data, effort);
        }

        foreach (VectorSide side in sides) searching.Add(data.Name, effort == VectorClient.Exact ? "TRUTH" : effort.ToString(CultureInfo.InvariantCulture), side.Name, side.Recall(effort), Median.Of(side.SearchingCosts(effort)));
    }

    private static IEnumerable<VectorSide> InTurn(List<VectorSide> sides, int round) => round % 2 == 0 ? sides : Enumerable.Reverse(sides);

    private static void AddTargets(Report report, List<VectorSide> sides, VectorData data)
    {
        if (sides.Find(side => side.Name == "redkite") is not { } redKite) return;
        report.Targets.Add(Target.AtLeast(RecallMin, $"{data.Name}: recall at {VectorData.Wanted} with EF {WantedEffort}", new Spread([redKite.Recall(WantedEffort)])));
        if (sides.Find(side => side.Name == "redis") is not { } redis) return;
        foreach (int effort in Efforts)
        {
            report.Targets.Add(Target.AtLeast(0, $"{data.Name}: recall with EF {effort}, redkite - redis", new Spread([redKite.Recall(effort) - redis.Recall(effort)])));
        }

        report.Targets.Add(Target.AtMost(CpuShareMax, $"{data.Name}: cpu of VADD, redkite / redis", redKite.AddingCost / redis.AddingCost));
        report.Targets.Add(Target.AtMost(CpuShareMax, $"{data.Name}: cpu of VSIM with EF {WantedEffort}, redkite / redis",
            Spread.OfRatios(redKite.SearchingCosts(WantedEffort), redis.SearchingCosts(WantedEffort))));
        report.Targets.Add(Target.AtMost(1, $"{data.Name}: used_memory of a vector, redkite / redis", redKite.UsedBytes / redis.UsedBytes));
        report.Targets.Add(Target.AtMost(1, $"{data.Name}: resident bytes of a vector, redkite / redis", redKite.ResidentBytes / redis.ResidentBytes));
    }
}
