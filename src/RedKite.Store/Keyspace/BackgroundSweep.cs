using System.Diagnostics;
using RedKite.Store.Memory;

namespace RedKite.Store.Keyspace;

/// <summary>
/// One loop's share of the background work: it frees dropped data (after FLUSHALL, for example), removes keys of slots that are another node's now, removes expired keys and fields
/// that no command accesses, converts nodes of long lists to compact lists, and releases unused memory. It works in
/// short slices under one stripe's lock at a time, and stops at a deadline. It never waits for a stripe: one that is locked by a
/// long command is skipped until the next pass.
/// </summary>
/// <remarks>
/// There is no index of expiries. Each segment stores a lower bound of its keys' expiries, so a round reads every segment's header
/// (a million keys have about 1,400) and searches only those whose bound has passed. A timer wheel or heap
/// would cost 8 to 24 bytes for each key with an expiry, and one or two cache misses for each write.
/// </remarks>
internal sealed class BackgroundSweep
{
    // The size of a slice under the lock: about 10 microseconds if every entry is freed.
    private const int HeadersPerSlice = 32;

    // Large blocks of flushed databases, after which the C runtime's heap is trimmed.
    private const long TrimmedBytesMin = 16 << 20;

    // Distributes the sampled positions over all prefixes from round to round.
    private const long SamplingStep = 2_654_435_761;

    // The step at which a run continues, after all dropped data is freed.
    private enum Phase
    {
        Expiring,
        Cooling,
        GivingBack,
    }

    private readonly Keyspace _keyspace;
    private readonly SlotRemoval _removal;
    private readonly int _firstStripe;
    private readonly int _step;
    private int _stripe;
    private int _database;
    private uint _prefix;
    private bool _inRound;
    private int _coolingStripe;
    private byte _coolingRound;
    private Phase _phase;
    private StripeSet _locked; // for the crash report
    private long _releasedBytes; // of large blocks of flushed databases

    /// <summary>A sweep over the stripes <paramref name="firstStripe"/>, + <paramref name="step"/>, ...</summary>
    internal BackgroundSweep(Keyspace keyspace, int firstStripe, int step)
    {
        _keyspace = keyspace;
        _firstStripe = firstStripe;
        _step = step;
        _removal = new SlotRemoval(keyspace, firstStripe, step);
    }

    /// <summary>Called with each stripe that was just locked.</summary>
    internal Action<Stripe>? Entered { get; init; }

    /// <summary>Called before an observed stripe is unlocked, to publish the keys and fields that have expired in it.</summary>
    internal Action? Exiting { get; init; }

    /// <summary>The number of completed rounds.</summary>
    internal long Rounds { get; private set; }

    /// <summary>Stopwatch ticks that the last run spent on expired keys and fields.</summary>
    internal long ExpiryTicks { get; private set; }

