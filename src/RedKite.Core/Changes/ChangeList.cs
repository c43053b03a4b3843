using RedKite.Protocol;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Server.Changes;

/// <summary>One change of one key. The key's name is in the list that contains the change, and so are the fields that it concerns.</summary>
internal readonly record struct Change(KeyEvent Event, int Database, ulong Hash, int KeyStart, int KeyLength)
{
    /// <summary>The first of its fields in the list, and how many there are; none unless they are recorded.</summary>
    internal int FieldsStart { get; init; }

    internal int FieldCount { get; init; }

    /// <summary>The key's identity, for tables of keys that clients wait for or watch.</summary>
    internal KeyIdentity Identity => new(Database, Hash);
}

/// <summary>
/// The changes of one invocation, in the order of Redis's notifications. It is filled in only while a locked stripe has
/// observers of events; otherwise changes are counted and nothing else.
/// </summary>
/// <remarks>
/// The store reports a collection that became empty at the moment at which it removes the key, which is before the handler
/// names its own event. Redis reports them in the opposite order: a removal of this kind moves behind every later event of
/// its key.
/// </remarks>
#pragma warning disable CA1001 // The names' memory is freed with its owner: as long as the process, or by the finalizer.
internal sealed class ChangeList(GlobBudget patternBudget)
#pragma warning restore CA1001
{
    private readonly List<Change> _changes = [];
    private readonly NativeBuffer _names = new();
    private int _emptied; // removals of emptied keys in the list
    private readonly List<(int Start, int Length)> _fields = []; // in the order of the changes
    private readonly List<(int Start, int Length)> _nextFields = []; // of the next change
    private readonly Dictionary<KeyIdentity, (Database Database, DataType Type)> _overwritten = []; // values that were replaced
    private bool _recording;
    private bool _recordsOverwritten;

    /// <summary>The steps that the patterns of subscribers may take for messages about these changes.</summary>
    internal GlobBudget PatternBudget => patternBudget;

    /// <summary>The id of the client whose commands are executing; 0: none.</summary>
    internal long ClientId { get; set; }

    /// <summary>Whether a script executes them for that client.</summary>
    internal bool IsOfScript { get; set; }

    internal int Count => _changes.Count;

    internal Change this[Index index] => _changes[index];

    internal ReadOnlySpan<byte> KeyOf(in Change change) => _names.Written.Slice(change.KeyStart, change.KeyLength);

    /// <summary>Whether the fields of hashes that commands change are recorded.</summary>
    internal bool RecordsFields { get; private set; }

    /// <summary>A field that a change concerns.</summary>
    internal ReadOnlySpan<byte> FieldOf(in Change change, int index)
    {
        (int start, int length) = _fields[change.FieldsStart + index];
        return _names.Written.Slice(start, length);
    }

    internal void Add(KeyEvent keyEvent, int database, ulong hash, ReadOnlySpan<byte> key)
    {
        if (!_recording) return;
        bool replaces = _overwritten.Count > 0 && (KeyEvents.IsWholeValue(keyEvent) || keyEvent == KeyEvent.Expire); // MSETEX reports the expiry first
        bool isReportedFirst = keyEvent is KeyEvent.CopyTo or KeyEvent.RenameTo or KeyEvent.Restore; // as in Redis
        if (replaces && !isReportedFirst) AddOverwritten(database, hash, key);
        int emptied = _emptied > 0 && keyEvent != KeyEvent.New ? IndexOfEmptied(new KeyIdentity(database, hash)) : -1;
        _changes.Add(new Change(keyEvent, database, hash, Keep(key), key.Length) { FieldsStart = _fields.Count, FieldCount = _nextFields.Count });
        if (_nextFields.Count > 0) TakeFields();
        if (replaces && isReportedFirst) AddOverwritten(database, hash, key);
        if (emptied < 0) return;
        Change removal = _changes[emptied];
        _changes.RemoveAt(emptied);
        _changes.Add(removal);
    }

    /// <summary>Adds the removal of a collection that became empty.</summary>
    internal void AddEmptied(int database, ulong hash, ReadOnlySpan<byte> key)
    {
        if (!_recording) return;
        _changes.Add(new Change(KeyEvent.Del, database, hash, Keep(key), key.Length));
        _emptied++;
    }

    /// <summary>Adds a field to those of the next change. Only if <see cref="RecordsFields"/>.</summary>
    internal void AddField(ReadOnlySpan<byte> field)
    {
        if (HasRoomFor(field)) _nextFields.Add((Keep(field), field.Length));
    }

    /// <summary>Adds an expired field or member. Those of a key that expire together are one change.</summary>
    internal void AddExpired(KeyEvent keyEvent, int database, ulong hash, ReadOnlySpan<byte> key, ReadOnlySpan<byte> field)
    {
        if (!_recording) return;
        bool isKnown = _changes.Count > 0 && _changes[^1].Event == keyEvent && _changes[^1].Identity == new KeyIdentity(database, hash);
        if (!isKnown) _changes.Add(new Change(keyEvent, database, hash, Keep(key), key.Length) { FieldsStart = _fields.Count });
        if (!RecordsFields || !HasRoomFor(field)) return;
        _fields.Add((Keep(field), field.Length));
        _changes[^1] = _changes[^1] with { FieldCount = _changes[^1].FieldCount + 1 };
    }

    /// <summary>Notes that a value is being replaced. It becomes a change together with the event of the command that replaces it.</summary>
    internal void NoteOverwritten(Database database, ulong hash, DataType type)
    {
        if (_recording && _recordsOverwritten) _overwritten[new KeyIdentity(database.Index, hash)] = (database, type);
    }

    /// <summary>Begins an invocation.</summary>
    /// <param name="recording">Whether changes are recorded at all.</param>
    /// <param name="overwritten">Whether values that are replaced as a whole are.</param>
    /// <param name="fields">Whether the fields that hash commands change are.</param>
    internal void Reset(bool recording, bool overwritten = false, bool fields = false)
    {
        _recording = recording;
        _recordsOverwritten = overwritten;
        RecordsFields = recording && fields;
        _overwritten.Clear();
        _fields.Clear();
        _nextFields.Clear();
        _changes.Clear();
        if (_names.Length > 0) _names.Clear();
        _emptied = 0;
    }

    // A key that was created again after its removal is not gone.
    private int IndexOfEmptied(KeyIdentity key)
    {
        int last = _changes.FindLastIndex(change => change.Identity == key && change.Event is KeyEvent.Del or KeyEvent.New);
        return last >= 0 && _changes[last].Event == KeyEvent.Del ? last : -1;
    }

    private void TakeFields()
    {
        _fields.AddRange(_nextFields);
        _nextFields.Clear();
    }

    // The key has its new value already.
    private void AddOverwritten(int database, ulong hash, ReadOnlySpan<byte> key)
    {
        if (!_overwritten.Remove(new KeyIdentity(database, hash), out (Database Database, DataType Type) old)) return;
        int start = Keep(key);
        _changes.Add(new Change(KeyEvent.Overwritten, database, hash, start, key.Length));
        Entry entry = old.Database.FindByHash(hash);
        if (entry.Exists && entry.Type != old.Type) _changes.Add(new Change(KeyEvent.TypeChanged, database, hash, start, key.Length));
    }

    // The data of one hash may be more than there is memory for its fields' names: the others are not told.
    private bool HasRoomFor(ReadOnlySpan<byte> field) => ScratchMemory.HasRoom((long)_names.Length + field.Length);

    private int Keep(ReadOnlySpan<byte> key)
    {
        int start = _names.Length;
        _names.Write(key);
        return start;
    }
}
