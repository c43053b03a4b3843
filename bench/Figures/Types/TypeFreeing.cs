using System.Text;

namespace RedKite.Figures.Types;

/// <summary>
/// Whether freeing a large value delays other commands. One connection requests a small value without a pause while
/// another frees a value of a million elements, by each of the ways that free one.
/// </summary>
/// <remarks>
/// The machine itself delays requests now and then, by milliseconds if other programs use the core, so each round
/// also has a window in which the other connection sends a PING instead. Delays by the server occur in every window, delays
/// by the machine only in some, so the window with the shortest maximum counts, by the server's own CPU clock. An uncounted
/// round comes first, because the server compiles code on first use, on the same core.
/// </remarks>
internal static class TypeFreeing
{
    internal const double LongestUsMax = 1000;

    private const int WindowMs = 200;
    private const int QuickWindowMs = 100;
    private const int WarmUpMs = 100;
    private const int StringBytesForElement = 512; // half a GB for a million elements
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

    /// <summary>A freed value: its name for --only, how it is written, and how it is freed.</summary>
    internal static readonly IReadOnlyList<FreedValue> Values =
    [
        .. TypeShape.All.Where(shape => shape.IsOneValue && !shape.Name.EndsWith("integers", StringComparison.Ordinal)).Append(String).Select(shape => new FreedValue($"free-{shape.Name}", shape, WaysOfKeys)),
        new FreedValue($"free-{Group.Name}", Group, WaysOfGroups),
    ];

    internal static void Measure(IReadOnlyList<ServerKind> kinds, IReadOnlyList<FreedValue> values, int elements, int rounds, bool quick, Report report)
    {
        if (values.Count == 0) return;
        var table = new Table($"longest delay of a GET while a value of {elements:N0} elements is freed", new("value"), new("freed by"),
            new("redkite cpu us, lowest"), new("range redkite cpu us"), new("redkite us, lowest"), new("range redkite us"),
            new("redis us, lowest"), new("range redis us"), new("valkey us, lowest"), new("range valkey us"), new("at most"), new("met"));
        report.Tables.Add(table);

        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (FreedValue value in values)
        {
            Dictionary<(string Server, string Way), List<LongestDelay>> delays = MeasureInterleaved(servers, value, elements, rounds, quick ? QuickWindowMs : WindowMs);
            foreach ((string way, _) in value.Ways) AddRow(table, value, way, server => delays.GetValueOrDefault((server, way)));
        }
    }

    private static void AddRow(Table table, FreedValue value, string way, Func<string, List<LongestDelay>?> delaysOf)
    {
        Spread? cpu = SpreadOf("redkite", delay => delay.CpuUs), redKite = SpreadOf("redkite", delay => delay.WallUs);
        Spread? redis = SpreadOf("redis", delay => delay.WallUs), valkey = SpreadOf("valkey", delay => delay.WallUs);
        bool isFreed = way != Nothing;
        table.Add(
            value.Name, way, cpu?.Range.Lowest, cpu?.Range, redKite?.Range.Lowest, redKite?.Range, redis?.Range.Lowest, redis?.Range, valkey?.Range.Lowest, valkey?.Range,
            isFreed ? LongestUsMax : null, isFreed && cpu is not null ? cpu.Range.Lowest <= LongestUsMax ? "yes" : "NO" : null);

        Spread? SpreadOf(string server, Func<LongestDelay, double> us) => delaysOf(server) is { } windows ? Spread.Of(windows.Select(us)) : null;
    }

    private static Dictionary<(string Server, string Way), List<LongestDelay>> MeasureInterleaved(ServerGroup servers, FreedValue value, int elements, int rounds, int windowMs)
    {
        var delays = new Dictionary<(string Server, string Way), List<LongestDelay>>();
        for (int round = 0; round <= rounds; round++)
        {
            Console.Error.WriteLine(round == 0 ? $"{value.Name}: warm-up" : $"{value.Name}: round {round} of {rounds}");
            foreach (ServerUnderTest server in round % 2 == 0 ? servers : servers.Reverse())
            {
                foreach ((string way, string[] command) in value.Ways)
                {
                    LongestDelay delay = MeasureWindow(server, value, elements, command, windowMs);
                    if (round == 0) continue;
                    if (!delays.TryGetValue((server.Name, way), out List<LongestDelay>? windows)) delays.Add((server.Name, way), windows = []);
                    windows.Add(delay);
                }
            }
        }

        return delays;
    }

    private static LongestDelay MeasureWindow(ServerUnderTest server, FreedValue value, int elements, string[] command, int windowMs)
    {
        using var pipe = new CommandPipe(server.Port);
        pipe.Run("FLUSHALL");
        value.Shape.Load(pipe, elements);
        pipe.Run("SET", "probe", "value");

        using var pinned = new PinnedThread();
        using var probe = new LatencyProbe(server);
        probe.Measure(WarmUpMs); // also lets the server finish deferred work of the loading
        GC.Collect();
        pipe.Begin(command.Length, Encoding.UTF8.GetBytes(command[0]));
        foreach (string argument in command.AsSpan(1)) pipe.Add(argument);
        pipe.SendAll();
        LongestDelay longest = probe.Measure(windowMs);
        pipe.Flush();
        return longest;
    }

    /// <summary>A way of freeing a value.</summary>
    internal sealed record Way(string Name, string[] Command);

    /// <summary>Rows of the table: a value and the ways of freeing it.</summary>
    internal sealed record FreedValue(string Name, TypeShape Shape, IReadOnlyList<Way> Ways);
}
