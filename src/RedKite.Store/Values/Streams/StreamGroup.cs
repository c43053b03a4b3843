using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>A stream's consumer group as handlers see it.</summary>
internal readonly unsafe ref struct StreamGroup
{
    private readonly Arena _arena;
    private readonly ReleasedValues _released;
    private readonly StreamData* _stream;
    private readonly StreamGroupData* _group;

    internal StreamGroup(Arena arena, ReleasedValues released, StreamData* stream, StreamGroupData* group)
    {
        _arena = arena;
        _released = released;
        _stream = stream;
        _group = group;
    }

    internal bool Exists => _group != null;

    internal ReadOnlySpan<byte> Name => NamedTable.NameOf((byte*)_group);

    /// <summary>The last id that was delivered to any consumer.</summary>
    internal StreamId LastId => _group->LastId;

    /// <summary>How many of the stream's entries were read; -1: unknown.</summary>
    internal long EntriesRead => _group->EntriesRead;

    /// <summary>The number of entries that the group has not read yet; null: unknown.</summary>
    internal long? Lag => StreamProgress.Lag(_stream, _group);

    internal long PendingCount => _group->Pending.Count;

    internal int ConsumerCount => _group->Consumers.Count;

    internal void SetLastId(in StreamId id) => _group->LastId = id;

    internal void SetEntriesRead(long count) => _group->EntriesRead = count;

    /// <summary>Notes that the group has read up to an entry.</summary>
    internal void Advance(in StreamId id) => StreamProgress.Advance(_stream, _group, id);

    /// <summary>A consumer by its index in the order of names.</summary>
    internal StreamConsumer ConsumerAt(int index) => new((StreamConsumerData*)_group->Consumers[index]);

    /// <summary>A consumer by its name; one that does not exist if there is none.</summary>
    internal StreamConsumer FindConsumer(ReadOnlySpan<byte> name) => new((StreamConsumerData*)_group->Consumers.Find(name));

    /// <summary>A consumer by its name, created if there is none.</summary>
    internal StreamConsumer FindOrCreateConsumer(ReadOnlySpan<byte> name, long nowMs, out bool isNew)
    {
        isNew = !_group->Consumers.TryFind(name, out int index);
        if (isNew) _group->Consumers.Insert(_arena, index, (byte*)StreamConsumerData.Create(_arena, name, nowMs));
        return new StreamConsumer((StreamConsumerData*)_group->Consumers[index]);
    }

    /// <summary>Removes a consumer and returns the number of entries that were pending for it; 0 if it does not exist.</summary>
    internal long RemoveConsumer(ReadOnlySpan<byte> name, out bool existed)
    {
        existed = _group->Consumers.TryFind(name, out int index);
        if (!existed) return 0;
        long pending = ((StreamConsumerData*)_group->Consumers[index])->Pending.Count;
        if (pending > 0 && pending == _group->Pending.Count) _released.Release(StreamGroupData.SplitConsumer(_group, _arena, index));
        else StreamGroupData.RemoveConsumer(_group, _arena, index);
        return pending;
    }

    /// <summary>A pending entry; one that does not exist if the id is not pending.</summary>
    internal PendingEntry FindPending(in StreamId id) => new((StreamPending*)_group->Pending.Find(id));

    /// <summary>Adds a pending entry for a consumer; the id is not pending yet.</summary>
    internal void AddPending(in StreamId id, StreamConsumer consumer, long deliveredMs, long deliveries) =>
        StreamGroupData.AddPending(_group, _arena, id, consumer.Data, deliveredMs, deliveries);

    /// <summary>Removes what <see cref="TryAddPending"/> has made pending and no consumer got.</summary>
    internal void RemoveUnassigned()
    {
        PendingCursor cursor = Pending(default);
        while (cursor.MoveNext())
        {
            if (cursor.Entry.Data->Consumer == null) _group->Pending.Remove(_arena, cursor.Id);
        }
    }

    /// <summary>Makes an id pending without a consumer until <see cref="TryAssignPending"/>; false if it is already pending. For reading dumps.</summary>
    internal bool TryAddPending(in StreamId id, long deliveredMs, long deliveries) => StreamGroupData.TryAddPending(_group, _arena, id, deliveredMs, deliveries);

    /// <summary>Assigns a pending id without a consumer to a consumer; false if there is no such id.</summary>
    internal bool TryAssignPending(in StreamId id, StreamConsumer consumer) => StreamGroupData.TryAssignPending(_group, _arena, id, consumer.Data);

    /// <summary>Assigns a pending entry to a consumer, with a new delivery history.</summary>
    internal void GivePending(in StreamId id, PendingEntry pending, StreamConsumer consumer, long deliveredMs, long deliveries)
    {
        StreamGroupData.MovePending(_arena, id, pending.Data, consumer.Data);
        pending.Data->DeliveredMs = deliveredMs;
        pending.Data->Deliveries = deliveries;
        _group->NoteDelivery(deliveredMs);
    }

    /// <summary>Removes a pending entry; false if the id is not pending.</summary>
    internal bool RemovePending(in StreamId id) => StreamGroupData.RemovePending(_group, _arena, id);

    /// <summary>The group's pending entries from an id on.</summary>
    internal PendingCursor Pending(in StreamId low) => new(_group, &_group->Pending, low);

    /// <summary>A consumer's pending entries from an id on.</summary>
    internal PendingCursor PendingOf(StreamConsumer consumer, in StreamId low) => new(_group, &consumer.Data->Pending, low);

    /// <summary>Whether an entry may have been pending since a time: no entry that was delivered by then exists if not.</summary>
    internal bool MayHavePendingSince(long deliveredMs) => _group->Pending.Count > 0 && _group->DeliveredMsMin <= deliveredMs;

    /// <summary>A time before which no pending entry was delivered; the maximum: none is pending.</summary>
    internal long EarliestDeliveryMs => _group->Pending.Count > 0 ? _group->DeliveredMsMin : long.MaxValue;

    /// <summary>Sets the earliest delivery of all that is pending, which was just found.</summary>
    internal void SetEarliestDelivery(long deliveredMs) => _group->DeliveredMsMin = deliveredMs;

    /// <summary>The highest pending id; there is one.</summary>
    internal StreamId LastPendingId => _group->Pending.SeekLast(out IdTree.IdPosition position) ? position.Id : default;
}

