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
    private IdTree.IdPlace _place; // of a node, or of the group's pending entry, in the source
    private bool _hasPlace;
    private bool _inGroups;
    private int _groups;           // how many are complete
    private StreamGroupData* _group; // the copy of the next one
    private int _producers;        // how many are copied

    internal StreamCopy(byte* source, Arena arena)
    {
        _arena = arena;
        _source = (StreamData*)source;
        _copy = StreamData.Create(arena);
        _hasPlace = _source->Nodes.SeekFirst(out _place);
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
        if (!_hasPlace)
        {
            _inGroups = true;
            return;
        }

        byte* node = *(byte**)_place.Value;
        byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, node, StreamNode.Bytes(node));
        if (block == null) return;
        *(byte**)_copy->Nodes.Add(_arena, _place.Id) = block;
        _hasPlace = _source->Nodes.MoveNext(ref _place);
    }

    private void StepGroup(StreamGroupData* source)
    {
        if (_group == null)
        {
            _group = StreamGroupData.Create(_arena, NamedTable.NameOf((byte*)source), source->LastId, source->EntriesRead);
            _copy->Groups.Insert(_arena, _groups, (byte*)_group);
            _hasPlace = source->Pending.SeekFirst(out _place);
        }

        int consumers = _group->Consumers.Count;
        if (consumers < source->Consumers.Count)
        {
            _group->Consumers.Insert(_arena, consumers, StreamConsumerData.CopyWithoutPending(source->Consumers[consumers], _arena));
            return;
        }

        for (int i = 0; i < PendingPerStep && _hasPlace; i++, _hasPlace = source->Pending.MoveNext(ref _place))
        {
            var pending = (StreamPending*)_place.Value;
            var consumer = (StreamConsumerData*)_group->Consumers.Find(NamedTable.NameOf((byte*)pending->Consumer));
            StreamGroupData.AddPending(_group, _arena, _place.Id, consumer, pending->DeliveredMs, pending->Deliveries);
        }

        if (_hasPlace) return;
        _group = null;
        _groups++;
    }
}
