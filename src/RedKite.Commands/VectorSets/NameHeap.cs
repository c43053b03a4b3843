using RedKite.Store.Memory;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Commands.VectorSets;

/// <summary>The lowest of the names that were added, as the blocks of their elements: a binary heap, the highest on top.</summary>
internal ref struct NameHeap
{
    private NativeList<nint> _blocks;
    private bool _isSorted;

    internal readonly int Count => _blocks.Count;

    internal void Clear()
    {
        _blocks.Truncate(0);
        _isSorted = false;
    }

    internal void Add(nint block)
    {
        _blocks.Add(block);
        Span<nint> blocks = _blocks.Items;
        int at = blocks.Length - 1;
        while (at > 0)
        {
            int parent = (at - 1) >> 1;
            if (Compare(blocks[parent], block) >= 0) break;
            blocks[at] = blocks[parent];
            at = parent;
        }

        blocks[at] = block;
    }

    /// <summary>Replaces the highest name by one that is lower; another one is not taken.</summary>
    internal readonly void ReplaceHighest(nint block)
    {
        Span<nint> blocks = _blocks.Items;
        if (Compare(block, blocks[0]) >= 0) return;
        int at = 0;
        while (true)
        {
            int child = (at * 2) + 1;
            if (child >= blocks.Length) break;
            if (child + 1 < blocks.Length && Compare(blocks[child + 1], blocks[child]) > 0) child++;
            if (Compare(block, blocks[child]) >= 0) break;
            blocks[at] = blocks[child];
            at = child;
        }

        blocks[at] = block;
    }

    /// <summary>The blocks in the order of their names; nothing is added any more before <see cref="Clear"/>.</summary>
    internal ReadOnlySpan<nint> Sorted()
    {
        if (!_isSorted) _blocks.Items.Sort(Compare);
        _isSorted = true;
        return _blocks.Items;
    }

    public void Dispose() => _blocks.Dispose();

    private static int Compare(nint first, nint second) => VectorSetValue.NameOf(first).SequenceCompareTo(VectorSetValue.NameOf(second));
}
