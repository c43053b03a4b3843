using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries;

/// <summary>How one sample gets into a series: retention, duplicates, what is ignored.</summary>
internal static class SampleInsertion
{
    /// <summary>Whether a sample is ignored: it says hardly anything new.</summary>
    internal static bool IsIgnored(scoped Series series, long time, double value) =>
        series.Settings.Policy == DuplicatePolicy.Last && !series.IsEmpty && series.Source.IsEmpty && time >= series.LastTime
        && time - series.LastTime <= series.Settings.IgnoredTime && Math.Abs(value - series.Last.Value) <= series.Settings.IgnoredValue
        && (series.Settings.IgnoredTime > 0 || series.Settings.IgnoredValue > 0);

    /// <summary>Finds out what is stored for a sample.</summary>
    /// <param name="series">The series.</param>
    /// <param name="time">The time.</param>
    /// <param name="policy">That of the request; None: the series' own.</param>
    /// <param name="value">The value; then the one to store.</param>
    /// <param name="changes">Whether something is to be stored.</param>
    /// <returns>Empty, or an error.</returns>
    internal static ReadOnlySpan<byte> Check(scoped Series series, long time, DuplicatePolicy policy, ref double value, out bool changes)
    {
        changes = false;
        if (series.Settings.Retention > 0 && !series.IsEmpty && time < series.LastTime - series.Settings.Retention) return "ERR TSDB: Timestamp is older than retention"u8;
        changes = true;
        if (series.IsEmpty || time > series.LastTime || !series.TryFind(time, out double old)) return default;
        if (policy == DuplicatePolicy.None) policy = series.Settings.Policy;
        if (policy is DuplicatePolicy.None or DuplicatePolicy.Block)
        {
            changes = false;
            return "ERR TSDB: Error at upsert, update is not supported when DUPLICATE_POLICY is set to BLOCK mode"u8;
        }

        if (policy is DuplicatePolicy.Min or DuplicatePolicy.Max or DuplicatePolicy.Sum && double.IsNaN(old) != double.IsNaN(value))
        {
            changes = false;
            return "ERR TSDB: Error at upsert, cannot combine NaN with a number"u8;
        }

        changes = policy switch
        {
            DuplicatePolicy.First => false,
            DuplicatePolicy.Min => value < old,
            DuplicatePolicy.Max => value > old,
            _ => true,
        };
        if (policy == DuplicatePolicy.Sum) value += old;
        if (!double.IsInfinity(value)) return default;
        changes = false;
        return "ERR TSDB: invalid value"u8;
    }
}
