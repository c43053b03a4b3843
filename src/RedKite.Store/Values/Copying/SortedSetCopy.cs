using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Store.Values.Copying;

/// <summary>The copy of a big sorted set: its members are added in their order, so the tree's nodes fill up one after the other.</summary>
internal unsafe struct SortedSetCopy : IStructureCopy
{
    private const int MembersPerStep = 8;

    private readonly Arena _arena;
    private readonly SortedSetStructure _copy;
    private ScoreTreePosition _cursor; // in the source
    private BlockCopy _block;

    internal SortedSetCopy(in ValueRoot source, Arena arena, KeyHasher hasher)
    {
        _arena = arena;
        _copy = SortedSetStructure.Create(arena, hasher);
        _cursor = new SortedSetStructure(arena, hasher, source).At(0);
    }

    internal readonly ValueRoot Root => _copy.Root;

    /// <summary>Copies a few members, or a piece of a large one.</summary>
    /// <returns>Whether something is left.</returns>
    public bool Step()
    {
        for (int i = 0; i < MembersPerStep && _cursor.Exists; i++, _cursor.MoveNext())
        {
            byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, _cursor.Block, ScoredMember.Bytes(_cursor.Block));
            if (block == null) return true;
            _copy.Add(block);
        }

        return _cursor.Exists;
    }

    public void DiscardOpenBlock() => _block.Discard(_arena);
}
