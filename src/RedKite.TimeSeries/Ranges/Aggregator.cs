using RedKite.Protocol;

namespace RedKite.TimeSeries.Ranges;

/// <summary>What becomes of the samples of a bucket.</summary>
internal enum Aggregator : byte
{
    None,
    Avg,
    Sum,
    Min,
    Max,
    Range,
    Count,
    First,
    Last,
    StdP,
    StdS,
    VarP,
    VarS,
    Twa,
    CountNan,
    CountAll,
}

/// <summary>The names of aggregators.</summary>
internal static class Aggregators
{
    private static readonly (Aggregator Aggregator, string Name)[] Names =
    [
        (Aggregator.Avg, "AVG"), (Aggregator.Sum, "SUM"), (Aggregator.Min, "MIN"), (Aggregator.Max, "MAX"), (Aggregator.Range, "RANGE"), (Aggregator.Count, "COUNT"),
        (Aggregator.First, "FIRST"), (Aggregator.Last, "LAST"), (Aggregator.StdP, "STD.P"), (Aggregator.StdS, "STD.S"), (Aggregator.VarP, "VAR.P"), (Aggregator.VarS, "VAR.S"),
        (Aggregator.Twa, "TWA"), (Aggregator.CountNan, "COUNTNAN"), (Aggregator.CountAll, "COUNTALL"),
    ];

    internal static bool TryFind(ReadOnlySpan<byte> text, out Aggregator aggregator)
    {
        foreach ((Aggregator known, string name) in Names)
        {
            aggregator = known;
            if (AsciiText.EqualsIgnoreCase(text, name)) return true;
        }

        aggregator = Aggregator.None;
        return false;
    }

    internal static string NameOf(Aggregator aggregator)
    {
        foreach ((Aggregator known, string name) in Names)
        {
            if (known == aggregator) return name;
        }

        return "";
    }
}
