using RedKite.Store.Memory;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries.Ranges;

/// <summary>
/// The samples or buckets of a range of one series. It runs in slices; the series must not change between them but at its end (<see cref="Series.Version"/>).
/// </summary>
internal sealed class RangeQuery : IDisposable
{
    /// <summary>Empty buckets that EMPTY reports at most.</summary>
    internal const int EmptyMax = 1 << 20;

    /// <summary>The steps of a slice, about a nanosecond each.</summary>
    internal const long SliceSteps = 1 << 20;

    /// <summary>The steps of reading a sample.</summary>
    internal const int SampleSteps = 16;

    /// <summary>The steps of replying one.</summary>
    internal const int ReplySteps = 128;

    [ThreadStatic]
    private static Sample[]? _buffer;

    private readonly RangeOptions _options;
    private NativeList<Sample> _results;
    private long _from;
    private long _to;
    private readonly long _first;
    private readonly long _firstTime;
    private readonly long _lastTime;
    private int _empties;
    private bool _isOpen;
    private long _start;
    private Bucket _bucket;
    private Sample? _before;
    private readonly Sample? _pending;

    /// <param name="options">What is asked.</param>
    /// <param name="series">A series.</param>
    internal RangeQuery(RangeOptions options, scoped Series series)
    {
        _options = options;
        _from = Math.Max(options.From, series.OldestTime);
        _to = series.IsEmpty ? -1 : Math.Min(options.To, series.LastTime);
        if (options.Latest && series.TryPending(out Sample pending) && pending.Time >= options.From && pending.Time <= options.To) _pending = pending;
        _first = options.Empty ? Math.Max(_from, series.FirstTime) : _from;
        (_firstTime, _lastTime) = (series.FirstStoredTime, series.LastTime);
        Version = series.Version;
        if (_from > _to && _pending is null)
        {
            IsComplete = true;
            return;
        }

        if (_pending is { } newest && options.IsReverse && !Aggregates)
        {
            if (options.Passes(newest.Time, newest.Value)) Emit(newest);
            _pending = null;
        }

        if (Aggregates && NeedsBefore && series.TryBefore(_from, out Sample before)) _before = before;
    }

    internal bool IsComplete { get; private set; }

    /// <summary>Whether the results need more memory than a command may have, or are too many empty buckets.</summary>
    internal bool IsTooLarge { get; private set; }

    private ulong Version { get; }

    internal ReadOnlySpan<Sample> Results => _results.Items;

    private bool Aggregates => _options.Aggregator != Aggregator.None;

    private bool NeedsBefore => !_options.FiltersValues && _options.Times.Length == 0 && (_options.Aggregator == Aggregator.Twa || _options.Empty);

    /// <summary>Whether a series is no longer the one that was read so far: samples were added behind the newest one, removed or changed, or those that have not been read were dropped.</summary>
    internal bool IsStaleFor(scoped Series series) => Version != series.Version || (series.FirstStoredTime != _firstTime && series.FirstStoredTime > _from);

    /// <summary>Runs to the end.</summary>
    internal void RunAll(scoped Series series)
    {
        long steps = long.MaxValue;
        while (!Run(series, ref steps))
        {
        }
    }

    /// <summary>As <see cref="Run"/>, with what replying the results takes.</summary>
    internal bool RunAndReply(scoped Series series, ref long steps)
    {
        if (!Run(series, ref steps)) return false;
        long replying = IsTooLarge ? 0 : (long)Results.Length * ReplySteps;
        if (replying > steps) return false;
        steps -= replying;
        return true;
    }

    /// <summary>Reads until no steps are left.</summary>
    /// <returns>Whether all is done.</returns>
    internal bool Run(scoped Series series, ref long steps)
    {
        Sample[] buffer = _buffer ??= new Sample[Chunk.SamplesMax];
        while (!IsComplete && steps > 0)
        {
            int index = _options.IsReverse && !Aggregates ? series.ChunkFrom(_to) : series.ChunkFrom(_from);
            if (_options.IsReverse && !Aggregates && (index == series.ChunkCount || series.ChunkAt(index).First > _to)) index--;
            if (index < 0 || index >= series.ChunkCount)
            {
                End(series);
                break;
            }

            (long first, long last, int count, _) = series.ChunkAt(index);
            if (first > _to || last < _from)
            {
                End(series);
                break;
            }

            ReadOnlySpan<Sample> read = buffer.AsSpan(0, series.Read(index, buffer));
            steps -= (long)Math.Max(1, count) * SampleSteps;
            if (_options.IsReverse && !Aggregates) TakeBackwards(read);
            else Take(read, last);
            if (!IsComplete && (_options.IsReverse && !Aggregates ? first <= _from : last >= _to)) End(series);
        }

        return IsComplete;
    }

