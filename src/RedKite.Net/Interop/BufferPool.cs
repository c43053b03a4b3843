using System.Buffers;
using System.Collections.Concurrent;
using System.Runtime.InteropServices;

namespace RedKite.Net.Interop;

/// <summary>
/// Native memory for replies that wait to be sent; the garbage collector does not see it. Blocks of <see cref="ChunkBytes"/>, of which
/// large replies consist, are mapped by themselves, so that each returns to the system while the rest of its reply is still being
/// sent; a few are kept for the next reply. From any thread.
/// </summary>
internal sealed unsafe class BufferPool : MemoryPool<byte>
{
    /// <summary>The size of the blocks that are kept for reuse.</summary>
    public const int ChunkBytes = 256 * 1024;

    // 4 MiB: a steady stream of replies of that size takes no memory from the system.
    private const int KeptChunksMax = 16;

    private readonly ConcurrentQueue<nint> _kept = new();
    private int _keptCount;
    private long _usedBytes;

    /// <summary>The pool of loops that have none of their own.</summary>
    internal static BufferPool Process { get; } = new();

    /// <summary>Bytes of the blocks in use.</summary>
    public long UsedBytes => Volatile.Read(ref _usedBytes);

    /// <inheritdoc/>
    public override int MaxBufferSize => int.MaxValue;

    /// <inheritdoc/>
    public override IMemoryOwner<byte> Rent(int minBufferSize = -1) => Take(minBufferSize < 0 ? ChunkBytes : minBufferSize);

    /// <summary>A block with room for at least <paramref name="bytes"/>, with one reference.</summary>
    /// <exception cref="OutOfMemoryException">The system has no more.</exception>
    public SharedBuffer Take(int bytes)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bytes);
        int capacity = Math.Max(bytes, 64);
        byte* block = null;
        if (capacity == ChunkBytes && _kept.TryDequeue(out nint kept))
        {
            Interlocked.Decrement(ref _keptCount);
            block = (byte*)kept;
        }

        if (block is null) block = Allocate(capacity);
        Interlocked.Add(ref _usedBytes, capacity);
        return new SharedBuffer(this, block, capacity);
    }

    /// <summary>A block that holds a copy and nothing more.</summary>
    public SharedBuffer Copy(ReadOnlySpan<byte> bytes)
    {
        SharedBuffer buffer = Take(bytes.Length);
        bytes.CopyTo(buffer.GetSpan());
        return buffer;
    }

    internal void Return(byte* block, int capacity)
    {
        Interlocked.Add(ref _usedBytes, -capacity);
        if (capacity == ChunkBytes)
        {
            if (Interlocked.Increment(ref _keptCount) <= KeptChunksMax)
            {
                _kept.Enqueue((nint)block);
                return;
            }

            Interlocked.Decrement(ref _keptCount);
        }

        Free(block, capacity);
    }

    /// <inheritdoc/>
    protected override void Dispose(bool disposing) => ReleaseKept();

    /// <summary>Returns the blocks that are kept for reuse to the system.</summary>
    public void ReleaseKept()
    {
        while (_kept.TryDequeue(out nint kept))
        {
            Interlocked.Decrement(ref _keptCount);
            Free((byte*)kept, ChunkBytes);
        }
    }

    private static byte* Allocate(int capacity)
    {
        if (capacity < ChunkBytes || !LinuxCalls.IsSupported) return (byte*)NativeMemory.Alloc((nuint)capacity);
        nint block = LinuxCalls.MapMemory(capacity);
        return block == -1 ? throw new InsufficientMemoryException() : (byte*)block;
    }

    private static void Free(byte* block, int capacity)
    {
        if (capacity < ChunkBytes || !LinuxCalls.IsSupported) NativeMemory.Free(block);
        else LinuxCalls.UnmapMemory((nint)block, capacity);
    }
}
