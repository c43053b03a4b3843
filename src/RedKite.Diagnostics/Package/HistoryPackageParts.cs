using System.Globalization;
using System.Text;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>The histories of metrics, commands and loops: tables of seconds that every program reads, and the minutes in the form of the history's file.</summary>
internal static class HistoryPackageParts
{
    internal const string SecondsName = "history/seconds.csv";
    internal const string MinutesName = "history/minutes.history";

    internal static void Write(PackageContext context)
    {
        MetricHistory history = context.Sources.Diagnostics.History;
        context.Add(SecondsName, Seconds(history, context.Cancellation));
        IReadOnlyList<RankedHistory> ranked = context.Sources.Diagnostics.RankedHistories;
        foreach (RankedHistory each in ranked) context.Add(NameOf(each), RankedHistoryTable.Write(each, context.Cancellation));
        context.Add(MinutesName, HistoryFile.Write(history, MetricTable.All, ranked));
    }

    /// <summary>The table of seconds of a ranked history: history/commands.csv, history/loops.csv.</summary>
    internal static string NameOf(RankedHistory history) => $"history/{history.Kind.Name}.csv";

    /// <summary>One line a second: its Unix time, then each metric; an unknown value is empty.</summary>
    internal static string Seconds(MetricHistory history, CancellationToken cancellation)
    {
        var rows = new SortedDictionary<long, float[]>();
        foreach (Metric metric in MetricTable.All)
        {
            cancellation.ThrowIfCancellationRequested();
            foreach (HistoryPoint point in history.Seconds(metric.Index, 0, long.MaxValue))
            {
                if (!rows.TryGetValue(point.UnixSeconds, out float[]? row))
                {
                    row = new float[MetricTable.All.Count];
                    Array.Fill(row, float.NaN);
                    rows.Add(point.UnixSeconds, row);
                }

                row[metric.Index] = point.Value;
            }
        }

        var text = new StringBuilder("unix_seconds");
        foreach (Metric metric in MetricTable.All) text.Append(',').Append(metric.Name);
        text.Append('\n');
        foreach ((long second, float[] values) in rows)
        {
            text.Append(CultureInfo.InvariantCulture, $"{second}");
            foreach (float value in values)
            {
                text.Append(',');
                if (float.IsFinite(value)) text.Append(CultureInfo.InvariantCulture, $"{value}");
            }

            text.Append('\n');
        }

        return text.ToString();
    }

    /// <summary>Reads the first cell of a line.</summary>
    internal static bool TryReadSecond(string cell, out long second) =>
        long.TryParse(cell, NumberStyles.None, CultureInfo.InvariantCulture, out second) && second <= HistoryFile.SecondMax;

    /// <summary>Reads what <see cref="Seconds"/> wrote into an empty history. Metrics are found by name.</summary>
    /// <exception cref="InvalidDataException">It is not such a table.</exception>
    internal static void ReadSeconds(string text, MetricHistory history)
    {
        string[] lines = text.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        if (lines.Length == 0 || !lines[0].StartsWith("unix_seconds", StringComparison.Ordinal)) throw new InvalidDataException($"{SecondsName} has no header");
        Metric?[] columns = [.. lines[0].Split(',').Skip(1).Select(MetricTable.Find)];
        var values = new double[history.MetricCount];
        foreach (string line in lines.Skip(1))
        {
            string[] cells = line.Split(',');
            if (cells.Length != columns.Length + 1 || !TryReadSecond(cells[0], out long second)) throw new InvalidDataException($"{SecondsName} has a line that cannot be read");
            Array.Fill(values, double.NaN);
            for (int i = 0; i < columns.Length; i++)
            {
                if (columns[i] is { } metric && double.TryParse(cells[i + 1], CultureInfo.InvariantCulture, out double value)) values[metric.Index] = value;
            }

            history.Add(second, values);
        }
    }
}
