using System.Runtime.InteropServices;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// A producer of a stream: the ids that it has given to its latest entries, in the order in which they were added, and a table of
/// chains by which an id is found. Each id is one block, a <see cref="ProducerEntry"/> that does not move.
/// </summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct StreamProducerData
{
    private const int FirstChains = 4;

    internal int NameBytes; // required by NamedTable
    internal int NameOffset;
    internal int Count;
    private int _chains; // a power of two
    private ProducerEntry** _table;
    internal ProducerEntry* Oldest;
    internal ProducerEntry* Newest;

    internal static StreamProducerData* Create(Arena arena, ReadOnlySpan<byte> name)
    {
        var producer = (StreamProducerData*)NamedTable.AllocateItem(arena, sizeof(StreamProducerData), name);
        producer->Count = 0;
        producer->_chains = FirstChains;
        producer->_table = AllocateTable(arena, FirstChains);
        producer->Oldest = producer->Newest = null;
        return producer;
    }

    /// <summary>The size of a producer without its ids, in bytes.</summary>
    internal static long OwnBytes(StreamProducerData* producer) =>
        BlockSize.RoundUp(NamedTable.ItemBytes((byte*)producer)) + BlockSize.RoundUp(TableBytes(producer->_chains));

    /// <summary>Finds an id by its text and hash; null if it is not remembered.</summary>
    internal static ProducerEntry* Find(StreamProducerData* producer, ReadOnlySpan<byte> text, uint hash)
    {
        ProducerEntry* entry = producer->_table[hash & (uint)(producer->_chains - 1)];
        while (entry != null && (entry->Hash != hash || !ProducerEntry.Text(entry).SequenceEqual(text))) entry = entry->NextInChain;
        return entry;
    }

    /// <summary>Adds an id that is not there as the newest one.</summary>
    internal static ProducerEntry* Add(StreamProducerData* producer, Arena arena, ReadOnlySpan<byte> text, uint hash, in StreamId id)
    {
        if (producer->Count == producer->_chains) Grow(producer, arena);
        ProducerEntry* entry = ProducerEntry.Create(arena, text, hash, id);
        Link(producer, entry);
        if (producer->Newest == null) producer->Oldest = entry;
        else producer->Newest->Next = entry;
        producer->Newest = entry;
        producer->Count++;
        return entry;
    }

    /// <summary>Forgets the oldest id, which there is, and returns the size of its block.</summary>
    internal static long RemoveOldest(StreamProducerData* producer, Arena arena)
    {
        ProducerEntry* entry = producer->Oldest;
        ProducerEntry** link = &producer->_table[entry->Hash & (uint)(producer->_chains - 1)];
        while (*link != entry) link = &(*link)->NextInChain;
        *link = entry->NextInChain;
        producer->Oldest = entry->Next;
        if (producer->Oldest == null) producer->Newest = null;
        producer->Count--;
        long bytes = ProducerEntry.Bytes(entry);
        arena.Free((byte*)entry, bytes);
        return BlockSize.RoundUp(bytes);
    }

    /// <summary>Frees a producer that has no ids.</summary>
    internal static void Free(StreamProducerData* producer, Arena arena)
    {
        arena.Free((byte*)producer->_table, TableBytes(producer->_chains));
        NamedTable.FreeItem(arena, (byte*)producer);
    }

    private static void Grow(StreamProducerData* producer, Arena arena)
    {
        arena.Free((byte*)producer->_table, TableBytes(producer->_chains));
        producer->_chains *= 2;
        producer->_table = AllocateTable(arena, producer->_chains);
        for (ProducerEntry* entry = producer->Oldest; entry != null; entry = entry->Next) Link(producer, entry);
    }

    private static void Link(StreamProducerData* producer, ProducerEntry* entry)
    {
        ProducerEntry** chain = &producer->_table[entry->Hash & (uint)(producer->_chains - 1)];
        entry->NextInChain = *chain;
        *chain = entry;
    }

    private static ProducerEntry** AllocateTable(Arena arena, int chains)
    {
        byte* table = arena.Allocate(TableBytes(chains));
        new Span<byte>(table, (int)TableBytes(chains)).Clear();
        return (ProducerEntry**)table;
    }

    private static long TableBytes(int chains) => (long)chains * sizeof(ProducerEntry*);
}

/// <summary>An id that a producer has given to an entry of the stream, and that entry's id; the text follows.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct ProducerEntry
{
    internal ProducerEntry* NextInChain;
    internal ProducerEntry* Next; // the one that was added next
    internal StreamId Id;
    internal uint Hash;
    private int _textBytes;

    internal static ReadOnlySpan<byte> Text(ProducerEntry* entry) => new(entry + 1, entry->_textBytes);

    internal static long Bytes(ProducerEntry* entry) => sizeof(ProducerEntry) + (long)entry->_textBytes;

    internal static ProducerEntry* Create(Arena arena, ReadOnlySpan<byte> text, uint hash, in StreamId id)
    {
        var entry = (ProducerEntry*)arena.Allocate(sizeof(ProducerEntry) + (long)text.Length);
        *entry = new ProducerEntry { Id = id, Hash = hash, _textBytes = text.Length };
        text.CopyTo(new Span<byte>(entry + 1, text.Length));
        return entry;
    }
}
