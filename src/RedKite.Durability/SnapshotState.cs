using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// What a snapshot's walk and its part in each stripe share: the tables at the snapshot point, whether it is still being written, what commands wait for, and what waits in memory.
/// The walk has a thread of its own; the rest is called by commands, with the stripe locked.
/// </summary>
internal sealed class SnapshotState(Keyspace keyspace, WriteGate gate, SnapshotBounds bounds)
{
    /// <summary>The most bytes of entries that were changed or removed before they were written.</summary>
    internal const long SideBytesMax = 64L << 20;

    // What a removed value counts at most: one of many gigabytes alone does not make commands wait.
    private const int TakenBytesCountedMax = 8 << 20;

    private readonly Dictionary<Table, CapturedTable> _tables = new(ReferenceEqualityComparer.Instance);
    private long _sideBytes;
    private long _writtenKeys;
    private volatile bool _fails;
    private volatile bool _isAwaited; // commands wait for a value
    private bool _hasWanted; // a stripe has a value that a command waits for
    private bool _hasTaken;  // a stripe has a value that was removed

    /// <summary>The keys that were written so far.</summary>
    internal long WrittenKeys => Volatile.Read(ref _writtenKeys);

    /// <summary>Bytes of old values that wait in memory.</summary>
    internal long SideBytes => Volatile.Read(ref _sideBytes);

    /// <summary>Whether nothing is written any more.</summary>
    internal bool Fails => _fails;

    /// <summary>Whether no command waits for the walk.</summary>
    internal bool MayRest => !_isAwaited && !gate.IsClosedBy(WriteHold.Snapshot);

    /// <summary>Nothing is written any more: what waits in memory is dropped.</summary>
    internal void Fail()
    {
        _fails = true;
        gate.Open(WriteHold.Snapshot);
    }

    /// <summary>Adds a table of the snapshot point. All stripes are locked.</summary>
    internal void Add(CapturedTable table) => _tables.Add(table.Table, table);

    internal CapturedTable? TableOf(Table table) => _tables.GetValueOrDefault(table);

    internal CapturedTable? TableOf(Database database, ulong hash) => database.TableIn(keyspace.StripeOf(hash)) is { } table ? TableOf(table) : null;

    /// <summary>The database of a table at the snapshot point.</summary>
    internal Database DatabaseOf(CapturedTable table) => keyspace.Databases[table.Database];

    /// <summary>Whether a value is written in slices rather than at once.</summary>
    internal bool IsLarge(scoped in Entry entry) => entry.MemoryBytes > bounds.LargeBytes;

    internal void NoteWritten() => Interlocked.Increment(ref _writtenKeys);

    /// <summary>A command waits for a value that is being written.</summary>
    internal void NoteAwaited() => _isAwaited = true;

    /// <summary>A command waits for a value that the walk finds at a stripe's front.</summary>
    internal void NoteWanted()
    {
        _isAwaited = true;
        NoteFront(isWanted: true);
    }

    /// <summary>A stripe has a value that is written before others: one that a command waits for, or one that was removed.</summary>
    internal void NoteFront(bool isWanted) => Volatile.Write(ref isWanted ? ref _hasWanted : ref _hasTaken, true);

    /// <summary>Whether a stripe may have such a value, since the last call.</summary>
    internal bool TakeFront(bool isWanted)
    {
        ref bool flag = ref isWanted ? ref _hasWanted : ref _hasTaken;
        if (!Volatile.Read(ref flag)) return false;
        Volatile.Write(ref flag, false);
        return true;
    }

    /// <summary>Counts a removed entry that the snapshot takes over.</summary>
    /// <returns>The bytes that it counts.</returns>
    internal int CountTaken(scoped in Entry entry)
    {
        var bytes = (int)Math.Min(entry.MemoryBytes, TakenBytesCountedMax);
        NoteFront(isWanted: false);
        NoteSide(bytes);
        return bytes;
    }

    /// <summary>Counts bytes that wait until the walk has moved them. With a stripe locked.</summary>
    internal void NoteSide(int bytes)
    {
        if (Interlocked.Add(ref _sideBytes, bytes) <= SideBytesMax || _fails || gate.IsClosedBy(WriteHold.Snapshot)) return;
        gate.CloseIf(WriteHold.Snapshot, () => SideBytes > SideBytesMax && !_fails); // the walk may have moved them meanwhile
    }

    /// <summary>Counts bytes that the walk has moved.</summary>
    internal void ReleaseSide(int bytes)
    {
        if (Interlocked.Add(ref _sideBytes, -bytes) < SideBytesMax / 2) gate.Open(WriteHold.Snapshot); // closing it is decided under its lock
    }

    /// <summary>Lets the commands go on that wait for a value: the walk has written one.</summary>
    internal void ResumeAwaiting()
    {
        if (!_isAwaited) return;
        _isAwaited = false;
        gate.Resume();
    }
}
