using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedKite.Store.Keyspace;

namespace RedKite.Figures.Scenarios;

/// <summary>
/// The longest SET while a table grows from empty to millions of keys, measured in process so that no socket and no other
/// thread interferes. The machine interrupts a thread now and then, so an empty loop is measured too, and both run with the
/// wall clock and with the thread's CPU clock: a delay that only the wall clock shows is not the table's. The kernel charges
/// the time that a hypervisor takes to the thread, though, so each operation's minimum over several runs counts: the keys and
/// hashes are the same, so the table grows at the same operations each time, and the hypervisor interrupts at others.
/// </summary>
internal static class GrowthScenario
{
    private const int Keys = 10_000_000;
    private const int ValueBytes = 32;
    private const int WarmUpOperations = 200_000;
    private const int LongNs = 1_000_000;
    private const int WorstShown = 3;
    private const int Runs = 3;

    // The hash key: a constant, so that every run builds the same tables.
    private static readonly byte[] Secret = [.. Enumerable.Range(1, 24).Select(i => (byte)i)];

    internal static Report Run(Options options)
    {
        int keys = options.Keys ?? Keys;
        byte[] value = new byte[options.ValueBytes ?? ValueBytes];
        var report = new Report("growth", $"Latency of each operation while {keys:N0} keys with {value.Length}-byte values are loaded "
            + "by one thread into a keyspace in this process with a single stripe, so that one table holds them all; and of the same loop with "
            + "nothing but the clock, which shows the machine's own delays. The thread's CPU clock excludes the time in which another thread "
            + $"had the core, but takes longer to read. With it, the keys are loaded {Runs} times, and each operation has its least and its most of these runs.");

        var latencies = new Table($"one operation among {keys:N0}", new("loop"), new("clock"), new("median ns"), new("p99.999 us", "F1"),
            new("longest us", "F1"), new("above 1 ms"));
        var worst = new Table("longest operations", new("loop"), new("clock"), new("us", "F1"), new("keys before it", "N0"));
        report.Tables.Add(latencies);
        report.Tables.Add(worst);
        AddRows(latencies, worst, "clock alone", "wall", Time(static (_, _) => { }, WallNs, keys, value));
        AddRows(latencies, worst, "SET", "wall", Load(WallNs, keys, value));
        AddRows(latencies, worst, "clock alone", "thread CPU", Time(static (_, _) => { }, KernelCpuClock.ReadThreadNs, keys, value));

        int[] leastNs = Load(KernelCpuClock.ReadThreadNs, keys, value);
        int[] mostNs = [.. leastNs];
        for (int run = 1; run < Runs; run++)
        {
            int[] again = Load(KernelCpuClock.ReadThreadNs, keys, value);
            for (int i = 0; i < keys; i++) (leastNs[i], mostNs[i]) = (Math.Min(leastNs[i], again[i]), Math.Max(mostNs[i], again[i]));
        }

        AddRows(latencies, worst, $"SET, least of {Runs} runs", "thread CPU", leastNs);
        AddRows(latencies, worst, $"SET, most of {Runs} runs", "thread CPU", mostNs);
        report.Targets.Add(Target.AtMost(LongNs / 1e3, $"longest SET in the least of {Runs} runs, us", leastNs.Max() / 1e3));
        return report;
    }

    private static int[] Load(Func<long> readNs, int keys, byte[] value)
    {
        using var keyspace = new Keyspace(stripes: 1, databases: 1, hasher: new KeyHasher(Secret));
        for (int i = 0; i < WarmUpOperations; i++) Set(keyspace, "warm-up"u8, value);
        return Time((key, stored) => Set(keyspace, key, stored), readNs, keys, value);
    }

    // SET's work in the store, from hashing to unlocking.
    private static void Set(Keyspace keyspace, ReadOnlySpan<byte> key, ReadOnlySpan<byte> value)
    {
        const long NowMs = 0; // No key expires here.
        Database database = keyspace.Databases[0];
        ulong hash = keyspace.Hash(key);
        Stripe stripe = keyspace.Stripes[keyspace.StripeOf(hash)];
        stripe.Enter();
        try
        {
            Entry existing = database.Find(key, hash, ExpiryClock.RemovingAt(NowMs));
            Entry written = database.WriteString(key, hash, existing, value.Length, ValueEncoding.Embedded, Database.NoExpiry, accessClock: 0);
            value.CopyTo(written.Value);
        }
        finally
        {
            stripe.Exit();
        }
    }

    // Optimized from its first call, so that the runtime does not replace the loop while it runs.
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    private static int[] Time(Action<ReadOnlySpan<byte>, ReadOnlySpan<byte>> set, Func<long> readNs, int keys, byte[] value)
    {
        int[] latenciesNs = new int[keys];
        Array.Fill(latenciesNs, -1); // Touches every page before the clock runs.
        Span<byte> key = stackalloc byte[KeyForm.BytesMax];
        for (int i = 0; i < keys; i++)
        {
            int keyBytes = KeyForm.RedisBenchmark.Write(key, i);
            long before = readNs();
            set(key[..keyBytes], value);
            long after = readNs();
            latenciesNs[i] = (int)Math.Min(after - before, int.MaxValue);
        }

        return latenciesNs;
    }

    // Stopwatch ticks are nanoseconds on Linux.
    private static long WallNs() => Stopwatch.GetTimestamp();

    private static void AddRows(Table latencies, Table worst, string loop, string clock, int[] latenciesNs)
    {
        int[] order = [.. Enumerable.Range(0, latenciesNs.Length)];
        int[] sorted = [.. latenciesNs];
        Array.Sort(sorted, order);
        int longCount = sorted.Length - FirstAbove(sorted, LongNs);
        latencies.Add(loop, clock, sorted[sorted.Length / 2], sorted[(int)((sorted.Length - 1) * 0.99999)] / 1e3, sorted[^1] / 1e3, longCount);
        foreach (int operation in order.TakeLast(WorstShown).Reverse()) worst.Add(loop, clock, latenciesNs[operation] / 1e3, operation);
    }

    private static int FirstAbove(int[] sorted, int limit)
    {
        int at = Array.FindIndex(sorted, latency => latency > limit);
        return at < 0 ? sorted.Length : at;
    }
}