/// <summary>A consumer of a group as handlers see it.</summary>
internal readonly unsafe ref struct StreamConsumer
{
    internal StreamConsumer(StreamConsumerData* data) => Data = data;

    internal StreamConsumerData* Data { get; }

    internal bool Exists => Data != null;

    internal ReadOnlySpan<byte> Name => NamedTable.NameOf((byte*)Data);

    /// <summary>When it last tried to read or claim, in Unix milliseconds.</summary>
    internal long SeenMs => Data->SeenMs;

    /// <summary>When it last received an entry; -1: never.</summary>
    internal long ActiveMs => Data->ActiveMs;

    internal long PendingCount => Data->Pending.Count;

    internal void Seen(long nowMs) => Data->SeenMs = nowMs;

    internal void GotSomething(long nowMs) => Data->ActiveMs = nowMs;
}

/// <summary>An entry that was delivered and not acknowledged, as handlers see it. Valid until another entry becomes pending or is no longer pending.</summary>
internal readonly unsafe ref struct PendingEntry
{
    internal PendingEntry(StreamPending* data) => Data = data;

    internal StreamPending* Data { get; }

    internal bool Exists => Data != null;

    internal StreamConsumer Consumer => new(Data->Consumer);

    internal long DeliveredMs => Data->DeliveredMs;

    internal long Deliveries => Data->Deliveries;

    /// <summary>The number of deliveries with another one. A refused entry may have the highest number.</summary>
    internal long DeliveriesWithNext => Data->Deliveries == long.MaxValue ? long.MaxValue : Data->Deliveries + 1;

    /// <summary>Notes another delivery to the same consumer.</summary>
    internal void DeliveredAgain(long nowMs)
    {
        Data->DeliveredMs = nowMs;
        Data->Deliveries = DeliveriesWithNext;
    }
}

/// <summary>Iterates over pending entries in ascending order. The current entry may be removed or reassigned; nothing else may change.</summary>
internal unsafe ref struct PendingCursor
{
    private readonly StreamGroupData* _group;
    private readonly IdTree* _tree;
    private readonly StreamId _low;
    private IdTree.IdPosition _position;
    private StreamId _id;
    private long _countBefore;
    private bool _started;

    internal PendingCursor(StreamGroupData* group, IdTree* tree, in StreamId low)
    {
        _group = group;
        _tree = tree;
        _low = low;
    }

    internal readonly StreamId Id => _id;

    /// <summary>The entry that the cursor is on.</summary>
    internal readonly PendingEntry Entry =>
        new((StreamPending*)(_tree == &_group->Pending ? _position.Value : _group->Pending.Find(_id)));

    internal bool MoveNext()
    {
        bool found;
        if (!_started)
        {
            _started = true;
            found = _tree->SeekCeiling(_low, out _position);
        }
        else if (_tree->Count != _countBefore)
        {
            found = _id.TryNext(out StreamId next) && _tree->SeekCeiling(next, out _position);
        }
        else
        {
            found = _tree->MoveNext(ref _position);
        }

        _countBefore = _tree->Count;
        if (found) _id = _position.Id;
        return found;
    }
}
