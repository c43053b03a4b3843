using System.Diagnostics;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Execution.Blocking;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution.Eviction;

/// <summary>
/// One executor's part in keeping memory under maxmemory: before a command executes that finds the limit exceeded, it evicts keys
/// until the limit holds again, no key is left that may be evicted, or its time is up.
/// </summary>
/// <remarks>
/// It works between commands, with no stripe locked, and locks one stripe at a time: to sample it, or to remove a key. A busy
/// stripe is skipped. An eviction is published like an expiry. Candidates are sampled at random positions, as in Redis: an exact
/// order of all keys would cost memory for each and a write for each access. A sample is taken from adjacent buckets, which are in
/// hash order and so as random as any. The pool keeps the best candidates between samples; a candidate that was used meanwhile
/// stays.
/// </remarks>
internal sealed class Evictor(ExecutorCore core, InvocationPublisher publisher, BlockedClientServer blocked)
{
    // The clock is read after this many evictions, some ten microseconds.
    private const int EvictionsPerReading = 16;

    // Evictions go on until this much is free, a 4,096th of the limit, because starting costs as much as a few of them.
    private const int StepsOfRoom = 4;

    // One of at least this many candidates is evicted: within a single bucket, entries with few neighbours would be evicted sooner.
    private const int RandomSamples = 16;

    // How often databases with pinned keys are sampled for one eviction: most of a sample may be pinned.
    private const int RoundsAmongPinned = 16;

    // As in redis.conf: 10 is the default, 100 disregards latency.
    private const int LinearTenacityMax = 10;
    private const int MicrosecondsPerTenacity = 50;
    private const double TenacityGrowth = 1.15;
    private const int TenacityWithoutLimit = 100;

    private readonly Engine _engine = core.Engine;
    private readonly Keyspace _keyspace = core.Keyspace;
    private readonly InvocationRecording _recording = core.Environment.Recording;
    private readonly EvictionPool _pool = new();
    private readonly EntryList _samples = new();
    private readonly List<Database> _databases = []; // with keys that may go
    private EvictionRule _rule;
    private bool _hasPinned;
    private StripeSet _locked; // for the crash report

    private CommandTime Time => core.Environment.Time;

