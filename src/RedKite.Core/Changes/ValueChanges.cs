using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Server.Changes;

/// <summary>
/// The keys whose values an invocation has changed, each once, and what it did to whole databases, in order: for the observers of values. It is filled in by what
/// the store reports, only while there are such observers.
/// </summary>
#pragma warning disable CA1001 // The names' memory is freed with its owner: as long as the process, or by the finalizer.
internal sealed class ValueChanges(Keyspace keyspace, ChangePublisher publisher)
#pragma warning restore CA1001
{
    private readonly List<Item> _items = [];
    private readonly HashSet<KeyIdentity> _seen = [];
    private readonly NativeBuffer _names = new();
    private bool _isOn;
    private bool _isReplacing;

    private enum ItemKind : byte
    {
        Key,
        Flush,
        Swap,
        Replace,
    }

    /// <summary>Forgets everything.</summary>
    /// <param name="isOn">Whether values are observed from now on.</param>
    internal void Reset(bool isOn)
    {
        _isOn = isOn;
        if (_items.Count == 0) return;
        _items.Clear();
        _seen.Clear();
        if (_names.Length > 0) _names.Clear();
    }

    /// <summary>A key's value is about to change.</summary>
    internal void NoteChange(Database database, ulong hash, scoped in Entry old)
    {
        if (TryNote(database, hash, old.Key)) publisher.Changing(database, hash, old);
    }

    internal void NoteAdded(Database database, ulong hash, ReadOnlySpan<byte> key) => TryNote(database, hash, key);

    /// <summary>A database is being flushed; called for each of its stripes.</summary>
    internal void NoteFlush(Database database)
    {
        if (!_isOn || _isReplacing || (_items.Count > 0 && _items[^1] is { Kind: ItemKind.Flush } last && last.Database == database.Index)) return;
        _items.Add(new Item(ItemKind.Flush, database.Index));
        _seen.Clear();
    }

    internal void NoteSwap(Database first, Database second)
    {
        if (!_isOn || _isReplacing) return;
        _items.Add(new Item(ItemKind.Swap, first.Index) { Other = second.Index });
        _seen.Clear();
    }

    internal void NoteReplaced(Database database)
    {
        if (!_isOn || _isReplacing) return;
        _items.RemoveAll(item => item.Kind == ItemKind.Flush && item.Database == database.Index);
        _items.Add(new Item(ItemKind.Replace, database.Index));
        _seen.Clear();
    }

    /// <summary>Until <see cref="EndReplacing"/>, a command loads all data anew, and keys are not noted.</summary>
    internal void BeginReplacing() => _isReplacing = true;

    internal void EndReplacing()
    {
        _isReplacing = false;
        foreach (Database database in keyspace.Databases) NoteReplaced(database);
    }

    /// <summary>Passes everything to an observer. The stripes are still locked.</summary>
    internal void Tell(IValueObserver observer)
    {
        foreach (Item item in _items)
        {
            Database database = keyspace.Databases[item.Database];
            switch (item.Kind)
            {
                case ItemKind.Key:
                    ReadOnlySpan<byte> key = _names.Written.Slice(item.KeyStart, item.KeyLength);
                    observer.Changed(database, item.Hash, key, database.Find(key, item.Hash, ExpiryClock.Never));
                    break;
                case ItemKind.Flush:
                    observer.Flushed(database);
                    break;
                case ItemKind.Swap:
                    observer.Swapped(database, keyspace.Databases[item.Other]);
                    break;
                default:
                    observer.Replaced(database);
                    break;
            }
        }
    }

    private bool TryNote(Database database, ulong hash, ReadOnlySpan<byte> key)
    {
        if (!_isOn || _isReplacing || !_seen.Add(new KeyIdentity(database.Index, hash))) return false;
        _items.Add(new Item(ItemKind.Key, database.Index) { Hash = hash, KeyStart = _names.Length, KeyLength = key.Length });
        _names.Write(key);
        return true;
    }

    private readonly record struct Item(ItemKind Kind, int Database)
    {
        internal int Other { get; init; }

        internal ulong Hash { get; init; }

        internal int KeyStart { get; init; }

        internal int KeyLength { get; init; }
    }
}
