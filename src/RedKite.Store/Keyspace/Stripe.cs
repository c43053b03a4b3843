using System.Runtime.CompilerServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Lists;

namespace RedKite.Store.Keyspace;

/// <summary>
/// One part of the keyspace: a lock, an arena, and the memory of its tables. Everything here but the lock itself is
/// used with the lock held.
/// </summary>
internal sealed unsafe class Stripe : IDisposable
{
    private readonly KeyHasher _hasher;
    private readonly Queue<DroppedTable> _dropped = new();
    private readonly Queue<KeyIdentity> _touched = new();
    private readonly List<EntryCopy> _copies = [];
    private StripeLock _lock = new();
    private StripeObservers _suspended;
    private int _watchers;
    private long _droppedKeys; // in dropped tables

    internal Stripe(SlabSource source, KeyHasher hasher, bool guarded)
    {
        _hasher = hasher;
        Guard = guarded ? new ArenaGuard() : null;
        Arena = new Arena(source, Guard);
        Segments = new SegmentPool(source);
        Values = new ReleasedValues(Arena);
        WarmLists = new WarmLists(Arena);
    }

    internal Arena Arena { get; }

    internal ArenaGuard? Guard { get; }

    internal SegmentPool Segments { get; }

    /// <summary>Values whose entries are gone and whose structures are being freed.</summary>
    internal ReleasedValues Values { get; }

    /// <summary>Long lists that the background sweep makes compact.</summary>
    internal WarmLists WarmLists { get; }

    /// <summary>Keys that were removed because their time had come.</summary>
    internal long ExpiredKeys { get; set; }

    /// <summary>Fields of hashes that were removed because their time had come.</summary>
    internal long ExpiredFields { get; set; }

    internal long UsedBytes => Arena.UsedBytes + Segments.UsedBytes;

    /// <summary>How often a thread had to wait for the lock.</summary>
    internal long LockWaits => _lock.Contended;

    /// <summary>How often a thread waited for the lock for so long that it slept.</summary>
    internal long LockParks => _lock.Parks;

    /// <summary>How long threads waited for the lock altogether.</summary>
    internal TimeSpan LockWaited => _lock.Waited;

    /// <summary>Whether a thread holds the lock now.</summary>
    internal bool IsLocked => _lock.IsHeld;

    /// <summary>How many waits there are for keys of this stripe. Without any, nothing is noted.</summary>
    internal int Watchers
    {
        get => _watchers;
        set
        {
            _watchers = value;
            Observe(StripeObservers.BlockedClients, value > 0);
        }
    }

    /// <summary>Who needs to know about changes. While it is <see cref="StripeObservers.None"/> nothing is reported, at the cost of this one comparison.</summary>
    internal StripeObservers Observers { get; private set; }

    /// <summary>What the store reports to while the stripe is observed: the change list of the executor that holds the stripe.</summary>
    internal KeyspaceObserver? Observer { get; set; }

    /// <summary>Whether keys were noted that somebody may wait for.</summary>
    internal bool HasTouched { get; private set; }

    /// <summary>Keys and values that are gone and wait to be freed. Read without the lock, it may be a moment old.</summary>
    internal long ObjectsWaiting => Values.Waiting + Volatile.Read(ref _droppedKeys);

    internal bool HasDropped => _dropped.Count > 0 || Values.AreWaiting || Arena.HasWaiting;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Enter() => _lock.Enter();

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Exit() => _lock.Exit();

    /// <summary>Enters, unless a script claims a stripe meanwhile: then the caller releases the stripes that it holds.</summary>
    internal bool EnterOrGiveWay(ScriptMutex scripts) => _lock.EnterOrGiveWay(scripts);

    /// <summary>Enters if no other thread is in.</summary>
    internal bool TryEnter() => _lock.TryEnter();

    /// <summary>Enters if the stripe gets free within about the time of a short command.</summary>
    internal bool TryEnterSoon() => _lock.TryEnterSoon();

    /// <summary>Lets every thread that sleeps until the stripe is free look again whether it gives way to a script.</summary>
    internal void WakeAll() => _lock.WakeAll();

    /// <summary>
    /// Turns an observation on or off. Those that concern all stripes change only while all stripes are locked, so that no
    /// command sees one stripe observed and another not; that of blocked clients with this stripe alone.
    /// </summary>
    internal void Observe(StripeObservers observers, bool isOn)
    {
        if (isOn) Observers |= observers;
        else Observers &= ~observers;
    }

