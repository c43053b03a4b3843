using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// Writes all data of one moment while commands go on, without a copy of it. At the snapshot point, with all stripes locked, nothing is copied: a
/// new epoch begins (<see cref="Keyspace.BeginEpoch"/>) and the tables are noted. Then a walk over these tables writes their entries of the old
/// epoch in short slices, each with its stripe locked. Each stripe's <see cref="StripeBarrier"/> hears of entries that are about to change or to leave first.
/// </summary>
/// <remarks>
/// <para>A small value that is about to change is copied to its stripe's side buffer, which the walk moves to the file. A large one is written in
/// slices. It must not change between them, so commands that name its key to change it wait before they begin (<see cref="WriteGate.KeyRule"/>),
/// and the walk writes it before others. A command that did not know its keys before it began completes the value itself. A large value that is
/// removed, and a table that FLUSHALL detaches, belong to the snapshot until they are written.</para>
/// <para>There is no deadlock: the walk locks one stripe at a time, for a slice, and waits for nothing else; what waits for it holds no stripe.</para>
/// <para>With a stripe locked, bytes are only copied; strings are compressed afterwards.</para>
/// <para>One snapshot is in progress at a time (<see cref="DurabilityService.TryBegin(string, Action)"/>). A second one beside it would need an epoch of its own in every entry, and whatever changes would be written
/// to both; replicas that wait together share a walk instead. What needs some of the data alone takes a <see cref="SnapshotRange"/>.</para>
/// <para>If writing fails, the walk goes on without writing, because the next snapshot needs all entries in one epoch.</para>
/// </remarks>
internal sealed class BackgroundSnapshot : IDisposable
{
    // Then side buffers of all stripes are moved to the file, not only that of the walk's stripe.
    private const long SideBytesSoon = SnapshotState.SideBytesMax / 4;

    private readonly Keyspace _keyspace;
    private readonly WriteGate _gate;
    private readonly SnapshotBounds _bounds;
    private readonly SnapshotState _state;
    private readonly EntryWriter _values;
    private readonly RdbOutput _slice;
    private readonly StripeBarrier[] _barriers;
    private readonly EntryList _entries = new();
    private readonly List<(int Database, long Keys, long Expiring, List<CapturedTable> Tables)> _databases = [];
    private List<KeylessRecord> _keyless = [];
    private FileFailure? _failure;
    private int _selected = -1; // in the file
    private volatile bool _isAborted;

    internal BackgroundSnapshot(Keyspace keyspace, Settings settings, WriteGate gate, Func<long> nowMs, SnapshotBounds? bounds = null, int version = RdbFormat.Version)
    {
        _keyspace = keyspace;
        _gate = gate;
        _bounds = bounds ?? SnapshotBounds.Default;
        _state = new SnapshotState(keyspace, gate, _bounds);
        _values = new EntryWriter(settings, nowMs, version);
        _slice = RdbOutput.NewCollector(_bounds.PieceBytes);
        _barriers = [.. keyspace.Stripes.Select(stripe => new StripeBarrier(_state, stripe, new EntryWriter(settings, nowMs, version)))];
    }

    /// <summary>What of the data is written. Set before <see cref="Capture"/>.</summary>
    internal SnapshotRange Range { get; init; } = SnapshotRange.All;

    /// <summary>The keys at the snapshot point, of whatever range.</summary>
    internal long Keys { get; private set; }

    /// <summary>The keys that were written so far.</summary>
    internal long WrittenKeys => _state.WrittenKeys;

    /// <summary>Bytes of old values that wait in memory.</summary>
    internal long SideBytes => _state.SideBytes;

    /// <summary>The most bytes that a slice has had.</summary>
    internal int SliceBytesPeak { get; private set; }

    /// <summary>Whether nothing is written any more.</summary>
    internal bool Fails => _state.Fails;

    /// <summary>Whether commands wait for it.</summary>
    internal bool IsAwaited => !_state.MayRest;

    /// <summary>Begins. All stripes are locked, and the script mutex is held.</summary>
    internal void Capture(List<KeylessRecord> keyless)
    {
        _keyless = keyless;
        foreach (Database database in _keyspace.Databases)
        {
            long keys = database.Count;
            if (keys == 0) continue;
            Keys += keys;
            List<CapturedTable> tables = [];
            for (int stripe = 0; stripe < _keyspace.Stripes.Length; stripe++)
            {
                if (database.TableIn(stripe) is not { Count: > 0 } table) continue;
                var captured = new CapturedTable(table, database.Index, stripe, Range);
                tables.Add(captured);
                _state.Add(captured);
            }

            _databases.Add((database.Index, keys, database.Expiring, tables));
        }

        int next = 0;
        _keyspace.BeginEpoch(_ => _barriers[next++]);
        _gate.BeginRule((database, hash) => _barriers[_keyspace.StripeOf(hash)].TryPass(database, hash));
    }

