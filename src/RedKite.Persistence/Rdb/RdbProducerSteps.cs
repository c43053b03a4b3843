using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>Writes what a stream remembers of its producers, in steps, at the end of the stream (<see cref="RdbStreamSteps"/>).</summary>
internal struct RdbProducerSteps
{
    private const int IdsPerStep = 16;

    private ProducerCursor _cursor;
    private bool _begun;
    private bool _inProducer;

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

        if (!_inProducer)
        {
            _inProducer = _cursor.MoveToNextProducer(stream);
            if (!_inProducer)
            {
                output.Length(producers.Added);
                output.Length(producers.Duplicates);
                return false;
            }

            output.String(_cursor.Name);
            output.Length(_cursor.Ids);
            return true;
        }

        for (int i = 0; i < IdsPerStep && _inProducer; i++)
        {
            _inProducer = _cursor.MoveToNextId();
            if (!_inProducer) break;
            output.String(_cursor.Text);
            output.Length(_cursor.Entry.Ms);
            output.Length(_cursor.Entry.Sequence);
        }

        return true;
    }
}
