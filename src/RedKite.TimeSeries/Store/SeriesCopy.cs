using RedKite.Store.Memory;
using RedKite.Store.Values.Copying;

namespace RedKite.TimeSeries.Store;

/// <summary>The copy of a series, chunk by chunk. Like those of Redis, it has no rules and is no one's destination.</summary>
internal unsafe struct SeriesCopy : IStructureCopy
{
    private readonly SeriesData* _source;
    private readonly SeriesData* _copy;
    private readonly Arena _arena;
    private BlockCopy _block;

    internal SeriesCopy(SeriesData* source, Arena arena)
    {
        _source = source;
        _arena = arena;
        _copy = SeriesData.Create(arena, source->Settings);
        SeriesData.SetText(arena, &_copy->Labels, source->Labels.Bytes);
    }

    internal readonly byte* Root => (byte*)_copy;

    public bool Step()
    {
        if (_copy->ChunkCount == _source->ChunkCount) return false;
        Chunk chunk = _source->Chunks[_copy->ChunkCount];
        byte* block = _block.IsOpen ? _block.Continue() : _block.Begin(_arena, chunk.Data, chunk.Capacity);
        if (block == null) return true;
        chunk.Data = block;
        SeriesData.Add(_copy, _arena, chunk);
        return _copy->ChunkCount < _source->ChunkCount;
    }

    public void DiscardOpenBlock() => _block.Discard(_arena);
}
