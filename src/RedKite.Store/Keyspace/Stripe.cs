using System.Runtime.CompilerServices;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Lists;

namespace RedKite.Store.Keyspace;

/// <summary>
/// One part of the keyspace: a lock, an arena, and the memory of its tables. All members except those of the lock itself
/// require that the lock is held.
/// </summary>
internal sealed unsafe class Stripe : IDisposable
{
    private readonly KeyHasher _hasher;
    private readonly Queue<DroppedTable> _dropped = new();
    private readonly List<EntryCopy> _copies = [];
    private readonly List<KeyWatch> _watches = [];
    private StripeLock _lock = new();
    private StripeObservers _suspended;
    private int _watchers;
    private long _droppedKeys; // in dropped tables
    private int _pinned;
    private readonly Dictionary<nint, long> _taken = []; // bytes of the values that a snapshot has taken over

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

    /// <summary>Values whose entries were removed and whose structures are being freed in slices.</summary>
    internal ReleasedValues Values { get; }

    /// <summary>Long lists whose inner nodes the background sweep converts to compact lists.</summary>
    internal WarmLists WarmLists { get; }

    /// <summary>The number of expired keys that were removed.</summary>
    internal long ExpiredKeys { get; private set; }

    /// <summary>The number of expired fields of hashes that were removed.</summary>
    internal long ExpiredFields { get; private set; }

    /// <summary>How many of the expired keys the background sweep has found.</summary>
    internal long SweptKeys { get; private set; }

    /// <summary>How many of the expired fields the background sweep has found.</summary>
    internal long SweptFields { get; private set; }

    internal long UsedBytes => Arena.UsedBytes + Segments.UsedBytes;

    /// <summary>The number of times that a thread had to wait for the lock.</summary>
    internal long LockWaits => _lock.Contended;

    /// <summary>The number of times that a thread waited so long for the lock that it slept.</summary>
    internal long LockParks => _lock.Parks;

    /// <summary>How many threads sleep until they get the lock. For tests.</summary>
    internal int LockParked => _lock.Parked;

    /// <summary>The total time that threads waited for the lock.</summary>
    internal TimeSpan LockWaited => _lock.Waited;

    /// <summary>Whether a thread holds the lock now.</summary>
    internal bool IsLocked => _lock.IsHeld;

    /// <summary>The number of waits of blocked clients for keys of this stripe. While it is 0, they need no reports of changes.</summary>
    internal int Watchers
    {
        get => _watchers;
        set
        {
            _watchers = value;
            Observe(StripeObservers.BlockedClients, value > 0);
        }
    }

    /// <summary>The observers of changes. While it is <see cref="StripeObservers.None"/> nothing is reported, at the cost of this one comparison.</summary>
    internal StripeObservers Observers { get; private set; }

    /// <summary>The epoch of entries that are added now: a value of <see cref="EntryBlock.EpochFlag"/>.</summary>
    internal byte Epoch { get; private set; }

    /// <summary>The snapshot in progress; null: none. While there is one, <see cref="Observers"/> says so.</summary>
    internal SnapshotBarrier? Snapshot { get; private set; }

    /// <summary>Receives the store's reports while the stripe is observed: the change list of the executor that holds the stripe.</summary>
    internal KeyspaceObserver? Observer { get; private set; }

    /// <summary>The number of removed keys and values that are still to be freed. Without the lock, it may be slightly out of date.</summary>
    internal long ObjectsWaiting => Values.Waiting + Volatile.Read(ref _droppedKeys);

    internal bool HasDropped => _dropped.Count > 0 || Values.AreWaiting || Arena.HasWaiting;

    /// <summary>Has the store's reports received. The stripe is locked.</summary>
    internal void ReportTo(KeyspaceObserver observer) => Observer = observer;

    internal void CountExpiredKey() => ExpiredKeys++;

    internal void CountExpiredFields(long fields) => ExpiredFields += fields;