    /// <summary>Whether values of the stripe are being copied in slices.</summary>
    internal bool HasCopies => _copies.Count > 0;

    /// <summary>Reports changes of a copy's source to it, until <see cref="EndCopy"/>.</summary>
    internal void BeginCopy(EntryCopy copy)
    {
        _copies.Add(copy);
        Observe(StripeObservers.Copies, isOn: true);
    }

    internal void EndCopy(EntryCopy copy)
    {
        _copies.Remove(copy);
        Observe(StripeObservers.Copies, HasCopies);
    }

    /// <summary>Tells the copies of a key's value that it is about to change.</summary>
    internal void NoteSourceChange(int database, ulong hash)
    {
        foreach (EntryCopy copy in _copies) copy.NoteChange(new KeyIdentity(database, hash));
    }

    /// <summary>Tells all copies that their source changes, or that its database does.</summary>
    internal void NoteSourceChanges()
    {
        foreach (EntryCopy copy in _copies) copy.IsStale = true;
    }

    /// <summary>Stops reporting until <see cref="ResumeObservers"/>, before the stripe is unlocked.</summary>
    internal void SuspendObservers() => (_suspended, Observers) = (Observers, StripeObservers.None);

    internal void ResumeObservers() => (_suspended, Observers) = (StripeObservers.None, _suspended);

    /// <summary>Notes a key that is about to go. Who reads a stream for a group wants to know that it is gone.</summary>
    internal void NoteGone(int database, ulong hash, byte* entry)
    {
        if (Watchers > 0 && EntryBlock.Type(entry) == DataType.Stream) NoteTouched(database, hash);
    }

    /// <summary>Notes a key that came to hold a value of another type, or got something to read, or that a reader may miss.</summary>
    internal void NoteTouched(int database, ulong hash)
    {
        if (Watchers == 0) return;
        _touched.Enqueue(new KeyIdentity(database, hash));
        HasTouched = true;
    }

    internal bool TryTakeTouched(out KeyIdentity key)
    {
        key = default;
        if (!HasTouched) return false;
        bool taken = _touched.TryDequeue(out key);
        HasTouched = _touched.Count > 0;
        return taken;
    }

    internal void NoteExpired(in ExpiryResult result)
    {
        ExpiredKeys += result.Expired;
        ExpiredFields += result.ExpiredFields;
    }

    internal Table NewTable() => new(Arena, Segments, _hasher, Values);

    /// <summary>Takes over a table that no database has any more; it is freed in slices.</summary>
    internal void Drop(Table table, long keys)
    {
        _droppedKeys += keys;
        _dropped.Enqueue(new DroppedTable(table));
    }

    /// <summary>Frees a slice of what was dropped: blocks, values, and tables' entries; false when nothing is left.</summary>
    internal bool FreeDroppedSlice()
    {
        var slice = FreeingSlice.Begin();
        while (FreeDroppedStep())
        {
            if (slice.IsOver) return true;
        }

        return false;
    }

    /// <summary>Frees the least of what was dropped that can be freed by itself; false when nothing is left.</summary>
    internal bool FreeDroppedStep()
    {
        // Blocks and values first: freeing a table's entries may add to them.
        if (Arena.HasWaiting)
        {
            Arena.FreeWaiting(FreeingSlice.BlocksPerStep);
            return HasDropped;
        }

        if (Values.AreWaiting)
        {
            Values.FreeStep();
            return HasDropped;
        }

        if (!_dropped.TryPeek(out DroppedTable? dropped)) return HasDropped;
        long keys = dropped.Keys;
        if (!dropped.FreeStep()) _dropped.Dequeue();
        _droppedKeys -= keys - dropped.Keys;
        return HasDropped;
    }

    public void Dispose()
    {
        while (FreeDroppedSlice())
        {
        }

        Segments.Dispose();
        Arena.Dispose();
    }

    // A table that no database has any more, and how far it is freed.
    private sealed class DroppedTable(Table table)
    {
        private uint _prefix;
        private int _bucket;

        internal long Keys => table.Count;

        internal bool FreeStep() => table.FreeStep(ref _prefix, ref _bucket);
    }
}
