using System.Diagnostics;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Config;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// Writes all data of one moment while commands go on, without a copy of it. At the cut, with all stripes locked, nothing is copied: a
/// new epoch begins (<see cref="Keyspace.BeginEpoch"/>) and the tables are noted. Then a walk over these tables writes their entries of the old
/// epoch in short slices, each with its stripe locked. A command that is about to change or remove such an entry writes it first to its
/// stripe's side buffer (<see cref="Door"/>), which the walk moves to the file. A table that FLUSHALL detaches is kept until it is written.
/// </summary>
/// <remarks>
/// <para>An entry is written whole: a slice with a large value takes as long as that, and so does the first change of a large value. Side
/// buffers are limited: beyond <see cref="SideBytesMax"/>, commands that write wait until the walk has moved them.</para>
/// <para>If writing fails, the walk goes on without writing, because the next snapshot needs all entries in one epoch.</para>
/// </remarks>
internal sealed class BackgroundSnapshot : IDisposable
{
    /// <summary>The most bytes of entries that were changed before they were written.</summary>
    internal const long SideBytesMax = 64L << 20;

    private const int SliceEntries = 64;
    private const int SliceBytes = 64 * 1024;

    // While commands are executed, the walk rests as long as it works.
    private const long WorkTicksMs = 1;

    private readonly Keyspace _keyspace;
    private readonly WriteGate _gate;
    private readonly EntryWriter _values;
    private readonly RdbOutput _slice;
    private readonly Door[] _doors;
    private readonly EntryList _entries = new();
    private readonly Dictionary<Table, CapturedTable> _tables = new(ReferenceEqualityComparer.Instance);
    private readonly List<(int Database, long Keys, long Expiring, List<CapturedTable> Tables)> _databases = [];
    private List<byte[]> _functions = [];
    private long _sideBytes;
    private long _writtenKeys;
    private int _selected = -1; // in the file
    private volatile bool _fails;
    private volatile bool _isAborted;
    private volatile bool _holdsWrites;

    internal BackgroundSnapshot(Keyspace keyspace, Settings settings, WriteGate gate, Func<long> nowMs)
    {
        _keyspace = keyspace;
        _gate = gate;
        _values = new EntryWriter(settings, nowMs);
        _slice = new RdbOutput { Compresses = settings.RdbCompression };
        _doors = [.. keyspace.Stripes.Select(_ => new Door(this, settings, nowMs))];
    }

    /// <summary>The keys at the cut.</summary>
    internal long Keys { get; private set; }

    /// <summary>The keys that were written so far.</summary>
    internal long WrittenKeys => Volatile.Read(ref _writtenKeys);

    /// <summary>Bytes of old values that wait in memory.</summary>
    internal long SideBytes => Volatile.Read(ref _sideBytes);

    /// <summary>Begins. All stripes are locked, and the script mutex is held.</summary>
    internal void Cut(IEnumerable<byte[]> functions)
    {
        _functions = [.. functions];
        foreach (Database database in _keyspace.Databases)
        {
            long keys = database.Count;
            if (keys == 0) continue;
            Keys += keys;
            List<CapturedTable> tables = [];
            for (int stripe = 0; stripe < _keyspace.Stripes.Length; stripe++)
            {
                if (database.TableIn(stripe) is not { Count: > 0 } table) continue;
                var captured = new CapturedTable(table, database.Index, stripe);
                tables.Add(captured);
                _tables.Add(table, captured);
            }

            _databases.Add((database.Index, keys, database.Expiring, tables));
        }

        int next = 0;
        _keyspace.BeginEpoch(_ => _doors[next++]);
    }

