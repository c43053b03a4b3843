using RedKite.Store.Memory;

namespace RedKite.Store.Values.Copying;

/// <summary>The copy of one block, in pieces: a block may be large. It belongs to the copier until it is complete.</summary>
internal unsafe struct BlockCopy
{
    // 16 fresh pages: 10 to 30 microseconds.
    internal const int PieceBytes = 64 * 1024;

    private byte* _from;
    private byte* _to;
    private long _bytes;
    private long _copied;

    /// <summary>Whether a block is incomplete.</summary>
    internal readonly bool IsOpen => _to != null;

    /// <summary>Begins with a block and copies its first piece.</summary>
    /// <returns>The copy if that was all, or null.</returns>
    internal byte* Begin(Arena arena, byte* from, long bytes)
    {
        _from = from;
        _to = arena.Allocate(bytes);
        _bytes = bytes;
        _copied = 0;
        return Continue();
    }

    /// <summary>Copies the next piece.</summary>
    /// <returns>The copy if that was the last piece, or null.</returns>
    internal byte* Continue()
    {
        long piece = Math.Min(PieceBytes, _bytes - _copied);
        Buffer.MemoryCopy(_from + _copied, _to + _copied, piece, piece);
        _copied += piece;
        if (_copied < _bytes) return null;
        byte* complete = _to;
        _to = null;
        return complete;
    }

    /// <summary>Frees an incomplete copy.</summary>
    internal void Discard(Arena arena)
    {
        if (_to != null) arena.Free(_to, _bytes);
        _to = null;
    }
}
