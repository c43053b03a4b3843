namespace RedKite.Dashboard;

/// <summary>
/// Slows down guessing without locking anyone out: after some failures, the attempts of a source take turns, and each turn comes later
/// than the one before by a delay that grows with the failures. The password is compared when the turn comes, so that an attempt that
/// is given up early learns nothing. A source is an IPv4 address or an IPv6 network of 64 bits, which one machine may have as a whole.
/// </summary>
internal sealed class LoginThrottle(TimeProvider time)
{
    /// <summary>Failures of a source that cost no time.</summary>
    internal const int FreeFailures = 5;

    /// <summary>Attempts of one source that may wait for their turn; further ones are refused.</summary>
    internal const int WaitingPerSourceMax = 4;

    /// <summary>Attempts that may wait in total.</summary>
    internal const int WaitingMax = 64;

    internal const int SourcesMax = 10_000;

    private static readonly TimeSpan FirstDelay = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan DelayMax = TimeSpan.FromSeconds(4);
    private static readonly TimeSpan Forgotten = TimeSpan.FromMinutes(1);

    private readonly Lock _lock = new();
    private readonly Dictionary<string, Source> _sources = [];
    private int _waiting;

    /// <summary>The number of sources that are remembered. For tests.</summary>
    internal int SourceCount
    {
        get
        {
            lock (_lock) return _sources.Count;
        }
    }

    /// <summary>Waits for the turn of an attempt, and compares then. False: too many attempts are waiting.</summary>
    internal async Task<(bool Tried, T? Result)> TryAsync<T>(string name, Func<T?> compare, CancellationToken given)
        where T : class
    {
        Source source;
        TimeSpan wait;
        lock (_lock)
        {
            source = Find(name);
            wait = source.Failures < FreeFailures ? TimeSpan.Zero : Later(source.Turn);
            if (wait > TimeSpan.Zero && (source.Waiting >= WaitingPerSourceMax || _waiting >= WaitingMax)) return (false, null);

            // Counted as a failure until it is known to be none: attempts that are made at the same time cost as much as those one by one.
            source.Failures++;
            source.Latest = time.GetTimestamp();
            source.Turn = source.Latest + Ticks(wait + DelayAfter(source.Failures));
            source.Waiting++;
            _waiting++;
        }

        try
        {
            if (wait > TimeSpan.Zero) await Task.Delay(wait, time, given).ConfigureAwait(false);
            T? result = compare();
            if (result is not null)
            {
                lock (_lock) source.Failures--;
            }

            return (true, result);
        }
        finally
        {
            lock (_lock)
            {
                source.Waiting--;
                _waiting--;
                source.Latest = time.GetTimestamp();
                if (source is { Failures: 0, Waiting: 0 }) _sources.Remove(name);
            }
        }
    }

    /// <summary>How long the attempt after a number of failures waits for its turn.</summary>
    internal static TimeSpan DelayAfter(int failures)
    {
        int doublings = failures - FreeFailures;
        return doublings < 0 ? TimeSpan.Zero : doublings >= 5 ? DelayMax : TimeSpan.FromTicks(Math.Min(DelayMax.Ticks, FirstDelay.Ticks << doublings));
    }

    private long Ticks(TimeSpan span) => (long)(span.TotalSeconds * time.TimestampFrequency);

    private TimeSpan Later(long timestamp) => timestamp <= time.GetTimestamp() ? TimeSpan.Zero : time.GetElapsedTime(time.GetTimestamp(), timestamp);

    private Source Find(string name)
    {
        long now = time.GetTimestamp();
        if (_sources.TryGetValue(name, out Source? source))
        {
            if (source.Waiting == 0 && time.GetElapsedTime(source.Latest, now) > Forgotten) source.Failures = 0;
            return source;
        }

        if (_sources.Count >= SourcesMax) Forget(now);
        return _sources[name] = new Source { Latest = now };
    }

    // All that are due at once, so that the search is rare; while a flood of sources lasts, the oldest one without waiting attempts.
    private void Forget(long now)
    {
        foreach (string old in _sources.Where(entry => entry.Value.Waiting == 0 && time.GetElapsedTime(entry.Value.Latest, now) > Forgotten).Select(entry => entry.Key).ToArray()) _sources.Remove(old);
        if (_sources.Count >= SourcesMax) _sources.Remove(_sources.Where(entry => entry.Value.Waiting == 0).MinBy(entry => entry.Value.Latest).Key);
    }

    private sealed class Source
    {
        internal int Failures;
        internal int Waiting;
        internal long Latest; // a timestamp, as Turn is
        internal long Turn;
    }
}
