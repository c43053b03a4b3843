using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Figures;

namespace RedKite.Ladder;

/// <summary>The table that is printed: memtier_benchmark's columns and the server's CPU, a row for each rung and depth.</summary>
internal sealed class LadderReport(LadderOptions options)
{
    private readonly Table _table = new(
        "the ladder", new("stage"), new("pipeline"), new("Ops/sec"), new("Hits/sec"), new("Misses/sec"), new("Avg. Latency", "F3"),
        new("p50 Latency", "F3"), new("p99 Latency", "F3"), new("p99.9 Latency", "F3"), new("KB/sec"), new("cpu ns/op"));

    private readonly List<string> _notes = [];

    internal void Add(Rung rung, int pipeline, LoadFigures figures, TimeSpan cpu)
    {
        AddRow(rung, pipeline.ToString(CultureInfo.InvariantCulture), figures, cpu);
        if (figures.Hung) _notes.Add($"{rung.Name}: stopped answering at pipeline {pipeline}, after {figures.Operations} operations.");
    }

    /// <summary>The row shows the SETs that filled it with keys, since it did not get further.</summary>
    internal void AddHungWhileFilling(Rung rung, LoadFigures figures, TimeSpan cpu)
    {
        AddRow(rung, "filling", figures, cpu);
        _notes.Add($"{rung.Name}: stopped answering while it was filled with keys, after {figures.Operations} SETs.");
    }

    internal string ToText()
    {
        var text = new StringBuilder().AppendLine(Method);
        foreach (Rung rung in options.Rungs) text.AppendLine(CultureInfo.InvariantCulture, $"  {rung.Name,-7}  {rung.What}");
        if (!_table.IsEmpty) text.AppendLine().Append(_table.ToText());
        return AppendNotes(text).ToString();
    }

    internal string ToMarkdown()
    {
        var text = new StringBuilder().AppendLine(Method).AppendLine();
        if (!_table.IsEmpty) text.Append(_table.ToMarkdown());
        return AppendNotes(text).ToString();
    }

    private string Method => string.Create(
        CultureInfo.InvariantCulture,
        $"""
        Measured on {DateTime.UtcNow:yyyy-MM-dd} on {MachineDescription}, by `{options.CommandLine}`:
        {options.Clients * options.LoadThreads} connections, {options.Keys} keys, {options.ValueBytes}-byte values, SET:GET {options.Ratio}, {options.Seconds} s each;
        servers on core {options.ServerCpus}, the load on core {options.LoadCpus}. Latencies in milliseconds.
        """);

    private static string MachineDescription => OperatingSystem.IsLinux()
        ? Machine.Description
        : string.Create(CultureInfo.InvariantCulture, $"{RuntimeInformation.OSDescription}, {Environment.ProcessorCount} cores, .NET {Environment.Version}, without pinning");

    private void AddRow(Rung rung, string pipeline, LoadFigures figures, TimeSpan cpu) => _table.Add(
        rung.Name, pipeline, figures.OpsPerSecond, figures.HitsPerSecond, figures.MissesPerSecond, figures.AverageMs,
        figures.P50Ms, figures.P99Ms, figures.P999Ms, figures.KilobytesPerSecond,
        figures.Operations > 0 ? cpu.TotalNanoseconds / figures.Operations : null);

    private StringBuilder AppendNotes(StringBuilder text)
    {
        foreach (string note in _notes) text.AppendLine().AppendLine(note);
        return text;
    }
}