    /// <summary>Releases the memory that the stripe keeps for reuse. The stripe is locked.</summary>
    internal void ReleaseUnused()
    {
        Segments.ReleaseKept();
        Arena.ReleaseUnused();
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Enter() => _lock.Enter();

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Exit() => _lock.Exit();

    /// <summary>
    /// Enters the lock, unless a flag is up while it would wait. <see cref="ScriptMutex.Claiming"/>: the caller must then release the
    /// stripes that it holds. <see cref="ScriptMutex.Busy"/>: it may wait for long.
    /// </summary>
    internal bool EnterOrGiveWay(WaitFlag? flag) => _lock.EnterOrGiveWay(flag);

    /// <summary>Enters the lock if no other thread holds it.</summary>
    internal bool TryEnter() => _lock.TryEnter();

    /// <summary>Enters the lock if it is released within about the time of a short command.</summary>
    internal bool TryEnterSoon() => _lock.TryEnterSoon();

    /// <summary>Wakes the threads that sleep on the lock, so that each checks again whether it must yield to a script.</summary>
    internal void WakeAll() => _lock.WakeAll();

    /// <summary>
    /// Adds or removes an observer. Observers of all stripes change only while all stripes are locked, so that no command sees one
    /// stripe observed and another not. For the observer of blocked clients, the lock of this stripe suffices.
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

    /// <summary>
    /// Whether values of the stripe are being copied or written in slices. Meanwhile no list is made compact and no block moves: both
    /// would change what is read between slices.
    /// </summary>
    internal bool HasPinned => HasCopies || _pinned > 0;

    /// <summary>Begins to write a value of the stripe in slices.</summary>
    internal void Pin() => _pinned++;

    internal void Unpin() => _pinned--;

    /// <summary>Begins an epoch and a snapshot of it. All stripes are locked.</summary>
    internal void BeginEpoch(byte epoch, SnapshotBarrier snapshot)
    {
        Epoch = epoch;
        Snapshot = snapshot;
        Observe(StripeObservers.Snapshot, isOn: true);
    }

    /// <summary>Ends the snapshot. All stripes are locked.</summary>
    internal void EndSnapshot()
    {
        Snapshot = null;
        Observe(StripeObservers.Snapshot, isOn: false);
    }

    /// <summary>Whether a snapshot is still to write an entry whose value is a structure.</summary>
    internal bool Awaits(byte* entry) => Snapshot is not null && EntryBlock.HasStructure(entry) && EntryBlock.Epoch(entry) != Epoch;

    /// <summary>
    /// An entry that was removed belongs to the snapshot now. Nothing moves or changes it: no table and no ring of lists has it. Its memory no
    /// longer counts as used, so that nothing is evicted for it.
    /// </summary>
    internal void NoteTaken(byte* entry)
    {
        long bytes = Entry.FromBlock((nint)entry).MemoryBytes;
        _taken.Add((nint)entry, bytes);
        Arena.NoteTaken(bytes);
        if (EntryBlock.HasStructure(entry) && EntryBlock.Type(entry) == DataType.List) WarmLists.Forget((QuickListHeader*)EntryBlock.Root(entry).Structure);
    }

    /// <summary>Frees an entry that a snapshot has taken over, a large value in slices.</summary>
    /// <param name="entry">The entry's block.</param>
    internal void FreeTaken(nint entry)
    {
        var block = (byte*)entry;
        if (_taken.Remove(entry, out long bytes)) Arena.NoteTaken(-bytes);
        if (EntryBlock.HasStructure(block)) Values.Release(block);
        Arena.Free(block, EntryBlock.Bytes(block));
    }

    internal void EndCopy(EntryCopy copy)
    {
        _copies.Remove(copy);
        Observe(StripeObservers.Copies, HasCopies || HasWatches);
    }

    /// <summary>Whether keys of the stripe are watched for changes.</summary>
    internal bool HasWatches => _watches.Count > 0;

    /// <summary>Reports changes of keys to a watch, until <see cref="EndWatch"/>.</summary>
    internal void BeginWatch(KeyWatch watch)
    {
        _watches.Add(watch);
        Observe(StripeObservers.Copies, isOn: true);
    }

    internal void EndWatch(KeyWatch watch)
    {
        _watches.Remove(watch);
        Observe(StripeObservers.Copies, HasCopies || HasWatches);
    }

    /// <summary>Notifies the copies of a key's value, and the watches of the key, that it is about to change.</summary>
    internal void NoteSourceChange(int database, ulong hash)
    {
        foreach (EntryCopy copy in _copies) copy.NoteChange(new KeyIdentity(database, hash));
        foreach (KeyWatch watch in _watches) watch.NoteChange(new KeyIdentity(database, hash));
    }

    /// <summary>Notifies all copies and watches that their source, or its database, is about to change.</summary>
    internal void NoteSourceChanges()
    {
        foreach (EntryCopy copy in _copies) copy.IsStale = true;
        foreach (KeyWatch watch in _watches) watch.NoteChanges();
    }

    /// <summary>Stops reporting until <see cref="ResumeObservers"/>, before the stripe is unlocked.</summary>
    internal void SuspendObservers() => (_suspended, Observers) = (Observers, StripeObservers.None);

    internal void ResumeObservers() => (_suspended, Observers) = (StripeObservers.None, _suspended);

    internal void NoteExpired(in ExpiryResult result)
    {
        ExpiredKeys += result.Expired;
        ExpiredFields += result.ExpiredFields;
    }

    internal void NoteSwept(in ExpiryResult result)
    {
        SweptKeys += result.Expired;
        SweptFields += result.ExpiredFields;
        NoteExpired(result);
    }

    internal Table NewTable() => new(Arena, Segments, _hasher, Values);

    /// <summary>Takes ownership of a table that was detached from its database, and frees it in slices.</summary>
    internal void Drop(Table table, long keys)
    {
        _droppedKeys += keys;
        _dropped.Enqueue(new DroppedTable(table));
        Arena.BeginReleasingLargePages();
    }

    /// <summary>Frees a slice of the dropped blocks, values and tables; false when nothing is left.</summary>
    internal bool FreeDroppedSlice()
    {
        var slice = FreeingSlice.Begin();
        while (FreeDroppedStep())
        {
            if (slice.IsOver) return true;
        }

        Arena.EndReleasingLargePages();
        return false;
    }

    /// <summary>Frees the smallest unit of dropped data that can be freed by itself; false when nothing is left.</summary>
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

    // A detached table, and the progress of freeing it.
    private sealed class DroppedTable(Table table)
    {
        private uint _prefix;
        private int _bucket;

        internal long Keys => table.Count;

        internal bool FreeStep() => table.FreeStep(ref _prefix, ref _bucket);
    }
}
