using System.Diagnostics;
using System.Numerics;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;

namespace RedKite.Server.Diagnostics;

/// <summary>A key and its size.</summary>
/// <param name="Size">The bytes of a string, the elements of other values.</param>
/// <param name="Bytes">Memory of the key and its value.</param>
internal sealed record SurveyedKey(int Database, DataType Type, byte[] Key, long Size, long Bytes);

/// <summary>The results of a survey for the keys of one type. Histograms have a bin for 0 and one for each power of two.</summary>
internal sealed class TypeSurvey
{
    internal const int Bins = 65;

    internal long Keys { get; private set; }

    internal long Bytes { get; private set; }

    /// <summary>Keys without an expiry.</summary>
    internal long Persistent { get; private set; }

    /// <summary>By the bytes of strings, the elements of other values.</summary>
    internal long[] Sizes { get; } = new long[Bins];

    /// <summary>By the memory of key and value.</summary>
    internal long[] Memory { get; } = new long[Bins];

    /// <summary>By the seconds that are left.</summary>
    internal long[] TtlSeconds { get; } = new long[Bins];

    /// <summary>What the type counts beside sizes.</summary>
    internal Dictionary<string, long> Facts { get; } = [];

    /// <summary>The keys that take the most memory, the largest first.</summary>
    internal List<SurveyedKey> Largest { get; } = [];

    /// <summary>Counts a key.</summary>
    /// <param name="size">The bytes of a string, the elements of other values.</param>
    /// <param name="bytes">Its memory.</param>
    /// <param name="ttlSeconds">What is left of it; null: it does not expire.</param>
    internal void Add(long size, long bytes, long? ttlSeconds)
    {
        Keys++;
        Bytes += bytes;
        Sizes[BinOf(size)]++;
        Memory[BinOf(bytes)]++;
        if (ttlSeconds is { } seconds) TtlSeconds[BinOf(seconds)]++;
        else Persistent++;
    }

    internal static int BinOf(long value) => value <= 0 ? 0 : BitOperations.Log2((ulong)value) + 1;
}

/// <summary>The result of one walk over all keys.</summary>
/// <param name="EndedUnixMs">0: it has not ended.</param>
internal sealed record KeySurveyResult(long StartedUnixMs, long EndedUnixMs, double CpuSeconds, IReadOnlyDictionary<DataType, TypeSurvey> Types)
{
    internal IEnumerable<SurveyedKey> Largest(int count) => Types.Values.SelectMany(type => type.Largest).OrderByDescending(key => key.Bytes).Take(count);
}

/// <summary>
/// Walks over all keys in the background, again and again: the largest keys of every type, and histograms of sizes and lifetimes.
/// Its thread takes a share of one core that `key-survey-cpu-percent` sets, and locks one stripe at a time, for some tens of
/// microseconds, and never waits for one that another thread holds.
/// </summary>
internal sealed class KeySurvey : IDisposable
{
    internal const int LargestKept = 32;

    internal const int KeyBytesMax = 256;
    private const int RestBetweenWalksMs = 30_000; // or four times as long as the walk took, up to the maximum
    private const int RestByWalk = 4;
    private const int RestBetweenWalksMsMax = 600_000;
    private const int RestMs = 20;
    private const int KeysAtOnce = 32; // whose memory is fetched together
    private const int IdleMs = 1000;
    private static readonly long SliceTicks = Stopwatch.Frequency / 20_000; // 50 microseconds

    private readonly ServerParts _parts;
    private readonly BackgroundSlowdown _slowdown;
    private readonly Thread _thread;
    private readonly ManualResetEvent _stopping = new(initialState: false); // to wait for it costs less than for a slim one
    private volatile bool _isStopping;
    private readonly EntryList _entries = new();
    private long _workTicks;
    private volatile KeySurveyResult? _latest;

    internal KeySurvey(ServerParts parts, BackgroundSlowdown slowdown)
    {
        _parts = parts;
        _slowdown = slowdown;
        _thread = new Thread(Run) { Name = "key-survey", IsBackground = true, Priority = ThreadPriority.BelowNormal };
    }

    /// <summary>The last walk that has ended; null: none yet.</summary>
    internal KeySurveyResult? Latest => _latest;

    internal void Start() => _thread.Start();

    public void Dispose()
    {
        _isStopping = true;
        _stopping.Set();
        if (_thread.IsAlive) _thread.Join();
        _stopping.Dispose();
    }

    private void Run()
    {
        while (!_isStopping)
        {
            long startedMs = Environment.TickCount64;
            bool walked = Walk();
            int restMs = (int)Math.Clamp(RestByWalk * (Environment.TickCount64 - startedMs), RestBetweenWalksMs, RestBetweenWalksMsMax);
            if (_stopping.WaitOne(walked ? restMs : IdleMs)) return;
        }
    }

