using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>
/// A snapshot's part in one stripe: what commands write to it or hand over to it, and the value that the walk is writing in slices.
/// The stripe is locked in every call.
/// </summary>
internal sealed class StripeBarrier(SnapshotState snapshot, Stripe stripe, EntryWriter values) : SnapshotBarrier, IDisposable
{
    private readonly Queue<FrontValue> _wanted = new();
    private readonly Queue<FrontValue> _taken = new();
    private SideBuffer? _side;

    internal Stripe Stripe => stripe;

    /// <summary>The value that the walk is writing in slices; null: none. Only the walk sets it.</summary>
    internal SlicedValue? Sliced { get; private set; }

    /// <summary>The walk begins to write a value in slices: nothing of the stripe moves until it ends.</summary>
    internal void BeginSlices(SlicedValue sliced)
    {
        stripe.Pin();
        Sliced = sliced;
    }

    internal void EndSlices()
    {
        Sliced = null;
        stripe.Unpin();
    }

    /// <summary>Entries that were written because they were about to change. The walk empties it; null: there were none since.</summary>
    internal SideBuffer? TakeSide()
    {
        SideBuffer? side = _side;
        _side = null;
        return side;
    }

    /// <summary>The next value that the walk writes before others: one that a command waits for, or one that was removed.</summary>
    internal bool TryTakeFront(bool isWanted, out FrontValue value) => (isWanted ? _wanted : _taken).TryDequeue(out value);

    /// <summary>Whether a command may begin to change a key. If not, the walk writes the key's value next.</summary>
    internal bool TryPass(Database database, ulong hash)
    {
        if (snapshot.Fails) return true;
        Entry entry = database.FindByHash(hash);
        if (!entry.Exists || entry.Epoch == stripe.Epoch) return true;
        if (Sliced?.Entry == entry.Address)
        {
            snapshot.NoteAwaited();
            return false;
        }

        if (!snapshot.IsLarge(entry) || snapshot.TableOf(database, hash) is not { } table || !table.Holds(entry)) return true;
        var wanted = new FrontValue(table, hash, Taken: 0, CountedBytes: 0);
        if (!_wanted.Contains(wanted)) _wanted.Enqueue(wanted);
        snapshot.NoteWanted();
        return false;
    }

    internal override void BeforeChange(Table table, ulong hash, scoped in Entry entry)
    {
        if (Sliced is { } sliced && sliced.Entry == entry.Address) snapshot.NoteSide(sliced.Complete(snapshot));
        else if (!snapshot.Fails && snapshot.TableOf(table) is { } captured && captured.Holds(entry)) Write(captured, entry);
    }

    internal override bool TryTake(Table table, ulong hash, scoped in Entry entry)
    {
        if (Sliced is { } sliced && sliced.Entry == entry.Address)
        {
            sliced.Take(snapshot.CountTaken(entry));
            return true;
        }

        if (snapshot.Fails || snapshot.TableOf(table) is not { } captured || !captured.Holds(entry)) return false;
        if (snapshot.IsLarge(entry))
        {
            _taken.Enqueue(new FrontValue(captured, hash, entry.Address, snapshot.CountTaken(entry)));
            return true;
        }

        Write(captured, entry);
        return false;
    }

    internal override bool TryTake(Table table)
    {
        if (snapshot.TableOf(table) is not { IsWritten: false } captured) return false;
        captured.Own();
        return true;
    }

    public void Dispose()
    {
        values.Dispose();
        _side?.Dispose();
    }

    private void Write(CapturedTable table, Entry entry)
    {
        _side ??= new SideBuffer();
        snapshot.NoteSide(_side.Write(values, snapshot.DatabaseOf(table), entry));
        snapshot.NoteWritten();
    }
}

/// <summary>A value that the walk writes before others: commands wait for it, or its entry was removed and belongs to the snapshot.</summary>
/// <param name="Table">The table that has the entry, or had it.</param>
/// <param name="Hash">The key's hash.</param>
/// <param name="Taken">The block of a removed entry; 0: the entry is in the table.</param>
/// <param name="CountedBytes">What a removed entry counts towards <see cref="SnapshotState.SideBytesMax"/>.</param>
internal readonly record struct FrontValue(CapturedTable Table, ulong Hash, nint Taken, int CountedBytes);

/// <summary>The value that the walk is writing in slices.</summary>
/// <param name="table">The table of its entry at the snapshot point.</param>
/// <param name="entry">The entry's block, which stays where it is until the value is written.</param>
/// <param name="values">Has the state between two slices.</param>
internal sealed class SlicedValue(CapturedTable table, nint entry, EntryWriter values)
{
    internal CapturedTable Table => table;

    internal nint Entry => entry;

    /// <summary>Whether the entry was removed, so that the snapshot frees it.</summary>
    internal bool IsTaken { get; private set; }

    /// <inheritdoc cref="FrontValue.CountedBytes"/>
    internal int CountedBytes { get; private set; }

    /// <summary>Whether a command that did not wait has completed it: the walk must no longer look at the entry.</summary>
    internal bool IsComplete { get; private set; }

    /// <summary>What such a command has written; null: nothing.</summary>
    internal RdbOutput? Rest { get; private set; }

    internal void Take(int countedBytes)
    {
        IsTaken = true;
        CountedBytes = countedBytes;
    }

    /// <summary>Writes all that is left: a script, say, is about to change the value of a key that it has not declared.</summary>
    /// <returns>The bytes that wait now.</returns>
    internal int Complete(SnapshotState snapshot)
    {
        IsComplete = true;
        if (snapshot.Fails)
        {
            values.Abandon();
            return 0;
        }

        Rest = RdbOutput.NewCollector();
        values.WriteRest(Rest);
        return Rest.Written.Length;
    }
}

/// <summary>Entries of a stripe that commands wrote because they were about to change, with the databases that they are of.</summary>
internal sealed class SideBuffer : IDisposable
{
    private readonly List<(int Database, int End)> _records = [];

    /// <summary>Writes an entry, and returns the bytes that it took.</summary>
    internal int Write(EntryWriter values, Database database, Entry entry)
    {
        int before = Output.Written.Length;
        values.Write(Output, database, entry);
        int end = Output.Written.Length;
        if (_records is [.., (int last, _)] && last == database.Index) _records[^1] = (last, end);
        else _records.Add((database.Index, end));
        return end - before;
    }

    internal RdbOutput Output { get; } = RdbOutput.NewCollector();

    internal IReadOnlyList<(int Database, int End)> Records => _records;

    public void Dispose() => Output.Dispose();
}
