using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Store.Values.Lists;

/// <summary>Enumerates the nodes of a list of any encoding as packed lists. The list must not change meanwhile.</summary>
internal unsafe struct ListNodes
{
    private readonly NativeSpan _single;
    private readonly NativeBuffer _room;
    private NativeSpan _current;
    private QuickListPosition _next;
    private bool _isDone;

    /// <param name="entry">An entry that holds a list.</param>
    /// <param name="room">Receives unpacked compact nodes; its contents are overwritten.</param>
    internal ListNodes(Entry entry, NativeBuffer room)
    {
        _room = room;
        if (!entry.HasStructure)
        {
            _single = new NativeSpan(entry.Value);
            Count = 1;
            return;
        }

        _next = new QuickList(null!, entry.Root.Structure, default).FirstNode;
        for (QuickListPage* page = _next.Page; page != null; page = page->Next) Count += page->Nodes;
    }

    /// <summary>How many nodes there are.</summary>
    internal long Count { get; }

    /// <summary>The node's packed list, valid until the next step.</summary>
    internal readonly ReadOnlySpan<byte> Current => _current.Bytes;

    internal bool MoveNext()
    {
        if (_single.Length > 0)
        {
            _current = _single;
            return !_isDone && (_isDone = true);
        }

        if (!_next.Exists) return false;
        QuickListNode* node = _next.Node;
        _next = _next.NextNode;
        int bytes = node->PackedBytes;
        if (!node->IsCompact)
        {
            _current = new NativeSpan(new ReadOnlySpan<byte>(node->List, bytes));
            return true;
        }

        _room.Clear();
        _room.Room(bytes);
        CompactList.Unpack(node->Block, _room.Start);
        _room.Advance(bytes);
        _current = new NativeSpan(_room.Written);
        return true;
    }
}
