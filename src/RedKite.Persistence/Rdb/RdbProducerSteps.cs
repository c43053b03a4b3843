using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>Writes what a stream remembers of its producers, in steps, at the end of the stream (<see cref="RdbStreamSteps"/>).</summary>
internal unsafe struct RdbProducerSteps
{
    private const int IdsPerStep = 16;

    private bool _begun;
    private int _producer;
    private ProducerEntry* _id; // the next one; null: the producer itself is next

    /// <summary>Writes the next step.</summary>
    /// <returns>Whether something is left.</returns>
    internal bool Step(RdbOutput output, StreamValue stream)
    {
        ref readonly StreamProducers producers = ref stream.Producers;
        if (!_begun)
        {
            _begun = true;
            output.Length(producers.DurationSeconds);
            output.Length(producers.IdsMax);
            output.Length(producers.Items.Count);
            return true;
        }

        if (_producer == producers.Items.Count)
        {
            output.Length(producers.Added);
            output.Length(producers.Duplicates);
            return false;
        }

        byte* item = producers.Items[_producer];
        if (_id == null)
        {
            output.String(NamedTable.NameOf(item));
            output.Length(((StreamProducerData*)item)->Count);
            _id = ((StreamProducerData*)item)->Oldest;
        }

        for (int i = 0; i < IdsPerStep && _id != null; i++, _id = _id->Next)
        {
            output.String(ProducerEntry.Text(_id));
            output.Length(_id->Id.Ms);
            output.Length(_id->Id.Sequence);
        }

        if (_id == null) _producer++;
        return true;
    }
}
