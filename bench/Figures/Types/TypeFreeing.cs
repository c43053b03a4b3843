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
/// server's own clock.
/// </remarks>
internal static class TypeFreeing
{
    internal const double LongestUsMost = 1000;

    private const int WindowMs = 200;
    private const string Nothing = "nothing";

    /// <summary>What --only calls a value that is freed, and how it is written.</summary>
    internal static readonly IReadOnlyList<TypeShape> Values =
        [.. TypeShape.All.Where(shape => shape.IsOneValue && !shape.Name.EndsWith("integers", StringComparison.Ordinal)).Select(shape => shape with { Name = $"free-{shape.Name}" })];

    private static readonly (string Name, string[] Command)[] Ways =
    [
        (Nothing, ["PING"]),
        ("DEL", ["DEL", TypeShape.Key]),
        ("UNLINK", ["UNLINK", TypeShape.Key]),
        ("expiry", ["PEXPIRE", TypeShape.Key, "20"]),
        ("SET", ["SET", TypeShape.Key, "small"]),
        ("FLUSHALL ASYNC", ["FLUSHALL", "ASYNC"]),
    ];

    internal static void Measure(IReadOnlyList<ServerKind> kinds, IReadOnlyList<TypeShape> values, int elements, int rounds, Report report)
    {
        if (values.Count == 0) return;
        var table = new Table($"longest delay of a GET while a value of {elements:N0} elements is freed", new("value"), new("freed by"), new("redis us"),
            new("redkite us, lowest"), new("redkite cpu us, lowest"), new("redkite cpu us, median"), new("redkite cpu us, highest"), new("at most"), new("met"));
        report.Tables.Add(table);

        using var servers = new ServerGroup(kinds.Select(kind => ServerUnderTest.Start(kind)));
        foreach (TypeShape value in values)
        {
            Dictionary<(string Server, string Way), List<LongestDelay>> delays = MeasureByTurns(servers, value, elements, rounds);
            foreach ((string way, _) in Ways) AddRow(table, value, way, delays.GetValueOrDefault(("redis", way)), delays.GetValueOrDefault(("redkite", way)));
        }
    }

    private static void AddRow(Table table, TypeShape value, string way, List<LongestDelay>? redis, List<LongestDelay>? redKite)
    {
        double? lowestUs = redKite?.Min(delay => delay.CpuUs);
        bool isFreed = way != Nothing;
        table.Add(
            value.Name, way, redis?.Min(delay => delay.WallUs), redKite?.Min(delay => delay.WallUs), lowestUs,
            redKite is null ? null : Median.Of(redKite.Select(delay => delay.CpuUs)), redKite?.Max(delay => delay.CpuUs),
            isFreed ? LongestUsMost : null, isFreed && lowestUs is { } us ? us <= LongestUsMost ? "yes" : "NO" : null);
    }

    private static Dictionary<(string Server, string Way), List<LongestDelay>> MeasureByTurns(ServerGroup servers, TypeShape value, int elements, int rounds)
    {
        var delays = new Dictionary<(string Server, string Way), List<LongestDelay>>();
        for (int round = 0; round < rounds; round++)
        {
            Console.Error.WriteLine($"{value.Name}: round {round + 1} of {rounds}");
            // Redis stands beside for its order of magnitude: once is enough.
            foreach (ServerUnderTest server in servers.Where(server => round == 0 || server.Name == "redkite"))
            {
                foreach ((string way, string[] command) in Ways)
                {
                    if (round == 0) delays[(server.Name, way)] = [];
                    delays[(server.Name, way)].Add(MeasureWindow(server, value, elements, command));
                }
            }
        }

        return delays;
    }

    private static LongestDelay MeasureWindow(ServerUnderTest server, TypeShape value, int elements, string[] command)
    {
        const int WarmUpMs = 100;
        using var pipe = new CommandPipe(server.Port);
        pipe.Run("FLUSHALL");
        value.Load(pipe, elements);
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
}
