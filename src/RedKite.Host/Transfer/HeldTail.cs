using RedKite.Persistence.Rdb;

namespace RedKite.Host.Transfer;

/// <summary>Passes bytes on in pieces, except the last ones, whatever the pieces are: what follows data whose end only the end shows.</summary>
/// <param name="bytes">The number of last bytes.</param>
/// <param name="sink">Receives the bytes before them.</param>
internal sealed class HeldTail(int bytes, RdbSink sink)
{
    private readonly byte[] _held = new byte[bytes];
    private int _count;

    /// <summary>The last bytes; fewer if there were no more.</summary>
    internal ReadOnlySpan<byte> Tail => _held.AsSpan(0, _count);

    internal void Append(ReadOnlySpan<byte> piece)
    {
        int leaving = Math.Max(_count + piece.Length - bytes, 0);
        int held = Math.Min(leaving, _count);
        if (held > 0)
        {
            sink(_held.AsSpan(0, held));
            _held.AsSpan(held, _count - held).CopyTo(_held);
            _count -= held;
        }

        int direct = leaving - held;
        if (direct > 0) sink(piece[..direct]);
        piece[direct..].CopyTo(_held.AsSpan(_count));
        _count += piece.Length - direct;
    }

    internal void Clear() => _count = 0;
}