    /// <summary>Writes everything. The writer has begun, and is ended by the caller.</summary>
    /// <param name="writer">The file's writer.</param>
    /// <param name="commands">The number of commands so far, by which the walk sees whether the server is busy.</param>
    /// <exception cref="FileFailure">It could not be written.</exception>
    internal void Write(RdbFileWriter writer, Func<long> commands)
    {
        FileFailure? failure = null;
        var pace = new Pace(commands);
        Attempt(ref failure, () =>
        {
            foreach (byte[] code in _functions) writer.Function(code);
        });
        foreach ((int database, long keys, long expiring, List<CapturedTable> tables) in _databases)
        {
            Attempt(ref failure, () => writer.Database(database, keys, expiring));
            _selected = database;
            foreach (CapturedTable table in tables)
            {
                while (WalkSlice(table))
                {
                    Attempt(ref failure, () => Move(writer, table));
                    pace.Rest();
                }

                Attempt(ref failure, () => Move(writer, table));
            }
        }

        End();
        foreach (Door door in _doors) Attempt(ref failure, () => MoveSide(writer, door.TakeSide()));
        if (failure is null && _isAborted) failure = new FileFailure("write", "the snapshot", FileFailure.Canceled);
        if (failure is not null) throw failure;
    }

    /// <summary>Ends without a file, because the server stops. From any thread.</summary>
    internal void Abort() => _isAborted = _fails = true;

    public void Dispose()
    {
        _values.Dispose();
        _slice.Dispose();
        foreach (Door door in _doors) door.Dispose();
    }

    private void Attempt(ref FileFailure? failure, Action write)
    {
        if (failure is not null) return;
        try
        {
            write();
        }
        catch (FileFailure thrown)
        {
            failure = thrown;
            _fails = true;
        }
    }

    // Collects the next entries of a table. False at its end.
    private bool WalkSlice(CapturedTable captured)
    {
        Stripe stripe = _keyspace.Stripes[captured.Stripe];
        bool more = true;
        int seen = 0;
        stripe.Enter();
        try
        {
            while (more && seen < SliceEntries && _slice.Written.Length < SliceBytes)
            {
                _entries.Clear();
                TableCursor cursor = captured.Cursor;
                more = captured.Table.NextBucket(ref cursor, _entries);
                captured.Cursor = cursor;
                seen += _entries.Count;
                foreach (Entry entry in _entries)
                {
                    if (entry.Epoch == stripe.Epoch) continue;
                    if (!_fails) _values.Write(_slice, _keyspace.Databases[captured.Database], entry);
                    entry.MarkWritten(stripe.Epoch);
                    Interlocked.Increment(ref _writtenKeys);
                }
            }

            _entries.Clear();
            if (!more) End(captured, stripe);
            captured.Side = _doors[captured.Stripe].TakeSide();
            return more;
        }
        catch (Exception failure) when (_keyspace.FailStop.Ends(failure, StripeSet.Of(captured.Stripe), "a snapshot"))
        {
            throw;
        }
        finally
        {
            stripe.Exit();
        }
    }

    private static void End(CapturedTable captured, Stripe stripe)
    {
        captured.IsWritten = true;
        if (captured.IsOwned) stripe.Drop(captured.Table, captured.Table.Count);
    }

    private void Move(RdbFileWriter writer, CapturedTable captured)
    {
        if (_slice.Overflowed) throw new FileFailure("write", "a value of more than 1 GiB", FileFailure.TooLarge);
        if (!_slice.Written.IsEmpty) Select(writer, captured.Database);
        writer.Output.Raw(_slice.Written);
        _slice.Clear();
        MoveSide(writer, captured.Side);
        captured.Side = null;
    }

    private void MoveSide(RdbFileWriter writer, SideBuffer? side)
    {
        if (side is null) return;
        using (side)
        {
            if (side.Output.Overflowed) throw new FileFailure("write", "a value of more than 1 GiB", FileFailure.TooLarge);
            int start = 0;
            foreach ((int database, int end) in side.Records)
            {
                Select(writer, database);
                writer.Output.Raw(side.Output.Written[start..end]);
                start = end;
            }

            if (Interlocked.Add(ref _sideBytes, -start) >= SideBytesMax / 2 || !_holdsWrites) return;
            _holdsWrites = false;
            _gate.Open();
        }
    }

