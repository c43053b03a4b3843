using System.Globalization;
using RedKite.Figures;

namespace RedKite.Compare;

/// <summary>All comparisons: as text, and as the program's exit status.</summary>
internal sealed class ComparisonReport(double thresholdPercent)
{
    internal const int NothingSlower = 0;
    internal const int SomethingSlower = 1;
    internal const int CannotCompare = 2;
    internal const int NotDecided = 3;

    private const string Signed = "+0.0%;-0.0%;0.0%";

    private readonly List<Comparison> _comparisons = [];
    private readonly List<string> _notes = [];

    /// <summary>Compares the benchmarks that both builds have, and lists the others.</summary>
    internal void Add(IReadOnlyDictionary<string, Measurements> before, IReadOnlyDictionary<string, Measurements> after)
    {
        foreach ((string benchmark, Measurements measurements) in before.OrderBy(pair => pair.Key, StringComparer.Ordinal))
        {
            if (after.TryGetValue(benchmark, out Measurements? diff))
            {
                _comparisons.Add(Comparison.Of(benchmark, measurements, diff, thresholdPercent));
            }
            else
            {
                _notes.Add($"only in the base: {benchmark}");
            }
        }

        _notes.AddRange(after.Keys.Where(benchmark => !before.ContainsKey(benchmark)).Order(StringComparer.Ordinal)
            .Select(benchmark => $"not in the base: {benchmark}"));
    }

    /// <summary>An inconclusive result is not a success: see docs/bench-compare.md.</summary>
    internal int ExitStatus =>
        Count(Verdict.Slower) > 0 ? SomethingSlower
        : _comparisons.Count == 0 ? CannotCompare
        : Count(Verdict.Inconclusive) > 0 ? NotDecided
        : NothingSlower;

    internal void WriteTo(TextWriter output)
    {
        if (_comparisons.Count > 0) output.Write(ToTable().ToText());
        foreach (string note in _notes) output.WriteLine(note);
        output.WriteLine(_comparisons.Count == 0
            ? "nothing to compare: the builds have none of the benchmarks in common"
            : $"{Count(Verdict.Slower)} slower, {Count(Verdict.Faster)} faster, {Count(Verdict.Same)} same, {Count(Verdict.Inconclusive)} inconclusive");
    }

    private Table ToTable()
    {
        string threshold = thresholdPercent.ToString("0.##", CultureInfo.InvariantCulture);
        var table = new Table($"against the base, threshold {threshold}%", new("benchmark"), new("base ns/op", "N2"), new("ns/op", "N2"),
            new("change", Signed), new("from", Signed), new("to", Signed), new("launches"), new("base bytes/op"), new("bytes/op"), new("verdict"), new("why"));
        foreach (Comparison comparison in _comparisons)
        {
            table.Add(
                comparison.Benchmark, comparison.BaseNs, comparison.DiffNs, comparison.Change, comparison.Interval?.Low, comparison.Interval?.High,
                Math.Min(comparison.Base.Launches.Count, comparison.Diff.Launches.Count),
                comparison.Base.BytesPerOperation, comparison.Diff.BytesPerOperation, Word(comparison.Verdict), comparison.Reason);
        }

        return table;
    }

    private int Count(Verdict verdict) => _comparisons.Count(comparison => comparison.Verdict == verdict);

    private static string Word(Verdict verdict) => verdict switch
    {
        Verdict.Same => "same",
        Verdict.Faster => "faster",
        Verdict.Slower => "SLOWER",
        _ => "inconclusive",
    };
}
