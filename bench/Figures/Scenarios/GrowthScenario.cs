using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// The longest time that one SET takes while the table grows from nothing to millions of keys, measured in process so that
/// no socket and no other thread stands between the clock and the table. The machine itself interrupts a thread now and
/// then, so the same loop is also run with nothing in it but the clock: what that shows is not the table's.
/// </summary>
internal static class GrowthScenario
{
    private const int Keys = 10_000_000;
    private const int ValueBytes = 32;
    private const int WarmUpOperations = 200_000;
    private const int LongNs = 1_000_000;
    private const int WorstShown = 5;

    internal static Report Run(Options options)
    {
        int keys = options.Keys ?? Keys;
        var report = new Report("growth", $"Latency of each operation while {keys:N0} keys with {options.ValueBytes ?? ValueBytes}-byte values are loaded "
            + "in process by one thread, beside the same loop around nothing but the clock.");
        report.Notes.Add("in-process execution is not part of this build: nothing is measured");
        return report;
    }

    /// <summary>The tables of one set operation: its latencies, and where in the load the longest ones were.</summary>
    internal static void Measure(
        Report report, Action<ReadOnlySpan<byte>, ReadOnlySpan<byte>> set, int keys, int? valueBytes)
    {
        var latencies = new Table($"one operation among {keys:N0}", new("loop"), new("median ns"), new("p99.999 us", "F1"),
            new("longest us", "F1"), new("above 1 ms"));
        var worst = new Table("longest operations", new("loop"), new("us", "F1"), new("keys before it", "N0"));
        report.Tables.Add(latencies);
        report.Tables.Add(worst);

        byte[] value = new byte[valueBytes ?? ValueBytes];
        AddRows(latencies, worst, "clock alone", Time(static (_, _) => { }, keys, value));
        for (int i = 0; i < WarmUpOperations; i++) set("warm-up"u8, value);
        AddRows(latencies, worst, "SET", Time(set, keys, value));
    }

    // Optimized from its first call, so that the loop is not replaced while it runs.
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private static int[] Time(Action<ReadOnlySpan<byte>, ReadOnlySpan<byte>> set, int keys, byte[] value)
    {
        int[] latenciesNs = new int[keys];
        Array.Fill(latenciesNs, -1); // Touches every page before the clock runs.
        Span<byte> key = stackalloc byte[KeyForm.BytesMax];
        double nsPerTick = 1e9 / Stopwatch.Frequency;
        for (int i = 0; i < keys; i++)
        {
            int keyBytes = KeyForm.RedisBenchmark.Write(key, i);
            long before = Stopwatch.GetTimestamp();
            set(key[..keyBytes], value);
            long after = Stopwatch.GetTimestamp();
            latenciesNs[i] = (int)Math.Min((after - before) * nsPerTick, int.MaxValue);
        }

        return latenciesNs;
    }

    private static void AddRows(Table latencies, Table worst, string loop, int[] latenciesNs)
    {
        int[] order = [.. Enumerable.Range(0, latenciesNs.Length)];
        int[] sorted = [.. latenciesNs];
        Array.Sort(sorted, order);
        int longCount = sorted.Length - FirstAbove(sorted, LongNs);
        latencies.Add(loop, sorted[sorted.Length / 2], sorted[(int)((sorted.Length - 1) * 0.99999)] / 1e3, sorted[^1] / 1e3, longCount);
        foreach (int operation in order.TakeLast(WorstShown).Reverse()) worst.Add(loop, latenciesNs[operation] / 1e3, operation);
    }

    private static int FirstAbove(int[] sorted, int limit)
    {
        int at = Array.FindIndex(sorted, latency => latency > limit);
        return at < 0 ? sorted.Length : at;
    }
}
