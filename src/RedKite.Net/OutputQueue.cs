using RedKite.Net.Interop;

namespace RedKite.Net;

/// <summary>
/// The output that a connection has still to send, in order: copies of short messages, put together in blocks of the queue's own, and
/// parts of shared buffers, which are not copied. It exists only while something waits. Blocks are released as they are sent.
/// </summary>
internal sealed class OutputQueue(BufferPool pool, int firstBlockBytes = OutputQueue.FirstBlockBytes) : IDisposable
{
    /// <summary>The first block of output that waits for a log's sync: mostly a short reply, of a thousand connections at a time.</summary>
    internal const int FirstGatedBytes = 512;

    private const int FirstBlockBytes = 16 * 1024;

    // Less than this is copied if the last block has room: that costs less than one more piece to send.
    private const int SharedBytesMin = 256;

    private const int SegmentBytes = 24;

    private Segment[] _segments = new Segment[4]; // a ring
    private int _first;
    private int _count;
    private bool _lastIsOwn; // nothing else refers to the last segment's buffer: it may be filled further
    private long _length;
    private long _capacity;

    /// <summary>Bytes that wait. A snapshot when read by another thread.</summary>
    internal long Length => Volatile.Read(ref _length);

    /// <summary>Memory that waits with them; of a shared buffer, the bytes that are queued.</summary>
    internal long Capacity => Volatile.Read(ref _capacity);

    /// <summary>Whether its first block has the usual size.</summary>
    internal bool IsOrdinary => firstBlockBytes == FirstBlockBytes;

    /// <summary>Memory that it takes when it is empty.</summary>
    internal int EmptyBytes => _segments.Length * SegmentBytes;

    /// <summary>Pieces that wait.</summary>
    internal int Count => _count;

    /// <summary>The first bytes to send.</summary>
    internal ReadOnlySpan<byte> First => _count == 0 ? [] : this[0].Bytes;

    internal ref Segment this[int index] => ref _segments[(_first + index) & (_segments.Length - 1)];

    /// <summary>Queues a copy.</summary>
    internal void Append(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            if (!_lastIsOwn || this[_count - 1].Room == 0)
            {
                int blockBytes = _count == 0 && bytes.Length <= firstBlockBytes ? firstBlockBytes
                    : _length <= FirstGatedBytes && bytes.Length <= FirstBlockBytes ? FirstBlockBytes : BufferPool.ChunkBytes;
                Add(new Segment { Buffer = pool.Take(blockBytes), IsOwn = true });
                _capacity += blockBytes;
                _lastIsOwn = true;
            }

            ref Segment last = ref this[_count - 1];
            int length = Math.Min(bytes.Length, last.Room);
            bytes[..length].CopyTo(last.Buffer.GetSpan()[(last.Start + last.Length)..]);
            last.Length += length;
            _length += length;
            bytes = bytes[length..];
        }
    }

    /// <summary>Queues a part of a shared buffer, to which it takes a reference.</summary>
    internal void Append(SharedBuffer buffer, int start, int length)
    {
        if (length == 0) return;
        if (_count > 0 && !_lastIsOwn && Continues(ref this[_count - 1], buffer, start))
        {
            this[_count - 1].Length += length;
            _length += length;
            _capacity += length;
            return;
        }

        if (length < SharedBytesMin && _lastIsOwn && this[_count - 1].Room >= length)
        {
            Append(buffer.GetSpan().Slice(start, length));
            return;
        }

        buffer.AddReference();
        Add(new Segment { Buffer = buffer, Start = start, Length = length });
        _lastIsOwn = false;
        _length += length;
        _capacity += length;
    }

    /// <summary>Appends everything that another queue holds, and disposes of it.</summary>
    internal void AppendAll(OutputQueue other)
    {
        while (other._count > 0)
        {
            Segment first = other[0];
            first.Buffer.AddReference();
            Add(first);
            _length += first.Length;
            _capacity += first.IsOwn ? first.Buffer.Capacity : first.Length;
            other.RemoveFirst();
        }

        _lastIsOwn = false;
        other.Dispose();
    }

    /// <summary>Appends the first bytes of another queue, and removes them there. Blocks that go over whole are not copied.</summary>
    internal void AppendFirst(OutputQueue other, long bytes)
    {
        while (bytes > 0)
        {
            Segment first = other[0];
            int length = (int)Math.Min(bytes, first.Length);
            if (first.IsOwn && length == first.Length)
            {
                first.Buffer.AddReference();
                Add(first);
                _lastIsOwn = false;
                _length += length;
                _capacity += first.Buffer.Capacity;
            }
            else if (first.IsOwn)
            {
                Append(first.Bytes[..length]); // the rest is filled further
            }
            else
            {
                Append(first.Buffer, first.Start, length);
            }

            other.Consume(length);
            bytes -= length;
        }
    }

    /// <summary>Removes the first bytes, which were sent, and releases blocks that are done.</summary>
    internal void Consume(long bytes)
    {
        _length -= bytes;
        while (bytes > 0)
        {
            ref Segment first = ref this[0];
            if (bytes < first.Length)
            {
                first.Start += (int)bytes;
                first.Length -= (int)bytes;
                if (!first.IsOwn) _capacity -= bytes;
                return;
            }

            bytes -= first.Length;
            RemoveFirst();
        }
    }

    public void Dispose()
    {
        while (_count > 0) RemoveFirst();
        _length = _capacity = 0;
    }

    // Messages that were written one behind the other are one piece to send.
    private static bool Continues(ref Segment last, SharedBuffer buffer, int start) => last.Buffer == buffer && last.Start + last.Length == start;

    private void RemoveFirst()
    {
        ref Segment first = ref this[0];
        _capacity -= first.IsOwn ? first.Buffer.Capacity : first.Length;
        first.Buffer.Release();
        first = default;
        _first = (_first + 1) & (_segments.Length - 1);
        if (--_count == 0) _lastIsOwn = false;
    }

    private void Add(Segment segment)
    {
        if (_count == _segments.Length)
        {
            var larger = new Segment[_count * 2];
            for (int i = 0; i < _count; i++) larger[i] = this[i];
            (_segments, _first) = (larger, 0);
        }

        _count++;
        this[_count - 1] = segment;
    }

    /// <summary>A piece that waits: a part of a buffer.</summary>
    internal struct Segment
    {
        internal SharedBuffer Buffer;
        internal int Start;
        internal int Length;
        internal bool IsOwn;

        internal readonly ReadOnlySpan<byte> Bytes => Buffer.GetSpan().Slice(Start, Length);

        internal readonly int Room => Buffer.Capacity - Start - Length;
    }
}
