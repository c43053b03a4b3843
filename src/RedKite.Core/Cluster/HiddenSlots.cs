using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Cluster;

/// <summary>
/// Which slots have keys here that clients do not see, and which of them the background removes: those that another node has now, and those that are received from one. On a replica that is every slot that its
/// primary does not have: only the primary removes. Keys of slots that another node may serve are not seen either, and stay.
/// </summary>
/// <remarks>
/// <para>A slot that comes back leaves the removed ones before the new routing is in force, so no command writes to a slot whose keys are removed. A slot without an owner keeps its keys, as in Redis.</para>
/// <para>Slots are received while this node is a primary and another node has all of them. A routing by which that is not so makes the reception fail before it is in force, also if the next one undoes it: what was received may
/// have been removed in between, or clients may have written to it.</para>
/// </remarks>
internal sealed class HiddenSlots(Keyspace keyspace)
{
    private readonly Lock _changing = new();
    private SlotSet _removed = SlotSet.Empty;
    private readonly List<SlotReception> _receptions = [];
    private SlotSet _received = SlotSet.Empty; // not those that clients use since
    private SlotSet _elsewhere = SlotSet.Empty; // on a replica
    private SlotSet _doubtful = SlotSet.Empty; // another node may have them, and its clients may have changed their keys
    private SlotSet _awaited = SlotSet.Empty; // the same: their former owner
    private SlotRouting? _routing;
    private SlotRemovals _removals;

    /// <summary>What has been removed, and is.</summary>
    internal SlotRemovals Removals
    {
        get
        {
            lock (_changing) return _removals.IsRunning ? _removals with { KeysLeft = CountKeys(_removed) } : _removals with { Keys = 0 };
        }
    }

    /// <summary>Another routing is about to be in force.</summary>
    internal void Prepare(SlotRouting next)
    {
        lock (_changing)
        {
            SlotRouting? old = _routing;
            _routing = next;
            if (old is not null && next.HasOwnersOf(old) && next.Doubtful == old.Doubtful && next.Awaited == old.Awaited) return; // slots are held, or no more
            FailReceptions(next);
            SlotSet gone = SlotSet.Of(slot => old is not null && Had(old, slot) && IsElsewhere(next, slot));
            _removed = _removed.With(gone).Without(SlotSet.Of(slot => !IsElsewhere(next, slot)));
            _received = _received.Without(SlotSet.Of(slot => next.OwnerOf(slot) == next.Self));
            if (next.Primary != SlotRouting.NoNode) _removed = _received = SlotSet.Empty;
            else if (old is { Primary: not SlotRouting.NoNode }) _removed = _removed.With(Foreign(next));
            _elsewhere = next.Primary == SlotRouting.NoNode ? SlotSet.Empty : SlotSet.Of(slot => next.OwnerOf(slot) is var owner && owner != SlotRouting.NoNode && owner != next.Primary && owner != next.Self);
            _doubtful = next.Doubtful ?? SlotSet.Empty;
            _awaited = next.Awaited ?? SlotSet.Empty;
            Apply();
        }
    }

    /// <summary>Whether a slot has keys here that are being removed. If it were to come key by key now, they would be taken for those that have come.</summary>
    internal bool IsRemoving(int slot)
    {
        lock (_changing) return _removed.Contains(slot) && CountKeys(slot) > 0;
    }

    /// <summary>Has the keys removed that were loaded and are of other nodes' slots.</summary>
    internal void RemoveForeign()
    {
        lock (_changing)
        {
            if (_routing is not { Primary: SlotRouting.NoNode } routing) return;
            _removed = _removed.With(Foreign(routing));
            Apply();
        }
    }

    /// <summary>Begins to receive slots, unless some of their keys are here, or another node does not have all of them.</summary>
    internal bool BeginReceiving(SlotReception reception)
    {
        SlotSet slots = reception.Slots;
        lock (_changing)
        {
            if (_routing is not { } routing || FaultOf(reception, routing) is not null || _received.Overlaps(slots)) return false;
            _removed = WithKeys(_removed);
            if (_removed.Overlaps(slots) || !WithKeys(slots).IsEmpty) return false;
            _receptions.Add(reception);
            _received = _received.With(slots);
            Apply(areEmptied: true);
            return true;
        }
    }

