using System.Diagnostics;
using RedKite.Net.Interop;
using RedKite.Server.Model;

namespace RedKite.Server.PubSub;

/// <summary>
/// Memory for messages, one behind the other: the messages that a subscriber gets in one iteration of its loop are then one piece to
/// send. A block is filled only behind the messages that were handed out before. Used under its owner's lock.
/// </summary>
/// <remarks>
/// A block is kept while messages follow each other closely. Otherwise every message gets memory of its own, which is
/// released with it; so a client that reads slowly holds little more than its own messages.
/// </remarks>
internal sealed class MessageBlock(BufferPool pool)
{
    private const int BlockBytes = 16 * 1024;
    private const int SharedBytesMax = 1024;

    private static readonly long CloseTicks = Stopwatch.Frequency / 1000;

    private SharedBuffer? _block;
    private int _used;
    private long _lastTicks;
    private int _usedAtLook;

    /// <summary>The address at which the next message is written. <see cref="Take"/> follows.</summary>
    internal Span<byte> Reserve(int bytes)
    {
        if (_block is not null && _block.Capacity - _used >= bytes) return _block.GetSpan()[_used..];
        Release();
        long now = Stopwatch.GetTimestamp();
        bool isClose = now - _lastTicks < CloseTicks && bytes <= SharedBytesMax;
        _lastTicks = now;
        _block = pool.Take(isClose ? BlockBytes : bytes);
        return _block.GetSpan();
    }

    /// <summary>The message that was just written. The block keeps its own reference.</summary>
    internal Payload Take(int length)
    {
        var payload = new Payload(_block!, _used, length);
        _used += length;
        return payload;
    }

    /// <summary>Notes that the message is delivered: memory that no other message will share is then released by its last receiver.</summary>
    internal void End()
    {
        if (_block is { Capacity: not BlockBytes }) Release();
    }

    /// <summary>Releases the block if it was not used since the last call.</summary>
    internal void ReleaseIfIdle()
    {
        if (_used == _usedAtLook) Release();
        _usedAtLook = _used;
    }

    /// <summary>Releases the block.</summary>
    internal void Release()
    {
        _block?.Release();
        _block = null;
        _used = 0;
    }
}