    private void Select(RdbFileWriter writer, int database)
    {
        if (database != _selected) writer.Select(database);
        _selected = database;
    }

    private void End()
    {
        using (_keyspace.LockAll()) _keyspace.EndSnapshot();
        if (_holdsWrites) _gate.Open();
    }

    // With a stripe locked.
    private void NoteSide(int bytes)
    {
        if (Interlocked.Add(ref _sideBytes, bytes) <= SideBytesMax || _holdsWrites || _fails) return;
        _holdsWrites = true;
        _gate.Close();
    }

    /// <summary>A table at the cut, and how far it was walked.</summary>
    private sealed class CapturedTable(Table table, int database, int stripe)
    {
        internal Table Table => table;

        /// <summary>The database that the table belonged to.</summary>
        internal int Database => database;

        internal int Stripe => stripe;

        internal TableCursor Cursor { get; set; }

        /// <summary>What commands wrote since the last slice.</summary>
        internal SideBuffer? Side { get; set; }

        /// <summary>Whether the table was detached from its database, and is dropped when it is written.</summary>
        internal bool IsOwned { get; set; }

        internal bool IsWritten { get; set; }
    }

    /// <summary>Entries of a stripe that were written because they were about to change, with the databases they are of.</summary>
    private sealed class SideBuffer(bool compresses) : IDisposable
    {
        internal RdbOutput Output { get; } = new() { Compresses = compresses };

        internal List<(int Database, int End)> Records { get; } = [];

        public void Dispose() => Output.Dispose();
    }

    /// <summary>Writes what is about to change, to the stripe's side buffer.</summary>
    private sealed class Door(BackgroundSnapshot snapshot, Settings settings, Func<long> nowMs) : SnapshotDoor, IDisposable
    {
        private readonly EntryWriter _values = new(settings, nowMs);
        private SideBuffer? _side;

        internal override void BeforeChange(Table table, ulong hash, scoped in Entry entry) => Write(table, entry);

        internal override bool TryTake(Table table, ulong hash, scoped in Entry entry)
        {
            Write(table, entry);
            return false;
        }

        internal override bool TryTake(Table table)
        {
            if (!snapshot._tables.TryGetValue(table, out CapturedTable? captured) || captured.IsWritten) return false;
            captured.IsOwned = true;
            return true;
        }

        /// <summary>What was written since the last call; null: nothing. The stripe is locked.</summary>
        internal SideBuffer? TakeSide()
        {
            SideBuffer? side = _side;
            _side = null;
            return side;
        }

        public void Dispose()
        {
            _values.Dispose();
            _side?.Dispose();
        }

        private void Write(Table table, Entry entry)
        {
            if (snapshot._fails || !snapshot._tables.TryGetValue(table, out CapturedTable? captured)) return;
            _side ??= new SideBuffer(settings.RdbCompression);
            int before = _side.Output.Written.Length;
            _values.Write(_side.Output, snapshot._keyspace.Databases[captured.Database], entry);
            int end = _side.Output.Written.Length;
            if (_side.Records is [.., (int last, _)] && last == captured.Database) _side.Records[^1] = (last, end);
            else _side.Records.Add((captured.Database, end));
            Interlocked.Increment(ref snapshot._writtenKeys);
            snapshot.NoteSide(end - before);
        }
    }

    // Works for a millisecond at a time, and rests as long while commands are executed.
    private struct Pace(Func<long> commands)
    {
        private long _start = Stopwatch.GetTimestamp();
        private long _commands = commands();

        internal void Rest()
        {
            if (Stopwatch.GetElapsedTime(_start).TotalMilliseconds < WorkTicksMs) return;
            long now = commands();
            if (now != _commands) Thread.Sleep(1);
            _commands = now;
            _start = Stopwatch.GetTimestamp();
        }
    }
}