    /// <summary>Writes everything. The writer has begun, and is ended by the caller.</summary>
    /// <param name="writer">The file's writer.</param>
    /// <param name="commands">The number of commands so far, by which the walk sees whether the server is busy.</param>
    /// <exception cref="FileFailure">It could not be written.</exception>
    internal void Write(RdbFileWriter writer, Func<long> commands)
    {
        var pace = new WorkPace(commands);
        foreach (bool mayRest in Walk(writer))
        {
            if (mayRest) pace.Rest();
        }
    }

    /// <summary>Writes everything, step by step. Between two steps no stripe is locked.</summary>
    /// <returns>After each step: whether the walk may rest, because no command waits for it.</returns>
    /// <exception cref="FileFailure">After the last step: it could not be written.</exception>
    internal IEnumerable<bool> Walk(RdbFileWriter writer)
    {
        Attempt(() => KeylessData.Write(writer, _keyless));
        foreach ((int database, long keys, long expiring, List<CapturedTable> tables) in _databases)
        {
            if (Range.HasDatabase(database))
            {
                Attempt(() => writer.Database(database, keys, expiring)); // with a filter of keys, the sizes are too large hints
                _selected = database;
            }

            foreach (CapturedTable table in tables)
            {
                bool more = true;
                while (more)
                {
                    foreach (bool mayRest in WriteFront(writer)) yield return mayRest;
                    SideBuffer? side = null;
                    Locked(table.Stripe, barrier => more = WalkSlice(table, barrier, out side));
                    Move(writer, table.Database);
                    Attempt(() => MoveSide(writer, side));
                    if (_state.SideBytes > SideBytesSoon && !IsSlicing(table.Stripe)) MoveSides(writer);
                    yield return _state.MayRest;
                    foreach (bool mayRest in WriteSlices(writer, table.Stripe)) yield return mayRest;
                }
            }
        }

        foreach (bool mayRest in WriteFront(writer)) yield return mayRest;
        End();
        MoveSides(writer);
        if (_failure is null && _isAborted) _failure = new FileFailure("write", "the snapshot", FileFailure.Canceled);
        if (_failure is not null) throw _failure;
    }

    /// <summary>Ends without a file, because the server stops. From any thread.</summary>
    internal void Abort()
    {
        _isAborted = true;
        _state.Fail();
    }

    internal bool IsAborted => _isAborted;

    public void Dispose()
    {
        _values.Dispose();
        _slice.Dispose();
        foreach (StripeBarrier barrier in _barriers) barrier.Dispose();
    }

    private bool IsSlicing(int stripe) => _barriers[stripe].Sliced is not null;

    private void Attempt(Action write)
    {
        if (_failure is not null) return;
        try
        {
            write();
        }
        catch (FileFailure thrown)
        {
            _failure = thrown;
            _state.Fail();
        }
    }