    public void Dispose() => _results.Dispose();

    private void Take(ReadOnlySpan<Sample> read, long last)
    {
        foreach (ref readonly Sample sample in read)
        {
            if (sample.Time < _from) continue;
            if (sample.Time > _to) break;
            if (!_options.Passes(sample.Time, sample.Value)) continue;
            if (Aggregates) Aggregate(sample);
            else Emit(sample);
            if (IsComplete) return;
        }

        _from = Math.Max(_from, last + 1);
    }

    private void TakeBackwards(ReadOnlySpan<Sample> read)
    {
        for (int i = read.Length - 1; i >= 0 && read[i].Time >= _from && !IsComplete; i--)
        {
            if (read[i].Time <= _to && _options.Passes(read[i].Time, read[i].Value)) Emit(read[i]);
        }

        _to = Math.Min(_to, read[0].Time - 1);
    }

    private void Aggregate(in Sample sample)
    {
        long start = _options.StartOf(sample.Time);
        if (_isOpen && start == _start)
        {
            _bucket.Add(sample);
            return;
        }

        if (_isOpen)
        {
            _before = _bucket.IsEmpty ? _before : _bucket.Last;
            Close(sample);
            Fill(After(_start), start, sample);
        }
        else if (_options.Empty)
        {
            Fill(_options.StartOf(_first), start, sample);
        }

        if (IsComplete) return;
        (_isOpen, _start, _bucket) = (true, start, default);
        if (_options.Aggregator == Aggregator.Twa && _before is { } before) _bucket.BeginArea(Math.Max(start, _options.From), before, sample);
        _bucket.Add(sample);
    }

    private void End(scoped Series series)
    {
        if (_pending is { } pending && !IsComplete && _options.Passes(pending.Time, pending.Value))
        {
            if (Aggregates) Aggregate(pending);
            else Emit(pending);
        }

        if (_isOpen && !IsComplete)
        {
            Sample? after = NeedsBefore && series.TryFrom(_to == long.MaxValue ? _to : _to + 1, out Sample next) && next.Time > _to && next.Time <= _lastTime ? next : null;
            _before = _bucket.IsEmpty ? _before : _bucket.Last;
            Close(after);
            if (_options.Empty && !IsComplete)
            {
                long last = _options.StartOf(_to);
                if (last > _start) Fill(After(_start), After(last), after);
            }
        }

        IsComplete = true;
        if (!_options.IsReverse || !Aggregates) return;
        _results.Items.Reverse();
        _results.Truncate((int)Math.Min(_results.Count, _options.Count));
    }

    private void Close(Sample? after) => EmitBucket(_start, _bucket.Value(_options.Aggregator, Math.Min(After(_start), _options.To), after));

    // The empty buckets from one start up to another.
    private void Fill(long start, long end, Sample? after)
    {
        if (!_options.Empty) return;
        for (; start < end && !IsComplete; start = After(start))
        {
            if (++_empties > EmptyMax)
            {
                IsTooLarge = IsComplete = true;
                return;
            }

            EmitBucket(start, _options.Aggregator switch
            {
                Aggregator.Sum or Aggregator.Count or Aggregator.CountNan or Aggregator.CountAll => 0,
                Aggregator.Last => _before?.Value ?? double.NaN,
                Aggregator.Twa when _before is { } before && after is { } next => Bucket.Between(before, next, start + (_options.Duration / 2.0)),
                _ => double.NaN,
            });
        }
    }

    private long After(long start) => start > long.MaxValue - _options.Duration ? long.MaxValue : start + _options.Duration;

    private void EmitBucket(long start, double value)
    {
        long time = _options.BucketTime switch
        {
            BucketTime.Start => start,
            BucketTime.End => After(start),
            _ => start > long.MaxValue - (_options.Duration / 2) ? long.MaxValue : start + (_options.Duration / 2),
        };
        Emit(new Sample(Math.Max(0, time), value));
    }

    private void Emit(in Sample sample)
    {
        if (!NativeList<Sample>.HasRoom(_results.Count + 1L))
        {
            IsTooLarge = IsComplete = true;
            return;
        }

        _results.Add(sample);
        if (_results.Count >= _options.Count && (!_options.IsReverse || !Aggregates)) IsComplete = true;
    }
}
