using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Writes a stream with its groups in steps (<see cref="RdbValueSteps"/>): each node's key and packed list, the ids and counters, then the
/// groups. A group has its pending entries with times and counts; each consumer has only the ids of its pending entries. A stream that
/// remembers ids of producers (<see cref="RdbType.StreamOfListPacks4"/>) has them at its end: for how long and how many, each producer's ids
/// with those of their entries, and the two counters.
/// </summary>
internal struct RdbStreamSteps
{
    private const int NodesCountedPerStep = 64;
    private const int PendingPerStep = 16;

    private readonly Database _database;
    private readonly nint _entry;
    private readonly NativeBuffer _scratch;
    private StreamListPacks _nodes;
    private Part _next;
    private int _group;
    private int _consumer;
    private StreamId _pending; // the next one, or a lower id
    private readonly bool _withProducers;
    private RdbProducerSteps _producers;

    internal RdbStreamSteps(RdbType type, Database database, Entry entry, NativeBuffer scratch)
    {
        _withProducers = type == RdbType.StreamOfListPacks4;
        _database = database;
        _entry = entry.Address;
        _scratch = scratch;
        _nodes = new StreamListPacks(StreamValue.Of(database, entry));
    }

    private enum Part
    {
        Count,
        Nodes,
        GroupName,
        Group,
        GroupPending,
        ConsumerName,
        Consumer,
        ConsumerPending,
        Producers,
    }

    private readonly StreamValue Stream => StreamValue.Of(_database, Store.Keyspace.Entry.FromBlock(_entry));

    internal bool Step(RdbOutput output)
    {
        switch (_next)
        {
            case Part.Count:
                if (_nodes.CountNodes(NodesCountedPerStep)) return true;
                output.Length(_nodes.Count);
                _next = Part.Nodes;
                return true;
            case Part.Nodes:
                StepNode(output);
                return true;
            case Part.Producers:
                return _producers.Step(output, Stream);
            default:
                StreamValue stream = Stream;
                if (_group < stream.GroupCount)
                {
                    StepGroup(output, stream.GroupAt(_group));
                    return true;
                }

                _next = Part.Producers;
                return _withProducers;
        }
    }

    private void StepNode(RdbOutput output)
    {
        _scratch.Clear();
        if (_nodes.MoveNext(_scratch))
        {
            output.Length(RdbFormat.StreamIdBytes);
            output.RawId(_nodes.Key);
            output.String(_scratch.Written);
            return;
        }

        StreamValue stream = Stream;
        output.Length(stream.Length);
        WriteId(output, stream.LastId);
        WriteId(output, stream.FirstId);
        WriteId(output, stream.MaxDeletedId);
        output.Length(stream.EntriesAdded);
        output.Length(stream.GroupCount);
        _next = Part.GroupName;
    }

    private void StepGroup(RdbOutput output, StreamGroup group)
    {
        switch (_next)
        {
            case Part.GroupName:
                output.String(group.Name);
                _next = Part.Group;
                break;
            case Part.Group:
                WriteId(output, group.LastId);
                output.Length((ulong)group.EntriesRead); // -1 has all bits
                output.Length(group.PendingCount);
                _pending = default;
                _next = Part.GroupPending;
                break;
            case Part.GroupPending:
                if (WritePending(output, group.Pending(_pending), isBare: false)) break;
                output.Length(group.ConsumerCount);
                _consumer = 0;
                _next = Part.ConsumerName;
                break;
            default:
                if (_consumer < group.ConsumerCount)
                {
                    StepConsumer(output, group, group.ConsumerAt(_consumer));
                    break;
                }

                _group++;
                _next = Part.GroupName;
                break;
        }
    }

    private void StepConsumer(RdbOutput output, StreamGroup group, StreamConsumer consumer)
    {
        switch (_next)
        {
            case Part.ConsumerName:
                output.String(consumer.Name);
                _next = Part.Consumer;
                break;
            case Part.Consumer:
                output.Int64(consumer.SeenMs);
                output.Int64(consumer.ActiveMs);
                output.Length(consumer.PendingCount);
                _pending = default;
                _next = Part.ConsumerPending;
                break;
            default:
                if (WritePending(output, group.PendingOf(consumer, _pending), isBare: true)) break;
                _consumer++;
                _next = Part.ConsumerName;
                break;
        }
    }

    // Whether there may be more.
    private bool WritePending(RdbOutput output, PendingCursor pending, bool isBare)
    {
        for (int i = 0; i < PendingPerStep; i++)
        {
            if (!pending.MoveNext()) return false;
            output.RawId(pending.Id);
            if (isBare) continue;
            output.Int64(pending.Entry.DeliveredMs);
            output.Length(pending.Entry.Deliveries);
        }

        return pending.Id.TryNext(out _pending);
    }

    private static void WriteId(RdbOutput output, StreamId id)
    {
        output.Length(id.Ms);
        output.Length(id.Sequence);
    }
}
