using System.Runtime.InteropServices;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Ranges;

/// <summary>What is known of the samples of a bucket, whatever is asked in the end. Samples come in any order, but for averages weighted by time.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct Bucket
{
    private long _count;
    private long _nans;
    private double _sum;
    private double _mean;
    private double _squares;
    private double _min;
    private double _max;
    private Sample _first;
    private Sample _last;
    private double _area;
    private long _areaStart;

    internal readonly bool IsEmpty => _count + _nans == 0;

    internal readonly Sample Last => _last;

    /// <summary>Begins the area with a value at the bucket's start, between the sample before it and its first one.</summary>
    internal void BeginArea(long start, in Sample before, in Sample first)
    {
        if (before.Time >= start || first.Time <= start || double.IsNaN(before.Value) || double.IsNaN(first.Value)) return;
        _last = new Sample(start, Between(before, first, start));
        _areaStart = start;
        _hasArea = 1;
    }

    private int _hasArea;

    internal void Add(in Sample sample)
    {
        if (double.IsNaN(sample.Value))
        {
            _nans++;
            return;
        }

        if (_hasArea == 0)
        {
            (_hasArea, _areaStart) = (1, sample.Time);
        }
        else if (sample.Time > _last.Time)
        {
            _area += Area(_last, sample);
        }

        bool isFirst = _count == 0;
        _count++;
        _sum += sample.Value;
        double distance = sample.Value - _mean;
        _mean += distance / _count;
        _squares += distance * (sample.Value - _mean);
        _min = isFirst ? sample.Value : Math.Min(_min, sample.Value);
        _max = isFirst ? sample.Value : Math.Max(_max, sample.Value);
        if (isFirst || sample.Time < _first.Time) _first = sample;
        if (isFirst || sample.Time >= _last.Time) _last = sample;
    }

    /// <summary>The value of the bucket.</summary>
    /// <param name="aggregator">What is asked.</param>
    /// <param name="end">The bucket's end.</param>
    /// <param name="after">The first sample behind it; null: there is none.</param>
    internal readonly double Value(Aggregator aggregator, long end, Sample? after)
    {
        switch (aggregator)
        {
            case Aggregator.Count:
                return _count;
            case Aggregator.CountNan:
                return _nans;
            case Aggregator.CountAll:
                return _count + _nans;
            case Aggregator.Twa:
                return WeightedAverage(end, after);
        }

        if (_count == 0) return aggregator == Aggregator.Sum && _nans == 0 ? 0 : double.NaN;
        return aggregator switch
        {
            Aggregator.Avg => double.IsFinite(_sum) ? _sum / _count : _mean,
            Aggregator.Sum => _sum,
            Aggregator.Min => _min,
            Aggregator.Max => _max,
            Aggregator.Range => _max - _min,
            Aggregator.First => _first.Value,
            Aggregator.Last => _last.Value,
            Aggregator.VarP => _squares / _count,
            Aggregator.StdP => Math.Sqrt(_squares / _count),
            Aggregator.VarS => _count == 1 ? 0 : _squares / (_count - 1),
            Aggregator.StdS => _count == 1 ? 0 : Math.Sqrt(_squares / (_count - 1)),
            _ => double.NaN,
        };
    }

    /// <summary>The value at a time on the line between two samples.</summary>
    internal static double Between(in Sample before, in Sample after, double time) =>
        before.Value + ((after.Value - before.Value) * ((time - before.Time) / ((double)after.Time - before.Time)));

    private readonly double WeightedAverage(long end, Sample? after)
    {
        if (_count == 0) return double.NaN;
        double area = _area;
        long last = _last.Time;
        if (after is { } next && !double.IsNaN(next.Value) && next.Time > last && end > last)
        {
            var edge = new Sample(Math.Min(end, next.Time), Between(_last, next, Math.Min(end, next.Time)));
            area += Area(_last, edge);
            last = edge.Time;
        }

        return last == _areaStart ? _last.Value : area / ((double)last - _areaStart);
    }

    private static double Area(in Sample from, in Sample to) => (from.Value + to.Value) / 2 * ((double)to.Time - from.Time);
}
