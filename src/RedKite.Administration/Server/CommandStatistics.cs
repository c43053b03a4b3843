using System.Globalization;
using System.Text;
using RedKite.Net;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Server;

/// <summary>The sections of INFO with a line per command or error class.</summary>
internal static class CommandStatistics
{
    internal static void WriteCalls(MetricsRegistry registry, CommandTable commands, InfoText text)
    {
        ExecutorMetrics[] executors = registry.Executors;
        text.Section("Commandstats"u8);
        foreach (Command command in commands.All)
        {
            long calls = 0, ns = 0, rejected = 0, failed = 0;
            foreach (ExecutorMetrics executor in executors)
            {
                if (executor.Peek(command.Index) is not { } metrics) continue;
                calls += metrics.Calls;
                ns += metrics.TotalNs;
                rejected += metrics.Rejected;
                failed += metrics.Failed;
            }

            if (calls == 0 && rejected == 0 && failed == 0) continue;
            double usecPerCall = calls == 0 ? 0 : ns / 1000 / (double)calls;
            text.Line(string.Create(CultureInfo.InvariantCulture, $"cmdstat_{command.FullName}:calls={calls},usec={ns / 1000},usec_per_call={usecPerCall:F2},rejected_calls={rejected},failed_calls={failed}"));
        }
    }

    internal static void WriteErrors(MetricsRegistry registry, InfoText text)
    {
        var sums = new SortedDictionary<string, long>(StringComparer.Ordinal);
        foreach (ExecutorMetrics executor in registry.Executors)
        {
            Dictionary<string, long> errors = executor.ErrorsByClass;
            lock (errors)
            {
                foreach ((string errorClass, long count) in errors) sums[errorClass] = sums.GetValueOrDefault(errorClass) + count;
            }
        }

        text.Section("Errorstats"u8);
        foreach ((string errorClass, long count) in sums) text.Line(string.Create(CultureInfo.InvariantCulture, $"errorstat_{Shown(errorClass)}:count={count}"));
    }

    // A script's error may begin with anything.
    private static string Shown(string errorClass) => errorClass.Replace(':', '_').Replace('#', '_');

    internal static void WriteLatencies(MetricsRegistry registry, CommandTable commands, Settings settings, InfoText text)
    {
        text.Section("Latencystats"u8);
        double[] percentiles = settings.LatencyTrackingPercentiles;
        if (!settings.LatencyTracking || percentiles.Length == 0) return;
        var line = new StringBuilder();
        var latency = new LatencyHistogram();
        foreach (Command command in commands.All)
        {
            if (!TryLatencyOf(registry, command, latency)) continue;
            line.Clear().Append("latency_percentiles_usec_").Append(command.FullName).Append(':');
            for (int i = 0; i < percentiles.Length; i++)
            {
                if (i > 0) line.Append(',');
                line.Append(CultureInfo.InvariantCulture, $"p{percentiles[i]:0.######}={latency.PercentileNs(percentiles[i]) / 1000.0:F3}");
            }

            text.Line(line.ToString());
        }
    }

    /// <summary>Adds up the latencies of a command's calls on all executors; false if there were none.</summary>
    internal static bool TryLatencyOf(MetricsRegistry registry, Command command, LatencyHistogram sum)
    {
        sum.Clear();
        foreach (ExecutorMetrics executor in registry.Executors)
        {
            if (executor.Peek(command.Index) is { Latency.Count: > 0 } metrics) metrics.Latency.AddTo(sum);
        }

        return sum.Count > 0;
    }
}
