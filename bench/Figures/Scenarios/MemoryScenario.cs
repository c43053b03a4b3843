namespace RedKite.Figures.Scenarios;

/// <summary>The memory of a small string, and how closely used_memory matches it.</summary>
internal static class MemoryScenario
{
    private const int Keys = 5_000_000;
    private const int ValueBytes = 32;
    private const double BytesPerKeyMax = 72;
    private const double UsedMemoryErrorMax = 0.03;

    internal static Report Run(Options options)
    {
        int keys = options.Keys ?? Keys;
        int valueBytes = options.ValueBytes ?? ValueBytes;
        var report = new Report("memory", $"Growth of the resident set while {keys:N0} strings are loaded, with 15-byte keys and {valueBytes}-byte values, "
            + "after a warm-up that leaves no data behind; used_memory from INFO over the same time.");
        var table = new Table("memory per key", new("server"), new("RSS bytes/key", "F1"), new("used_memory bytes/key", "F1"), new("used_memory off by", "P1"));
        report.Tables.Add(table);

        foreach (ServerKind kind in ServerKind.Available(options, report))
        {
            using ServerUnderTest server = ServerUnderTest.Start(kind);
            KeyLoader.WarmUp(server, valueBytes);
            (long Resident, long Used) before = Read(server);
            KeyLoader.Load(server, KeyForm.Memory, keys, valueBytes);
            (long Resident, long Used) after = Read(server);

            double resident = (double)(after.Resident - before.Resident) / keys;
            double used = (double)(after.Used - before.Used) / keys;
            double error = Math.Abs(used / resident - 1);
            table.Add(kind.Name, resident, used, error);
            if (kind.Name != "redkite") continue;
            report.Targets.Add(Target.AtMost(BytesPerKeyMax, "RedKite's RSS bytes per key", resident));
            report.Targets.Add(Target.AtMost(100 * UsedMemoryErrorMax, "RedKite's used_memory off by, %", 100 * error));
        }

        return report;
    }

    private static (long Resident, long Used) Read(ServerUnderTest server)
    {
        Thread.Sleep(500); // Time for work that a server does after its replies.
        using RespConnection connection = server.Connect();
        long used = connection.ReadInfo("memory", "used_memory") ?? throw new CannotMeasureException($"{server.Name}: INFO has no used_memory");
        return (server.ResidentBytes, used);
    }
}
