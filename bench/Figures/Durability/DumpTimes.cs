using System.Diagnostics;

namespace RedKite.Figures.Durability;

/// <summary>How long SAVE takes for millions of keys, and a start that loads them, on two cores; and the memory of that start.</summary>
internal static class DumpTimes
{
    internal const string Name = "load";

    /// <summary>The part that loads as many keys as the machine holds.</summary>
    internal const string LargestName = "largest";

    private const int Keys = 5_000_000;
    private const int LargestKeys = 100_000_000;
    private const int ValueBytes = 64;
    private const int SmallValueBytes = 8;
    private const double LoadByRedisMax = 0.5;
    private const double SaveByRedisMax = 1;
    private const double MemoryByDataMax = 1.05;
    private const int PollMs = 20;
    private const double MiB = 1 << 20;

    internal static void Measure(IReadOnlyList<ServerKind> kinds, Options options, Report report) => Measure(kinds, options.Keys ?? Keys, ValueBytes, options.Rounds, report);

    internal static void MeasureLargest(IReadOnlyList<ServerKind> kinds, Options options, Report report) =>
        Measure([.. kinds.Where(kind => kind.Name == "redkite")], options.Keys ?? LargestKeys, SmallValueBytes, rounds: 1, report);

    private static void Measure(IReadOnlyList<ServerKind> kinds, int keys, int valueBytes, int rounds, Report report)
    {
        var table = new Table(FormattableString.Invariant($"dump.rdb of {keys:N0} keys of {valueBytes} bytes"), new("server"), new("file MiB"), new("SAVE s", "F2"), new("range SAVE", "F2"), new("load s", "F2"), new("range load", "F2"),
            new("load cpu s", "F2"), new("RSS of the data MiB"), new("largest RSS of SAVE MiB"), new("largest RSS of the load MiB"), new("load / data", "F3"));
        report.Tables.Add(table);
        string folder = Directory.CreateTempSubdirectory("redkite-figures-dumps-").FullName;
        try
        {
            Dictionary<ServerKind, Figures> measured = kinds.ToDictionary(kind => kind, kind => new Figures(Path.Combine(folder, kind.Name)));
            foreach (ServerKind kind in kinds) Save(kind, measured[kind], keys, valueBytes, rounds);
            for (int round = 0; round < rounds; round++)
            {
                Console.Error.WriteLine($"load: round {round + 1} of {rounds}");
                foreach (ServerKind kind in round % 2 == 0 ? kinds : kinds.Reverse()) Load(kind, measured[kind], keys);
            }

            foreach ((ServerKind kind, Figures figures) in measured)
            {
                Spread save = Spread.Of(figures.SaveSeconds), load = Spread.Of(figures.LoadSeconds);
                double byData = Median.Of(figures.LoadBytes) / figures.DataBytes;
                table.Add(kind.Name, figures.FileBytes / MiB, save.Median, save.Range, load.Median, load.Range, Median.Of(figures.LoadCpu), figures.DataBytes / MiB, figures.SavingBytes / MiB, Median.Of(figures.LoadBytes) / MiB, byData);
                if (kind.Name == "redkite") report.Targets.Add(Target.AtMost(MemoryByDataMax, FormattableString.Invariant($"largest RSS of loading {keys:N0} keys / RSS with the data"), byData));
            }

            if (Of("redkite") is not { } ours || Of("redis") is not { } redis) return;
            report.Targets.Add(Target.AtMost(LoadByRedisMax, "RedKite / Redis, seconds of a load", Spread.OfRatios(ours.LoadSeconds, redis.LoadSeconds)));
            report.Targets.Add(Target.AtMost(SaveByRedisMax, "RedKite / Redis, seconds of SAVE", Spread.OfRatios(ours.SaveSeconds, redis.SaveSeconds)));

            Figures? Of(string name) => measured.FirstOrDefault(pair => pair.Key.Name == name).Value;
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private sealed record Figures(string Folder)
    {
        internal List<double> SaveSeconds { get; } = [];

        internal List<double> LoadSeconds { get; } = [];

        internal List<double> LoadCpu { get; } = [];

        internal List<double> LoadBytes { get; } = [];

        internal double DataBytes { get; set; }

        internal double SavingBytes { get; set; }

        internal double FileBytes { get; set; }
    }

    private static void Save(ServerKind kind, Figures figures, int keys, int valueBytes, int rounds)
    {
        Directory.CreateDirectory(figures.Folder);
        using ServerUnderTest server = Start(kind, figures);
        KeyLoader.Load(server, KeyForm.Memory, keys, valueBytes);
        figures.DataBytes = SavedData.ResidentBytes(server);
        using SetupConnection connection = server.Connect();
        for (int i = 0; i < rounds; i++)
        {
            long start = Stopwatch.GetTimestamp();
            connection.Run("SAVE");
            figures.SaveSeconds.Add(Stopwatch.GetElapsedTime(start).TotalSeconds);
        }

        figures.SavingBytes = SavedData.LargestResidentBytes(server);
        figures.FileBytes = new FileInfo(Path.Combine(figures.Folder, "dump.rdb")).Length;
    }

    private static void Load(ServerKind kind, Figures figures, int keys)
    {
        long start = Stopwatch.GetTimestamp();
        using ServerUnderTest server = Start(kind, figures);
        using SetupConnection connection = server.Connect();
        while (connection.ReadInfo("persistence", "loading") == 1) Thread.Sleep(PollMs);
        figures.LoadSeconds.Add(Stopwatch.GetElapsedTime(start).TotalSeconds);
        figures.LoadCpu.Add(server.Cpu.TotalSeconds);
        figures.LoadBytes.Add(SavedData.LargestResidentBytes(server));
        string loaded = connection.Run("DBSIZE");
        if (loaded != FormattableString.Invariant($"{keys}")) throw new CannotMeasureException($"{kind.Name} has loaded {loaded} keys");
    }

    private static ServerUnderTest Start(ServerKind kind, Figures figures) =>
        ServerUnderTest.Start(kind with { Command = $"{kind.Command} --dir '{figures.Folder}'" }, cpus: $"{Machine.ServerCpus},{Machine.LoadCpus}");
}
