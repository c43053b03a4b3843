using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>One change of one key. The key's name is in the list that contains the change.</summary>
internal readonly record struct Change(KeyEvent Event, int Database, ulong Hash, int KeyStart, int KeyLength)
{
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
internal sealed class ChangeList
{
    private readonly List<Change> _changes = [];
    private byte[] _names = new byte[256];
    private int _namesLength;
    private int _emptied; // removals of emptied keys in the list
    private bool _recording;

    /// <summary>The id of the client whose commands are executing; 0: none.</summary>
    internal long ClientId { get; set; }

    internal int Count => _changes.Count;

    internal Change this[Index index] => _changes[index];

    internal ReadOnlySpan<byte> KeyOf(in Change change) => _names.AsSpan(change.KeyStart, change.KeyLength);

    internal void Add(KeyEvent keyEvent, int database, ulong hash, ReadOnlySpan<byte> key)
    {
        if (!_recording) return;
        int emptied = _emptied > 0 && keyEvent != KeyEvent.New ? IndexOfEmptied(new KeyIdentity(database, hash)) : -1;
        _changes.Add(new Change(keyEvent, database, hash, Keep(key), key.Length));
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

    /// <summary>Begins an invocation.</summary>
    internal void Reset(bool recording)
    {
        _recording = recording;
        _changes.Clear();
        _namesLength = 0;
        _emptied = 0;
    }

    // A key that was created again after its removal is not gone.
    private int IndexOfEmptied(KeyIdentity key)
    {
        int last = _changes.FindLastIndex(change => change.Identity == key && change.Event is KeyEvent.Del or KeyEvent.New);
        return last >= 0 && _changes[last].Event == KeyEvent.Del ? last : -1;
    }

    private int Keep(ReadOnlySpan<byte> key)
    {
        if (_names.Length - _namesLength < key.Length) Array.Resize(ref _names, Math.Max(_names.Length * 2, _namesLength + key.Length));
        key.CopyTo(_names.AsSpan(_namesLength));
        _namesLength += key.Length;
        return _namesLength - key.Length;
    }
}
