using RedKite.Store.Memory;
using RedKite.Store.Values.Streams;

namespace RedKite.Store.Values.Copying;

/// <summary>The copy of a stream: its nodes, then each group with its consumers and its pending entries, then its producers.</summary>
internal unsafe struct StreamCopy : IStructureCopy
{
    private const int PendingPerStep = 8;

    private readonly Arena _arena;
    private readonly StreamData* _source;
    private readonly StreamData* _copy;
    private BlockCopy _block;
    private IdTree.IdPosition _position; // of a node, or of the group's pending entry, in the source
    private bool _hasPosition;
    private bool _inGroups;
    private int _groups;           // how many are complete
    private StreamGroupData* _group; // the copy of the next one
    private int _producers;        // how many are copied

    internal StreamCopy(byte* source, Arena arena)
    {
        _arena = arena;
        _source = (StreamData*)source;
        _copy = StreamData.Create(arena);
        _hasPosition = _source->Nodes.SeekFirst(out _position);
    }

    internal readonly byte* Root => (byte*)_copy;

    /// <summary>Copies a node, a consumer, a few pending entries or a producer, or a piece of a large node.</summary>
    /// <returns>Whether something is left.</returns>
    public bool Step()
    {
        if (!_inGroups)
        {
            StepNode();
            return true;
        }

        if (_groups < _source->Groups.Count)
        {
            StepGroup((StreamGroupData*)_source->Groups[_groups]);
            return true;
        }

        if (_producers < _source->Producers.Items.Count)
        {
            _source->Producers.CopyProducer(_producers++, ref _copy->Producers, _arena);
            return true;
        }

        _copy->TakeOverState(*_source);
        return false;
    }

    public void DiscardOpenBlock() => _block.Discard(_arena);

    private void StepNode()
    {
        if (!_hasPosition)
        {
            _inGroups = true;
            return;
        }

        byte* node = *(byte**)_position.Value;
        byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, node, StreamNode.Bytes(node));
        if (block == null) return;
        *(byte**)_copy->Nodes.Add(_arena, _position.Id) = block;
        _hasPosition = _source->Nodes.MoveNext(ref _position);
    }

    private void StepGroup(StreamGroupData* source)
    {
        if (_group == null)
        {
            _group = StreamGroupData.Create(_arena, NamedTable.NameOf((byte*)source), source->LastId, source->EntriesRead);
            _copy->Groups.Insert(_arena, _groups, (byte*)_group);
            _hasPosition = source->Pending.SeekFirst(out _position);
        }

        int consumers = _group->Consumers.Count;
        if (consumers < source->Consumers.Count)
        {
            _group->Consumers.Insert(_arena, consumers, StreamConsumerData.CopyWithoutPending(source->Consumers[consumers], _arena));
            return;
        }

        for (int i = 0; i < PendingPerStep && _hasPosition; i++, _hasPosition = source->Pending.MoveNext(ref _position))
        {
            var pending = (StreamPending*)_position.Value;
            var consumer = (StreamConsumerData*)_group->Consumers.Find(NamedTable.NameOf((byte*)pending->Consumer));
            StreamGroupData.AddPending(_group, _arena, _position.Id, consumer, pending->DeliveredMs, pending->Deliveries);
        }

        if (_hasPosition) return;
        _group = null;
        _groups++;
    }
}
