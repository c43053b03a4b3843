using System.Diagnostics;
using System.Globalization;
using RedKite.Figures.Types;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// Resident memory of a full server against maxmemory while values of several types shrink from 1 KiB to 100 bytes and grow back, among
/// others of any size between, at a steady rate that leaves most of a core free. It lasts an hour, so it only runs when it is named.
/// </summary>
internal static class ChurnScenario
{
    internal const string Name = "churn";

    private const long LimitBytes = 400L << 20;
    private const int Keys = 4_000_000; // more than fit at the smallest size
    private const int LargestBytes = 1024;
    private const int SmallestBytes = 100;
    private const int WritesPerSecond = 10_000;
    private const int Batch = 200;
    private const int Elements = 10; // of a hash, list or set
    private const int TypeParts = 10; // of as many keys, one is a hash, one a list, one a set; the others are strings
    private const double HalfPeriodSeconds = 300; // from one end of the sizes to the other
    private const double SampleSeconds = 2;
    private const double ResidentByLimitMax = 1.1;
    private const int Seed = 7;

    internal static Report Run(Options options)
    {
        int keys = options.Keys ?? Keys;
        var report = new Report(Name, FormattableString.Invariant($"{options.Minutes} minutes of {WritesPerSecond:N0} values written a second, with {keys:N0} random keys under a maxmemory of {LimitBytes >> 20} MiB (allkeys-lru). ")
            + FormattableString.Invariant($"Half of the values are a fifth smaller to a fifth larger than a size that goes from {LargestBytes} to {SmallestBytes} bytes in {HalfPeriodSeconds / 60:F0} minutes, and back; the others have any size between. ")
            + FormattableString.Invariant($"Seven of ten are strings, the others hashes, lists and sets of {Elements} elements. ")
            + FormattableString.Invariant($"RedKite with one loop; the resident memory is read every {SampleSeconds:F0} s once the server is full."));
        var table = new Table("resident memory", new("server"), new("full after s"), new("samples"), new("median / maxmemory", "F3"), new("largest / maxmemory", "F3"),
            new("samples over 1.1"), new("used_memory / maxmemory", "F3"), new("evictions"), new("blocks moved"), new("server CPU %", "F1"));
        report.Tables.Add(table);
        if (!options.Servers.Contains("redkite"))
        {
            report.Notes.Add("not measured: it is about RedKite's own memory");
            return report;
        }

        using ServerUnderTest server = ServerUnderTest.Start(ServerKind.RedKite(options));
        using SetupConnection connection = server.Connect();
        connection.Run("CONFIG", "SET", "maxmemory", LimitBytes.ToString(CultureInfo.InvariantCulture), "maxmemory-policy", "allkeys-lru");
        Measured measured = Churn(server, connection, keys, TimeSpan.FromMinutes(options.Minutes));
        if (measured.Resident.Count == 0)
        {
            report.Notes.Add("the server was never full: more minutes are needed");
            return report;
        }

        double largest = measured.Resident.Max();
        table.Add(
            server.Name, measured.FullAfterSeconds, measured.Resident.Count, Median.Of(measured.Resident), largest, measured.Resident.Count(share => share > ResidentByLimitMax),
            measured.LargestUsed, connection.ReadInfo("stats", "evicted_keys"), connection.ReadInfo("stats", "active_defrag_hits"), 100 * measured.CpuShare);
        report.Targets.Add(Target.AtMost(ResidentByLimitMax, "largest resident memory / maxmemory", largest));
        return report;
    }

    private sealed record Measured(List<double> Resident, double LargestUsed, double FullAfterSeconds, double CpuShare);

    private static Measured Churn(ServerUnderTest server, SetupConnection connection, int keys, TimeSpan duration)
    {
        using var pipe = new CommandPipe(server.Port);
        byte[] values = new byte[LargestBytes * 2];
        values.AsSpan().Fill((byte)'v');
        var random = new Random(Seed);
        List<double> resident = [];
        double largestUsed = 0, fullAfter = 0, nextSample = 0, cpuBefore = server.Cpu.TotalSeconds;
        var clock = Stopwatch.StartNew();
        for (long writes = 0; clock.Elapsed < duration; writes += Batch)
        {
            double seconds = (double)writes / WritesPerSecond;
            WriteBatch(pipe, random, keys, values, SizeAt(seconds));
            if (seconds >= nextSample)
            {
                nextSample = seconds + SampleSeconds;
                Sample(seconds);
            }

            TimeSpan ahead = TimeSpan.FromSeconds((double)(writes + Batch) / WritesPerSecond) - clock.Elapsed;
            if (ahead > TimeSpan.Zero) Thread.Sleep(ahead);
        }

        return new Measured(resident, largestUsed, fullAfter, (server.Cpu.TotalSeconds - cpuBefore) / clock.Elapsed.TotalSeconds);

        void Sample(double seconds)
        {
            if (fullAfter == 0)
            {
                if (connection.ReadInfo("stats", "evicted_keys") is not > 0) return;
                fullAfter = seconds;
            }

            resident.Add((double)server.ResidentBytes / LimitBytes);
            largestUsed = Math.Max(largestUsed, (double)(connection.ReadInfo("memory", "used_memory") ?? 0) / LimitBytes);
            if (resident.Count % 30 == 0) Console.Error.WriteLine(FormattableString.Invariant($"{seconds:F0} s: resident {resident[^1]:F3}, largest {resident.Max():F3}"));
        }
    }

    private static int SizeAt(double seconds)
    {
        double position = seconds / HalfPeriodSeconds % 2;
        return (int)(LargestBytes - ((LargestBytes - SmallestBytes) * (position <= 1 ? position : 2 - position)));
    }

    private static void WriteBatch(CommandPipe pipe, Random random, int keys, byte[] values, int middle)
    {
        for (int i = 0; i < Batch; i++)
        {
            int bytes = random.Next(2) == 0 ? random.Next(middle * 4 / 5, middle * 6 / 5) : random.Next(SmallestBytes, LargestBytes + 1);
            Write(pipe, random.Next(keys), values.AsSpan(0, bytes));
        }

        pipe.Flush();
    }

    // A key keeps its type. A hash's values change in place, a list's elements move through it, a set is recreated.
    private static void Write(CommandPipe pipe, int key, ReadOnlySpan<byte> value)
    {
        int elementBytes = value.Length / Elements;
        switch (key % TypeParts)
        {
            case 0:
                pipe.Begin(2 + (2 * Elements), "HSET"u8).AddNumbered("hash:"u8, key);
                for (int i = 0; i < Elements; i++) pipe.AddNumbered("field:"u8, i).Add(value[..elementBytes]);
                break;
            case 1:
                pipe.Begin(2 + Elements, "LPUSH"u8).AddNumbered("list:"u8, key);
                for (int i = 0; i < Elements; i++) pipe.Add(value[..elementBytes]);
                pipe.Begin(4, "LTRIM"u8).AddNumbered("list:"u8, key).Add("0"u8).AddNumbered(""u8, (2 * Elements) - 1);
                break;
            case 2:
                pipe.Begin(2, "DEL"u8).AddNumbered("set:"u8, key);
                pipe.Begin(2 + Elements, "SADD"u8).AddNumbered("set:"u8, key);
                for (int i = 0; i < Elements; i++) pipe.Add(value[..(elementBytes + i)]); // of different lengths, so that all are members
                break;
            default:
                pipe.Begin(3, "SET"u8).AddNumbered("key:"u8, key).Add(value);
                break;
        }
    }
}
