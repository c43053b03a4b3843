using RedKite.Store.Memory;
using RedKite.Store.Values.Arrays;

namespace RedKite.Store.Values.Copying;

/// <summary>The copy of an array, element by element in their order, so that slices and the tree's nodes fill up one after the other.</summary>
internal unsafe struct ArrayCopy : IStructureCopy
{
    private const int ElementsPerStep = 8;

    private readonly Arena _arena;
    private readonly ArrayData* _copy;
    private ArrayCursor _cursor; // in the source
    private BlockCopy _block;

    internal ArrayCopy(byte* source, Arena arena)
    {
        var array = (ArrayData*)source;
        _arena = arena;
        _copy = ArrayData.Create(arena);
        _copy->Next = array->Next;
        _copy->Ring = array->Ring;
        _cursor = new ArrayCursor(array, 0, ArrayData.IndexMax);
    }

    internal readonly byte* Root => (byte*)_copy;

    /// <summary>Copies a few elements, or a piece of a large one.</summary>
    /// <returns>Whether something is left.</returns>
    public bool Step()
    {
        for (int i = 0; i < ElementsPerStep; i++)
        {
            if (!_block.IsOpen && !_cursor.MoveNext()) return false;
            ulong word = *_cursor.Word;
            if (ArrayWord.IsBlock(word))
            {
                byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, ArrayWord.Block(word), ArrayWord.UsedBytes(word));
                if (block == null) return true;
                word = (ulong)block;
            }

            ArrayData.Set(_copy, _arena, _cursor.Index, word);
        }

        return true;
    }

    public void DiscardOpenBlock() => _block.Discard(_arena);
}
