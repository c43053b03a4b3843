using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>
/// The printed table: memtier_benchmark's columns and the server's CPU, with a row per rung and depth that shows the
/// median of each column over the rounds, and the range of the rates and of the CPU.
/// </summary>
internal sealed class LadderReport(LadderOptions options)
{
    private const string Loading = "loading";

    private readonly List<Sample> _samples = [];
    private readonly List<string> _notes = [];

    internal void Add(Rung rung, int pipeline, LoadFigures figures, TimeSpan cpu)
    {
        _samples.Add(new Sample(rung, pipeline.ToString(CultureInfo.InvariantCulture), figures, cpu));
        Note(rung, figures, $"at pipeline {pipeline}", "operations");
    }

    /// <summary>The row shows the SETs of the loading, because the rung got no further.</summary>
    internal void AddUnfinishedLoading(Rung rung, LoadFigures figures, TimeSpan cpu)
    {
        _samples.Add(new Sample(rung, Loading, figures, cpu));
        Note(rung, figures, "while keys were loaded", "SETs");
    }

    internal string ToText()
    {
        var text = new StringBuilder().AppendLine(Method);
        foreach (Rung rung in options.Rungs) text.AppendLine(CultureInfo.InvariantCulture, $"  {rung.Name,-7}  {rung.What}");
        if (_samples.Count > 0) text.AppendLine().Append(MakeTable().ToText());
        return AppendNotes(text).ToString();
    }

    internal string ToMarkdown()
    {
        var text = new StringBuilder().AppendLine(Method).AppendLine();
        if (_samples.Count > 0) text.Append(MakeTable().ToMarkdown());
        return AppendNotes(text).ToString();
    }

    private string Method => string.Create(
        CultureInfo.InvariantCulture,
        $"""
        Measured on {DateTime.UtcNow:yyyy-MM-dd} on {MachineDescription}, by `{options.CommandLine}`:
        {options.Clients * options.LoadThreads} connections, {options.Keys} keys, {options.ValueBytes}-byte values, SET:GET {options.Ratio}, {Length};
        servers on core {options.ServerCpus}, the load on core {options.LoadCpus}. Latencies in milliseconds.
        """);

    private string Length => options.Rounds == 1 ? $"{options.Seconds} s each" : $"medians of {options.Rounds} interleaved rounds of {options.Seconds} s each";

    private static string MachineDescription => OperatingSystem.IsLinux()
        ? Machine.Description
        : string.Create(CultureInfo.InvariantCulture, $"{RuntimeInformation.OSDescription}, {Environment.ProcessorCount} cores, .NET {Environment.Version}, without pinning");

    // Rows are in the order of their first measurement.
    private Table MakeTable()
    {
        var table = new Table(
            "the ladder", new("stage"), new("pipeline"), new("Ops/sec"), new("range Ops/sec"), new("Hits/sec"), new("Misses/sec"), new("Avg. Latency", "F3"),
            new("p50 Latency", "F3"), new("p99 Latency", "F3"), new("p99.9 Latency", "F3"), new("KB/sec"), new("cpu ns/op"), new("range cpu ns/op"));
        foreach (IGrouping<(string Name, string Pipeline), Sample> row in _samples.GroupBy(sample => (sample.Rung.Name, sample.Pipeline)))
        {
            double? MedianOf(Func<LoadFigures, double?> column) => Median.OfKnown(row.Select(sample => column(sample.Figures)));
            ValueRange? RangeOf(Func<Sample, double?> column) =>
                row.Select(column).OfType<double>().ToArray() is { Length: > 1 } values ? Spread.Of(values).Range : null;
            table.Add(
                row.Key.Name, row.Key.Pipeline, MedianOf(figures => figures.OpsPerSecond), RangeOf(sample => sample.Figures.OpsPerSecond),
                MedianOf(figures => figures.HitsPerSecond),
                MedianOf(figures => figures.MissesPerSecond), MedianOf(figures => figures.AverageMs), MedianOf(figures => figures.P50Ms),
                MedianOf(figures => figures.P99Ms), MedianOf(figures => figures.P999Ms), MedianOf(figures => figures.KilobytesPerSecond),
                Median.OfKnown(row.Select(sample => sample.CpuNsPerOperation)), RangeOf(sample => sample.CpuNsPerOperation));
        }

        return table;
    }

    private void Note(Rung rung, LoadFigures figures, string when, string what)
    {
        if (figures.Outcome == LoadOutcome.Hung) _notes.Add($"{rung.Name}: stopped replying {when}, after {figures.Operations} {what}.");
        if (figures.Outcome == LoadOutcome.TooSlow) _notes.Add($"{rung.Name}: too slow {when}: {figures.Operations} {what} in {figures.Operations / figures.OpsPerSecond:F0} s.");
    }

    private StringBuilder AppendNotes(StringBuilder text)
    {
        foreach (string note in _notes) text.AppendLine().AppendLine(note);
        return text;
    }

    private sealed record Sample(Rung Rung, string Pipeline, LoadFigures Figures, TimeSpan Cpu)
    {
        internal double? CpuNsPerOperation => Figures.Operations > 0 ? Cpu.TotalNanoseconds / Figures.Operations : null;
    }
}
