using System.Buffers;

namespace RedKite.Ladder.Stages;

/// <summary>
/// Bytes of a key or value in a pooled array. Readers are not counted: the finalizer returns the array once the garbage
/// collector finds the buffer unreferenced.
/// </summary>
/// <remarks>
/// A reader of <see cref="Bytes"/> must keep the buffer itself alive until it is done (<see cref="GC.KeepAlive"/>): the
/// array alone does not prevent the finalizer, after which the array is reused.
/// </remarks>
internal sealed class ReusableBuffer : IEquatable<ReusableBuffer>
{
    // Longer arrays are not pooled.
    private const int PooledBytesMax = 64 << 10;
    private const int PooledArraysMax = 50_000;

    private static readonly ArrayPool<byte> Pool = ArrayPool<byte>.Create(PooledBytesMax, PooledArraysMax);

    private byte[] _array = [];
    private int _length;
    private int _hash;

    internal ReusableBuffer(in ReadOnlySequence<byte> bytes) => Assign(bytes);

    internal ReusableBuffer(ReusableBuffer copied) => Assign(new ReadOnlySequence<byte>(copied._array, 0, copied._length));

    ~ReusableBuffer() => ReturnArray();

    internal ReadOnlySpan<byte> Bytes => _array.AsSpan(0, _length);

    /// <summary>Replaces the contents. Only for a buffer that is in no dictionary.</summary>
    internal void Assign(in ReadOnlySequence<byte> bytes)
    {
        int length = checked((int)bytes.Length);
        if (length > _array.Length)
        {
            ReturnArray();
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

    // Computed lazily, because values are never hashed.
    public override int GetHashCode()
    {
        if (_hash == 0) _hash = BytesHash.Of(Bytes);
        GC.KeepAlive(this);
        return _hash;
    }

    private void ReturnArray()
    {
        if (_array.Length is > 0 and <= PooledBytesMax) Pool.Return(_array);
        _array = [];
    }
}
