using System.Runtime.InteropServices;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// What a stream remembers of its producers, so that an entry that is added a second time is recognised: for each producer the ids that
/// it has given to its latest entries. A stream that was never asked to remember has <see cref="DurationSeconds"/> 0.
/// </summary>
/// <remarks>
/// An id is forgotten a duration after the time in its entry's id, and when its producer has given as many newer ones as are kept. Whether
/// it is remembered depends on the time alone; its memory is freed by later additions to the stream and by the sweep of what has expired.
/// An addition goes by its own entry's id, so that replicas, which have no sweep, free the same.
/// </remarks>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct StreamProducers
{
    /// <summary>The longest that an id is remembered.</summary>
    internal const int DurationSecondsMax = 86_400;

    /// <summary>The most ids that are remembered of a producer.</summary>
    internal const int IdsPerProducerMax = 10_000;

    // How many other producers an addition looks at, so that those that have stopped go while others add.
    private const int LooksPerAddition = 2;

    // Producers beyond which XINFO does not look for ids that are forgotten and not freed yet.
    private const int CountedMax = 4096;

    // Pointers that removing a producer moves in about the time in which an id is freed.
    private const int MovesPerStep = 64;

    // When a round of the sweep has not seen all producers, because some were added or removed meanwhile, the next one begins so much later.
    private const long NextRoundMs = 1000;

    internal NamedTable Items; // of StreamProducerData

    /// <summary>How long an id is remembered; 0: the stream does not remember any.</summary>
    internal int DurationSeconds;

    /// <summary>How many ids of each producer are remembered.</summary>
    internal int IdsMax;

    /// <summary>How many entries with an id were ever added.</summary>
    internal long Added;

    /// <summary>How many entries were recognised as added before.</summary>
    internal long Duplicates;

    private long _ids;
    private long _bytes; // of the producers with their ids
    private long _earliestMs; // a lower bound
    private long _roundEarliestMs; // of the producers that the round of the sweep has seen
    private int _roundNext;
    private bool _roundIsBroken;
    private int _lookNext;

    internal readonly bool Exist => DurationSeconds > 0;

    /// <summary>When the sweep should look for ids to forget; long.MaxValue: there are none.</summary>
    internal readonly long EarliestExpiryMs => _ids == 0 ? long.MaxValue : _earliestMs;

    internal readonly long Bytes => Items.Bytes + _bytes;

    /// <summary>Finds the entry to which a producer has given an id; false if it is not remembered at a time.</summary>
    internal readonly bool TryFind(KeyHasher hasher, ReadOnlySpan<byte> producer, ReadOnlySpan<byte> text, long nowMs, out StreamId id)
    {
        id = default;
        var item = (StreamProducerData*)Items.Find(producer);
        if (item == null) return false;
        ProducerEntry* entry = StreamProducerData.Find(item, text, (uint)hasher.Hash(text));
        if (entry == null || ExpiryOf(entry) <= nowMs) return false;
        id = entry->Id;
        return true;
    }

    /// <summary>Remembers the id that a producer has given to an entry, and forgets what is too old by that entry's time.</summary>
    internal void Remember(Arena arena, KeyHasher hasher, ReadOnlySpan<byte> producer, ReadOnlySpan<byte> text, in StreamId id)
    {
        long nowMs = TimeOf(id);
        StreamProducerData* item = FindOrAdd(arena, producer, out _);
        ForgetExpired(arena, item, nowMs);
        Add(arena, hasher, item, text, id);
        Added++;
        LookAtOthers(arena, nowMs);
    }

    /// <summary>Finds or adds a producer that was saved; its index is valid until the next one.</summary>
    internal int ReadProducer(Arena arena, ReadOnlySpan<byte> name)
    {
        FindOrAdd(arena, name, out int index);
        return index;
    }

    /// <summary>Adds a producer's id as it was saved.</summary>
    internal void AddRead(Arena arena, KeyHasher hasher, int producer, ReadOnlySpan<byte> text, in StreamId id) =>
        Add(arena, hasher, (StreamProducerData*)Items[producer], text, id);

    /// <summary>
    /// Counts the producers and ids that are remembered at a time. Where this would take more than <see cref="CountedMax"/> steps, those that are not
    /// freed yet are counted, too.
    /// </summary>
    /// <returns>The steps that it took.</returns>
    internal readonly int Count(long nowMs, out int producers, out long ids)
    {
        producers = Items.Count;
        ids = _ids;
        int steps = 0;
        if (EarliestExpiryMs > nowMs) return steps;
        int counted = 0;
        long left = 0;
        for (int i = 0; i < Items.Count; i++, steps++)
        {
            var item = (StreamProducerData*)Items[i];
            long expired = 0;
            for (ProducerEntry* entry = item->Oldest; entry != null && ExpiryOf(entry) <= nowMs && steps < CountedMax; entry = entry->Next, steps++) expired++;
            if (steps >= CountedMax) return steps;
            if (expired == item->Count) continue;
            counted++;
            left += item->Count - expired;
        }

        (producers, ids) = (counted, left);
        return steps;
    }

    /// <summary>Frees ids that are no longer remembered, a step of work for each, for each producer, and for the pointers that removing one moves.</summary>
    internal void ForgetExpired(Arena arena, long nowMs, ref int work)
    {
        if (_roundNext == 0)
        {
            _roundEarliestMs = long.MaxValue;
            _roundIsBroken = false;
        }

        while (_roundNext < Items.Count)
        {
            if (work <= 0) return;
            var item = (StreamProducerData*)Items[_roundNext];
            work -= 1 + ForgetExpired(arena, item, nowMs);
            if (item->Count == 0)
            {
                work -= RemoveAt(arena, _roundNext) / MovesPerStep;
                continue;
            }

            _roundEarliestMs = Math.Min(_roundEarliestMs, ExpiryOf(item->Oldest));
            _roundNext++;
        }

        _roundNext = 0;
        _earliestMs = _roundIsBroken ? Math.Min(_roundEarliestMs, nowMs + NextRoundMs) : _roundEarliestMs;
    }

    /// <summary>Frees about a number of blocks.</summary>
    /// <returns>Whether something is left.</returns>
    internal bool FreeSlice(Arena arena, ref int blocksMax)
    {
        while (Items.Count > 0)
        {
            int last = Items.Count - 1;
            var item = (StreamProducerData*)Items[last];
            for (; item->Count > 0; blocksMax--)
            {
                if (blocksMax <= 0) return true;
                Forget(arena, item);
            }

            RemoveAt(arena, last);
            blocksMax -= 2;
        }

        return false;
    }

    /// <summary>Copies a producer, of an index, to the end of a copy of this.</summary>
    internal readonly void CopyProducer(int index, ref StreamProducers copy, Arena arena)
    {
        var source = (StreamProducerData*)Items[index];
        StreamProducerData* item = StreamProducerData.Create(arena, NamedTable.NameOf((byte*)source));
        copy.Items.Insert(arena, copy.Items.Count, (byte*)item);
        copy._bytes += StreamProducerData.OwnBytes(item);
        for (ProducerEntry* entry = source->Oldest; entry != null; entry = entry->Next) copy.Add(arena, item, ProducerEntry.Text(entry), entry->Hash, entry->Id);
    }

    /// <summary>Completes a copy that has its source's producers: copies the numbers.</summary>
    internal void TakeOverNumbers(in StreamProducers source)
    {
        DurationSeconds = source.DurationSeconds;
        IdsMax = source.IdsMax;
        Added = source.Added;
        Duplicates = source.Duplicates;
        _earliestMs = source._earliestMs;
    }

    // When the id of an entry is forgotten. The time of an entry that was not chosen by a clock may be any number.
    private readonly long ExpiryOf(ProducerEntry* entry)
    {
        long ms = TimeOf(entry->Id);
        long duration = DurationSeconds * 1000L;
        return ms > long.MaxValue - duration ? long.MaxValue : ms + duration;
    }

    private static long TimeOf(in StreamId id) => (long)Math.Min(id.Ms, long.MaxValue);

    private StreamProducerData* FindOrAdd(Arena arena, ReadOnlySpan<byte> name, out int index)
    {
        if (Items.TryFind(name, out index)) return (StreamProducerData*)Items[index];
        StreamProducerData* item = StreamProducerData.Create(arena, name);
        Items.Insert(arena, index, (byte*)item);
        _bytes += StreamProducerData.OwnBytes(item);
        return item;
    }

    private void Add(Arena arena, KeyHasher hasher, StreamProducerData* item, ReadOnlySpan<byte> text, in StreamId id)
    {
        var hash = (uint)hasher.Hash(text);
        ProducerEntry* known = StreamProducerData.Find(item, text, hash);
        if (known != null)
        {
            known->Id = id; // it was forgotten, and is given to another entry
            return;
        }

        while (item->Count >= IdsMax) Forget(arena, item);
        Add(arena, item, text, hash, id);
    }

    private void Add(Arena arena, StreamProducerData* item, ReadOnlySpan<byte> text, uint hash, in StreamId id)
    {
        _bytes -= StreamProducerData.OwnBytes(item);
        ProducerEntry* entry = StreamProducerData.Add(item, arena, text, hash, id);
        _bytes += StreamProducerData.OwnBytes(item) + BlockSize.RoundUp(ProducerEntry.Bytes(entry));
        long expiryMs = ExpiryOf(entry);
        if (_ids++ == 0 || expiryMs < _earliestMs) _earliestMs = expiryMs;
        _roundEarliestMs = Math.Min(_roundEarliestMs, expiryMs);
    }

    private void Forget(Arena arena, StreamProducerData* item)
    {
        _bytes -= StreamProducerData.RemoveOldest(item, arena);
        _ids--;
    }

    private int ForgetExpired(Arena arena, StreamProducerData* item, long nowMs)
    {
        int count = 0;
        for (; item->Oldest != null && ExpiryOf(item->Oldest) <= nowMs; count++) Forget(arena, item);
        return count;
    }

    private void LookAtOthers(Arena arena, long nowMs)
    {
        for (int i = 0; i < LooksPerAddition && Items.Count > 0; i++)
        {
            if (_lookNext >= Items.Count) _lookNext = 0;
            var item = (StreamProducerData*)Items[_lookNext];
            ForgetExpired(arena, item, nowMs);
            if (item->Count == 0) RemoveAt(arena, _lookNext);
            else _lookNext++;
        }
    }

    private int RemoveAt(Arena arena, int index)
    {
        var item = (StreamProducerData*)Items[index];
        _bytes -= StreamProducerData.OwnBytes(item);
        StreamProducerData.Free(item, arena);
        if (index < _roundNext) _roundIsBroken = true;
        return Items.RemoveAt(arena, index);
    }
}
