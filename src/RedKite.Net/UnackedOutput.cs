using RedKite.Net.Interop;

namespace RedKite.Net;

/// <summary>Where in a connection's output the reply to a command that wrote is, and the offset that replicas must acknowledge before it may leave.</summary>
/// <param name="Start">Its first byte, counted from the first byte of what is sent next.</param>
/// <param name="Bytes">Its length; 0: the client wants no reply, but what follows waits nevertheless.</param>
/// <param name="Offset">The offset.</param>
internal readonly record struct WriteReply(long Start, long Bytes, long Offset);

/// <summary>
/// The output of a connection from the first reply on that replicas have not acknowledged: everything behind that reply waits with it, so that the output
/// stays in order. It knows where the replies of commands that wrote are, because each may have to become an error.
/// </summary>
/// <remarks>On the loop's thread; sizes are a moment old when another thread reads them. Loops keep some for reuse (<see cref="EventLoop.TakeUnacked"/>).</remarks>
internal sealed class UnackedOutput(BufferPool pool) : IDisposable
{
    // What a reply that waits costs beside its bytes.
    private const int ReplyOverheadBytes = 24;

    private readonly OutputQueue _output = new(pool, OutputQueue.FirstGatedBytes);
    private WriteReply[] _replies = new WriteReply[8]; // a ring, by ascending offsets; starts are counted from the object's first byte
    private int _first;
    private int _count;
    private long _start; // bytes that have left

    /// <summary>Replies that wait for replicas.</summary>
    internal int Replies => _count;

    /// <summary>Bytes that wait, with what is remembered of the replies.</summary>
    internal long Bytes => _output.Length + ((long)_count * ReplyOverheadBytes);

    internal long CapacityBytes => _output.Capacity + ((long)_count * ReplyOverheadBytes);

    internal long Blocks => _output.Count;

    /// <inheritdoc cref="OutputQueue.EmptyBytes"/>
    internal int EmptyBytes => (_replies.Length * ReplyOverheadBytes) + _output.EmptyBytes;

    /// <summary>Notes replies of which the bytes are appended next.</summary>
    internal void Add(ReadOnlySpan<WriteReply> replies)
    {
        long end = _start + _output.Length;
        foreach (WriteReply reply in replies)
        {
            if (_count == _replies.Length) Grow();
            _count++;
            At(_count - 1) = reply with { Start = end + reply.Start };
        }
    }

    internal void Append(ReadOnlySpan<byte> bytes) => _output.Append(bytes);

    internal void Append(SharedBuffer buffer, int start, int length) => _output.Append(buffer, start, length);

    /// <summary>Forgets the replies up to an offset that replicas have acknowledged.</summary>
    /// <returns>Whether there is output before the first reply that waits on.</returns>
    internal bool Acknowledge(long offset)
    {
        while (_count > 0 && At(0).Offset <= offset) RemoveFirst();
        return End > _start;
    }

    /// <summary>Moves the output before the first reply that waits on.</summary>
    internal void MoveTo(OutputQueue target) => MoveTo(target, End);

    /// <summary>Takes the first reply if it waits for no more than an offset. Its bytes stay.</summary>
    internal bool TryTake(long offset, out WriteReply reply)
    {
        reply = _count > 0 ? At(0) : default;
        if (_count == 0 || reply.Offset > offset) return false;
        RemoveFirst();
        return true;
    }

    /// <summary>Moves the output before a reply that was taken, and drops the reply.</summary>
    internal void Drop(in WriteReply reply, OutputQueue target)
    {
        MoveTo(target, reply.Start);
        _output.Consume(reply.Bytes);
        _start += reply.Bytes;
    }

    public void Dispose()
    {
        _output.Dispose();
        _first = _count = 0;
        _start = 0;
    }

    // Of what may leave.
    private long End => _count == 0 ? _start + _output.Length : At(0).Start;

    private ref WriteReply At(int index) => ref _replies[(_first + index) & (_replies.Length - 1)];

    private void MoveTo(OutputQueue target, long end)
    {
        if (end <= _start) return;
        target.AppendFirst(_output, end - _start);
        _start = end;
    }

    private void RemoveFirst()
    {
        _first = (_first + 1) & (_replies.Length - 1);
        _count--;
    }

    private void Grow()
    {
        var larger = new WriteReply[_replies.Length * 2];
        for (int i = 0; i < _count; i++) larger[i] = At(i);
        (_replies, _first) = (larger, 0);
    }
}
