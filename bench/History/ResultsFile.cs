using RedKite.Figures;

namespace RedKite.History;

/// <summary>The file of records, one per line, oldest first. It only grows.</summary>
internal static class ResultsFile
{
    internal const string RepositoryPath = "bench/results.ndjson";

    /// <exception cref="CannotMeasureException">The file has no record, or an invalid line, which the message names.</exception>
    internal static List<HistoryRecord> Read(string file)
    {
        if (!File.Exists(file)) throw new CannotMeasureException($"{file} does not exist; './dev bench record' creates it");
        List<HistoryRecord> records = [];
        int number = 0;
        foreach (string line in File.ReadLines(file))
        {
            number++;
            try
            {
                records.Add(HistoryRecord.Parse(line));
            }
            catch (FormatException malformed)
            {
                throw new CannotMeasureException($"{file}, line {number}: {malformed.Message}");
            }
        }

        return records.Count > 0 ? records : throw new CannotMeasureException($"{file} has no record");
    }

    internal static void Append(string file, HistoryRecord record) => File.AppendAllText(file, record.ToLine() + "\n");
}
