namespace RedKite.Store.Values.Streams;

/// <summary>Walks over what a stream remembers of its producers: each producer, with its ids from the oldest on. The stream must not change meanwhile.</summary>
internal unsafe struct ProducerCursor
{
    private StreamProducerData* _producer;
    private ProducerEntry* _id;
    private ProducerEntry* _next;
    private int _producers; // how many have been entered

    /// <summary>The producer's name.</summary>
    internal readonly ReadOnlySpan<byte> Name => NamedTable.NameOf((byte*)_producer);

    /// <summary>The number of the producer's ids.</summary>
    internal readonly int Ids => _producer->Count;

    /// <summary>The id that the producer has given.</summary>
    internal readonly ReadOnlySpan<byte> Text => ProducerEntry.Text(_id);

    /// <summary>The entry that has it.</summary>
    internal readonly StreamId Entry => _id->Id;

    /// <summary>Enters the next producer; false if there is none.</summary>
    internal bool MoveToNextProducer(StreamValue stream)
    {
        ref readonly StreamProducers producers = ref stream.Producers;
        if (_producers == producers.Items.Count) return false;
        _producer = (StreamProducerData*)producers.Items[_producers++];
        _next = _producer->Oldest;
        return true;
    }

    /// <summary>Goes on to the producer's next id; false if there is none.</summary>
    internal bool MoveToNextId()
    {
        _id = _next;
        if (_id == null) return false;
        _next = _id->Next;
        return true;
    }
}
