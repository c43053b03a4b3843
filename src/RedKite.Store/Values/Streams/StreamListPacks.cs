using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// The nodes of a stream as the packed lists that Redis keeps and dumps, one after the other, without what was deleted.
/// The stream must not change meanwhile.
/// <code>
/// entries, entries deleted, names, each name, 0
/// of each entry: flags, ms and sequence as distances from the node's key,
///   where it has the node's names: the values, names + 3
///   otherwise: pairs, names and values in turn, 2 * pairs + 4
/// </code>
/// </summary>
internal unsafe struct StreamListPacks
{
    /// <summary>The flag of an entry that was deleted.</summary>
    internal const int Deleted = 1;

    /// <summary>The flag of an entry with the node's names.</summary>
    internal const int SameNames = 2;

    private readonly StreamData* _data;
    private IdTree.IdPosition _position;
    private bool _hasPosition;
    private IdTree.IdPosition _counted;
    private bool _hasUncounted;

    internal StreamListPacks(StreamValue stream)
    {
        _data = stream.Data;
        _hasPosition = _hasUncounted = _data->Nodes.SeekFirst(out _position);
        _counted = _position;
    }

    /// <summary>How many nodes have entries, when <see cref="CountNodes"/> has come to the end.</summary>
    internal long Count { get; private set; }

    /// <summary>The node's key, from which its ids are counted.</summary>
    internal StreamId Key { get; private set; }

    /// <summary>Counts some nodes: each is read, so many of them take a while.</summary>
    /// <returns>Whether something is left.</returns>
    internal bool CountNodes(int nodesMax)
    {
        for (; _hasUncounted && nodesMax > 0; nodesMax--)
        {
            if (StreamNode.Alive(*(byte**)_counted.Value) > 0) Count++;
            _hasUncounted = _data->Nodes.MoveNext(ref _counted);
        }

        return _hasUncounted;
    }

    /// <summary>Writes the next node that has entries into an empty buffer.</summary>
    internal bool MoveNext(NativeBuffer target)
    {
        while (_hasPosition)
        {
            byte* node = *(byte**)_position.Value;
            Key = _position.Id;
            _hasPosition = _data->Nodes.MoveNext(ref _position);
            if (StreamNode.Alive(node) == 0) continue;
            Write(node, target);
            return true;
        }

        return false;
    }

    private readonly void Write(byte* node, NativeBuffer target)
    {
        Span<byte> scratch = stackalloc byte[CompactText.ScratchBytes];
        var list = new PackedListWriter(target);
        int names = StreamNode.NameCount(node, out byte* at);
        list.Append(StreamNode.Alive(node));
        list.Append(0);
        list.Append(names);
        for (int i = 0; i < names; i++)
        {
            at = CompactText.Read(at, out CompactText name);
            list.Append(name.Bytes(scratch));
        }

        list.Append(0);
        var reader = new StreamNodeReader(node, Key);
        while (reader.MoveNext())
        {
            if (reader.IsDeleted) continue;
            StreamFields fields = reader.Fields;
            list.Append(fields.HasOwnNames ? 0 : SameNames);
            list.Append((long)(reader.Id.Ms - Key.Ms));
            list.Append((long)(reader.Id.Sequence - Key.Sequence));
            if (fields.HasOwnNames) list.Append(fields.Count);
            for (int i = 0; i < fields.Count; i++)
            {
                CompactText name = fields.Name();
                if (fields.HasOwnNames) list.Append(name.Bytes(scratch));
                list.Append(fields.Value().Bytes(scratch));
            }

            list.Append(fields.HasOwnNames ? (2L * fields.Count) + 4 : fields.Count + 3L);
        }

        list.Finish();
    }
}
