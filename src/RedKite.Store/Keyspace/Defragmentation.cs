using System.Diagnostics;
using RedKite.Store.Memory;
using RedKite.Store.Values;

namespace RedKite.Store.Keyspace;

/// <summary>
/// One loop's share of active defragmentation: moves entries out of sparse slabs, so that slabs and pages become free and return to the
/// system. It works in short slices under one stripe's lock at a time and stops at a deadline. It waits for no stripe.
/// </summary>
/// <remarks>
/// It starts at the slabs, not at the keys. Each block of a sparse slab is presumed to be an entry: if its key is found in a table
/// of the stripe, at the block's own address, then it is one and may move. So only blocks that move are touched, and the sparsest
/// slabs come first. A walk over all keys would read every entry to find the few that are in sparse slabs.
///
/// Parts of structures cannot be found that way. Slabs that contain some, and that the other slabs of their class can take, are left
/// to a walk over the stripe's values, as are the slabs of blocks of over 4 KiB. A large value is moved in slices; between them
/// only a key's hash and a position are remembered, which any change of the value leaves valid.
///
/// An entry's address is in its table's slot and nowhere else while its stripe is not locked: samples for eviction, cursors, watched
/// keys and blocked clients name keys or hashes. Copies in progress are the exception, so their stripes are left alone.
/// </remarks>
internal sealed unsafe class Defragmentation
{
    // A slice under the lock: 10 to 20 microseconds. Moving a block takes four times as long as finding that it is not an entry.
    private const int WorkPerSlice = 256;
    private const int WorkPerMove = 4;

    // The free space that a class may keep in one stripe: two pages, because one is lost on average regardless of moves; or a part
    // of a slab's blocks.
    private const long FreeMin = 2 * 4096;

    // Evacuations of one class in one pass, in case blocks move in circles.
    private const int EvacuationsMax = 4096;

    private readonly Arena.Evacuation _evacuation = new();
    private readonly Keyspace _keyspace;
    private readonly int _firstStripe;
    private readonly int _step;
    private int _stripe;
    private int _sizeClass;
    private int _evacuations;
    private readonly EntryList _entries = new();
    private readonly Queue<LargeValue> _large = new();
    private BlockMover? _mover; // null: no walk is in progress
    private int _database;
    private TableCursor _cursor;
    private DefragmentationCounts _counts;

    /// <summary>Defragmentation of the stripes <paramref name="firstStripe"/>, + <paramref name="step"/>, ...</summary>
    internal Defragmentation(Keyspace keyspace, int firstStripe, int step)
    {
        _keyspace = keyspace;
        _stripe = _firstStripe = firstStripe;
        _step = step;
    }

    /// <summary>The work done since the last call.</summary>
    internal DefragmentationCounts TakeCounts()
    {
        DefragmentationCounts counts = _counts;
        _counts = default;
        return counts;
    }

    /// <summary>Works until the deadline (a <see cref="Stopwatch"/> time) or until a pass over the stripes ends.</summary>
    /// <returns>Whether the pass has ended.</returns>
    internal bool Run(long deadline)
    {
        long start = Stopwatch.GetTimestamp();
        long now;
        bool ended;
        do
        {
            ended = RunSlice();
            now = Stopwatch.GetTimestamp();
        }
        while (!ended && now < deadline);
        _counts.AddTime(now - start);
        return ended;
    }

    private bool RunSlice()
    {
        if (_stripe >= _keyspace.Stripes.Length)
        {
            _stripe = _firstStripe;
            return true;
        }

        Stripe stripe = _keyspace.Stripes[_stripe];
        if (!stripe.TryEnterSoon())
        {
            if (_mover is null) EndStripe();
            return false;
        }

        bool more;
        try
        {
            more = stripe.HasPinned ? _mover is not null : EvacuateSlice(stripe) || WalkSlice(stripe, WorkPerSlice);
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, StripeSet.Of(_stripe), "defragmentation"))
        {
            throw;
        }

