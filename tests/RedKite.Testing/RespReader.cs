using System.Globalization;
using System.Text;

namespace RedKite.Testing;

/// <summary>
/// Reads RESP2 and RESP3 replies strictly: an invalid frame is reported as malformed, never interpreted.
/// Keeps the bytes of the last reply.
/// </summary>
/// <param name="receive">Fills a buffer and returns the number of bytes, 0 at the end of the stream, -1 on a timeout.</param>
public sealed class RespReader(Func<byte[], int, int> receive)
{
    private const int DepthMax = 64;

    private byte[] _buffer = new byte[16 * 1024];
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
        string line = ReadLine();
        if (line.Length == 0) throw new FormatException("empty header");
        char marker = line[0];
        switch (marker)
        {
            case '+' or '-':
                return RespValue.Scalar(marker, Encoding.Latin1.GetBytes(line[1..]));
            case ':':
                Length(line, long.MinValue);
                return RespValue.Scalar(marker, Encoding.Latin1.GetBytes(line[1..]));
            case ',' or '(' or '#':
                if (marker == '#' && line is not ("#t" or "#f")) throw new FormatException("bad boolean");
                return RespValue.Scalar(marker, Encoding.Latin1.GetBytes(line[1..]));
            case '_':
                if (line != "_") throw new FormatException("bad null");
                return RespValue.Null('_');
            case '$' or '=' or '!':
                return ReadBulk(marker, Length(line, marker == '$' ? -1 : 0));
            case '*' or '%' or '~' or '>':
                return ReadAggregate(marker, Length(line, marker == '*' ? -1 : 0), depth);
            case '|':
                // Attributes precede the value that they describe and are part of it.
                RespValue attributes = ReadAggregate(marker, Length(line, 0), depth);
                return RespValue.Aggregate(marker, [attributes, ReadValue(depth + 1)]);
            default:
                throw new FormatException($"unknown marker {CommandLine.Format([(byte)marker])}");
        }
    }

    private RespValue ReadBulk(char marker, long length)
    {
        if (length < 0) return RespValue.Null(marker);
        while (_end - _at < length + 2) Fill();
        byte[] payload = _buffer.AsSpan(_at, (int)length).ToArray();
        if (_buffer[_at + length] != '\r' || _buffer[_at + length + 1] != '\n') throw new FormatException("no CRLF after a bulk string");
        _at += (int)length + 2;
        return RespValue.Scalar(marker, payload);
    }

    private RespValue ReadAggregate(char marker, long count, int depth)
    {
        if (count < 0) return RespValue.Null(marker);
        if (marker is '%' or '|') count *= 2;
        List<RespValue> items = new((int)Math.Min(count, 1024));
        for (long i = 0; i < count; i++) items.Add(ReadValue(depth + 1));
        return RespValue.Aggregate(marker, items);
    }

    private string ReadLine()
    {
        int searched = 0;
        while (true)
        {
            int feed = _buffer.AsSpan(_at + searched, _end - _at - searched).IndexOf((byte)'\n');
            if (feed >= 0)
            {
                int length = searched + feed;
                if (length == 0 || _buffer[_at + length - 1] != '\r') throw new FormatException("LF without CR");
                string line = Encoding.Latin1.GetString(_buffer, _at, length - 1);
                if (line.Contains('\r', StringComparison.Ordinal)) throw new FormatException("CR inside a line");
                _at += length + 1;
                return line;
            }

            searched = _end - _at;
            Fill();
        }
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

    private static long Length(string line, long minimum)
    {
        if (!long.TryParse(line.AsSpan(1), NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long length) || length < minimum)
            throw new FormatException($"bad length or integer {line}");
        return length;
    }

    private sealed class EndOfRepliesException(bool isTimeout) : Exception
    {
        public bool IsTimeout { get; } = isTimeout;
    }
}
