using System.Text;

namespace RedKite.Figures.Types;

/// <summary>
/// Whether freeing a large value delays other commands. One connection asks for a small value without a pause while
/// another one frees a value of a million elements, in each of the ways that a value can go.
/// </summary>
/// <remarks>
/// The machine itself delays a request now and then, by milliseconds where other programs want the same core, so each round
/// also has a window in which the other connection sends a PING instead. What the server does to its clients happens in
/// every window, what the machine does to them in some: the window whose longest delay is the shortest is judged, by the
/// server's own clock. A round that is not counted comes first: what the server does for the first time it compiles, on the same core.
/// </remarks>
internal static class TypeFreeing
{
    internal const double LongestUsMost = 1000;

    private const int WindowMs = 200;
    private const int StringBytesForElement = 512; // a million elements: half a GB
    private const string Nothing = "nothing";

    private static readonly Way[] WaysOfKeys =
    [
        new(Nothing, ["PING"]),
        new("DEL", ["DEL", TypeShape.Key]),
        new("UNLINK", ["UNLINK", TypeShape.Key]),
        new("expiry", ["PEXPIRE", TypeShape.Key, "20"]),
        new("SET", ["SET", TypeShape.Key, "small"]),
        new("FLUSHALL ASYNC", ["FLUSHALL", "ASYNC"]),
    ];

    private static readonly Way[] WaysOfGroups =
    [
        new(Nothing, ["PING"]),
        new("XGROUP DELCONSUMER", ["XGROUP", "DELCONSUMER", TypeShape.Key, TypeData.Group, TypeData.Consumer]),
        new("XGROUP DESTROY", ["XGROUP", "DESTROY", TypeShape.Key, TypeData.Group]),
        new("XTRIM", ["XTRIM", TypeShape.Key, "MAXLEN", "10"]),
    ];

    private static readonly TypeShape String = new("one-string", true, static (pipe, elements) => TypeData.String(pipe, TypeShape.Key, elements * StringBytesForElement));

    private static readonly TypeShape Group = new("one-group", true, static (pipe, entries) => TypeData.PendingEntries(pipe, TypeShape.Key, entries));

    /// <summary>What --only calls a value that is freed, how it is written, and how it goes.</summary>
    internal static readonly IReadOnlyList<FreedValue> Values =
    [
        .. TypeShape.All.Where(shape => shape.IsOneValue && !shape.Name.EndsWith("integers", StringComparison.Ordinal)).Append(String).Select(shape => new FreedValue($"free-{shape.Name}", shape, WaysOfKeys)),
        new FreedValue($"free-{Group.Name}", Group, WaysOfGroups),
    ];

    internal static void Measure(IReadOnlyList<ServerKind> kinds, IReadOnlyList<FreedValue> values, int elements, int rounds, Report report)
    {
        if (values.Count == 0) return;
        var table = new Table($"longest delay of a GET while a value of {elements:N0} elements is freed", new("value"), new("freed by"), new("redis us"),
            new("redkite us, lowest"), new("redkite cpu us, lowest"), new("redkite cpu us, median"), new("redkite cpu us, highest"), new("at most"), new("met"));
        report.Tables.Add(table);

        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (FreedValue value in values)
        {
            Dictionary<(string Server, string Way), List<LongestDelay>> delays = MeasureByTurns(servers, value, elements, rounds);
            foreach ((string way, _) in value.Ways) AddRow(table, value, way, delays.GetValueOrDefault(("redis", way)), delays.GetValueOrDefault(("redkite", way)));
        }
    }

    private static void AddRow(Table table, FreedValue value, string way, List<LongestDelay>? redis, List<LongestDelay>? redKite)
    {
        double? lowestUs = redKite?.Min(delay => delay.CpuUs);
        bool isFreed = way != Nothing;
        table.Add(
            value.Name, way, redis?.Min(delay => delay.WallUs), redKite?.Min(delay => delay.WallUs), lowestUs,
            redKite is null ? null : Median.Of(redKite.Select(delay => delay.CpuUs)), redKite?.Max(delay => delay.CpuUs),
            isFreed ? LongestUsMost : null, isFreed && lowestUs is { } us ? us <= LongestUsMost ? "yes" : "NO" : null);
    }

    private static Dictionary<(string Server, string Way), List<LongestDelay>> MeasureByTurns(ServerGroup servers, FreedValue value, int elements, int rounds)
    {
        var delays = new Dictionary<(string Server, string Way), List<LongestDelay>>();
        for (int round = 0; round <= rounds; round++)
        {
            Console.Error.WriteLine(round == 0 ? $"{value.Name}: warm-up" : $"{value.Name}: round {round} of {rounds}");
            // Redis stands beside for its order of magnitude: once is enough, and without a warm-up.
            foreach (ServerUnderTest server in servers.Where(server => round == 1 || server.Name == "redkite"))
            {
                foreach ((string way, string[] command) in value.Ways)
                {
                    LongestDelay delay = MeasureWindow(server, value, elements, command);
                    if (round == 0) continue;
                    if (!delays.TryGetValue((server.Name, way), out List<LongestDelay>? windows)) delays.Add((server.Name, way), windows = []);
                    windows.Add(delay);
                }
            }
        }

        return delays;
    }

    private static LongestDelay MeasureWindow(ServerUnderTest server, FreedValue value, int elements, string[] command)
    {
        const int WarmUpMs = 100;
        using var pipe = new CommandPipe(server.Port);
        pipe.Run("FLUSHALL");
        value.Shape.Load(pipe, elements);
        pipe.Run("SET", "probe", "value");

        using var pinned = new PinnedThread();
        using var probe = new LatencyProbe(server);
        probe.Measure(WarmUpMs); // also lets the server finish what the loading left to do
        GC.Collect();
        pipe.Begin(command.Length, Encoding.UTF8.GetBytes(command[0]));
        foreach (string argument in command.AsSpan(1)) pipe.Add(argument);
        pipe.SendAll();
        LongestDelay longest = probe.Measure(WindowMs);
        pipe.Flush();
        return longest;
    }

    /// <summary>How a value goes.</summary>
    internal sealed record Way(string Name, string[] Command);

    /// <summary>Rows of the table: a value and the ways in which it goes.</summary>
    internal sealed record FreedValue(string Name, TypeShape Shape, IReadOnlyList<Way> Ways);
}