    /// <summary>Ends that. What was received of slots that have not become this node's is removed.</summary>
    internal void EndReceiving(SlotReception reception)
    {
        lock (_changing)
        {
            _receptions.Remove(reception);
            SlotSet left = SlotSet.Of(slot => reception.Slots.Contains(slot) && _received.Contains(slot)); // not those that are this node's now
            _received = _received.Without(left);
            if (_routing is { Primary: SlotRouting.NoNode }) _removed = _removed.With(left);
            Apply();
        }
    }

    /// <summary>Forgets the slots whose keys are all removed.</summary>
    internal void Tidy()
    {
        if (keyspace.RemovedSlots is null) return;
        lock (_changing)
        {
            _removed = WithKeys(_removed);
            Apply(areEmptied: true);
        }
    }

    private static bool Had(SlotRouting routing, int slot) => (routing.OwnerOf(slot) is var owner && owner != SlotRouting.NoNode && owner == routing.Self) || routing.Doubtful?.Contains(slot) == true;

    // Slots that come key by key, by SETSLOT, are seen as in Redis.
    private static bool IsElsewhere(SlotRouting routing, int slot) => routing.OwnerOf(slot) is var owner && owner != SlotRouting.NoNode && owner != routing.Self && !routing.Importing.ContainsKey(slot);

    private void FailReceptions(SlotRouting next) => _receptions.RemoveAll(reception =>
    {
        if (FaultOf(reception, next) is not { } fault) return false;
        reception.Fail(fault);
        return true;
    });

    private static string? FaultOf(SlotReception reception, SlotRouting routing)
    {
        if (routing.Primary != SlotRouting.NoNode) return "the destination is no primary any more";
        return reception.Slots.Slots().All(slot => IsElsewhere(routing, slot)) ? null : "the destination has been given some of the slots";
    }

    private SlotSet Foreign(SlotRouting routing) => WithKeys(SlotSet.Of(slot => IsElsewhere(routing, slot)).Without(_received));

    private SlotSet WithKeys(SlotSet slots)
    {
        if (slots.IsEmpty) return slots;
        return SlotSet.Of(slot =>
        {
            if (!slots.Contains(slot)) return false;
            foreach (Database database in keyspace.Databases)
            {
                if (database.CountOfSlot(slot) > 0) return true;
            }

            return false;
        });
    }

    private long CountKeys(SlotSet slots)
    {
        long count = 0;
        for (int slot = 0; slot < KeySlot.Count; slot++)
        {
            if (slots.Contains(slot)) count += CountKeys(slot);
        }

        return count;
    }

    private long CountKeys(int slot)
    {
        long count = 0;
        foreach (Database database in keyspace.Databases) count += database.CountOfSlot(slot);
        return count;
    }

    // A removal ends when its last slot is empty, or has come back. Slots without keys have none.
    private void Apply(bool areEmptied = false)
    {
        if (!_removals.IsRunning && CountKeys(_removed) is > 0 and var keys) _removals = _removals with { IsRunning = true, Keys = keys, Started = _removals.Started + 1 };
        else if (_removals.IsRunning && _removed.IsEmpty)
        {
            _removals.IsRunning = false;
            if (areEmptied) _removals.Completed++;
            else _removals.Canceled++;
        }

        SlotSet hidden = _removed.With(_received).With(_elsewhere).With(_doubtful).With(_awaited);
        keyspace.RemovedSlots = _removed.IsEmpty ? null : _removed;
        keyspace.HiddenSlots = hidden.IsEmpty ? null : hidden;
    }
}

/// <summary>The removals of keys that other nodes' slots have here. One goes on until there is nothing left to remove.</summary>
internal record struct SlotRemovals
{
    internal bool IsRunning;
    internal long Keys; // when the one that is running began
    internal long KeysLeft;
    internal long Started;
    internal long Completed;
    internal long Canceled;
}
