using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>Writes what a stream remembers of its producers, in steps, at the end of the stream (<see cref="RdbStreamSteps"/>).</summary>
internal struct RdbProducerSteps
{
    private ProducerCursor _cursor;
    private Part _next;

    private enum Part
    {
        Numbers,
        Producer,
        FirstId,
        NextId,
    }

    /// <summary>Writes the next step. A string is the last thing in it.</summary>
    /// <returns>Whether something is left.</returns>
    internal bool Step(RdbOutput output, StreamValue stream)
    {
        ref readonly StreamProducers producers = ref stream.Producers;
        switch (_next)
        {
            case Part.Numbers:
                output.Length(producers.DurationSeconds);
                output.Length(producers.IdsMax);
                output.Length(producers.Items.Count);
                _next = Part.Producer;
                return true;
            case Part.Producer when _cursor.MoveToNextProducer(stream):
                output.String(_cursor.Name);
                _next = Part.FirstId;
                return true;
            case Part.Producer:
                output.Length(producers.Added);
                output.Length(producers.Duplicates);
                return false;
            case Part.FirstId:
                output.Length(_cursor.Ids);
                break;
            default:
                output.Length(_cursor.Entry.Ms);
                output.Length(_cursor.Entry.Sequence);
                break;
        }

        if (_cursor.MoveToNextId())
        {
            output.String(_cursor.Text);
            _next = Part.NextId;
        }
        else
        {
            _next = Part.Producer;
        }

        return true;
    }
}
