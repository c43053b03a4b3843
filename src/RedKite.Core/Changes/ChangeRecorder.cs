using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>Records the changes that the store makes by itself: keys and fields that expired, collections that became empty, new keys.</summary>
internal sealed class ChangeRecorder(ChangeList changes, EffectWriter expiries, ValueChanges values) : KeyspaceObserver
{
    private ulong _changingHash;
    private DataType _changingType;

    // What is overwritten was reported here before.
    internal override void BeforeChange(Database database, ulong hash, scoped in Entry entry)
    {
        (_changingHash, _changingType) = (hash, entry.Type);
        values.NoteChange(database, hash, entry);
    }

    internal override void BeforeFlush(Database database, int stripe) => values.NoteFlush(database);

    internal override void Swapped(Database first, Database second) => values.NoteSwap(first, second);

    internal override void Replaced(Database database) => values.NoteReplaced(database);

    internal override void Added(Database database, ulong hash, ReadOnlySpan<byte> key)
    {
        values.NoteAdded(database, hash, key);
        changes.Add(KeyEvent.New, database.Index, hash, key);
    }

    internal override void Removed(Database database, ulong hash, ReadOnlySpan<byte> key, UnlinkReason reason)
    {
        switch (reason)
        {
            case UnlinkReason.Emptied:
                changes.AddEmptied(database.Index, hash, key);
                break;
            case UnlinkReason.Expired:
                changes.Add(KeyEvent.Expired, database.Index, hash, key);
                expiries.Begin(database.Index, 2, "DEL"u8, slot: database.SlotOf(hash)).Argument(key);
                break;
            case UnlinkReason.Evicted:
                changes.Add(KeyEvent.Evicted, database.Index, hash, key);
                expiries.Begin(database.Index, 2, "DEL"u8, slot: database.SlotOf(hash)).Argument(key);
                break;
            case UnlinkReason.Moved or UnlinkReason.Flushed:
                changes.Add(reason == UnlinkReason.Moved ? KeyEvent.Silent : KeyEvent.Del, database.Index, hash, key);
                expiries.Begin(database.Index, 2, "DEL"u8, slot: database.SlotOf(hash)).Argument(key);
                break;
            case UnlinkReason.Overwritten:
                if (_changingHash == hash) changes.NoteOverwritten(database, hash, _changingType);
                break;
            case UnlinkReason.Deleted:
            case UnlinkReason.Renamed:
                break; // The command reports it under its own name.
        }
    }

    internal override void FieldExpired(Database database, DataType type, ulong hash, ReadOnlySpan<byte> key, ReadOnlySpan<byte> field)
    {
        // One event for all fields of a hash, or members of a set, that expire together.
        KeyEvent expired = type == DataType.Set ? KeyEvent.SExpired : KeyEvent.HExpired;
        changes.AddExpired(expired, database.Index, hash, key, field);
        expiries.Begin(database.Index, 3, type == DataType.Set ? "SREM"u8 : "HDEL"u8, slot: database.SlotOf(hash)).Argument(key).Argument(field);
    }
}
