using System.Globalization;
using System.Text;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>The seconds of a ranked history as a table: one line for each record, with the time and the name; a second without records has one of its time alone.</summary>
internal static class RankedHistoryTable
{
    internal static string Write(RankedHistory history, CancellationToken cancellation)
    {
        int width = history.Kind.Series.Length;
        var text = new StringBuilder("unix_seconds,name");
        foreach (RankedSeries series in history.Kind.Series) text.Append(',').Append(series.Name);
        text.Append('\n');
        history.ForEachSecond((second, ids, values) =>
        {
            cancellation.ThrowIfCancellationRequested();
            if (ids.IsEmpty) text.Append(CultureInfo.InvariantCulture, $"{second},").Append(',', width).Append('\n');
            for (int i = 0; i < ids.Length; i++)
            {
                text.Append(CultureInfo.InvariantCulture, $"{second},{history.Names[ids[i]]}");
                foreach (float value in values.Slice(i * width, width))
                {
                    text.Append(',');
                    if (float.IsFinite(value)) text.Append(CultureInfo.InvariantCulture, $"{value}");
                }

                text.Append('\n');
            }
        });
        return text.ToString();
    }

    /// <summary>Reads what <see cref="Write"/> wrote into an empty history. Series are found by name.</summary>
    /// <exception cref="InvalidDataException">It is not such a table.</exception>
    internal static void Read(string text, RankedHistory history)
    {
        string[] lines = text.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        if (lines.Length == 0 || !lines[0].StartsWith("unix_seconds,name", StringComparison.Ordinal)) throw new InvalidDataException($"the seconds of {history.Kind.Name} have no header");
        int[] columns = [.. lines[0].Split(',').Skip(2).Select(history.Kind.Find)];
        var records = new List<RankedRecord>();
        long before = -1;
        foreach (string line in lines.Skip(1))
        {
            string[] cells = line.Split(',');
            if (cells.Length != columns.Length + 2 || !HistoryPackageParts.TryReadSecond(cells[0], out long second)) throw new InvalidDataException($"the seconds of {history.Kind.Name} have a line that cannot be read");
            if (second != before) EndSecond();
            before = second;
            if (cells[1].Length > 0 && history.IdOf(cells[1]) is >= 0 and var id) records.Add(new RankedRecord(id, Values(cells)));
        }

        EndSecond();

        void EndSecond()
        {
            if (before >= 0) history.Add(before, records);
            records.Clear();
        }

        float[] Values(string[] cells)
        {
            var values = new float[history.Kind.Series.Length];
            Array.Fill(values, float.NaN);
            for (int i = 0; i < columns.Length; i++)
            {
                if (columns[i] >= 0 && float.TryParse(cells[i + 2], CultureInfo.InvariantCulture, out float value)) values[columns[i]] = value;
            }

            return values;
        }
    }
}
