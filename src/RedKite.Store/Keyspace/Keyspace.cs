using System.Numerics;
using System.Runtime.CompilerServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Keyspace;

/// <summary>
/// All databases of a server, cut into stripes by the keys' hash. A thread that uses a key holds its stripe's lock; several
/// stripes are locked in ascending order (<see cref="LockScope"/>), so that no two commands wait for each other.
/// </summary>
internal sealed class Keyspace : IDisposable
{
    private readonly SlabSource _source = new();
    private readonly KeyHasher _hasher;
    private readonly Database[] _databases;
    private long _translationNs;
    private int _allLockedBy; // a thread's id
    private volatile int _replacedBy; // the same
    private Database[]? _replacement;

    /// <param name="stripes">A power of two, at most <see cref="StripeSet.StripesMax"/>.</param>
    /// <param name="databases">How many numbered databases there are.</param>
    /// <param name="guarded">Whether memory comes from the guarded arena of the tests.</param>
    /// <param name="hasher">A hasher with a known secret, for reproducible runs; null: the keyspace creates its own.</param>
    internal Keyspace(int stripes, int databases, bool guarded = false, KeyHasher? hasher = null)
    {
        _hasher = hasher ?? new KeyHasher();
        ArgumentOutOfRangeException.ThrowIfGreaterThan(stripes, StripeSet.StripesMax);
        if (_hasher.UsesSlots && stripes != _hasher.SlotStripes) throw new ArgumentException("The hasher is for another number of stripes.", nameof(stripes));
        if (!BitOperations.IsPow2(stripes)) throw new ArgumentException("The number of stripes is a power of two.", nameof(stripes));
        Stripes = new Stripe[stripes];
        for (int i = 0; i < stripes; i++) Stripes[i] = new Stripe(_source, _hasher, guarded);
        AllStripes = StripeSet.First(stripes);
        Scripts = new ScriptMutex(Stripes);
        _databases = new Database[databases];
        for (int i = 0; i < databases; i++) _databases[i] = new Database(this, i);
    }

    internal Stripe[] Stripes { get; }

    /// <summary>By what bounds of slices and commands are divided. Tests reach those with little data then.</summary>
    internal int BoundsDivisor { get; init; } = 1;

    /// <summary>The hasher of keys, fields and members: keyed, so that no client can aim at a bucket.</summary>
    internal KeyHasher Hasher => _hasher;

    /// <summary>The set of every stripe.</summary>
    internal StripeSet AllStripes { get; }

    internal ReadOnlySpan<Database> Databases => _databases;

    /// <summary>The places of searches of documents that keep what they have found.</summary>
    internal KeptPlaces KeptSearches { get; } = new();

    /// <summary>The places of queries of time series that keep what they have found.</summary>
    internal KeptPlaces KeptQueries { get; } = new();

    /// <summary>
    /// A second set of databases, in which a thread gathers data that may replace that of the first. Its memory comes from the same stripes, and counts as used. Clients,
    /// snapshots, eviction and the background sweep do not know it, so nothing of it expires or moves. Ends with <see cref="Database.Discard"/> of each.
    /// </summary>
    internal Database[] NewShadow() => Array.ConvertAll(_databases, database => new Database(this, database.Index));

    /// <summary>
    /// Makes the current thread's next command that flushes databases exchange them with shadow ones. Observers learn of the exchange as of a flush.
    /// </summary>
    /// <param name="shadow">The shadow databases; null: no more.</param>
    internal void ReplaceAtFlush(Database[]? shadow) => (_replacement, _replacedBy) = (shadow, shadow is null ? 0 : Environment.CurrentManagedThreadId);

    /// <summary>Whether the current thread's command exchanges databases rather than flushes them.</summary>
    internal bool IsReplacing => _replacedBy == Environment.CurrentManagedThreadId;

    /// <summary>Empties a database, for a command. All stripes are locked.</summary>
    internal void Flush(Database database)
    {
        database.Clear();
        if (IsReplacing) database.SwapWith(_replacement![database.Index]);
    }

    /// <summary>
    /// Slots whose keys clients do not see, although they are here: those that are being removed, or received. Null: none. Whoever removes keys by <see cref="RemovedSlots"/> reads it with the stripe locked.
    /// </summary>
    internal volatile SlotSet? HiddenSlots;

    /// <summary>Slots whose keys the background sweep removes; null: none. They are hidden, too.</summary>
    internal volatile SlotSet? RemovedSlots;

