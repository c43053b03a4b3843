using RedKite.Store.Memory;
using RedKite.Store.Values.Lists;

namespace RedKite.Store.Values.Copying;

/// <summary>The copy of a long list, node by node. Nodes that are compact stay so.</summary>
internal unsafe struct ListCopy : IStructureCopy
{
    private readonly Arena _arena;
    private readonly byte* _copy;
    private QuickListPosition _position; // in the source
    private BlockCopy _block;

    internal ListCopy(byte* source, Arena arena)
    {
        _arena = arena;
        _copy = QuickList.New(arena);
        _position = new QuickList(arena, source, default).FirstNode;
        ((QuickListHeader*)_copy)->TakeOverWarmth(*(QuickListHeader*)source);
    }

    internal readonly byte* Root => _copy;

    /// <summary>Copies a node, or a piece of a large one.</summary>
    /// <returns>Whether something is left.</returns>
    public bool Step()
    {
        QuickListNode* node = _position.Node;
        byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, node->IsCompact ? node->Block : node->List, node->UsedBytes);
        if (block == null) return true;
        new QuickList(_arena, _copy, default).AppendCopy(*node, block);
        _position = _position.NextNode;
        return _position.Exists;
    }

    public void DiscardOpenBlock() => _block.Discard(_arena);
}
