using RedKite.Store.Keyspace;

namespace RedKite.Server.Durability;

/// <summary>A table at the cut, and how far it was walked. Its stripe is locked whenever it is used.</summary>
internal sealed class CapturedTable(Table table, int database, int stripe)
{
    internal Table Table => table;

    /// <summary>The database that the table belonged to.</summary>
    internal int Database => database;

    internal int Stripe => stripe;

    internal TableCursor Cursor { get; set; }

    /// <summary>Whether the table was detached from its database, and is dropped when it is written.</summary>
    internal bool IsOwned { get; set; }

    internal bool IsWritten { get; set; }
}