    private bool Walk()
    {
        if (_parts.Core.Configuration.Settings.KeySurveyCpuPercent == 0) return false;
        Keyspace keyspace = _parts.Core.Metrics.Keyspace;
        TypeSurvey[] types = [.. Enumerable.Range(0, StoredTypes.CountMax).Select(_ => new TypeSurvey())];
        long startedMs = DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();
        long workBefore = _workTicks;
        foreach (Database database in keyspace.Databases)
        {
            for (int stripe = 0; stripe < keyspace.Stripes.Length; stripe++)
            {
                TableCursor cursor = default;
                while (WalkSlice(keyspace, database, stripe, ref cursor, types))
                {
                    if (_parts.Core.Configuration.Settings.KeySurveyCpuPercent == 0) return false;
                }

                if (_isStopping) return false;
            }
        }

        double seconds = (double)(_workTicks - workBefore) / Stopwatch.Frequency;
        _latest = new KeySurveyResult(startedMs, DateTimeOffset.UtcNow.ToUnixTimeMilliseconds(), seconds, StoredTypes.All.ToDictionary(type => type.Number, type => types[(int)type.Number]));
        return true;
    }

    // Walks over some buckets of a stripe, and rests as its share of a core requires. False at the end of the stripe or of the server.
    private bool WalkSlice(Keyspace keyspace, Database database, int stripeIndex, ref TableCursor cursor, TypeSurvey[] types)
    {
        if (database.TableIn(stripeIndex) is not { Count: > 0 }) return false; // seen without the lock: a moment old
        Stripe stripe = keyspace.Stripes[stripeIndex];
        while (!stripe.TryEnter())
        {
            if (_stopping.WaitOne(1)) return false;
        }

        long start = Stopwatch.GetTimestamp();
        bool more = false;
        try
        {
            if (database.TableIn(stripeIndex) is { } table)
            {
                long nowMs = _parts.Core.Clock.NowMs;
                do
                {
                    _entries.Clear();
                    do
                    {
                        more = table.NextBucket(ref cursor, _entries);
                    }
                    while (more && _entries.Count < KeysAtOnce);
                    _entries.Prefetch();
                    foreach (Entry entry in _entries) Note(database, entry, nowMs, types);
                }
                while (more && Stopwatch.GetTimestamp() - start < SliceTicks);
            }
        }
        catch (Exception failure) when (keyspace.FailStop.Ends(failure, StripeSet.Of(stripeIndex), "surveying keys"))
        {
            throw;
        }

        stripe.Exit();
        long ticks = Stopwatch.GetTimestamp() - start;
        _workTicks += ticks;
        Rest(ticks);
        return more && !_isStopping;
    }

    // A sleep costs some ten microseconds of CPU, so a few slices share one.
    private long _owedTicks;

    private void Rest(long workedTicks)
    {
        double percent = _parts.Core.Configuration.Settings.KeySurveyCpuPercent;
        if (_slowdown.IsOn) percent /= BackgroundSlowdown.Divisor;
        if (percent is 0 or 100) return;
        _owedTicks += (long)(workedTicks * (100 - percent) / percent);
        long ms = _owedTicks * 1000 / Stopwatch.Frequency;
        if (ms < RestMs) return;
        _owedTicks = 0;
        _stopping.WaitOne((int)Math.Min(ms, 1000));
    }

    private static void Note(Database database, Entry entry, long nowMs, TypeSurvey[] types)
    {
        TypeSurvey type = types[(int)entry.Type];
        long size = StoredTypes.Of(entry).SizeOf(database, entry);
        long bytes = entry.MemoryBytes;
        type.Add(size, bytes, entry.Expires ? (entry.ExpiryMs - nowMs) / 1000 : null);
        StoredTypes.Of(entry).CountFacts(entry, type.Facts);

        List<SurveyedKey> largest = type.Largest;
        if (largest.Count == LargestKept && bytes <= largest[^1].Bytes) return;
        var key = new SurveyedKey(database.Index, entry.Type, entry.Key[..Math.Min(entry.Key.Length, KeyBytesMax)].ToArray(), size, bytes);
        int at = largest.Count;
        while (at > 0 && largest[at - 1].Bytes < bytes) at--;
        if (at == 0) StoredTypes.Of(entry).DescribeLargest(entry, type.Facts);
        largest.Insert(at, key);
        if (largest.Count > LargestKept) largest.RemoveAt(LargestKept);
    }
}