    private void Locked(int index, Action<StripeBarrier> action)
    {
        StripeBarrier barrier = _barriers[index];
        barrier.Stripe.Enter();
        try
        {
            action(barrier);
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, StripeSet.Of(index), "a snapshot"))
        {
            throw;
        }
        finally
        {
            barrier.Stripe.Exit();
        }
    }

    // Collects the next entries of a table. False at its end. After a value that does not fit into the slice, its bucket is read again.
    private bool WalkSlice(CapturedTable captured, StripeBarrier barrier, out SideBuffer? side)
    {
        Stripe stripe = barrier.Stripe;
        side = null;
        bool more = true;
        int seen = 0;
        while (more && seen < _bounds.Entries && _slice.Written.Length < _bounds.Bytes)
        {
            _entries.Clear();
            TableCursor cursor = captured.Cursor;
            more = captured.Table.NextBucket(ref cursor, _entries);
            seen += _entries.Count;
            foreach (Entry entry in _entries)
            {
                if (entry.Epoch == stripe.Epoch) continue;
                if (!_state.Fails && captured.Holds(entry))
                {
                    _values.Begin(_slice, _state.DatabaseOf(captured), entry);
                    if (_values.WriteSlice(_slice, _bounds))
                    {
                        BeginSlices(barrier, new SlicedValue(captured, entry.Address, _values));
                        _entries.Clear();
                        return true;
                    }
                }

                entry.MarkWritten(stripe.Epoch);
                _state.NoteWritten();
            }

            captured.MoveTo(cursor);
        }

        _entries.Clear();
        if (!more) End(captured, stripe);
        side = barrier.TakeSide();
        return more;
    }

    private static void BeginSlices(StripeBarrier barrier, SlicedValue sliced)
    {
        barrier.BeginSlices(sliced);
    }

    private static void End(CapturedTable captured, Stripe stripe)
    {
        captured.EndWalk();
        if (captured.IsOwned) stripe.Drop(captured.Table, captured.Table.Count);
    }

    // Writes the rest of the value that a stripe's walk is at.
    private IEnumerable<bool> WriteSlices(RdbFileWriter writer, int stripe)
    {
        while (_barriers[stripe].Sliced is { } sliced)
        {
            Locked(stripe, barrier => WriteSlice(barrier, sliced));
            Move(writer, sliced.Table.Database);
            if (!IsSlicing(stripe)) EndSlices(writer, sliced);
            yield return _state.MayRest;
        }
    }

    private void WriteSlice(StripeBarrier barrier, SlicedValue sliced)
    {
        if (!sliced.IsComplete && !_state.Fails && _values.WriteSlice(_slice, _bounds)) return;
        _values.Abandon();
        barrier.EndSlices();
        _state.NoteWritten();
        if (sliced.IsTaken) barrier.Stripe.FreeTaken(sliced.Entry);
        else if (!sliced.IsComplete) Entry.FromBlock(sliced.Entry).MarkWritten(barrier.Stripe.Epoch);
    }

    private void EndSlices(RdbFileWriter writer, SlicedValue sliced)
    {
        if (sliced.Rest is { } rest)
        {
            Attempt(() => Move(writer, rest, rest.Written.Length));
            _state.ReleaseSide(rest.Written.Length);
            rest.Dispose();
        }

        _state.ReleaseSide(sliced.CountedBytes);
        _state.ResumeAwaiting();
    }

    // Writes the values that commands wait for, and those that were removed.
    private IEnumerable<bool> WriteFront(RdbFileWriter writer)
    {
        while (TryBeginFront(isWanted: true, out int stripe) || TryBeginFront(isWanted: false, out stripe))
        {
            foreach (bool mayRest in WriteSlices(writer, stripe)) yield return mayRest;
            _state.ResumeAwaiting();
        }
    }

    private bool TryBeginFront(bool isWanted, out int stripe)
    {
        stripe = 0;
        if (!_state.TakeFront(isWanted)) return false;
        bool found = false;
        for (; stripe < _barriers.Length; stripe++)
        {
            Locked(stripe, barrier => found = TryBeginFront(barrier, isWanted));
            if (!found) continue;
            _state.NoteFront(isWanted); // there may be more
            return true;
        }

        return false;
    }

    private bool TryBeginFront(StripeBarrier barrier, bool isWanted)
    {
        if (!barrier.TryTakeFront(isWanted, out FrontValue value)) return false;
        nint entry = value.Taken;
        if (entry == 0)
        {
            if (_state.Fails || value.Table.IsWritten || !value.Table.Table.TryFind(value.Hash, out EntryPosition position)) return true;
            var found = new Entry(position);
            if (found.Epoch == barrier.Stripe.Epoch) return true;
            entry = found.Address;
        }

        var sliced = new SlicedValue(value.Table, entry, _values);
        if (value.Taken != 0) sliced.Take(value.CountedBytes);
        if (!_state.Fails) _values.Begin(_slice, _state.DatabaseOf(value.Table), Entry.FromBlock(entry));
        BeginSlices(barrier, sliced);
        return true;
    }

    private void Move(RdbFileWriter writer, int database)
    {
        int bytes = _slice.Written.Length;
        SliceBytesPeak = Math.Max(SliceBytesPeak, bytes);
        Attempt(() =>
        {
            if (bytes > 0) Select(writer, database);
            Move(writer, _slice, bytes);
        });
        _slice.Clear();
    }

    private static void Move(RdbFileWriter writer, RdbOutput collected, int end)
    {
        if (collected.Overflowed) throw new FileFailure("write", "more than 1 GiB that changed at once", FileFailure.TooLarge);
        collected.MoveTo(writer.Output, end);
    }

    private void MoveSides(RdbFileWriter writer)
    {
        for (int i = 0; i < _barriers.Length; i++)
        {
            SideBuffer? side = null;
            Locked(i, barrier => side = barrier.TakeSide());
            Attempt(() => MoveSide(writer, side));
        }
    }

    private void MoveSide(RdbFileWriter writer, SideBuffer? side)
    {
        if (side is null) return;
        using (side)
        {
            foreach ((int database, int end) in side.Records)
            {
                Select(writer, database);
                Move(writer, side.Output, end);
            }

            _state.ReleaseSide(side.Output.Written.Length);
        }
    }

    private void Select(RdbFileWriter writer, int database)
    {
        if (database != _selected) writer.Select(database);
        _selected = database;
    }

    private void End()
    {
        using (_keyspace.LockAll())
        {
            _keyspace.EndSnapshot();
            _gate.EndRule();
        }

        _gate.Resume();
        _gate.Open(WriteHold.Snapshot);
    }
}
