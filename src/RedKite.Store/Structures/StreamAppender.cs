using System.Diagnostics;
using RedKite.Store.Memory;

namespace RedKite.Store.Structures;

/// <summary>
/// Adds an entry to a stream: all its names first, then its pairs. The entry is written where it will stay, in a block with
/// room for the worst case, which shrinks at the end.
/// </summary>
internal unsafe ref struct StreamAppender
{
    // Redis's default for a node is 4 KiB. However large the settings are, no reader has to pass more than this in a node.
    private const int NodeBytesMax = 32 * 1024;

    private readonly Arena _arena;
    private readonly StreamData* _data;
    private readonly StreamId _id;
    private readonly StreamId _key; // the node's
    private readonly int _pairs;
    private readonly bool _isNewNode;
    private readonly long _reserved;
    private readonly byte* _node;
    private byte* _at;
    private byte* _names;       // the node's, while they are compared
    private byte* _body;
    private byte* _firstValues;
    private byte* _bodyLength;
    private int _bodyLengthBytes;
    private bool _ownNames;
    private uint _listPackBytes;

    /// <param name="arena">The stream's arena.</param>
    /// <param name="data">The stream.</param>
    /// <param name="id">Higher than all that the stream has.</param>
    /// <param name="pairs">How many names and values follow.</param>
    /// <param name="textBytes">Bytes of all of them together.</param>
    /// <param name="nodeBytesMax">stream-node-max-bytes; 0: no limit.</param>
    /// <param name="nodeEntriesMax">stream-node-max-entries; 0: no limit.</param>
    internal StreamAppender(Arena arena, StreamData* data, in StreamId id, int pairs, long textBytes, long nodeBytesMax, long nodeEntriesMax)
    {
        Debug.Assert(id > data->LastId, "Ids ascend.");
        _arena = arena;
        _data = data;
        _id = id;
        _pairs = pairs;
        byte* tail = StreamData.FindTail(data);
        _isNewNode = tail == null || IsFull(tail, textBytes, nodeBytesMax, nodeEntriesMax);

        // Head and distances, lengths of body and pairs, and every text with its overhead.
        long room = textBytes + (2L * CompactText.OverheadMax * pairs) + 1 + (4 * Varint.BytesMax);
        if (_isNewNode)
        {
            _key = id;
            _reserved = StreamNode.HeaderBytes + room;
            _node = arena.Allocate(_reserved);
            new Span<byte>(_node, StreamNode.HeaderBytes).Clear();
            _at = Varint.Write(_node + StreamNode.HeaderBytes, (ulong)pairs);
            _listPackBytes = (uint)PackedList.ElementBytes(pairs);
            return;
        }

        data->Nodes.SeekLast(out IdTree.IdPlace place);
        _key = place.Id;
        int used = StreamNode.Bytes(tail);
        _reserved = used + room;
        _node = arena.Reallocate(tail, used, _reserved);
        _at = _node + used;
        _ownNames = StreamNode.NameCount(_node, out _names) != pairs;
    }

    /// <summary>Tells the next name.</summary>
    internal void Name(ReadOnlySpan<byte> name)
    {
        if (_isNewNode)
        {
            _at = CompactText.WritePlain(_at, name);
            _listPackBytes += (uint)PackedList.ElementBytes(name);
        }
        else if (!_ownNames)
        {
            _names = CompactText.Read(_names, out CompactText own);
            _ownNames = !own.Bytes(default).SequenceEqual(name); // names are plain
        }
    }

    /// <summary>Writes the next pair, once all names are told.</summary>
    internal void Pair(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value)
    {
        if (_body == null) BeginBody();
        int listPackBytes;
        if (_ownNames)
        {
            _at = CompactText.Write(_at, name, out listPackBytes);
            _listPackBytes += (uint)listPackBytes;
            _at = CompactText.Write(_at, value, out listPackBytes);
            _listPackBytes += (uint)listPackBytes;
            return;
        }

        byte* start = _at;
        _at = CompactText.Write(_at, value, out listPackBytes);
        _listPackBytes += (uint)listPackBytes;
        if (_firstValues == null) return;
        byte* next = CompactText.Skip(_firstValues);
        if (new ReadOnlySpan<byte>(start, (int)(_at - start)).SequenceEqual(new ReadOnlySpan<byte>(_firstValues, (int)(next - _firstValues))))
        {
            *start = CompactText.SameAsFirst;
            _at = start + 1;
        }

        _firstValues = next;
    }

    /// <summary>Makes the entry part of the stream.</summary>
    internal void End()
    {
        EndBody();
        int bytes = (int)(_at - _node);
        byte* node = _arena.Reallocate(_node, _reserved, bytes);
        long heldBefore = _isNewNode ? 0 : BlockSize.RoundUp(StreamNode.Bytes(node));
        _data->NodeBytes += BlockSize.RoundUp(bytes) - heldBefore;
        StreamNode.Bytes(node) = bytes;
        StreamNode.Alive(node)++;
        StreamNode.ListPackBytes(node) += _listPackBytes + (uint)StreamNode.ListPackBytesAround(_key, _id, _pairs, _ownNames);

        if (_isNewNode)
        {
            *(byte**)_data->Nodes.Add(_arena, _id) = node;
        }
        else if (node != _data->Tail)
        {
            _data->Nodes.SeekLast(out IdTree.IdPlace place);
            *(byte**)place.Value = node;
        }

        _data->Tail = node;
        _data->TailId = _id;
        _data->IsTailDeleted = false;
        _data->LastId = _id;
        _data->EntriesAdded++;
        if (++_data->Length == 1) _data->FirstId = _id;
    }

    // A node ends where Redis's would: by what the new entry's texts alone would make of it.
    private static bool IsFull(byte* tail, long textBytes, long nodeBytesMax, long nodeEntriesMax)
    {
        if (nodeEntriesMax > 0 && StreamNode.Alive(tail) + (long)StreamNode.DeletedCount(tail) >= nodeEntriesMax) return true;
        if (StreamNode.Bytes(tail) + textBytes > NodeBytesMax) return true;
        return nodeBytesMax > 0 && StreamNode.WholeListPackBytes(tail) + textBytes >= nodeBytesMax;
    }

    private void BeginBody()
    {
        StreamId before = _isNewNode ? new StreamId(_id.Ms, _id.Sequence - 1) : _data->TailId;
        if (_isNewNode) StreamNode.EntriesAt(_node) = (int)(_at - _node);
        else if (!_ownNames) _firstValues = StreamNode.FirstBody(_node);
        _bodyLength = StreamNode.WriteHead(_at, before, _id, _ownNames);

        // Most bodies are short; the length of a longer one gets the room that the worst case needs.
        long left = _reserved - (_bodyLength - _node);
        _bodyLengthBytes = left < 400 ? 1 : Varint.BytesOf((ulong)left);
        _body = _at = _bodyLength + _bodyLengthBytes;
        if (_ownNames) _at = Varint.Write(_at, (ulong)_pairs);
    }

    private void EndBody()
    {
        if (_body == null) BeginBody();
        long bytes = _at - _body;
        int needed = Varint.BytesOf((ulong)bytes);
        if (needed != _bodyLengthBytes)
        {
            Buffer.MemoryCopy(_body, _bodyLength + needed, bytes, bytes);
            _at += needed - _bodyLengthBytes;
        }

        Varint.Write(_bodyLength, (ulong)bytes);
    }
}
