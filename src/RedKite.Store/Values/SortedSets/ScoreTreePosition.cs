
namespace RedKite.Store.Values.SortedSets;

/// <summary>An entry of a <see cref="ScoreTree{TSizes}"/>, from which iteration continues in both directions. Valid until the tree changes.</summary>
internal unsafe struct ScoreTreePosition
{
    private ScoreTreeLeaf* _leaf;
    private int _index;

    internal ScoreTreePosition(ScoreTreeLeaf* leaf, int index)
    {
        _leaf = leaf;
        _index = index;
    }

    /// <summary>Whether there is an entry here.</summary>
    internal readonly bool Exists => _leaf != null;

    internal readonly double Score => ScoreTreeLeaf.Scores(_leaf)[_index];

    /// <summary>The member's block.</summary>
    internal readonly byte* Block => ScoreTreeLeaf.Members(_leaf)[_index];

    internal readonly ReadOnlySpan<byte> Member => ScoredMember.Member(Block);

    /// <summary>Moves to the next entry in order, or to none.</summary>
    internal void MoveNext()
    {
        if (++_index < _leaf->Count) return;
        _leaf = _leaf->Next;
        _index = 0;
    }

    /// <summary>Moves to the previous entry, or to none.</summary>
    internal void MovePrevious()
    {
        if (--_index >= 0) return;
        _leaf = _leaf->Previous;
        _index = _leaf == null ? 0 : _leaf->Count - 1;
    }
}
