namespace RedKite.Figures.Scenarios;

/// <summary>The memory of a small string, and how closely used_memory matches it.</summary>
internal static class MemoryScenario
{
    private const int Keys = 5_000_000;
    private const int ValueBytes = 32;
    private const int RoundsMax = 3;
    private const double BytesPerKeyMax = 72;
    private const double UsedMemoryErrorMax = 0.03;

    internal static Report Run(Options options)
    {
        int keys = options.Keys ?? Keys;
        int valueBytes = options.ValueBytes ?? ValueBytes;
        int rounds = Math.Min(RoundsMax, options.Rounds);
        var report = new Report("memory", $"Growth of the resident set while {keys:N0} strings are loaded, with 15-byte keys and {valueBytes}-byte values, "
            + $"after a warm-up that leaves no data behind; used_memory from INFO over the same time. Medians of {rounds} interleaved rounds, each a new process.");
        var table = new Table("memory per key", new("server"), new("RSS bytes/key", "F1"), new("range RSS", "F1"), new("used_memory bytes/key", "F1"), new("used_memory off by", "P1"), new("range off by", "P1"));
        report.Tables.Add(table);

        List<ServerKind> kinds = ServerKind.Available(options, report);
        Dictionary<ServerKind, List<Growth>> measured = kinds.ToDictionary(kind => kind, _ => new List<Growth>());
        for (int round = 0; round < rounds; round++)
        {
            foreach (ServerKind kind in round % 2 == 0 ? kinds : kinds.AsEnumerable().Reverse()) measured[kind].Add(Measure(ServerUnderTest.Start(kind), KeyForm.Memory, keys, valueBytes));
        }

        foreach (ServerKind kind in kinds)
        {
            Spread resident = Spread.Of(measured[kind].Select(growth => growth.Resident)), used = Spread.Of(measured[kind].Select(growth => growth.Used));
            Spread error = Spread.Of(measured[kind].Select(growth => Math.Abs(growth.Used / growth.Resident - 1)));
            table.Add(kind.Name, resident.Median, resident.Range, used.Median, error.Median, error.Range);
            if (kind.Name != "redkite") continue;
            report.Targets.Add(Target.AtMost(BytesPerKeyMax, "RedKite's RSS bytes per key", resident));
            report.Targets.Add(Target.AtMost(100 * UsedMemoryErrorMax, "RedKite's used_memory off by, %", Spread.Of(error.Values.Select(value => 100 * value))));
        }

        return report;
    }

    /// <summary>Loads keys into a new server, looks at it, and stops it.</summary>
    internal static Growth Measure(ServerUnderTest started, KeyForm form, int keys, int valueBytes, Action<ServerUnderTest>? look = null)
    {
        using ServerUnderTest server = started;
        KeyLoader.WarmUp(server, valueBytes);
        (long Resident, long Used) before = Read(server);
        KeyLoader.Load(server, form, keys, valueBytes);
        (long Resident, long Used) after = Read(server);
        look?.Invoke(server);
        return new Growth((double)(after.Resident - before.Resident) / keys, (double)(after.Used - before.Used) / keys);
    }

    private static (long Resident, long Used) Read(ServerUnderTest server)
    {
        Thread.Sleep(500); // Time for work that a server does after its replies.
        using SetupConnection connection = server.Connect();
        long used = connection.ReadInfo("memory", "used_memory") ?? throw new CannotMeasureException($"{server.Name}: INFO has no used_memory");
        return (server.ResidentBytes, used);
    }

    /// <summary>Bytes per key.</summary>
    internal readonly record struct Growth(double Resident, double Used);
}
