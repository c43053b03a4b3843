using RedKite.Protocol;

namespace RedKite.TestSupport;

/// <summary>
/// Reads RESP2 and RESP3 replies strictly: an invalid frame is reported as malformed, never interpreted.
/// Keeps the bytes of the last reply.
/// </summary>
/// <param name="receive">Fills a buffer and returns the number of bytes, 0 at the end of the stream, -1 on a timeout.</param>
public sealed class RespReader(Func<byte[], int, int> receive)
{
    private const int DepthMax = 64;

    private byte[] _buffer = new byte[16 * 1024];
    private ReplyReader _reader;
    private int _start;
    private int _at;
    private int _end;

    /// <summary>The bytes of the last reply, incomplete if it was truncated.</summary>
    public ReadOnlySpan<byte> LastBytes => _buffer.AsSpan(_start, _at - _start);

    /// <summary>Whether there are unread bytes.</summary>
    public bool HasUnread => _end > _at;

    public RespValue Read()
    {
        _start = _at;
        _reader = default;
        try
        {
            return ReadValue(0);
        }
        catch (EndOfRepliesException end)
        {
            bool cut = _end > _start;
            _at = _end;
            if (!cut) return end.IsTimeout ? RespValue.Timeout : RespValue.Closed;
            return RespValue.Malformed($"{(end.IsTimeout ? "incomplete" : "cut by close")}: {CommandLine.Format(LastBytes)}");
        }
        catch (FormatException malformed)
        {
            _at = _end;
            return RespValue.Malformed($"{malformed.Message} in {CommandLine.Format(LastBytes)}");
        }
    }

    private RespValue ReadValue(int depth)
    {
        if (depth > DepthMax) throw new FormatException("nested too deeply");
        ReplyElement element = Next();
        char marker = (char)element.Marker;
        if (element.Number < 0 && marker != ':') return RespValue.Null(marker);
        if (element.IsString) return ReadString(element);
        if (!element.IsAggregate) return RespValue.Scalar(marker, element.Bytes.ToArray());
        List<RespValue> items = ReadItems(element.Number, depth);

        // Attributes precede the value that they describe and are part of it.
        return marker == '|' ? RespValue.Aggregate(marker, [RespValue.Aggregate(marker, items), ReadValue(depth + 1)]) : RespValue.Aggregate(marker, items);
    }

    private RespValue ReadString(ReplyElement element)
    {
        char marker = (char)element.Marker;
        using MemoryStream payload = new();
        payload.Write(element.Bytes);
        while (!element.IsWhole)
        {
            element = Next();
            payload.Write(element.Bytes);
        }

        return RespValue.Scalar(marker, payload.ToArray());
    }

    private List<RespValue> ReadItems(long count, int depth)
    {
        List<RespValue> items = new((int)Math.Min(count, 1024));
        for (long i = 0; i < count; i++) items.Add(ReadValue(depth + 1));
        return items;
    }

    private ReplyElement Next()
    {
        ReplyElement element;
        while (!_reader.TryRead(_buffer.AsSpan(0, _end), ref _at, out element)) Fill();
        return element.Problem is null ? element : throw new FormatException(element.Problem);
    }

    private void Fill()
    {
        if (_start > 0 && _end == _buffer.Length)
        {
            Buffer.BlockCopy(_buffer, _start, _buffer, 0, _end - _start);
            _end -= _start;
            _at -= _start;
            _start = 0;
        }

        if (_end == _buffer.Length) Array.Resize(ref _buffer, _buffer.Length * 2);
        int count = receive(_buffer, _end);
        if (count <= 0) throw new EndOfRepliesException(isTimeout: count < 0);
        _end += count;
    }

    private sealed class EndOfRepliesException(bool isTimeout) : Exception
    {
        public bool IsTimeout { get; } = isTimeout;
    }
}
