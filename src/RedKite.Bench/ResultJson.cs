using System.Globalization;
using System.Text.Json;
using RedKite.Net;

namespace RedKite.Bench;

/// <summary>Results in the format of memtier_benchmark's --json-out-file: its names, milliseconds, bytes in units of 1024.</summary>
internal static class ResultJson
{
    private const double NsPerMs = 1e6;

    internal static void Write(string path, IReadOnlyList<(string Title, BenchResult Result)> results, BenchOptions options)
    {
        try
        {
            using FileStream file = File.Create(path);
            using var json = new Utf8JsonWriter(file, new JsonWriterOptions { Indented = true });
            json.WriteStartObject();
            WriteConfiguration(json, options);
            foreach ((string title, BenchResult result) in results) WriteResult(json, title, result, options);
            json.WriteEndObject();
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new BenchException($"redkite bench: cannot write {path}: {failure.Message}", BenchException.RunFailed);
        }
    }

    private static void WriteConfiguration(Utf8JsonWriter json, BenchOptions options)
    {
        json.WriteStartObject("configuration");
        json.WriteString("server", options.Server);
        json.WriteNumber("port", options.Port);
        json.WriteString("unix socket", options.UnixSocket);
        json.WriteNumber("run_count", options.RunCount);
        json.WriteNumber("clients", options.Clients);
        json.WriteNumber("threads", options.Threads);
        json.WriteNumber("requests", options.TestTime > 0 ? 0 : options.RequestsPerClient);
        json.WriteNumber("test_time", options.TestTime);
        json.WriteString("ratio", $"{options.SetRatio}:{options.GetRatio}");
        json.WriteNumber("pipeline", options.Pipeline);
        json.WriteString("data_size", options.DataSizeMin == options.DataSizeMax ? $"{options.DataSizeMin}" : $"{options.DataSizeMin}-{options.DataSizeMax}");
        json.WriteString("key_prefix", options.KeyPrefix);
        json.WriteNumber("key_minimum", options.KeyMinimum);
        json.WriteNumber("key_maximum", options.KeyMaximum);
        json.WriteNumber("rate_limit", options.RateLimit);
        json.WriteNumber("target_rate", options.TargetRate);
        json.WriteNumber("protocol", options.Protocol);
        json.WriteBoolean("tls", options.Tls);
        json.WriteEndObject();

        json.WriteStartObject("run information");
        json.WriteNumber("Threads", options.Threads);
        json.WriteNumber("Connections per thread", options.Clients);
        if (options.TestTime > 0) json.WriteNumber("Seconds", options.TestTime);
        else json.WriteNumber("Requests per client", options.RequestsPerClient);
        json.WriteNumber("Format version", 2);
        json.WriteEndObject();
    }

    private static void WriteResult(Utf8JsonWriter json, string title, BenchResult result, BenchOptions options)
    {
        json.WriteStartObject(title);
        json.WriteStartObject("Runtime");
        json.WriteNumber("Start time", result.Started.ToUnixTimeMilliseconds());
        json.WriteNumber("Finish time", result.Started.AddSeconds(result.Seconds).ToUnixTimeMilliseconds());
        json.WriteNumber("Total duration", result.Seconds * 1000);
        json.WriteString("Time unit", "MILLISECONDS");
        json.WriteEndObject();

        foreach (CommandStatistics row in result.Rows) WriteRow(json, ResultTable.RowName(row), row, result, options);
        if (result.HasSetsAndGets) WriteRow(json, "Waits", new CommandStatistics("WAIT", options.IsOpenLoop), result, options);
        WriteRow(json, "Totals", result.Totals, result, options);
        if (options.IsOpenLoop) json.WriteNumber("Unsent", result.Unsent);
        foreach (CommandStatistics row in result.Rows.Where(row => !options.HideHistogram && row.Count > 0)) WriteDistribution(json, row);
        json.WriteEndObject();
    }

    private static void WriteRow(Utf8JsonWriter json, string name, CommandStatistics row, BenchResult result, BenchOptions options)
    {
        json.WriteStartObject(name);
        json.WriteNumber("Count", row.Count);
        json.WriteNumber("Ops/sec", result.PerSecond(row.Count));
        json.WriteNumber("Hits/sec", result.PerSecond(row.Hits));
        json.WriteNumber("Misses/sec", result.PerSecond(row.Misses));
        json.WriteNumber("Errors", row.Errors);
        json.WriteNumber("Latency", row.Latency.MeanNs / NsPerMs);
        json.WriteNumber("Average Latency", row.Latency.MeanNs / NsPerMs);
        json.WriteNumber("Min Latency", row.Latency.MinNs / NsPerMs);
        json.WriteNumber("Max Latency", row.Latency.MaxNs / NsPerMs);
        json.WriteNumber("KB/sec", result.KilobytesPerSecond(row));
        json.WriteNumber("KB/sec RX", result.PerSecond(row.BytesReceived) / 1024);
        json.WriteNumber("KB/sec TX", result.PerSecond(row.BytesSent) / 1024);
        WritePercentiles(json, "Percentile Latencies", row.Latency, options);
        if (row.Uncorrected is not null) WritePercentiles(json, "Uncorrected Percentile Latencies", row.Uncorrected, options);
        json.WriteEndObject();
    }

    private static void WritePercentiles(Utf8JsonWriter json, string name, LatencyHistogram latency, BenchOptions options)
    {
        json.WriteStartObject(name);
        foreach (double percentile in options.Percentiles)
        {
            json.WriteNumber(Name(percentile), latency.PercentileNs(percentile) / NsPerMs);
        }

        json.WriteEndObject();
    }

    // p50.00, p99.90; more digits if needed.
    private static string Name(double percentile) => "p" + percentile.ToString("0.00####", CultureInfo.InvariantCulture);

    private static void WriteDistribution(Utf8JsonWriter json, CommandStatistics row)
    {
        json.WriteStartArray(row.Name);
        foreach ((double ms, double percent) in ResultTable.Steps(row.Latency))
        {
            json.WriteStartObject();
            json.WriteNumber("<=msec", ms);
            json.WriteNumber("percent", percent);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }
}
