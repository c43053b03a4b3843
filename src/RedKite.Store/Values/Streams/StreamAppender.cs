using System.Diagnostics;
using RedKite.Store.Memory;
using RedKite.Store.Values.Packed;

namespace RedKite.Store.Values.Streams;

/// <summary>
/// Adds an entry to a stream: all its names first, then its pairs. An entry of ordinary size is written to the arena's scratch
/// buffer and copied once its size is known: growing a node by the worst case and shrinking it again would move it twice for most
/// entries. A large entry is written in place.
/// </summary>
internal unsafe ref struct StreamAppender
{
    // Redis's default for a node is 4 KiB. Regardless of the settings, a reader never skips more than this in a node.
    private const int NodeBytesMax = 32 * 1024;

    private readonly Arena _arena;
    private readonly StreamData* _data;
    private readonly StreamId _id;
    private readonly StreamId _key; // the node's
    private readonly int _pairs;
    private readonly bool _isNewNode;
    private readonly long _room;     // for the worst case
    private readonly long _reserved; // bytes of the node's block; 0: the entry is in the scratch buffer
    private readonly byte* _node;    // a new node in the scratch buffer
    private byte* _at;
    private byte* _names;       // the node's, while they are compared
    private byte* _body;
    private byte* _firstValues;
    private byte* _bodyLength;
    private int _bodyLengthBytes;
    private bool _ownNames;
    private uint _listPackBytes;

    /// <summary>An entry read from a dump, in which a node's names count once for all entries.</summary>
    /// <param name="arena">The stream's arena.</param>
    /// <param name="data">The stream.</param>
    /// <param name="id">An id higher than all ids of the stream.</param>
    /// <param name="pairs">The number of pairs that follow.</param>
    /// <param name="texts">The texts of the pairs. Node names are passed only if <see cref="IsNewNode"/>.</param>
    internal StreamAppender(Arena arena, StreamData* data, in StreamId id, int pairs, in StreamReadTexts texts)
        : this(arena, data, id, pairs, BytesToRead(data, texts, out bool isNewNode), isNewNode)
    {
        if (texts.HasNodeNames) _ownNames = false;
    }

    /// <param name="arena">The stream's arena.</param>
    /// <param name="data">The stream.</param>
    /// <param name="id">An id higher than all ids of the stream.</param>
    /// <param name="pairs">The number of pairs that follow.</param>
    /// <param name="textBytes">Bytes of all of them together.</param>
    /// <param name="nodeBytesMax">stream-node-max-bytes; 0: no limit.</param>
    /// <param name="nodeEntriesMax">stream-node-max-entries; 0: no limit.</param>
    internal StreamAppender(Arena arena, StreamData* data, in StreamId id, int pairs, long textBytes, long nodeBytesMax, long nodeEntriesMax)
        : this(arena, data, id, pairs, textBytes, IsFull(StreamData.FindTail(data), textBytes, nodeBytesMax, nodeEntriesMax))
    {
    }

    private StreamAppender(Arena arena, StreamData* data, in StreamId id, int pairs, long textBytes, bool isNewNode)
    {
        Debug.Assert(id > data->LastId, "Ids ascend.");
        _arena = arena;
        _data = data;
        _id = id;
        _pairs = pairs;
        byte* tail = StreamData.FindTail(data);
        _isNewNode = isNewNode;

        // Head and distances, lengths of body and pairs, and every text with its overhead.
        _room = textBytes + (2L * CompactText.OverheadMax * pairs) + 1 + (4 * Varint.BytesMax);
        bool isLarge = StreamNode.HeaderBytes + _room > Arena.ScratchBytes;
        if (_isNewNode)
        {
            _key = id;
            if (isLarge) _reserved = StreamNode.HeaderBytes + _room;
            _node = isLarge ? arena.Allocate(_reserved) : arena.Scratch;
            new Span<byte>(_node, StreamNode.HeaderBytes).Clear();
            _at = Varint.Write(_node + StreamNode.HeaderBytes, (ulong)pairs);
            _listPackBytes = (uint)PackedList.ElementBytes(pairs);
            return;
        }

        _key = data->TailKey;
        int used = StreamNode.Bytes(tail);
        if (isLarge) _reserved = used + _room;
        _node = isLarge ? arena.Reallocate(tail, used, _reserved) : tail;
        _at = isLarge ? _node + used : arena.Scratch;
        _ownNames = StreamNode.NameCount(_node, out _names) != pairs;
    }

    /// <summary>Whether the entry is the first of a node.</summary>
    internal readonly bool IsNewNode => _isNewNode;

    /// <summary>Announces the next name.</summary>
    internal void Name(scoped ReadOnlySpan<byte> name)
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

    /// <summary>Writes the next pair, after all names.</summary>
    internal void Pair(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value)
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
        byte* node = Settle(out int bytes);
        long heldBefore = _isNewNode ? 0 : BlockSize.RoundUp(StreamNode.Bytes(node));
        _data->NodeBytes += BlockSize.RoundUp(bytes) - heldBefore;
        StreamNode.Bytes(node) = bytes;
        StreamNode.Alive(node)++;
        StreamNode.ListPackBytes(node) += _listPackBytes + (uint)StreamNode.ListPackBytesAround(_key, _id, _pairs, _ownNames);

        if (_isNewNode)
        {
            *(byte**)_data->Nodes.Add(_arena, _id) = node;
            _data->TailKey = _id;
        }
        else if (node != _data->Tail)
        {
            _data->Nodes.SeekLast(out IdTree.IdPosition position);
            *(byte**)position.Value = node;
        }

        _data->Tail = node;
        _data->TailId = _id;
        _data->IsTailDeleted = false;
        _data->LastId = _id;
        _data->EntriesAdded++;
        if (++_data->Length == 1) _data->FirstId = _id;
    }

    // Brings node and entry together in a block of their size.
    private byte* Settle(out int bytes)
    {
        if (_reserved > 0)
        {
            bytes = (int)(_at - _node);
            return _arena.Reallocate(_node, _reserved, bytes);
        }

        int written = (int)(_at - _arena.Scratch);
        int before = _isNewNode ? 0 : StreamNode.Bytes(_node);
        bytes = before + written;
        byte* node = _isNewNode ? _arena.Allocate(bytes) : _arena.Reallocate(_node, before, bytes);
        Buffer.MemoryCopy(_arena.Scratch, node + before, written, written);
        return node;
    }

    // A node ends where Redis's would: by what the new entry's texts alone would make of it.
    private static bool IsFull(byte* tail, long textBytes, long nodeBytesMax, long nodeEntriesMax)
    {
        if (tail == null) return true;
        if (nodeEntriesMax > 0 && StreamNode.Alive(tail) + (long)StreamNode.DeletedCount(tail) >= nodeEntriesMax) return true;
        if (StreamNode.Bytes(tail) + textBytes > NodeBytesMax) return true;
        return nodeBytesMax > 0 && StreamNode.WholeListPackBytes(tail) + textBytes >= nodeBytesMax;
    }

    // A node read from a dump may have entries as long as its names, so that names are never repeated without need.
    private static long BytesToRead(StreamData* data, in StreamReadTexts texts, out bool isNewNode)
    {
        byte* tail = StreamData.FindTail(data);
        long textBytes = texts.HasNodeNames ? texts.ValueBytes : texts.NameBytes + texts.ValueBytes;
        isNewNode = texts.BeginsNode || tail == null;
        if (!isNewNode)
        {
            int namesEnd = StreamNode.EntriesAt(tail);
            isNewNode = StreamNode.Bytes(tail) - namesEnd + textBytes > Math.Max(NodeBytesMax, namesEnd);
        }

        return isNewNode ? texts.NameBytes + texts.ValueBytes : textBytes;
    }

    private void BeginBody()
    {
        StreamId before = _isNewNode ? new StreamId(_id.Ms, _id.Sequence - 1) : _data->TailId;
        if (_isNewNode) StreamNode.EntriesAt(_node) = (int)(_at - _node);
        else if (!_ownNames) _firstValues = StreamNode.FirstBody(_node);
        _bodyLength = StreamNode.WriteHead(_at, before, _id, _ownNames);

        // Most bodies are short; the length of a longer one takes the space of the worst case.
        _bodyLengthBytes = _room < 400 ? 1 : Varint.BytesOf((ulong)_room);
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

/// <summary>What is known of an entry's texts before it is read from a dump.</summary>
/// <param name="NameBytes">Bytes of all names.</param>
/// <param name="ValueBytes">Bytes of all values.</param>
/// <param name="BeginsNode">Whether a node starts here in the dump.</param>
/// <param name="HasNodeNames">Whether the names are those of the last node.</param>
internal readonly record struct StreamReadTexts(long NameBytes, long ValueBytes, bool BeginsNode, bool HasNodeNames);