    /// <summary>
    /// Evicts keys if memory exceeds its limit. If it returns false, memory exceeds the limit and nothing may be evicted: commands that
    /// may use more of it (<see cref="CommandFlags.DenyOom"/>) are refused. If the time ended first, they are not, as in Redis. No
    /// stripe is locked: a transaction or a script calls this before it locks its stripes. During CLIENT PAUSE nothing is evicted or refused.
    /// </summary>
    internal bool TryEvict()
    {
        if (!_keyspace.Budget.IsExceeded || !_engine.MayRemoveKeys(Time.SteadyMs)) return true;
        try
        {
            long start = Stopwatch.GetTimestamp();
            Time.Set(start);
            bool isRelieved = Relieve(start + LimitTicks());
            long ns = ServerClock.TicksToNs(Stopwatch.GetTimestamp() - start);
            if (ns >= _engine.LatencyMonitor.ThresholdNs) _engine.LatencyMonitor.Add("eviction-cycle", Time.NowMs, ns);
            _engine.Metrics.Server.NoteExceeded(_keyspace.Budget.IsExceeded);
            blocked.ServeNoted(); // clients that are blocked on streams which were evicted
            return isRelieved;
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, _locked, "eviction"))
        {
            throw;
        }
    }

    // False: the limit is exceeded and no key may be evicted.
    private bool Relieve(long deadline)
    {
        // Memory that is about to be free comes before keys that are in use. If the time ends first, it counts as free, unless that cannot
        // help: below a negative limit nothing fits.
        UsePolicy();
        bool evicts = _rule.Policy != MaxMemoryPolicy.NoEviction;
        bool mayHold = evicts || _keyspace.Budget.LimitBytes is null or >= 0;
        for (int i = 0; i < _keyspace.Stripes.Length; i++)
        {
            while (FreeSlice(i))
            {
                if (!_keyspace.Budget.IsExceeded) return true;
                if (Stopwatch.GetTimestamp() >= deadline) return mayHold;
            }
        }

        if (!evicts) return false;
        for (int evictions = 1; !_keyspace.Budget.HasRoom(StepsOfRoom); evictions++)
        {
            // Most of an evicted large value is freed after its key is gone, perhaps by another thread: nothing else is evicted meanwhile.
            Stripe freeing = _keyspace.Stripes[_engine.Memory.FreeingStripe];
            bool isFreeing = freeing.IsLocked || freeing.HasDropped;
            if (isFreeing && !FreeSlice(_engine.Memory.FreeingStripe)) Thread.Yield();
            if (!isFreeing && !EvictOne()) return !_keyspace.Budget.IsExceeded || MayEvict();
            if (!isFreeing && evictions % EvictionsPerReading != 0) continue;

            // A stripe may be locked for other reasons than to free a value: that alone lets no command pass.
            if (Stopwatch.GetTimestamp() >= deadline) return !_keyspace.Budget.IsExceeded || freeing.HasDropped || MayEvict();
        }

        return true;
    }

    private long LimitTicks()
    {
        int tenacity = _engine.Settings.EvictionTenacity;
        if (tenacity >= TenacityWithoutLimit) return long.MaxValue / 2;
        double microseconds = MicrosecondsPerTenacity * (tenacity <= LinearTenacityMax ? tenacity : LinearTenacityMax * Math.Pow(TenacityGrowth, tenacity - LinearTenacityMax));
        return (long)(microseconds * Stopwatch.Frequency / 1_000_000);
    }

    private void UsePolicy()
    {
        var rule = new EvictionRule(_engine.Settings.MaxMemoryPolicy, _engine.Settings.LfuDecayMinutes);
        if (rule != _rule) _pool.Clear();
        _rule = rule;
        _databases.Clear();
        _hasPinned = false;
        foreach (Database database in _keyspace.Databases)
        {
            if (Evictable(database) > 0) _databases.Add(database);
            _hasPinned |= database.Pinned > 0;
        }
    }

    private long Evictable(Database database) => _rule.OnlyExpiring ? database.Expiring - database.PinnedExpiring : database.Count - database.Pinned;

    // Whether busy stripes hold keys that may be evicted after all.
    private bool MayEvict()
    {
        foreach (Database database in _databases)
        {
            if (Evictable(database) > 0) return true;
        }

        return false;
    }

    private bool EvictOne()
    {
        if (_rule.IsRandom) _pool.Clear(); // its candidates are no better than others
        int rounds = _hasPinned ? RoundsAmongPinned : 1;
        for (int round = 0; round < rounds; round++)
        {
            foreach (Database database in _databases) SampleInto(database);
            while (_pool.TryTakeBest(out EvictionCandidate candidate))
            {
                if (TryEvict(candidate)) return true;
            }
        }

        return false;
    }

    private void SampleInto(Database database)
    {
        var random = (ulong)SamplingRandom.Current.NextInt64(long.MinValue, long.MaxValue);
        int wanted = _rule.IsRandom ? RandomSamples : _engine.Settings.EvictionSamples;
        int stripes = _keyspace.Stripes.Length;
        for (int i = 0; i < stripes && wanted > 0; i++)
        {
            int index = (_keyspace.StripeOf(random) + i) & (stripes - 1);
            if (database.TableIn(index) is null || !TryEnter(index)) continue;
            _samples.Clear();
            database.Sample(index, random, wanted, _rule.OnlyExpiring, _samples);
            wanted -= _samples.Count;

            // Starts at a random entry: a new key takes the first free slot of its bucket, so the order of entries is one of age.
            int first = _samples.Count > 0 ? (int)((random >> 40) % (uint)_samples.Count) : 0;
            for (int sample = 0; sample < _samples.Count; sample++)
            {
                int at = first + sample;
                Entry entry = _samples[at < _samples.Count ? at : at - _samples.Count];
                if (entry.IsPinned) continue;
                long score = _rule.Score(entry, Time.NowMs);
                if (_pool.Keeps(score)) _pool.Add(new EvictionCandidate(database.Index, _keyspace.Hash(entry.Key), score));
                if (_rule.IsRandom) break;
            }

            Exit(index);
        }
    }

    private bool TryEvict(in EvictionCandidate candidate)
    {
        Database database = _keyspace.Databases[candidate.Database];
        int index = _keyspace.StripeOf(candidate.Hash);
        if (!TryEnter(index)) return false;
        Entry entry = database.FindByHash(candidate.Hash);
        bool mayGo = entry.Exists && !entry.IsPinned && (!_rule.OnlyExpiring || entry.Expires) && _rule.Score(entry, Time.NowMs) >= candidate.Score;
        if (mayGo) Evict(database, index, candidate.Hash, entry);
        Exit(index);
        return mayGo;
    }

    private void Evict(Database database, int index, ulong hash, Entry entry)
    {
        Stripe stripe = _keyspace.Stripes[index];
        bool isTimed = _engine.LatencyMonitor.IsOn;
        long start = isTimed ? Stopwatch.GetTimestamp() : 0;
        if (entry.HasStructure) _engine.Memory.FreeingStripe = index;
        _recording.Begin(stripe);
        if (entry.Expires && entry.ExpiryMs <= Time.NowMs)
        {
            database.Find(entry.Key, hash, ExpiryClock.RemovingAt(Time.NowMs));
        }
        else
        {
            core.Environment.Metrics.CountEvicted(wasYoung: _rule.IsYoung(entry, Time.NowMs));
            database.Unlink(entry, UnlinkReason.Evicted);
        }

        if (_recording.IsOn) publisher.PublishRecorded();
        stripe.Arena.ReportUsage();
        if (!isTimed) return;
        long ns = ServerClock.TicksToNs(Stopwatch.GetTimestamp() - start);
        if (ns >= _engine.LatencyMonitor.ThresholdNs) _engine.LatencyMonitor.Add("eviction-del", Time.NowMs, ns);
    }

    // Frees a slice of a stripe's removed values that wait to be freed; false: there are none, or the stripe is busy.
    private bool FreeSlice(int index)
    {
        Stripe stripe = _keyspace.Stripes[index];
        if (!stripe.HasDropped || !TryEnter(index)) return false;
        stripe.FreeDroppedSlice();
        stripe.Arena.ReportUsage();
        Exit(index);
        return true;
    }

    private bool TryEnter(int index)
    {
        if (!_keyspace.Stripes[index].TryEnterSoon()) return false;
        _locked = StripeSet.Of(index);
        return true;
    }

    // Not in a finally block: after a failure halfway, the stripe stays locked until the process has ended.
    private void Exit(int index)
    {
        _locked = StripeSet.Empty;
        _keyspace.Stripes[index].Exit();
    }
}
