namespace RedKite.Server.Diagnostics;

// A row of the table of metrics.

internal enum MetricKind
{
    /// <summary>A value of the moment.</summary>
    Gauge,

    /// <summary>A total that only grows. Its history holds the growth per second.</summary>
    Counter,
}

internal enum MetricUnit
{
    Count,
    Bytes,
    Seconds,
    Milliseconds,
    Microseconds,
    Percent,
    Ratio,
}

/// <summary>
/// One number about the server: a row of <see cref="MetricTable"/>. INFO, the page, findings, the debug package and the documentation use
/// its name; exports have names as their systems want them.
/// </summary>
internal sealed class Metric
{
    internal Metric(int index, string name, MetricKind kind, MetricUnit unit, string help, Func<Observation, double> read, string? export = null)
    {
        Index = index;
        Name = name;
        Kind = kind;
        Unit = unit;
        Help = help;
        Read = read;
        Export = export is null ? null : ExportName.Parse(export);
    }

    /// <summary>The metric's position in every array of values.</summary>
    internal int Index { get; }

    internal string Name { get; }

    internal MetricKind Kind { get; }

    internal MetricUnit Unit { get; }

    /// <summary>What exports call it; null: they do not have it.</summary>
    internal ExportName? Export { get; }

    /// <summary>One sentence for documentation and exports.</summary>
    internal string Help { get; }

    /// <summary>Reads the value; NaN where it is unknown.</summary>
    internal Func<Observation, double> Read { get; }

    public override string ToString() => Name;
}
