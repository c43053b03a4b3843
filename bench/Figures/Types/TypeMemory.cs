namespace RedKite.Figures.Types;

/// <summary>The memory of each type's data, by the server's count and by the kernel's.</summary>
internal static class TypeMemory
{
    internal const double RedKiteByRedisMax = 0.8;

    private const int WarmUpKeys = 20_000;
    private const int WarmUpValueBytes = 32;

    // The runtime compiles a hot method up to three times, each time after 0.1 s without new ones.
    private const int WarmUpRounds = 5;

    // Time for list compaction, which has to be compiled too, and for releasing the memory that it frees.
    private static readonly TimeSpan Quiet = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan Longest = TimeSpan.FromSeconds(10);

    internal static void Measure(IReadOnlyList<ServerKind> kinds, IReadOnlyList<TypeShape> shapes, int count, Report report)
    {
        if (shapes.Count == 0) return;
        var table = new Table($"memory of {count:N0} values of {TypeShape.Few} elements, or of one value of {count:N0}",
            new("data"), new("redkite used bytes/each", "F1"), new("redis used bytes/each", "F1"), new("valkey used bytes/each", "F1"), new("redkite / redis, used", "F2"),
            new("redkite RSS bytes/each", "F1"), new("redis RSS bytes/each", "F1"), new("valkey RSS bytes/each", "F1"), new("redkite / redis, RSS", "F2"), new("at most", "F1"), new("met"));
        report.Tables.Add(table);
        foreach (TypeShape shape in shapes)
        {
            Growth? redis = MeasureGrowth(kinds, "redis", shape, count);
            Growth? valkey = MeasureGrowth(kinds, "valkey", shape, count);
            Growth? redKite = MeasureGrowth(kinds, "redkite", shape, count);
            double? used = redKite?.UsedBytes / redis?.UsedBytes;
            double? resident = redKite?.ResidentBytes / redis?.ResidentBytes;
            table.Add(
                shape.Name, redKite?.UsedBytes / count, redis?.UsedBytes / count, valkey?.UsedBytes / count, used,
                redKite?.ResidentBytes / count, redis?.ResidentBytes / count, valkey?.ResidentBytes / count, resident,
                RedKiteByRedisMax, used is null ? null : used <= RedKiteByRedisMax && resident <= RedKiteByRedisMax ? "yes" : "NO");
        }
    }

    private readonly record struct Growth(double UsedBytes, double ResidentBytes)
    {
        public static Growth operator -(Growth after, Growth before) => new(after.UsedBytes - before.UsedBytes, after.ResidentBytes - before.ResidentBytes);
    }

    private static Growth? MeasureGrowth(IReadOnlyList<ServerKind> kinds, string name, TypeShape shape, int count)
    {
        if (kinds.FirstOrDefault(kind => kind.Name == name) is not { } kind) return null;
        Console.Error.WriteLine($"{name}: loading {shape.Name}");
        using ServerUnderTest server = ServerUnderTest.Start(kind);
        using var pipe = new CommandPipe(server.Port);
        // Before the first reading, code is compiled and buffers are allocated, but there is no data.
        KeyLoader.WarmUp(server, WarmUpValueBytes);
        for (int round = 0; round < WarmUpRounds; round++)
        {
            shape.Load(pipe, WarmUpKeys);
            pipe.Flush();
            IdleWait.Run(server, Longest, Quiet);
            pipe.Run("FLUSHALL");
        }

        Growth before = Read(server);
        shape.Load(pipe, count);
        pipe.Flush();
        Growth after = Read(server);
        using SetupConnection connection = server.Connect();
        string keys = connection.Run("DBSIZE");
        if (keys != (shape.IsOneValue ? "1" : $"{count}")) throw new CannotMeasureException($"{name} holds {keys} keys after {shape.Name} were loaded");
        return after - before;
    }

    private static Growth Read(ServerUnderTest server)
    {
        IdleWait.Run(server, Longest, Quiet);
        using SetupConnection connection = server.Connect();
        long used = connection.ReadInfo("memory", "used_memory") ?? throw new CannotMeasureException($"{server.Name}: INFO has no used_memory");
        return new Growth(used, server.ResidentBytes);
    }
}
