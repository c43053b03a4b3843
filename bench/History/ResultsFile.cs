using RedKite.Figures;

namespace RedKite.History;

/// <summary>The file of records, a line each, oldest first. It only grows: what was measured stays measured.</summary>
internal static class ResultsFile
{
    internal const string RepositoryPath = "bench/results.ndjson";

    /// <exception cref="CannotMeasureException">There is no record, or a line is not one; then the message names the line.</exception>
    internal static List<HistoryRecord> Read(string file)
    {
        if (!File.Exists(file)) throw new CannotMeasureException($"{file} does not exist: './dev bench record' makes it");
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

        return records.Count > 0 ? records : throw new CannotMeasureException($"{file} holds no record");
    }

    internal static void Append(string file, HistoryRecord record) => File.AppendAllText(file, record.ToLine() + "\n");
}