    /// <summary>Whether a key is of a slot that clients do not see.</summary>
    internal bool Hides(ReadOnlySpan<byte> key) => HiddenSlots is { } hidden && hidden.Contains(KeySlot.Of(key));

    /// <summary>Admits one script at a time.</summary>
    internal ScriptMutex Scripts { get; }

    /// <summary>Ends the process when something fails while stripes are locked.</summary>
    internal FailStop FailStop { get; } = new();

    /// <summary>
    /// Begins a snapshot: a new epoch, in which entries are added from now on. Those that exist are of the old one, so the snapshot knows
    /// them apart without a copy or a list, until it has written each. All stripes are locked.
    /// </summary>
    /// <remarks>
    /// An epoch is one bit. So a snapshot may begin only when every entry is of the current epoch: one that fails or is aborted goes on
    /// to its end without writing. Rejected: an epoch of several bits, which only postpones that.
    /// </remarks>
    internal void BeginEpoch(Func<Stripe, SnapshotBarrier> barrierOf)
    {
        foreach (Stripe stripe in Stripes) stripe.BeginEpoch((byte)(stripe.Epoch ^ EntryBlock.EpochFlag), barrierOf(stripe));
    }

    /// <summary>Ends the snapshot: nothing is reported to it any more. All stripes are locked.</summary>
    internal void EndSnapshot()
    {
        foreach (Stripe stripe in Stripes) stripe.EndSnapshot();
    }

    /// <summary>The limit of <see cref="UsedBytes"/>, and whether it is exceeded.</summary>
    internal MemoryBudget Budget => _source.Budget;

    /// <summary>
    /// Sets the limit of <see cref="UsedBytes"/>. Locked stripes are not waited for: they report their exact usage when the limit
    /// is set again, or after their next step.
    /// </summary>
    /// <param name="bytes">The limit; null: none. A negative limit is always exceeded.</param>
    /// <param name="reports">Whether every stripe reports its exact usage.</param>
    internal void LimitMemory(long? bytes, bool reports)
    {
        Budget.LimitBytes = bytes;
        if (!reports) return;
        foreach (Stripe stripe in Stripes)
        {
            if (!stripe.TryEnter()) continue;
            stripe.Arena.ReportUsage();
            stripe.Exit();
        }
    }

    /// <summary>Bytes of everything that is stored: entries, values and tables.</summary>
    internal long UsedBytes => Sum(static stripe => stripe.UsedBytes);

    /// <summary>Bytes that are no longer used and wait to be freed. <see cref="UsedBytes"/> does not count them.</summary>
    internal long FreeingBytes => Sum(static stripe => stripe.Arena.FreeingBytes);

    /// <summary>Keys and values that were removed and wait to be freed by the background sweep.</summary>
    internal long ObjectsWaiting => Sum(static stripe => stripe.ObjectsWaiting);

    /// <summary>Keys and values that the background sweep has freed.</summary>
    internal long ObjectsFreedLater => Sum(static stripe => stripe.Values.FreedLater);

    /// <summary>Bytes of physical memory behind the arenas: what the store holds, and regions that are prepared for it.</summary>
    internal long ResidentBytes => HeldBytes + _source.PreparedBytes;

    /// <summary>Bytes that the store has allocated from the system, including free blocks.</summary>
    internal long HeldBytes => _source.HeldBytes + Sum(static stripe => stripe.Arena.LargeBytes - stripe.Arena.ReleasedBytes);

    /// <summary>Bytes of free space between the blocks of the arenas. Needs no lock.</summary>
    internal long FragmentedBytes => Sum(static stripe => stripe.Arena.FragmentedBytes);

    /// <summary>Bytes of the blocks that are too large for slabs.</summary>
    internal long LargeBytes => Sum(static stripe => stripe.Arena.LargeBytes);

    /// <summary>Bytes of the tables, without the entries.</summary>
    internal long TableBytes => Sum(static stripe => stripe.Segments.UsedBytes);

    internal long ExpiredKeys => Sum(static stripe => stripe.ExpiredKeys);

    internal long ExpiredFields => Sum(static stripe => stripe.ExpiredFields);

    internal long SweptKeys => Sum(static stripe => stripe.SweptKeys);

    internal long SweptFields => Sum(static stripe => stripe.SweptFields);

