namespace RedKite.Server.Metrics;

/// <summary>
/// Counts by what causes them, such as connections by address, of the last one to two windows. It keeps the first that appear in a window, up to
/// a maximum: who causes most of a flood is among them. Any thread adds, under a lock.
/// </summary>
internal sealed class RecentTally<TKey>
    where TKey : notnull
{
    internal const int KeysMax = 1024;
    private const int WindowMs = 30_000;

    private readonly Lock _lock = new();
    private Dictionary<TKey, long> _current = [];
    private Dictionary<TKey, long> _last = [];
    private long _startMs;

    internal void Note(TKey key, long nowMs)
    {
        lock (_lock)
        {
            Rotate(nowMs);
            if (_current.TryGetValue(key, out long count)) _current[key] = count + 1;
            else if (_current.Count < KeysMax) _current.Add(key, 1);
        }
    }

    /// <summary>The counts, the largest first.</summary>
    internal List<(TKey Key, long Count)> Most(int max, long nowMs)
    {
        lock (_lock)
        {
            Rotate(nowMs);
            return [.. _current.Concat(_last).GroupBy(pair => pair.Key).Select(group => (group.Key, group.Sum(pair => pair.Value))).OrderByDescending(pair => pair.Item2).Take(max)];
        }
    }

    private void Rotate(long nowMs)
    {
        if (nowMs - _startMs < WindowMs) return;
        (_current, _last) = (_last, _current);
        _current.Clear();
        if (nowMs - _startMs >= 2 * WindowMs) _last.Clear();
        _startMs = nowMs;
    }
}