        // Not in a finally block: after a failure the stripe stays locked until the process ends.
        stripe.Exit();
        if (!more) EndStripe();
        return false;
    }

    private void EndStripe()
    {
        _stripe += _step;
        _sizeClass = 0;
        _evacuations = 0;
    }

    // Moves a slice of blocks; false when no class of the stripe has anything to gain.
    private bool EvacuateSlice(Stripe stripe)
    {
        for (int work = WorkPerSlice; _sizeClass < BlockSize.ClassCount; _sizeClass++)
        {
            while (_evacuations++ < EvacuationsMax && _evacuation.TryBegin(stripe.Arena, _sizeClass, FreeMin))
            {
                MoveBlocks(ref work);
                _evacuation.End();
                if (work <= 0) return true;
            }

            _evacuations = 0;
        }

        return false;
    }

    private void MoveBlocks(ref int work)
    {
        work -= WorkPerMove; // the search for the slab
        while (work > 0 && _evacuation.TryNext(out byte* block))
        {
            work--;
            if (!TryFindEntry(block, _evacuation.BlockBytes, out EntryPosition position))
            {
                _counts.CountStayed();
                continue;
            }

            byte* moved = _evacuation.Allocate();
            if (moved == null) return;
            MoveEntry(position, moved);
            _evacuation.Free();
            work -= WorkPerMove - 1;
            _counts.CountMoved(1);
            _counts.CountKey(wasMoved: true);
        }
    }

    // Moves a slice of the blocks that can only be found through their values; false when there are none, or no more.
    private bool WalkSlice(Stripe stripe, int work)
    {
        if (_mover is null)
        {
            if (!stripe.Arena.BeginMoves()) return false;
            _mover = new BlockMover(stripe.Arena);
            _database = 0;
            _cursor = default;
        }

        int moved = _mover.Moved;
        while (work > 0)
        {
            if (_large.TryPeek(out LargeValue? value))
            {
                if (!MoveLarge(value, ref work)) _large.Dequeue();
                continue;
            }

            if (_database == _keyspace.Databases.Length)
            {
                stripe.Arena.EndMoves();
                _counts.CountMoved(_mover.Moved - moved);
                _mover = null;
                return false;
            }

            Table? table = _keyspace.Databases[_database].TableIn(_stripe);
            if (table is null || !MoveBucket(table, ref work))
            {
                _database++;
                _cursor = default;
            }
        }

        _counts.CountMoved(_mover.Moved - moved);
        return true;
    }

    // Whether there are more buckets.
    private bool MoveBucket(Table table, ref int work)
    {
        work--;
        _entries.Clear();
        bool more = table.NextBucket(ref _cursor, _entries);
        foreach (nint entry in _entries.Blocks) MoveValue(table, (byte*)entry, ref work);
        return more;
    }

    private void MoveValue(Table table, byte* entry, ref int work)
    {
        work--;
        int movedBefore = _mover!.Moved;
        long bytes = EntryBlock.Bytes(entry);
        byte* copy = _mover.Copy(entry, bytes);
        if (copy != null)
        {
            table.TryFind(EntryBlock.Key(entry), _keyspace.Hash(EntryBlock.Key(entry)), out EntryPosition position);
            Segment.Replace(position.Bucket, position.Slot, copy, Segment.Expires(Segment.Slot(position.Bucket, position.Slot)));
            _mover.Free(entry, bytes);
            entry = copy;
            work -= WorkPerMove;
        }

        if (EntryBlock.HasStructure(entry))
        {
            MoveCursor cursor = default;
            if (MoveStructure(entry, ref cursor, ref work)) _large.Enqueue(new LargeValue(_keyspace.Hash(EntryBlock.Key(entry)), EntryBlock.Type(entry), cursor));
        }

        _counts.CountKey(wasMoved: _mover.Moved > movedBefore);
    }

    // Whether there is more to move. The value may have been replaced meanwhile: a position is harmless for any value.
    private bool MoveLarge(LargeValue value, ref int work)
    {
        work--;
        Entry entry = _keyspace.Databases[_database].FindByHash(value.Hash);
        if (!entry.Exists || !entry.HasStructure || entry.Type != value.Type) return false;
        MoveCursor cursor = value.Cursor;
        bool more = MoveStructure(entry.Position.Entry, ref cursor, ref work);
        value.Cursor = cursor;
        return more;
    }

    private bool MoveStructure(byte* entry, ref MoveCursor cursor, ref int work)
    {
        ValueRoot root = EntryBlock.Root(entry);
        bool more = StoredTypes.Of(EntryBlock.Type(entry)).Move(_mover!, ref root, ref cursor, ref work);
        EntryBlock.Root(entry) = root;
        return more;
    }

    /// <summary>For tests on the guarded arena: moves every block of every value.</summary>
    internal void MoveAll()
    {
        for (_stripe = 0; _stripe < _keyspace.Stripes.Length; _stripe++)
        {
            Stripe stripe = _keyspace.Stripes[_stripe];
            if (!stripe.TryEnter()) continue;
            stripe.Arena.MovesAll = true;
            while (!stripe.HasPinned && WalkSlice(stripe, WorkPerSlice))
            {
            }

            stripe.Arena.MovesAll = false;
            stripe.Exit();
        }

        _stripe = _firstStripe;
    }

    private static void MoveEntry(in EntryPosition position, byte* moved)
    {
        long bytes = EntryBlock.Bytes(position.Entry);
        Buffer.MemoryCopy(position.Entry, moved, bytes, bytes);
        Segment.Replace(position.Bucket, position.Slot, moved, Segment.Expires(Segment.Slot(position.Bucket, position.Slot)));
    }

    // The block may be anything: part of a structure, or a block that waits to be freed. Only a slot with its address makes it an entry.
    private bool TryFindEntry(byte* block, int blockBytes, out EntryPosition position)
    {
        position = default;
        bool isLong = EntryBlock.IsLong(block);
        if (isLong && blockBytes < EntryBlock.LongFormMin) return false;
        int keyLength = EntryBlock.KeyLength(block);
        int valueLength = EntryBlock.ValueLength(block);
        if ((uint)keyLength > (uint)blockBytes || (uint)valueLength > (uint)blockBytes) return false;
        if (EntryBlock.IsLong(keyLength, valueLength) != isLong || BlockSize.RoundUp(EntryBlock.Bytes(block)) != blockBytes) return false;
        ulong hash = _keyspace.Hash(EntryBlock.Key(block));
        if (_keyspace.StripeOf(hash) != _stripe) return false;
        foreach (Database database in _keyspace.Databases)
        {
            if (database.TableIn(_stripe) is { } table && table.TryFind(EntryBlock.Key(block), hash, out position) && position.Entry == block) return true;
        }

        return false;
    }

    // A value that has been partly examined.
    private sealed class LargeValue(ulong hash, DataType type, MoveCursor cursor)
    {
        internal ulong Hash => hash;

        internal DataType Type => type;

        internal MoveCursor Cursor { get; set; } = cursor;
    }
}
