using System.Buffers;

namespace RedKite.Ladder.Stages;

/// <summary>
/// Bytes in an array from a pool, to be a key or a value. Nobody counts who still reads them: when the garbage collector
/// finds that nobody does, the finalizer gives the array back.
/// </summary>
/// <remarks>
/// Whoever reads <see cref="Bytes"/> has to keep the buffer itself alive until done (<see cref="GC.KeepAlive"/>): the
/// array alone does not keep its finalizer from running, and then somebody else writes into it.
/// </remarks>
internal sealed class ReusableBuffer : IEquatable<ReusableBuffer>
{
    // Beyond these an array is the collector's, as any other is.
    private const int PooledBytesMax = 64 << 10;
    private const int PooledArraysMax = 50_000;

    private static readonly ArrayPool<byte> Pool = ArrayPool<byte>.Create(PooledBytesMax, PooledArraysMax);

    private byte[] _array = [];
    private int _length;
    private int _hash;

    internal ReusableBuffer(in ReadOnlySequence<byte> bytes) => Assign(bytes);

    internal ReusableBuffer(ReusableBuffer copied) => Assign(new ReadOnlySequence<byte>(copied._array, 0, copied._length));

    ~ReusableBuffer() => GiveBack();

    internal ReadOnlySpan<byte> Bytes => _array.AsSpan(0, _length);

    /// <summary>Other bytes in its place. Only for a buffer that is in no dictionary.</summary>
    internal void Assign(in ReadOnlySequence<byte> bytes)
    {
        int length = checked((int)bytes.Length);
        if (length > _array.Length)
        {
            GiveBack();
            _array = Pool.Rent(length);
        }

        bytes.CopyTo(_array);
        _length = length;
        _hash = 0;
    }

    public bool Equals(ReusableBuffer? other)
    {
        bool same = other is not null && Bytes.SequenceEqual(other.Bytes);
        GC.KeepAlive(this);
        GC.KeepAlive(other);
        return same;
    }

    public override bool Equals(object? obj) => Equals(obj as ReusableBuffer);

    // Values are never hashed, so this is not done when the bytes come.
    public override int GetHashCode()
    {
        if (_hash == 0) _hash = BytesHash.Of(Bytes);
        GC.KeepAlive(this);
        return _hash;
    }

    private void GiveBack()
    {
        if (_array.Length is > 0 and <= PooledBytesMax) Pool.Return(_array);
        _array = [];
    }
}
