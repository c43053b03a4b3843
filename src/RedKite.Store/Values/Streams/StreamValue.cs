using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// A key's stream as handlers see it. It stays valid when the key's entry changes, as long as the stripe is locked and the stream
/// is not removed. The stream of a missing key does not exist and has no entries.
/// </summary>
internal readonly unsafe ref struct StreamValue
{
    private readonly Database _database;
    private readonly EntryPosition _position;
    private readonly Arena _arena;
    private readonly ReleasedValues _released;
    private readonly StreamData* _data;

    private StreamValue(Database database, scoped in Entry entry, StreamData* data)
    {
        _database = database;
        _position = entry.Position;
        _arena = database.ArenaOf(entry);
        _released = database.ReleasedOf(entry);
        _data = data;
    }

    /// <summary>The stream of an entry; an entry that is missing has none.</summary>
    internal static StreamValue Of(Database database, Entry entry) =>
        entry.Exists ? new(database, entry, (StreamData*)entry.Root.Structure) : default;

    /// <summary>Creates an empty stream in an entry that was just written for it.</summary>
    internal static StreamValue Create(Database database, Entry entry)
    {
        StreamData* data = StreamData.Create(database.ArenaOf(entry));
        entry.Root = new ValueRoot { Structure = (byte*)data };
        return new StreamValue(database, entry, data);
    }

    internal bool Exists => _data != null;

    internal StreamData* Data => _data;

    /// <summary>Entries.</summary>
    internal long Length => _data == null ? 0 : _data->Length;

    /// <summary>The highest id ever added, or the one that XSETID has set.</summary>
    internal StreamId LastId => _data == null ? default : _data->LastId;

    /// <summary>The first entry's id; 0-0 while there is none.</summary>
    internal StreamId FirstId => _data->FirstId;

    /// <summary>The highest id ever deleted.</summary>
    internal StreamId MaxDeletedId => _data->MaxDeletedId;

    /// <summary>Entries ever added.</summary>
    internal long EntriesAdded => _data->EntriesAdded;

    /// <summary>Nodes that the entries are in.</summary>
    internal long NodeCount => _data->Nodes.Count;

    internal int GroupCount => _data == null ? 0 : _data->Groups.Count;

    /// <summary>The number of entries ever added up to an id; -1: unknown.</summary>
    internal long EntriesUpTo(in StreamId id) => StreamProgress.EntriesUpTo(_data, id);

    /// <summary>The id of the last entry.</summary>
    internal bool TryLastEntryId(out StreamId id)
    {
        id = default;
        return _data != null && StreamData.TryLastEntryId(_data, out id);
    }

    internal bool Contains(in StreamId id) => StreamData.TryFind(_data, id, out _);

    /// <summary>Finds an entry.</summary>
    internal bool TryFind(in StreamId id, out StreamFields fields)
    {
        fields = default;
        if (!StreamData.TryFind(_data, id, out StreamNodeReader reader)) return false;
        fields = reader.Fields;
        return true;
    }

    /// <summary>The entries from one id to another, both included, in ascending order or in descending.</summary>
    internal StreamCursor Range(in StreamId low, in StreamId high, bool reverse = false) =>
        _data == null ? default : new StreamCursor(_data, low, high, reverse);

    /// <summary>Begins an entry. For the parameters see <see cref="StreamAppender"/>.</summary>
    internal StreamAppender Append(in StreamId id, int pairs, long textBytes, long nodeBytesMax, long nodeEntriesMax) =>
        new(_arena, _data, id, pairs, textBytes, nodeBytesMax, nodeEntriesMax);

    /// <summary>Begins an entry of a stream that is read from a dump. For the parameters see <see cref="StreamAppender"/>.</summary>
    internal StreamAppender AppendRead(in StreamId id, int pairs, in StreamReadTexts texts) =>
        new(_arena, _data, id, pairs, texts);

    /// <summary>Deletes an entry; false if there is none.</summary>
    internal bool Delete(in StreamId id) => StreamData.Delete(_data, _arena, id);

    /// <summary>Whether any group refers to an entry: has still to read it, or has it pending.</summary>
    internal bool HasReferences(in StreamId id) => StreamReferences.Exist(_data, id);

    /// <summary>Removes an id from everything that is pending.</summary>
    internal void RemoveReferences(in StreamId id, StreamRemovals? removals) => StreamReferences.Remove(_data, _arena, id, removals);

    /// <summary>Removes the oldest entries and returns their number.</summary>
    internal long Trim(in StreamTrimming trimming, StreamRemovals? removals = null) => trimming.Trim(_data, _arena, removals);

    internal void SetLastId(in StreamId id) => StreamData.SetLastId(_data, _arena, id);

    internal void SetEntriesAdded(long count) => _data->EntriesAdded = count;

    internal void SetMaxDeletedId(in StreamId id) => _data->MaxDeletedId = id;

    /// <summary>A group by its index in the order of names.</summary>
    internal StreamGroup GroupAt(int index) => new(_arena, _released, _data, (StreamGroupData*)_data->Groups[index]);

    /// <summary>A group by its name; one that does not exist if there is none.</summary>
    internal StreamGroup FindGroup(ReadOnlySpan<byte> name) =>
        _data == null ? default : new(_arena, _released, _data, (StreamGroupData*)_data->Groups.Find(name));

    /// <summary>Adds a group; false if the name is taken.</summary>
    internal bool TryCreateGroup(ReadOnlySpan<byte> name, in StreamId lastId, long entriesRead)
    {
        if (_data->Groups.TryFind(name, out int index)) return false;
        _data->Groups.Insert(_arena, index, (byte*)StreamGroupData.Create(_arena, name, lastId, entriesRead));
        return true;
    }

    /// <summary>Removes a group with its consumers and pending entries; false if there is none.</summary>
    internal bool RemoveGroup(ReadOnlySpan<byte> name)
    {
        if (!_data->Groups.TryFind(name, out int index)) return false;
        var group = (StreamGroupData*)_data->Groups[index];
        _data->Groups.RemoveAt(_arena, index);
        _released.Release(group);
        return true;
    }

    /// <summary>What is remembered of producers, to read. The entry must not have moved since the stream was opened to change it.</summary>
    internal ref readonly StreamProducers Producers => ref _data->Producers;

    /// <summary>Finds the entry to which a producer has given an id.</summary>
    internal bool TryFindAdded(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> text, long nowMs, out StreamId id)
    {
        id = default;
        return _data != null && _data->Producers.TryFind(_database.Hasher, producer, text, nowMs, out id);
    }

    /// <summary>Counts an entry that was recognised as added before.</summary>
    internal void CountDuplicate() => _data->Producers.Duplicates++;

    /// <summary>Sets for how long and how many of a producer's ids are remembered. If either changes, all ids are forgotten.</summary>
    internal void ConfigureProducers(int durationSeconds, int idsMax)
    {
        ref StreamProducers producers = ref _data->Producers;
        if (producers.DurationSeconds == durationSeconds && producers.IdsMax == idsMax) return;
        if (producers.Items.Count > 0) _released.Release(producers);
        producers = new StreamProducers { DurationSeconds = durationSeconds, IdsMax = idsMax, Added = producers.Added, Duplicates = producers.Duplicates };
        NoteProducerExpiry();
    }

    /// <summary>Remembers the id that a producer has given to an entry.</summary>
    internal void Remember(ReadOnlySpan<byte> producer, ReadOnlySpan<byte> text, in StreamId id)
    {
        _data->Producers.Remember(_arena, _database.Hasher, producer, text, id);
        NoteProducerExpiry();
    }

    /// <summary>Finds or adds a producer that was saved; its index is valid until the next one.</summary>
    internal int ReadProducer(ReadOnlySpan<byte> producer) => _data->Producers.ReadProducer(_arena, producer);

    /// <summary>Adds a producer's id that was saved; <see cref="EndProducersRead"/> follows the last one.</summary>
    internal void AddReadId(int producer, ReadOnlySpan<byte> text, in StreamId id) =>
        _data->Producers.AddRead(_arena, _database.Hasher, producer, text, id);

    /// <summary>Ends the producers of a stream that is read.</summary>
    internal void EndProducersRead(long added, long duplicates)
    {
        _data->Producers.Added = added;
        _data->Producers.Duplicates = duplicates;
        NoteProducerExpiry();
    }

    // So that the sweep finds what is to be forgotten. A stream's entry does not move while it is changed.
    private void NoteProducerExpiry()
    {
        var entry = new Entry(_position);
        bool expire = _data->Producers.EarliestExpiryMs != long.MaxValue;
        _database.NoteFieldExpiry(entry, expire);
    }
}
