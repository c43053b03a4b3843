using System.Globalization;

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

    /// <summary>A setting that is a number; NaN: it is none, or not known.</summary>
    internal double Number(string setting) => double.TryParse(Setting(setting), CultureInfo.InvariantCulture, out double number) ? number : double.NaN;

    /// <summary>Names of settings whose value differs from the default although they have no effect.</summary>
    internal IReadOnlyList<string> SettingsWithoutEffect { get; init; } = [];

    /// <summary>Facts that are text: the mode of transparent huge pages, the overcommit setting, ...</summary>
    internal IReadOnlyDictionary<string, string> Facts { get; init; } = new Dictionary<string, string>();

    /// <summary>Names causes by their keys, clients and scripts; null: in a debug package.</summary>
    internal Culprits? Culprits { get; init; }

    /// <summary>The latest value of a gauge, or the latest total of a counter. NaN: unknown.</summary>
    internal double this[Metric metric] => _latest[metric.Index];

    /// <summary>
    /// A counter's growth per second, or a gauge's mean, over the last seconds. NaN: the server was not observed for nearly all of them, so nothing can be
    /// claimed about them, or the value was never known.
    /// </summary>
    internal double Mean(Metric metric, int seconds) => FoldWhole(metric, seconds, values => values.Average());

    /// <summary>The largest value within the last seconds, as far as they were observed. NaN: it was never known.</summary>
    internal double Max(Metric metric, int seconds) => Fold(Points(metric, seconds), values => values.Max());

    /// <summary>The least value; NaN as for <see cref="Mean"/>.</summary>
    internal double Min(Metric metric, int seconds) => FoldWhole(metric, seconds, values => values.Min());

    /// <summary>A counter's growth within the last seconds, as far as they were observed: events count as soon as they happen.</summary>
    internal double Growth(Metric counter, int seconds) => Fold(Points(counter, seconds), values => values.Sum());

    /// <summary>A counter's growth per second over those of the last seconds that were observed, as evidence of something that is certain otherwise.</summary>
    internal double Rate(Metric counter, int seconds) => Fold(Points(counter, seconds), values => values.Average()) is var rate && rate > 0 ? rate : 0;

    /// <summary>The number of the last seconds in which a gauge was above a value. Seconds without one do not count.</summary>
    internal int SecondsOver(Metric metric, int seconds, double value) =>
        _history.Seconds(metric.Index, NowUnixSeconds - seconds + 1, NowUnixSeconds).Count(point => point.Value > value);

    /// <summary>
    /// The growth of a gauge per second that is likely to go on: the slope of a line through the last <paramref name="seconds"/>, if the last minute
    /// goes on with it. 0: it does not grow, or no longer does. NaN: there are too few observations.
    /// </summary>
    internal double LastingGrowth(Metric metric, int seconds)
    {
        double trend = Slope(metric, seconds);
        if (!(trend > 0)) return double.IsNaN(trend) ? trend : 0;
        double first = MeanBetween(metric, 60, 40), second = MeanBetween(metric, 40, 20), third = MeanBetween(metric, 20, 10), last = MeanBetween(metric, 10, 0);
        return first < second && second < third && third < last ? Math.Min(trend, Slope(metric, 60)) : 0;
    }

    // The slope of a line through the last seconds.
    private double Slope(Metric metric, int seconds)
    {
        List<HistoryPoint> points = Points(metric, seconds);
        points.RemoveAll(point => float.IsNaN(point.Value));
        if (points.Count < seconds / 2) return double.NaN;
        double meanTime = points.Average(point => (double)(point.UnixSeconds - NowUnixSeconds));
        double meanValue = points.Average(point => (double)point.Value);
        double covariance = points.Sum(point => (point.UnixSeconds - NowUnixSeconds - meanTime) * (point.Value - meanValue));
        double variance = points.Sum(point => Math.Pow(point.UnixSeconds - NowUnixSeconds - meanTime, 2));
        return variance == 0 ? double.NaN : covariance / variance;
    }

    private double MeanBetween(Metric metric, int fromSecondsAgo, int toSecondsAgo) =>
        Fold(_history.Seconds(metric.Index, NowUnixSeconds - fromSecondsAgo + 1, NowUnixSeconds - toSecondsAgo), values => values.Average());

    // A second or two may be missing: the observer was late.
    private double FoldWhole(Metric metric, int seconds, Func<IEnumerable<double>, double> fold)
    {
        List<HistoryPoint> points = Points(metric, seconds);
        return points.Count >= seconds * 9 / 10 ? Fold(points, fold) : double.NaN;
    }

    private List<HistoryPoint> Points(Metric metric, int seconds) => _history.Seconds(metric.Index, NowUnixSeconds - seconds + 1, NowUnixSeconds);

    private static double Fold(List<HistoryPoint> points, Func<IEnumerable<double>, double> fold)
    {
        var values = new List<double>();
        foreach (HistoryPoint point in points)
        {
            if (!float.IsNaN(point.Value)) values.Add(point.Value);
        }

        return values.Count == 0 ? double.NaN : fold(values);
    }
}
