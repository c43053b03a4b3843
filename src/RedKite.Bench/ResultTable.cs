using System.Globalization;
using RedKite.Net;

namespace RedKite.Bench;

/// <summary>A result in memtier_benchmark's form: a row per request type, then the latency distribution.</summary>
internal static class ResultTable
{
    private const int TypeWidth = 13;
    private const int FigureWidth = 15;
    private const double NsPerMs = 1e6;

    // The distribution's steps: each halves the rest up to 100 percent, in this many parts.
    private const int StepsPerHalving = 2;
    private const int HalvingsMax = 20;

    internal static void Write(TextWriter output, string title, BenchResult result, BenchOptions options)
    {
        string[] columns =
        [
            "Ops/sec", "Hits/sec", "Misses/sec", "Avg. Latency",
            .. options.Percentiles.Select(percentile => string.Create(CultureInfo.InvariantCulture, $"p{percentile} Latency")), "KB/sec",
        ];
        int width = TypeWidth + (columns.Length * (FigureWidth + 1));
        output.WriteLine();
        output.WriteLine(title);
        output.WriteLine(new string('=', width));
        output.WriteLine("Type".PadRight(TypeWidth) + string.Concat(columns.Select(column => column.PadLeft(FigureWidth) + " ")));
        output.WriteLine(new string('-', width));
        foreach (CommandStatistics row in result.Rows) WriteRow(RowName(row), row, row.Name == "GET");
        if (result.HasSetsAndGets) WriteEmptyRow("Waits", columns.Length);
        WriteRow("Totals", result.Totals, result.HasSetsAndGets);
        output.WriteLine();

        if (options.IsOpenLoop) WriteCorrection(output, result, options);
        if (!options.HideHistogram) WriteDistribution(output, result);

        void WriteRow(string name, CommandStatistics row, bool hasHits)
        {
            string[] figures =
            [
                Figure(result.PerSecond(row.Count), "F2"),
                hasHits ? Figure(result.PerSecond(row.Hits), "F2") : "---",
                hasHits ? Figure(result.PerSecond(row.Misses), "F2") : "---",
                row.Count > 0 ? Figure(row.Latency.MeanNs / NsPerMs, "F5") : "---",
                .. options.Percentiles.Select(percentile => row.Count > 0 ? Figure(row.Latency.PercentileNs(percentile) / NsPerMs, "F5") : "---"),
                Figure(result.KilobytesPerSecond(row), "F2"),
            ];
            output.WriteLine(name.PadRight(TypeWidth) + string.Concat(figures.Select(figure => figure.PadLeft(FigureWidth) + " ")));
        }

        void WriteEmptyRow(string name, int figures) =>
            output.WriteLine(name.PadRight(TypeWidth) + string.Concat(Enumerable.Range(0, figures).Select(i => (i == 0 ? "0.00" : "---").PadLeft(FigureWidth) + " ")));
    }

    /// <summary>Row names as in memtier: Sets, Gets, or Hsets for HSET.</summary>
    internal static string RowName(CommandStatistics row) =>
        $"{row.Name[0]}{row.Name[1..].ToLowerInvariant()}s";

    private static void WriteCorrection(TextWriter output, BenchResult result, BenchOptions options)
    {
        output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"Open loop at {options.TargetRate} requests a second, {(options.PoissonArrival ? "at random (Poisson)" : "evenly")}"));
        output.WriteLine("Latency in msec from when a request was due (corrected), and from when it was sent (uncorrected)");
        output.WriteLine($"{"",-TypeWidth}{"corrected",FigureWidth}{"uncorrected",FigureWidth}");
        foreach (double percentile in options.Percentiles)
        {
            Line(string.Create(CultureInfo.InvariantCulture, $"p{percentile}"), result.Totals.Latency.PercentileNs(percentile), result.Totals.Uncorrected!.PercentileNs(percentile));
        }

        Line("average", result.Totals.Latency.MeanNs, result.Totals.Uncorrected!.MeanNs);
        Line("max", result.Totals.Latency.MaxNs, result.Totals.Uncorrected.MaxNs);
        if (result.Unsent > 0) output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"Not sent by the end, though due, and in no figure: {result.Unsent} requests"));
        output.WriteLine();

        void Line(string name, double correctedNs, double uncorrectedNs) =>
            output.WriteLine($"{name,-TypeWidth}{Figure(correctedNs / NsPerMs, "F5"),FigureWidth}{Figure(uncorrectedNs / NsPerMs, "F5"),FigureWidth}");
    }

    private static void WriteDistribution(TextWriter output, BenchResult result)
    {
        output.WriteLine("Request Latency Distribution");
        output.WriteLine("Type     <= msec         Percent");
        output.WriteLine(new string('-', 72));
        foreach (CommandStatistics row in result.Rows.Where(row => row.Count > 0))
        {
            foreach ((double ms, double percent) in Steps(row.Latency))
            {
                output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{row.Name,-8} {ms,-14:F5}  {percent,10:F6}"));
            }

            output.WriteLine("---");
        }
    }

    /// <summary>Latencies in milliseconds and the percentage of requests up to each, denser towards 100.</summary>
    internal static IEnumerable<(double Ms, double Percent)> Steps(LatencyHistogram latency)
    {
        double next = 0;
        (double Ms, double Percent) last = default;
        long seen = 0;
        foreach ((long upperNs, long count) in latency.Buckets())
        {
            seen += count;
            double percent = 100.0 * seen / latency.Count;
            last = (Math.Min(upperNs, latency.MaxNs) / NsPerMs, percent);
            if (percent < next) continue;
            yield return last;
            if (percent >= 100) yield break;

            // The halving that contains this percentage, and the next step within it.
            double left = 100 - percent;
            double half = 100;
            for (int i = 0; i < HalvingsMax && half / 2 >= left; i++) half /= 2;
            next = percent + (half / 2 / StepsPerHalving);
        }

        if (last.Percent < next) yield return last;
    }

    private static string Figure(double value, string format) => value.ToString(format, CultureInfo.InvariantCulture);
}
