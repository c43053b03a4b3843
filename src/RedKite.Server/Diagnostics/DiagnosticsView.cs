namespace RedKite.Server.Diagnostics;

/// <summary>
/// The input of rules: the metrics' latest values and history, and the settings. A running server and a debug package both
/// provide it, so that rules work on either.
/// </summary>
internal sealed class DiagnosticsView
{
    private readonly MetricHistory _history;
    private readonly double[] _latest;

    internal DiagnosticsView(MetricHistory history, double[] latest, long nowUnixSeconds, Func<string, string> setting)
    {
        _history = history;
        _latest = latest;
        NowUnixSeconds = nowUnixSeconds;
        Setting = setting;
    }

    internal long NowUnixSeconds { get; }

    /// <summary>A setting's value as CONFIG GET shows it.</summary>
    internal Func<string, string> Setting { get; }

    /// <summary>Names of settings whose value differs from the default although they have no effect.</summary>
    internal IReadOnlyList<string> SettingsWithoutEffect { get; init; } = [];

    /// <summary>Facts that are text: the mode of transparent huge pages, the overcommit setting, ...</summary>
    internal IReadOnlyDictionary<string, string> Facts { get; init; } = new Dictionary<string, string>();

    /// <summary>The latest value of a gauge, or the latest total of a counter. NaN: unknown.</summary>
    internal double this[Metric metric] => _latest[metric.Index];

    /// <summary>A counter's growth per second, or a gauge's mean, over the last seconds. NaN: nothing was observed.</summary>
    internal double Mean(Metric metric, int seconds) => Fold(metric, seconds, values => values.Average());

    internal double Max(Metric metric, int seconds) => Fold(metric, seconds, values => values.Max());

    internal double Min(Metric metric, int seconds) => Fold(metric, seconds, values => values.Min());

    /// <summary>The number of the last seconds in which a gauge was above a value. Seconds without one do not count.</summary>
    internal int SecondsOver(Metric metric, int seconds, double value) =>
        _history.Seconds(metric.Index, NowUnixSeconds - seconds + 1, NowUnixSeconds).Count(point => point.Value > value);

    /// <summary>The growth of a gauge per second: the slope of a line through the last seconds. NaN: there are too few observations.</summary>
    internal double Slope(Metric metric, int seconds)
    {
        List<HistoryPoint> points = _history.Seconds(metric.Index, NowUnixSeconds - seconds + 1, NowUnixSeconds);
        points.RemoveAll(point => float.IsNaN(point.Value));
        if (points.Count < seconds / 2) return double.NaN;
        double meanTime = points.Average(point => (double)(point.UnixSeconds - NowUnixSeconds));
        double meanValue = points.Average(point => (double)point.Value);
        double covariance = points.Sum(point => (point.UnixSeconds - NowUnixSeconds - meanTime) * (point.Value - meanValue));
        double variance = points.Sum(point => Math.Pow(point.UnixSeconds - NowUnixSeconds - meanTime, 2));
        return variance == 0 ? double.NaN : covariance / variance;
    }

    private double Fold(Metric metric, int seconds, Func<IEnumerable<double>, double> fold)
    {
        var values = new List<double>();
        foreach (HistoryPoint point in _history.Seconds(metric.Index, NowUnixSeconds - seconds + 1, NowUnixSeconds))
        {
            if (!float.IsNaN(point.Value)) values.Add(point.Value);
        }

        return values.Count == 0 ? double.NaN : fold(values);
    }
}
