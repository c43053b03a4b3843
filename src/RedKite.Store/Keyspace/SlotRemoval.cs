using System.Diagnostics;

namespace RedKite.Store.Keyspace;

/// <summary>
/// One loop's share of the removal of keys whose slots are not this node's any more (<see cref="Keyspace.RemovedSlots"/>): slot by slot, in short slices under one stripe's lock. The slots are read again with
/// the lock held, so that nothing is removed of a slot that has come back.
/// </summary>
internal sealed class SlotRemoval
{
    // The keys that are removed at once: some ten microseconds, as with expired ones. A large value is freed later, in slices of its own.
    private const int KeysPerSlice = 32;

    // How long nothing is removed when slots have just gone: their clients are being redirected, and a loop that removes is not there for them.
    private const int RestMs = 100;

    private readonly Keyspace _keyspace;
    private readonly int _firstStripe;
    private readonly int _step;
    private readonly EntryList _entries = new();
    private SlotWalk? _walk;
    private int _slot = KeySlot.None; // that it walks over
    private int _database;
    private int _stripe;
    private SlotSet _removed = SlotSet.Empty; // when it last looked
    private long _dueAt;

    /// <summary>A removal in the stripes <paramref name="firstStripe"/>, + <paramref name="step"/>, ...</summary>
    internal SlotRemoval(Keyspace keyspace, int firstStripe, int step) => (_keyspace, _firstStripe, _stripe, _step) = (keyspace, firstStripe, firstStripe, step);

    /// <summary>The keys that were removed so far.</summary>
    internal long Keys { get; private set; }

    /// <summary>Works until the deadline (a <see cref="Stopwatch"/> time), or until there is nothing left that can be removed now.</summary>
    /// <returns>Whether the deadline was reached.</returns>
    internal bool Run(long deadline, Func<int, bool> tryEnter, Action<int> exit)
    {
        if (!IsDue(_keyspace.RemovedSlots ?? SlotSet.Empty)) return false;
        int passed = 0; // stripes without such keys, or that are busy; a loop may have no stripe of its own
        while (_keyspace.RemovedSlots is { } removed && _stripe < _keyspace.Stripes.Length && passed < _keyspace.Stripes.Length)
        {
            if (!HasKeys(removed) || !tryEnter(_stripe))
            {
                _stripe += _step;
                if (_stripe >= _keyspace.Stripes.Length) _stripe = _firstStripe;
                passed += _step;
                continue;
            }

            RemoveSlice();
            exit(_stripe);
            passed = 0;
            if (Stopwatch.GetTimestamp() >= deadline) return true;
        }

        return false;
    }

    private bool IsDue(SlotSet removed)
    {
        long now = Stopwatch.GetTimestamp();
        if (removed != _removed && !removed.Without(_removed).IsEmpty) _dueAt = now + (RestMs * Stopwatch.Frequency / 1000);
        _removed = removed;
        return now >= _dueAt;
    }

    // Finds the next slot of the stripe that has keys to remove, which is usually the one before.
    private bool HasKeys(SlotSet removed)
    {
        if (_slot != KeySlot.None && _slot % _keyspace.Stripes.Length == _stripe && removed.Contains(_slot) && _keyspace.Databases[_database].CountOfSlot(_slot) > 0) return true;
        _slot = KeySlot.None;
        for (int slot = _stripe; slot < KeySlot.Count; slot += _keyspace.Stripes.Length)
        {
            if (!removed.Contains(slot)) continue;
            foreach (Database database in _keyspace.Databases)
            {
                if (database.CountOfSlot(slot) == 0) continue;
                (_slot, _database, _walk) = (slot, database.Index, null);
                return true;
            }
        }

        return false;
    }

    // The stripe is locked.
    private void RemoveSlice()
    {
        if (_keyspace.RemovedSlots?.Contains(_slot) != true) return;
        Database database = _keyspace.Databases[_database];
        if (_walk is null or { IsComplete: true }) _walk = new SlotWalk(_keyspace, database, new SlotRange(_slot, _slot)); // from the start again: a key was added meanwhile
        while (_walk.Stripe < _stripe) _walk.Next(_entries); // others have none of its keys
        _entries.Clear();
        while (_walk.Stripe == _stripe && _entries.Count < KeysPerSlice) _walk.Next(_entries);
        foreach (Entry entry in _entries)
        {
            database.UnlinkOfSlot(entry.Key, _keyspace.Hash(entry.Key));
            Keys++;
        }

        _entries.Clear();
        while (_walk is { IsComplete: false } && _walk.Stripe > _stripe) _walk.Next(_entries);
    }
}
