using RedKite.Server.Metrics;

namespace RedKite.Server.Diagnostics;

/// <summary>
/// Reads what each command did since the observation before, as records of <see cref="RankedTable.Commands"/>. On one thread. A histogram is
/// read, and 8 KiB are kept for the next time, only of commands that were called.
/// </summary>
/// <param name="commands">The number of commands.</param>
internal sealed class CommandReader(int commands)
{
    private readonly LatencyInterval.Scratch _scratch = new();
    private readonly Totals[] _before = new Totals[commands];
    private readonly LatencyInterval?[] _latencies = new LatencyInterval?[commands];

    internal List<RankedRecord> Read(ExecutorMetrics[] executors, double seconds)
    {
        var records = new List<RankedRecord>();
        for (int command = 0; command < _before.Length; command++)
        {
            Totals before = _before[command];
            Totals now = Totals.Of(executors, command);
            if (now == before) continue;
            _before[command] = now;
            LatencyFigures latency = ReadLatency(executors, command);
            if (now.Calls <= before.Calls && now.Failures <= before.Failures) continue; // CONFIG RESETSTAT
            records.Add(new RankedRecord(command, [PerSecond(now.Ns - before.Ns) / 1000, PerSecond(now.Calls - before.Calls), PerSecond(now.Failures - before.Failures), (float)latency.P99, (float)latency.Max]));
        }

        return records;

        float PerSecond(long growth) => (float)(Math.Max(0, growth) / seconds);
    }

    private LatencyFigures ReadLatency(ExecutorMetrics[] executors, int command) => (_latencies[command] ??= new LatencyInterval(_scratch)).Read(sum =>
    {
        foreach (ExecutorMetrics executor in executors) executor.Peek(command)?.Latency.AddTo(sum);
    });

    private readonly record struct Totals(long Calls, long Failures, long Ns)
    {
        internal static Totals Of(ExecutorMetrics[] executors, int command)
        {
            long calls = 0, failures = 0, ns = 0;
            foreach (ExecutorMetrics executor in executors)
            {
                if (executor.Peek(command) is not { } metrics) continue;
                calls += metrics.Calls;
                failures += metrics.Failed + metrics.Rejected;
                ns += metrics.TotalNs;
            }

            return new Totals(calls, failures, ns);
        }
    }
}