    private long Sum(Func<Stripe, long> countOf)
    {
        long sum = 0;
        foreach (Stripe stripe in Stripes) sum += countOf(stripe);
        return sum;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ulong Hash(ReadOnlySpan<byte> key) => _hasher.HashKey(key);

    /// <summary>Whether keys are kept by their slots.</summary>
    internal bool UsesSlots => _hasher.UsesSlots;

    /// <summary>The slot of a key with this hash; without slots <see cref="KeySlot.None"/>.</summary>
    internal int SlotOf(ulong hash) => UsesSlots ? KeyHasher.SlotOf(hash) : KeySlot.None;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal int StripeOf(ulong hash) => (int)(hash >> 8) & (Stripes.Length - 1);

    /// <summary>Locks stripes, in ascending order, until the scope is disposed of.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal LockScope Lock(StripeSet stripes) => new(this, stripes);

    /// <summary>Locks stripes, unless the flag is up while one of them is locked by another thread.</summary>
    internal bool TryLock(StripeSet stripes, WaitFlag? givesUp, out LockScope scope) => LockScope.TryEnter(this, stripes, givesUp, out scope);

    /// <summary>Locks every stripe, unless the current thread holds them all and has noted that (<see cref="NoteAllLocked"/>).</summary>
    internal LockScope LockAll() => new(this, _allLockedBy == Environment.CurrentManagedThreadId ? StripeSet.Empty : AllStripes);

    /// <summary>The same, unless the flag is up while one of them is locked by another thread.</summary>
    internal bool TryLockAll(WaitFlag? givesUp, out LockScope scope) =>
        LockScope.TryEnter(this, _allLockedBy == Environment.CurrentManagedThreadId ? StripeSet.Empty : AllStripes, givesUp, out scope);

    /// <summary>Notes that the current thread has locked every stripe, or is about to release them, for calls that need them all.</summary>
    internal void NoteAllLocked(bool locked) => _allLockedBy = locked ? Environment.CurrentManagedThreadId : 0;

    /// <summary>Locks the stripes that a script declares. The current thread's <see cref="ScriptMutexHold"/> has begun.</summary>
    internal LockScope LockForScript(StripeSet stripes) => LockScope.ForScript(this, stripes);

    /// <summary>Returns the memory that all stripes share and keep for reuse to the system; each segment pool does so for its stripe.</summary>
    internal void ReleaseFreeMemory()
    {
        _source.ReleaseKept();
        SystemMemory.TrimHeap();
    }

    /// <summary>Begins a round of returning memory to the system that all stripes keep for reuse and have not used for a while.</summary>
    internal void BeginGivingBack() => _source.BeginGivingBack();

    /// <summary>Returns a little of it; false when the round has ended.</summary>
    internal bool GiveBack() => _source.GiveBack();

    /// <summary>Regions of 2 MiB whose ordinary pages were replaced by a huge one after they were filled.</summary>
    internal long RegionsMadeHuge => _source.RegionsMadeHuge;

    /// <summary>Whether another thread is at it. For tests.</summary>
    internal bool IsMakingHuge => _source.HasIdleWork;

    /// <summary>CPU time that this took.</summary>
    internal long MakingHugeCpuNs => _source.MakingHugeCpuNs;

    /// <summary>The time that a huge page saves each random read, as last measured; 0 before that, and if there is little to make huge.</summary>
    internal long TranslationNs => Volatile.Read(ref _translationNs);

    /// <summary>Starts replacing 2 MiB of ordinary pages by a huge one on another thread, unless that is already in progress.</summary>
    internal void BeginMakingHuge() => _source.BeginIdleWork(() => _source.MakeOneHuge());

    /// <summary>Starts measuring <see cref="TranslationNs"/> on another thread, unless one makes a page huge.</summary>
    internal void BeginMeasuringTranslation() => _source.BeginIdleWork(() => Volatile.Write(ref _translationNs, _source.MeasureTranslationNs()));

    /// <summary>Checks every red zone and poisoned block of a guarded keyspace. Every stripe is locked, or no other thread uses the keyspace.</summary>
    internal void CheckGuards()
    {
        foreach (Stripe stripe in Stripes) stripe.Guard?.Check();
    }

    /// <summary>Frees everything. The keyspace must not be used afterwards.</summary>
    public void Dispose()
    {
        foreach (Database database in _databases) database.Dispose();

        // Freeing in one stripe may return blocks to another, so no arena ends before all are done.
        while (Array.Exists(Stripes, stripe => stripe.HasDropped))
        {
            foreach (Stripe stripe in Stripes) stripe.FreeDroppedSlice();
        }

        foreach (Stripe stripe in Stripes) stripe.Dispose();
        _source.Dispose();
    }
}
