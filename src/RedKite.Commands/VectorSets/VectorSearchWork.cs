using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Commands.VectorSets;

/// <summary>
/// The search of a command in slices, each of which finds the key's set again. It is stale when the key has another set or none; or, where VADD makes a set
/// with a projection, once the key has a value.
/// </summary>
internal sealed class VectorSearchWork : SlicedWork
{
    /// <summary>
    /// The bytes of vectors and attributes that a slice reads: less than half a millisecond. A search with the defaults in a large set of
    /// vectors of signed bytes takes one or two.
    /// </summary>
    internal const long SliceBytes = 4 << 20;

    /// <summary>The bytes of vectors that take as long as a step of a filter or of a pattern.</summary>
    internal const int BytesPerStep = 8;

    /// <summary>
    /// So many searches keep what they have found, or the projection that they make, between slices, as far as the memory that they may take together is that of
    /// one command (<see cref="ScratchMemory"/>), or only one keeps any. Any more begin when one of them has ended, and until then keep their vector alone.
    /// </summary>
    internal const int StoppedMax = 64;

    private static int _stopped;
    private static long _reservedBytes;

    private readonly long _bytes;

    private readonly Database _database;
    private readonly ulong _key;
    private readonly long _set;
    private readonly VectorSetDraft? _draft;
    private bool _isStopped;
    private bool _hasEnded;

    internal VectorSearchWork(Database database, ulong key, VectorSetValue set, VectorSearch search)
    {
        _database = database;
        _key = key;
        _set = set.Id;
        _draft = set.IsDraft ? VectorSetDraft.Of(database, key, set) : null;
        Search = search;
        _bytes = search.MemoryMax(set.Numbers);
    }

    internal VectorSearch Search { get; }

    /// <summary>Whether the search is that of a new set's first element.</summary>
    internal bool IsOfNewSet => _draft is not null;

    /// <summary>The steps that a search may take in all, which tests lower.</summary>
    internal long StepsMax { get; set; } = UnitWork.WaitingStepsMax;

    /// <summary>Keeps the search's memory while its client waits.</summary>
    internal void Stop()
    {
        Search.Stop();
        if (TryKeep()) return;
        Search.Forget();
        _draft?.Discard();
    }

    /// <summary>The new set, complete; the caller attaches it to the key.</summary>
    internal VectorSetValue TakeNewSet() => _draft!.Take();

    internal override bool RunSlice()
    {
        Entry entry = _database.FindByHash(_key);
        VectorSetValue set = entry.Exists && entry.Type == DataType.VectorSet ? VectorSetValue.Of(_database, entry) : default;
        IsStale = _draft is not null ? entry.Exists : !set.Exists || set.Id != _set;
        if (IsStale || !TryKeep()) return false;
        IsComplete = Search.Run(_draft is not null ? _draft.Open() : set, SliceBytes);
        TakesTooLong = !IsComplete && Search.BytesRead / BytesPerStep >= StepsMax;
        return IsComplete;
    }

    internal override void Discard()
    {
        if (_isStopped) EndKeeping();
        _isStopped = false;
        _draft?.Discard();
        if (!_hasEnded) Search.Release();
        _hasEnded = true;
    }

    private bool TryKeep()
    {
        if (_isStopped) return true;
        int others = Interlocked.Increment(ref _stopped) - 1;
        long bytes = Interlocked.Add(ref _reservedBytes, _bytes);
        _isStopped = others == 0 || (others < StoppedMax && ScratchMemory.HasRoom(bytes));
        if (!_isStopped) EndKeeping();
        return _isStopped;
    }

    private void EndKeeping()
    {
        Interlocked.Add(ref _reservedBytes, -_bytes);
        Interlocked.Decrement(ref _stopped);
    }
}
