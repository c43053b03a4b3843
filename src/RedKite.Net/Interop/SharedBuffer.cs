using System.Buffers;

namespace RedKite.Net.Interop;

/// <summary>
/// A block of native memory with a count of references. It is filled while there is only one reference; from
/// then on the bytes do not change, and any number of connections, on any loop, can queue them without a copy. The last
/// <see cref="Release"/> returns the block to its pool. There is no finalizer: a span does not keep the buffer alive.
/// </summary>
internal sealed unsafe class SharedBuffer : MemoryManager<byte>
{
    private readonly BufferPool _pool;
    private readonly byte* _block;
    private readonly int _capacity;
    private int _references = 1;

    internal SharedBuffer(BufferPool pool, byte* block, int capacity)
    {
        _pool = pool;
        _block = block;
        _capacity = capacity;
    }

    /// <summary>The capacity of the block in bytes.</summary>
    public int Capacity => _capacity;

    /// <summary>References that are not released yet.</summary>
    public int References => Volatile.Read(ref _references);

    internal byte* Address => _block;

    /// <inheritdoc/>
    public override Span<byte> GetSpan() => new(_block, _capacity);

    /// <summary>Adds a reference.</summary>
    public void AddReference()
    {
        int references = Interlocked.Increment(ref _references);
        ObjectDisposedException.ThrowIf(references <= 1, this);
    }

    /// <summary>Releases a reference. The last one frees the block.</summary>
    public void Release()
    {
        int references = Interlocked.Decrement(ref _references);
        if (references > 0) return;
        ObjectDisposedException.ThrowIf(references < 0, this);
        _pool.Return(_block, _capacity);
    }

    /// <summary>The block never moves.</summary>
    public override MemoryHandle Pin(int elementIndex = 0) => new(_block + elementIndex);

    /// <inheritdoc/>
    public override void Unpin()
    {
    }

    /// <summary>Ends one use, as <see cref="Release"/> does.</summary>
    protected override void Dispose(bool disposing) => Release();
}
