using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>A table at the snapshot point, and how far it was walked. Its stripe is locked whenever it is used.</summary>
/// <param name="table">The table.</param>
/// <param name="database">The database that it belonged to.</param>
/// <param name="stripe">Its stripe.</param>
/// <param name="range">What of the data the snapshot writes.</param>
internal sealed class CapturedTable(Table table, int database, int stripe, SnapshotRange range)
{
    private readonly bool _isWritten = range.HasDatabase(database);

    internal Table Table => table;

    /// <summary>Whether the snapshot writes an entry of the table.</summary>
    internal bool Holds(scoped in Entry entry) => _isWritten && range.Keys?.Invoke(entry.Key) != false;

    /// <summary>The database that the table belonged to.</summary>
    internal int Database => database;

    internal int Stripe => stripe;

    internal TableCursor Cursor { get; private set; }

    /// <summary>Whether the table was detached from its database, and is dropped when it is written.</summary>
    internal bool IsOwned { get; private set; }

    internal bool IsWritten { get; private set; }

    /// <summary>The walk has come so far.</summary>
    internal void MoveTo(TableCursor cursor) => Cursor = cursor;

    /// <summary>It is detached from its database, and the snapshot's to drop.</summary>
    internal void Own() => IsOwned = true;

    /// <summary>The walk has come to its end.</summary>
    internal void EndWalk() => IsWritten = true;
}
