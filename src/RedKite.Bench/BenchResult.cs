namespace RedKite.Bench;

/// <summary>The result of one run, or of several together.</summary>
internal sealed class BenchResult
{
    internal BenchResult(IReadOnlyList<CommandStatistics> rows, DateTimeOffset started, double seconds, bool isOpenLoop)
    {
        Rows = rows;
        Started = started;
        Seconds = seconds;
        Totals = new CommandStatistics("Totals", isOpenLoop);
        foreach (CommandStatistics row in rows) row.AddTo(Totals);
    }

    internal IReadOnlyList<CommandStatistics> Rows { get; }

    internal CommandStatistics Totals { get; }

    internal DateTimeOffset Started { get; }

    /// <summary>From the first request to the last reply; for several runs, the sum.</summary>
    internal double Seconds { get; }

    /// <summary>Requests of an open loop that were due but not sent before the end.</summary>
    internal long Unsent { get; init; }

    internal string? FirstError { get; init; }

    /// <summary>Whether the rows are SET and GET, printed as Sets and Gets along with memtier's Waits row.</summary>
    internal bool HasSetsAndGets { get; init; }

    internal double PerSecond(long count) => Seconds > 0 ? count / Seconds : 0;

    internal double KilobytesPerSecond(CommandStatistics row) => PerSecond(row.BytesSent + row.BytesReceived) / 1024;

    internal static BenchResult Sum(IReadOnlyList<BenchResult> runs, bool isOpenLoop)
    {
        CommandStatistics[] rows = [.. runs[0].Rows.Select(row => new CommandStatistics(row.Name, isOpenLoop))];
        foreach (BenchResult run in runs)
        {
            for (int i = 0; i < rows.Length; i++) run.Rows[i].AddTo(rows[i]);
        }

        return new BenchResult(rows, runs[0].Started, runs.Sum(run => run.Seconds), isOpenLoop)
        {
            Unsent = runs.Sum(run => run.Unsent),
            FirstError = runs.Select(run => run.FirstError).FirstOrDefault(error => error is not null),
            HasSetsAndGets = runs[0].HasSetsAndGets,
        };
    }
}
