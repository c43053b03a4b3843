using System.Runtime.InteropServices;

namespace RedKite.Net.Interop;

/// <summary>
/// Waiting bytes in one contiguous block of unmanaged memory: an incomplete request, or replies that the peer has not taken. It
/// exists only while something waits. Disposed by the connection that owns it.
/// </summary>
internal sealed unsafe class ByteQueue : IDisposable
{
    private const int PageBytes = 4096;

    private byte* _block;
    private nint _capacity;
    private nint _start;
    private nint _end;
    private nint _written; // how far the block had been written when what it holds was moved to its start

    internal ByteQueue(int capacity)
    {
        _capacity = capacity;
        _block = (byte*)NativeMemory.Alloc((nuint)capacity);
    }

    ~ByteQueue() => Dispose();

    internal long Length => _end - _start;

    /// <summary>
    /// The memory that it takes: whole pages, as far as they were ever written to. The room behind them, which is as large again while a long request
    /// arrives, is only addresses.
    /// </summary>
    internal long HeldBytes => Math.Min(_capacity, (Math.Max(_written, _end) + PageBytes - 1) & -PageBytes);

    /// <summary>The waiting bytes, up to the largest span.</summary>
    internal Span<byte> Bytes => new(_block + _start, (int)Math.Min(_end - _start, int.MaxValue));

    internal void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Reserve(bytes.Length));
        _end += bytes.Length;
    }

    /// <summary>Room behind the bytes that wait, at least as large as asked; <see cref="Commit"/> says how much was filled.</summary>
    internal Span<byte> Reserve(int bytes)
    {
        if (_capacity - _end < bytes) MakeRoom(bytes);
        return new Span<byte>(_block + _end, (int)Math.Min(_capacity - _end, int.MaxValue));
    }

    internal void Commit(int bytes) => _end += bytes;

    internal void Consume(int bytes) => _start += bytes;

    public void Dispose()
    {
        NativeMemory.Free(_block);
        _block = null;
        _capacity = _start = _end = _written = 0;
        GC.SuppressFinalize(this);
    }

    private void MakeRoom(int bytes)
    {
        nint length = _end - _start;
        if (_start > 0 && length + bytes <= _capacity && _start >= _capacity / 2)
        {
            _written = Math.Max(_written, _end);
            Buffer.MemoryCopy(_block + _start, _block, length, length);
        }
        else
        {
            nint capacity = Math.Max(_capacity * 2, length + bytes);
            if (_start == 0)
            {
                // The system moves large blocks by remapping, which copies nothing.
                _block = (byte*)NativeMemory.Realloc(_block, (nuint)capacity);
            }
            else
            {
                var larger = (byte*)NativeMemory.Alloc((nuint)capacity);
                Buffer.MemoryCopy(_block + _start, larger, length, length);
                NativeMemory.Free(_block);
                _block = larger;
                _written = 0;
            }

            _capacity = capacity;
        }

        _start = 0;
        _end = length;
    }
}
