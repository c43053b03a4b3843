using System.Globalization;
using System.Text;
using RedKite.Server.Metrics;

namespace RedKite.Server.Commands.Server;

/// <summary>What LATENCY GRAPH and LATENCY DOCTOR make of the monitor's samples.</summary>
internal static class LatencyReport
{
    private const int GraphColumns = 80;
    private const int GraphRows = 4;
    private const string Levels = "_o#"; // from the low to the high end of one row

    /// <summary>A line of figures, then columns of characters: the newest sample is the last one, with its age below.</summary>
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

    /// <summary>What was seen, class by class, and what can be done about it.</summary>
    internal static string Diagnose(LatencyMonitor monitor, bool slowLogIsOff)
    {
        LatencyEvent[] events = monitor.Events;
        if (events.Length == 0)
        {
            return monitor.IsOn
                ? "No latency event was recorded so far: nothing took longer than latency-monitor-threshold since the monitor was switched on.\n"
                : "The latency monitor is off, so there is nothing to diagnose. Switch it on with \"CONFIG SET latency-monitor-threshold <milliseconds>\": whatever takes at least that long is recorded from then on.\n";
        }

        var text = new StringBuilder("Latency events were recorded:\n\n");
        for (int i = 0; i < events.Length; i++)
        {
            LatencyEvent latency = events[i];
            double mean = latency.Samples.Average(sample => sample.Ms);
            double deviation = latency.Samples.Average(sample => Math.Abs(sample.Ms - mean));
            double span = latency.Latest.UnixSeconds - latency.Samples[0].UnixSeconds;
            double period = latency.Samples.Length > 1 ? span / (latency.Samples.Length - 1) : 0;
            text.Append(CultureInfo.InvariantCulture, $"{i + 1}. {latency.Name}: {latency.Samples.Length} latency spikes (average {mean:0}ms, mean deviation {deviation:0}ms, period {period:0.00} sec). Worst all time event {latency.WorstMs}ms.\n");
        }

        text.Append("\nWhat can be done:\n\n");
        if (slowLogIsOff) text.Append("- The slow log is off: CONFIG SET slowlog-log-slower-than tells it from how many microseconds on it keeps commands.\n");
        else text.Append("- SLOWLOG GET shows which commands were slow, with their arguments.\n");
        if (events.Any(latency => latency.Name == "command")) text.Append("- A slow command usually works on many elements or keys at once: read large values in parts, and use SCAN in place of KEYS.\n");
        if (events.Any(latency => latency.Name == "fast-command")) text.Append("- Commands that take constant time were slow: the machine is short of processor time or memory, or other programs get in the way. INFO cpu and INFO memory tell more.\n");
        if (events.Any(latency => latency.Name == "expire-cycle")) text.Append("- Removing keys whose time had come took long: give keys times to live that do not all end in the same moment.\n");
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