    /// <summary>Works until the deadline (a <see cref="Stopwatch"/> time) or until the round ends.</summary>
    /// <returns>Whether work remains, so that the caller should call again soon.</returns>
    internal bool Run(long nowMs, long deadline, bool expire)
    {
        try
        {
            return RunPhases(nowMs, deadline, expire);
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, _locked, "background sweep"))
        {
            throw;
        }
    }

    private bool RunPhases(long nowMs, long deadline, bool expire)
    {
        ExpiryTicks = 0;
        if (FreeDropped(deadline)) return true;
        if (expire && _removal.Run(deadline, TryEnter, Exit)) return true;
        if (_phase == Phase.Expiring)
        {
            if (Expire(nowMs, deadline, expire)) return true;
            _phase = Phase.Cooling;
            _coolingStripe = _firstStripe;
            _coolingRound++;
        }

        if (_phase == Phase.Cooling)
        {
            if (CoolLists(deadline)) return true;
            _phase = Phase.GivingBack;
            if (_firstStripe == 0) _keyspace.BeginGivingBack();
        }

        if (_firstStripe == 0 && GiveBack(deadline)) return true;
        _phase = Phase.Expiring;
        return FreeDropped(deadline); // the values of expired keys
    }

    // Each of these methods returns whether the deadline was reached.
    private bool FreeDropped(long deadline)
    {
        for (int i = _firstStripe; i < _keyspace.Stripes.Length; i += _step)
        {
            Stripe stripe = _keyspace.Stripes[i];
            while (stripe.HasDropped && TryEnter(i))
            {
                stripe.FreeDroppedSlice();
                _releasedBytes += stripe.Arena.TakeLargeBytesReleased();
                Exit(i);
                if (Stopwatch.GetTimestamp() >= deadline) return true;
            }
        }

        if (_releasedBytes >= TrimmedBytesMin) TrimHeap();
        return false;
    }

    // What of the released blocks shares a page with others. The heap's lock is held for as long as there are pages to release, so the blocks' own are released before.
    private void TrimHeap()
    {
        _releasedBytes = 0;
        ThreadPool.UnsafeQueueUserWorkItem(static _ => SystemMemory.TrimHeap(), null);
    }

    // Without removing, it only samples: the share of expired keys is known even if nothing removes them.
    private bool Expire(long nowMs, long deadline, bool removes)
    {
        if (!_inRound) BeginRound();
        long start = Stopwatch.GetTimestamp();
        while (_inRound)
        {
            ExpireSlice(nowMs, removes);
            long now = Stopwatch.GetTimestamp();
            ExpiryTicks = now - start;
            if (now >= deadline) return _inRound;
        }

        return false;
    }

    private bool CoolLists(long deadline)
    {
        for (; _coolingStripe < _keyspace.Stripes.Length; _coolingStripe += _step)
        {
            Stripe stripe = _keyspace.Stripes[_coolingStripe];
            bool more = stripe.WarmLists.AreWaiting;
            while (more && TryEnter(_coolingStripe))
            {
                // What is copied or written in slices must not change.
                more = !stripe.HasPinned && stripe.WarmLists.CoolSlice(_coolingRound);
                Exit(_coolingStripe);
                if (Stopwatch.GetTimestamp() >= deadline) return true;
            }
        }

        return false;
    }

    private bool GiveBack(long deadline)
    {
        while (_keyspace.GiveBack())
        {
            if (Stopwatch.GetTimestamp() >= deadline) return true;
        }

        return false;
    }

    private void BeginRound()
    {
        _stripe = _firstStripe;
        _database = 0;
        _prefix = 0;
        _inRound = _stripe < _keyspace.Stripes.Length;
    }

    private void ExpireSlice(long nowMs, bool removes)
    {
        Stripe stripe = _keyspace.Stripes[_stripe];
        if (!TryEnter(_stripe))
        {
            EndStripe();
            return;
        }

        ExpiryResult result = default;
        Database database = _keyspace.Databases[_database];
        Table? table = database.TableIn(_stripe);
        bool more = table is not null && table.Expiring + table.FieldsExpiring > 0;
        if (more && _prefix == 0) table!.SampleExpiries((uint)(nowMs * SamplingStep), nowMs);
        more &= removes;
        for (int i = 0; more && i < HeadersPerSlice && result.SegmentsSearched == 0; i++)
        {
            more = table!.ExpireSegment(ref _prefix, nowMs, database, stripe, ref result);
        }

        stripe.NoteSwept(result);
        Exit(_stripe);
        if (more) return;

        _prefix = 0;
        if (++_database == _keyspace.Databases.Length) EndStripe();
    }

    private void EndStripe()
    {
        _prefix = 0;
        _database = 0;
        _stripe += _step;
        if (_stripe < _keyspace.Stripes.Length) return;
        _inRound = false;
        Rounds++;
    }

    private bool TryEnter(int stripe)
    {
        if (!_keyspace.Stripes[stripe].TryEnterSoon()) return false;
        _locked = StripeSet.Of(stripe);
        Entered?.Invoke(_keyspace.Stripes[stripe]);
        return true;
    }

    // Not in a finally block: after a failure the stripe stays locked until the process ends.
    private void Exit(int stripe)
    {
        if (_keyspace.Stripes[stripe].Observers != StripeObservers.None) Exiting?.Invoke();
        _locked = StripeSet.Empty;
        _keyspace.Stripes[stripe].Exit();
    }
}
