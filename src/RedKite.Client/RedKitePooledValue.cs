using System.Buffers;

namespace RedKite;

/// <summary>A value in memory of the shared array pool. Dispose it once, when its bytes are no longer used. Not thread-safe.</summary>
public sealed class RedKitePooledValue : IMemoryOwner<byte>
{
    private byte[]? _array;
    private readonly int _length;

    private RedKitePooledValue(byte[] array, int length)
    {
        _array = array;
        _length = length;
    }

    /// <summary>The value's bytes, exactly.</summary>
    /// <exception cref="ObjectDisposedException">It has been disposed.</exception>
    public Memory<byte> Memory
    {
        get
        {
            ObjectDisposedException.ThrowIf(_array is null, this);
            return _array.AsMemory(0, _length);
        }
    }

    /// <summary>The value's length in bytes.</summary>
    public int Length => _length;

    /// <summary>Returns the memory to the pool.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _array, null) is { } array) ArrayPool<byte>.Shared.Return(array);
    }

    internal static RedKitePooledValue Of(ReadOnlySpan<byte> value)
    {
        byte[] array = ArrayPool<byte>.Shared.Rent(value.Length);
        value.CopyTo(array);
        return new RedKitePooledValue(array, value.Length);
    }
}
