using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using RedKite.Protocol;

namespace RedKite.Figures;

/// <summary>
/// A connection for setup and observation, one command and reply at a time. The measured load does not use it.
/// </summary>
internal sealed class RespConnection : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private byte[] _buffer = new byte[16 * 1024];
    private ReplyReader _reader;
    private int _at;
    private int _end;

    /// <exception cref="SocketException">Nothing listens on the port.</exception>
    internal RespConnection(int port)
    {
        try
        {
            _socket.Connect(IPAddress.Loopback, port);
        }
        catch
        {
            _socket.Dispose();
            throw;
        }
    }

    /// <summary>
    /// The reply as text: a status, a bulk string or a number, empty for null, and for an array, which must be empty, its
    /// length.
    /// </summary>
    /// <exception cref="CannotMeasureException">The server replied with an error.</exception>
    internal string Run(params string[] command)
    {
        var request = new StringBuilder().Append(CultureInfo.InvariantCulture, $"*{command.Length}\r\n");
        foreach (string argument in command)
        {
            request.Append(CultureInfo.InvariantCulture, $"${Encoding.UTF8.GetByteCount(argument)}\r\n{argument}\r\n");
        }

        _socket.Send(Encoding.UTF8.GetBytes(request.ToString()));
        string what = string.Join(' ', command);
        ReplyElement reply = Next();
        switch (reply.Marker)
        {
            case (byte)'+' or (byte)':':
                return Encoding.UTF8.GetString(reply.Bytes);
            case (byte)'-':
                throw new CannotMeasureException($"{what}: {Encoding.UTF8.GetString(reply.Bytes)}");
            case (byte)'$':
                return reply.Number < 0 ? "" : ReadString(reply);
            case (byte)'*' when reply.Number == 0:
                return "0";
            default:
                throw new CannotMeasureException($"{what}: an unexpected reply, {(char)reply.Marker}{Encoding.UTF8.GetString(reply.Bytes)}");
        }
    }

    /// <summary>A numeric field of INFO, or null if the server lacks it.</summary>
    internal long? ReadInfo(string section, string field)
    {
        string? line = Array.Find(Run("INFO", section).Split("\r\n"), line => line.StartsWith(field + ":", StringComparison.Ordinal));
        return line is not null ? long.Parse(line.AsSpan(field.Length + 1), CultureInfo.InvariantCulture) : null;
    }

    public void Dispose() => _socket.Dispose();

    private string ReadString(ReplyElement piece)
    {
        using var bytes = new MemoryStream();
        bytes.Write(piece.Bytes);
        while (!piece.IsWhole)
        {
            piece = Next();
            bytes.Write(piece.Bytes);
        }

        return Encoding.UTF8.GetString(bytes.GetBuffer().AsSpan(0, (int)bytes.Length));
    }

    // Replies come one at a time, so that nothing is left but the one that is read.
    private ReplyElement Next()
    {
        ReplyElement element;
        while (!_reader.TryRead(_buffer.AsSpan(0, _end), ref _at, out element))
        {
            _buffer.AsSpan(_at.._end).CopyTo(_buffer);
            (_at, _end) = (0, _end - _at);
            if (_end == _buffer.Length) Array.Resize(ref _buffer, 2 * _end);
            int received = _socket.Receive(_buffer.AsSpan(_end));
            if (received == 0) throw new IOException("the server closed the connection");
            _end += received;
        }

        return element;
    }
}
