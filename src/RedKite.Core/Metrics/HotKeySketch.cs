using RedKite.Store.Keyspace;

namespace RedKite.Server.Metrics;

/// <summary>A key and an estimate of how often it was used.</summary>
/// <param name="Key">Its first bytes.</param>
/// <param name="Uses">How often it was used in the last ten to twenty seconds.</param>
/// <param name="UsesPerSecond">The same per second.</param>
/// <param name="Seconds">The seconds that both are of, up to now.</param>
internal sealed record HotKey(int Database, byte[] Key, double Uses, double UsesPerSecond, double Seconds);

/// <summary>
/// The keys that one executor uses most: a space-saving sketch (<see cref="KeyRanking"/>) over a sample of its requests. The executor adds samples; any
/// thread reads.
/// </summary>
/// <remarks>
/// Old use is forgotten by windows: the sketch of the last whole one, ten seconds, and that of the current one are reported together. Longer ones would tell of loads that have ended.
/// </remarks>
internal sealed class HotKeySketch
{
    internal const int KeysMax = 1024;
    private const int KeyBytesMax = 128;
    private const int WindowMs = 10_000;

    // Samples per second: enough to distinguish the tenth key of a Zipf distribution from the eleventh within half a minute, and a key with much of the load within a second. Each takes up to
    // a microsecond, because nothing of the sketch is in the first-level cache by then: two thousandths of a core at most.
    private const int SamplesPerSecond = 2048;
    private const int StrideMax = 4096;

    // A burst after a quiet second does not wait for the next adaptation.
    private const int SamplesAtOnce = SamplesPerSecond + 512;
    private const int Off = int.MaxValue;

    private readonly Lock _lock = new();
    private KeyRanking _current = new(KeysMax);
    private KeyRanking _last = new(KeysMax);
    private long _startMs; // of the current window
    private long _lastStartMs;
    private int _samples; // since the last adaptation
    private SampleGap _gap = new(0x9E3779B9);

    /// <summary>One of this many requests is sampled, on average.</summary>
    internal int Stride { get; private set; } = 64;

    /// <summary>Samples no more.</summary>
    internal void SwitchOff() => Stride = Off;

    /// <summary>How many requests to skip until the next sample: random, so that it does not follow a pattern of the requests.</summary>
    internal int NextGap()
    {
        return Stride == Off ? Off : _gap.Next(Stride);
    }

    /// <summary>Adapts the stride to the load of the last second.</summary>
    internal void Adapt(long requestsPerSecond)
    {
        if (Stride != Off) Stride = (int)Math.Clamp((requestsPerSecond + SamplesPerSecond - 1) / SamplesPerSecond, 1, StrideMax);
        _samples = 0;
    }

    internal void Add(int database, ulong hash, ReadOnlySpan<byte> key, long nowMs)
    {
        lock (_lock)
        {
            if (nowMs - _startMs >= WindowMs) Rotate(nowMs);
            if (Stride == Off) return;
            _current.Add(new KeyIdentity(database, hash), key[..Math.Min(key.Length, KeyBytesMax)], Stride);
            if (++_samples < SamplesAtOnce) return;
            _samples = 0;
            Stride = Math.Min(Stride * 4, StrideMax);
        }
    }

    /// <summary>Adds the counts of the last ten to twenty seconds to a sum over executors.</summary>
    /// <returns>The start of the interval that they cover; 0: there are none.</returns>
    internal long AddTo(Dictionary<KeyIdentity, (byte[] Key, double Uses)> sum, long nowMs)
    {
        lock (_lock)
        {
            if (nowMs - _startMs >= WindowMs) Rotate(nowMs);
            _current.AddTo(sum);
            _last.AddTo(sum);
            return _last.Count > 0 ? _lastStartMs : _current.Count > 0 ? _startMs : 0;
        }
    }

    /// <summary>The keys that a server uses most, the hottest first.</summary>
    internal static List<HotKey> Hottest(IEnumerable<ExecutorMetrics> executors, int count, long nowMs)
    {
        var sum = new Dictionary<KeyIdentity, (byte[] Key, double Uses)>();
        long startMs = nowMs;
        foreach (ExecutorMetrics executor in executors)
        {
            long start = executor.HotKeys.AddTo(sum, nowMs);
            if (start > 0) startMs = Math.Min(startMs, start);
        }

        double seconds = Math.Max(1, (nowMs - startMs) / 1000.0);
        return [.. sum.OrderByDescending(entry => entry.Value.Uses).Take(count).Select(entry => new HotKey(entry.Key.Database, entry.Value.Key, entry.Value.Uses, entry.Value.Uses / seconds, seconds))];
    }

    /// <summary>
    /// The percentage of the requests with keys that used the hottest key, in the last whole window and in the current one, whichever is less: neither a load that
    /// has ended nor one that has just begun is told for the present one.
    /// </summary>
    internal static double HottestPercent(IEnumerable<ExecutorMetrics> executors, long nowMs)
    {
        Dictionary<KeyIdentity, (byte[] Key, double Uses)> last = [], current = [];
        foreach (ExecutorMetrics executor in executors) executor.HotKeys.AddTo(last, current, nowMs);
        double ofLast = last.Values.Sum(key => key.Uses), ofCurrent = current.Values.Sum(key => key.Uses);
        if (ofLast == 0) return 0;
        return 100 * last.Max(key => Math.Min(key.Value.Uses / ofLast, ofCurrent == 0 ? 1 : current.GetValueOrDefault(key.Key).Uses / ofCurrent));
    }

    /// <summary>The slot of a cluster whose keys are used most, and the percentage of the requests with keys that use it, as for <see cref="HottestPercent"/>. -1: there are none.</summary>
    internal static (int Slot, double Percent) HottestSlot(IEnumerable<ExecutorMetrics> executors, long nowMs)
    {
        Dictionary<KeyIdentity, (byte[] Key, double Uses)> last = [], current = [];
        foreach (ExecutorMetrics executor in executors) executor.HotKeys.AddTo(last, current, nowMs);
        double ofLast = last.Values.Sum(key => key.Uses), ofCurrent = current.Values.Sum(key => key.Uses);
        if (ofLast == 0) return (KeySlot.None, 0);
        Dictionary<int, double> slotsOfLast = BySlot(last), slotsOfCurrent = BySlot(current);
        (int slot, double share) = slotsOfLast.Select(slot => (slot.Key, Math.Min(slot.Value / ofLast, ofCurrent == 0 ? 1 : slotsOfCurrent.GetValueOrDefault(slot.Key) / ofCurrent))).MaxBy(static slot => slot.Item2);
        return (slot, 100 * share);
    }

    private static Dictionary<int, double> BySlot(Dictionary<KeyIdentity, (byte[] Key, double Uses)> keys) =>
        keys.GroupBy(static key => KeyHasher.SlotOf(key.Key.Hash)).ToDictionary(static slot => slot.Key, static slot => slot.Sum(static key => key.Value.Uses));

    private void AddTo(Dictionary<KeyIdentity, (byte[] Key, double Uses)> last, Dictionary<KeyIdentity, (byte[] Key, double Uses)> current, long nowMs)
    {
        lock (_lock)
        {
            if (nowMs - _startMs >= WindowMs) Rotate(nowMs);
            _current.AddTo(current);
            _last.AddTo(last);
        }
    }

    private void Rotate(long nowMs)
    {
        bool isRecent = nowMs - _startMs < 2 * WindowMs;
        (_current, _last) = (_last, _current);
        _lastStartMs = _startMs;
        _current.Clear();
        if (!isRecent) _last.Clear();
        _startMs = nowMs;
    }
}
