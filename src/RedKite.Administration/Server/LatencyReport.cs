using System.Globalization;
using System.Text;
using RedKite.Server.Metrics;

namespace RedKite.Server.Commands.Server;

/// <summary>The texts of LATENCY GRAPH and LATENCY DOCTOR.</summary>
internal static class LatencyReport
{
    private const int GraphColumns = 80;
    private const int GraphRows = 4;
    private const string Levels = "_o#"; // from the low to the high end of one row

    /// <summary>A line of figures, then a column for each sample, the newest last, with its age below.</summary>
    internal static string Graph(LatencyEvent latency, long nowMs)
    {
        long high = latency.Samples.Max(sample => sample.Ms);
        long low = latency.Samples.Min(sample => sample.Ms);
        var text = new StringBuilder();
        text.Append(CultureInfo.InvariantCulture, $"{latency.Name} - high {high} ms, low {low} ms (all time high {latency.WorstMs} ms)\n");
        text.Append('-', GraphColumns).Append('\n');
        for (int first = 0; first < latency.Samples.Length; first += GraphColumns)
        {
            if (first > 0) text.Append('\n');
            Draw(text, latency.Samples.AsSpan(first, Math.Min(GraphColumns, latency.Samples.Length - first)), low, high, nowMs / 1000);
        }

        return text.ToString();
    }

    /// <summary>A diagnosis of all samples by class, with advice. The first words are Redis's, because clients check them.</summary>
    internal static string Diagnose(LatencyMonitor monitor, bool slowLogIsOff, bool hasFindings)
    {
        LatencyEvent[] events = monitor.Events;
        if (events.Length == 0 && hasFindings)
        {
            return monitor.IsOn
                ? "Dave, nothing took longer than latency-monitor-threshold since the monitor was enabled, but see the findings.\n"
                : "I'm sorry, Dave, the latency monitor is disabled (\"CONFIG SET latency-monitor-threshold <milliseconds>\" enables it), but there are findings.\n";
        }

        if (events.Length == 0)
        {
            return monitor.IsOn
                ? "Dave, there is no latency event to report: nothing took longer than latency-monitor-threshold since the monitor was enabled.\n"
                : "I'm sorry, Dave, there is nothing to diagnose: the latency monitor is disabled. \"CONFIG SET latency-monitor-threshold <milliseconds>\" records whatever takes at least that long.\n";
        }

        var text = new StringBuilder("Dave, these latency events were recorded:\n\n");
        for (int i = 0; i < events.Length; i++)
        {
            LatencyEvent latency = events[i];
            double mean = latency.Samples.Average(sample => sample.Ms);
            double deviation = latency.Samples.Average(sample => Math.Abs(sample.Ms - mean));
            double span = latency.Latest.UnixSeconds - latency.Samples[0].UnixSeconds;
            double period = latency.Samples.Length > 1 ? span / (latency.Samples.Length - 1) : 0;
            text.Append(CultureInfo.InvariantCulture, $"{i + 1}. {latency.Name}: {latency.Samples.Length} latency spikes (average {mean:0}ms, mean deviation {deviation:0}ms, period {period:0.00} sec). Worst all time event {latency.WorstMs}ms.\n");
        }

        text.Append("\nAdvice:\n\n");
        if (slowLogIsOff) text.Append("- The slow log is disabled: CONFIG SET slowlog-log-slower-than sets the microseconds from which it records commands.\n");
        else text.Append("- SLOWLOG GET shows the slow commands with their arguments.\n");
        if (events.Any(latency => latency.Name == "command")) text.Append("- A slow command usually processes many elements or keys at once: read large values in parts, and use SCAN instead of KEYS.\n");
        if (events.Any(latency => latency.Name == "fast-command")) text.Append("- Commands of constant time were slow, without waiting for others: the machine lacks processor time or memory, or other programs interfere. See INFO cpu and INFO memory.\n");
        if (events.Any(latency => latency.Name == LatencyMonitor.LockWait)) text.Append("- Commands waited for keys that another command had locked. They are not slow themselves: look for the long commands, transactions and scripts.\n");
        if (events.Any(latency => latency.Name == "expire-cycle")) text.Append("- Removing expired keys took long: spread the expiry times of keys.\n");
        if (events.Any(latency => latency.Name.StartsWith("aof-", StringComparison.Ordinal))) text.Append("- Writing or syncing the append-only file took long: find what else uses the disk, or move dir to a faster one.\n");
        if (events.Any(latency => latency.Name == "fork")) text.Append("- All keys were locked for long when a snapshot began: that waits for the commands that are executing, so look for slow ones.\n");
        return text.ToString();
    }

    private static void Draw(StringBuilder text, ReadOnlySpan<LatencySample> samples, long low, long high, long nowSeconds)
    {
        int steps = GraphRows * Levels.Length;
        for (int row = GraphRows - 1; row >= 0; row--)
        {
            foreach (LatencySample sample in samples)
            {
                double relative = high == low ? 0 : (double)(sample.Ms - low) / (high - low);
                int level = Math.Min((int)(relative * steps), steps - 1) - (row * Levels.Length);
                text.Append(level < 0 ? ' ' : level < Levels.Length ? Levels[level] : '|');
            }

            text.Append('\n');
        }

        text.Append(' ', samples.Length).Append('\n');
        bool more = true;
        for (int line = 0; more; line++)
        {
            int start = text.Length;
            more = false;
            foreach (LatencySample sample in samples)
            {
                string age = Age(nowSeconds - sample.UnixSeconds);
                text.Append(line < age.Length ? age[line] : ' ');
                more |= line < age.Length;
            }

            if (more) text.Append('\n');
            else text.Length = start;
        }
    }

    private static string Age(long seconds)
    {
        string text = seconds switch
        {
            < 60 => $"{Math.Max(0, seconds)}s",
            < 3600 => $"{seconds / 60}m",
            < 86400 => $"{seconds / 3600}h",
            _ => $"{seconds / 86400}d",
        };
        return text;
    }
}
