using System.Diagnostics;

namespace RedKite.Figures.Cluster;

/// <summary>
/// Slots that move as a whole to another node and back while clients write to them, beside Valkey 9's CLUSTER MIGRATESLOTS. The pairs take turns, one move each. One connection writes batches, another one
/// single writes at a steady rate, whose waits are kept; both go on until the other node has accepted theirs.
/// </summary>
internal static class SlotMoves
{
    internal const string Name = "moves";

    private const int Slots = 1000;
    private const int Keys = 5_000_000;
    private const int ValueBytes = 64;
    private const int WritesPerSecond = 100_000;
    private const int Batch = 64;
    private const int ProbesPerSecond = 1000;
    private const int WindowMs = 5000; // without a move
    private const int WarmUpMs = 2000;
    private const int WarmUpMoves = 2;
    private const int WarmUpShare = 20;
    private const int RoundsMax = 3;
    private const int PatienceMs = 120_000;
    private const int PollMs = 20;
    private const double PauseMsMax = 10;
    private const double TailMax = 2;

    // The keys that have moved are removed after it, at most at this length.
    private static readonly TimeSpan RemovalMax = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan Quiet = TimeSpan.FromMilliseconds(500);

    private sealed class Measured
    {
        internal List<double> Pause { get; } = [];
        internal List<double> Tail { get; } = [];
        internal List<double> TailWithout { get; } = [];
        internal List<double> Seconds { get; } = [];
        internal List<double> CpuSeconds { get; } = [];
    }

    internal static void Measure(Options options, Report report)
    {
        int keys = options.Keys ?? Keys, valueBytes = options.ValueBytes ?? ValueBytes, rounds = Math.Min(options.Rounds, RoundsMax);
        var table = new Table(FormattableString.Invariant($"{Slots:N0} slots with {keys:N0} keys of {valueBytes} bytes move under {WritesPerSecond:N0} SETs a second to them"), new("servers"),
            new("longest wait of a write, ms", "F1"), new("range", "F1"), new("p99.9 ms without", "F2"), new("p99.9 ms", "F2"), new("its range", "F2"),
            new("seconds", "F2"), new("range s", "F2"), new("CPU s of both more than the load's", "F2"), new("range CPU s", "F2"));
        report.Tables.Add(table);
        var slotKeys = new SlotKeys(Slots, keys);
        List<MovePair> pairs = [];
        try
        {
            foreach (MovePair pair in MovePair.StartAll(options, report)) pairs.Add(pair);
            foreach (MovePair pair in pairs) WarmUp(pair, keys / WarmUpShare, valueBytes);
            foreach (MovePair pair in pairs) slotKeys.Load(pair.Servers[0], valueBytes);
            Dictionary<MovePair, Measured> measured = pairs.ToDictionary(static pair => pair, static _ => new Measured());
            for (int round = 0; round < rounds; round++)
            {
                Console.Error.WriteLine($"moves: round {round + 1} of {rounds}");
                foreach (MovePair pair in round % 2 == 0 ? pairs : pairs.AsEnumerable().Reverse())
                {
                    // The keys move back in the next round. A pair whose move has failed has no further ones.
                    if (measured[pair].Seconds.Count == round) MeasureMove(pair, pair.Servers[round % 2], pair.Servers[(round + 1) % 2], slotKeys, valueBytes, measured[pair], report);
                }
            }

            foreach (MovePair pair in pairs.Where(pair => measured[pair].Seconds.Count > 0)) Show(pair, measured[pair], table, report);
        }
        finally
        {
            foreach (MovePair pair in pairs) pair.Dispose();
        }
    }

    // There and back, before the data is loaded: the servers compile their code.
    private static void WarmUp(MovePair pair, int keys, int valueBytes)
    {
        var few = new SlotKeys(Slots, keys);
        few.Load(pair.Servers[0], valueBytes);
        using var writes = new RedirectedWrites(pair.Servers, few, valueBytes, Batch, WritesPerSecond);
        for (int i = 0; i < WarmUpMoves; i++)
        {
            Thread.Sleep(WarmUpMs);
            (ServerUnderTest from, ServerUnderTest to) = (pair.Servers[i % 2], pair.Servers[(i + 1) % 2]);
            MovePair.Move(from, to, Slots);
            WaitFor.Until(() => writes.AcceptedBy == to.Port, $"a move of {pair.Name}", PatienceMs, PollMs);
        }
    }

    private static void MeasureMove(MovePair pair, ServerUnderTest from, ServerUnderTest to, SlotKeys keys, int valueBytes, Measured measured, Report report)
    {
        double before, loadPerSecond, tailWithout;
        TimeSpan took;
        List<double> probes, batches;
        using (var probe = new RedirectedWrites([from, to], keys, valueBytes, 1, ProbesPerSecond))
        using (var writes = new RedirectedWrites([from, to], keys, valueBytes, Batch, WritesPerSecond))
        {
            Thread.Sleep(WarmUpMs);
            probe.Take();
            writes.Take();
            double idle = pair.CpuSeconds;
            long start = Stopwatch.GetTimestamp();
            Thread.Sleep(WindowMs);
            before = pair.CpuSeconds;
            loadPerSecond = (before - idle) / Stopwatch.GetElapsedTime(start).TotalSeconds;
            tailWithout = TailOf(probe.Take());
            writes.Take();

            start = Stopwatch.GetTimestamp();
            try
            {
                MovePair.Move(from, to, Slots);
                string? failure = null;
                WaitFor.Until(() => (probe.AcceptedBy == to.Port && writes.AcceptedBy == to.Port) || (failure = MovePair.Failure(from)) is not null, $"a move of {pair.Name}", PatienceMs, PollMs);
                if (failure is not null) throw new CannotMeasureException($"{pair.Name} has not moved the slots: {failure}");
            }
            catch (CannotMeasureException failure)
            {
                report.Notes.Add(failure.Message);
                return;
            }

            took = Stopwatch.GetElapsedTime(start);
            (probes, batches) = (probe.Take(), writes.Take());
        }

        foreach (ServerUnderTest server in pair.Servers)
        {
            if (!IdleWait.Run(server, RemovalMax, Quiet).BecameIdle) report.AddNote($"{pair.Name} was still busy {RemovalMax.TotalSeconds:F0} s after a move: CPU that it used even later is not counted");
        }

        measured.CpuSeconds.Add(pair.CpuSeconds - before - (loadPerSecond * took.TotalSeconds));
        measured.Seconds.Add(took.TotalSeconds);
        measured.Pause.Add(Math.Max(probes[^1], batches[^1]));
        measured.Tail.Add(TailOf(probes));
        measured.TailWithout.Add(tailWithout);
    }

    private static double TailOf(List<double> sorted) => sorted[(int)(0.999 * sorted.Count)];

    private static void Show(MovePair pair, Measured of, Table table, Report report)
    {
        Spread pause = Spread.Of(of.Pause), tail = Spread.Of(of.Tail), seconds = Spread.Of(of.Seconds), cpu = Spread.Of(of.CpuSeconds);
        table.Add(pair.Name, pause.Median, pause.Range, Median.Of(of.TailWithout), tail.Median, tail.Range, seconds.Median, seconds.Range, cpu.Median, cpu.Range);
        if (!pair.Name.StartsWith("redkite", StringComparison.Ordinal)) return;
        report.Targets.Add(Target.AtMost(PauseMsMax, $"longest wait of a write while its slots move, ms, {pair.Name}", pause));
        report.Targets.Add(Target.AtMost(TailMax, $"p99.9 of writes while their slots move / without, {pair.Name}", Spread.OfRatios(of.Tail, of.TailWithout)));
    }
}
