using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Figures;

/// <summary>
/// A connection for setup and observation, one command and reply at a time. The measured load does not use it.
/// </summary>
internal sealed class RespConnection : IDisposable
{
    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private readonly BufferedStream _input;

    /// <exception cref="SocketException">Nothing listens on the port.</exception>
    internal RespConnection(int port)
    {
        try
        {
            _socket.Connect(IPAddress.Loopback, port);
            _input = new BufferedStream(new NetworkStream(_socket));
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
        string line = ReadLine();
        return line[0] switch
        {
            '+' or ':' => line[1..],
            '-' => throw new CannotMeasureException($"{string.Join(' ', command)}: {line[1..]}"),
            '$' => ReadBulk(int.Parse(line.AsSpan(1), CultureInfo.InvariantCulture)),
            '*' when line == "*0" => "0",
            _ => throw new CannotMeasureException($"{string.Join(' ', command)}: an unexpected reply, {line}"),
        };
    }

    /// <summary>A numeric field of INFO, or null if the server lacks it.</summary>
    internal long? ReadInfo(string section, string field)
    {
        string? line = Array.Find(Run("INFO", section).Split("\r\n"), line => line.StartsWith(field + ":", StringComparison.Ordinal));
        return line is not null ? long.Parse(line.AsSpan(field.Length + 1), CultureInfo.InvariantCulture) : null;
    }

    public void Dispose()
    {
        _input.Dispose();
        _socket.Dispose();
    }

    private string ReadBulk(int bytes)
    {
        if (bytes < 0) return "";
        byte[] bulk = new byte[bytes + 2];
        _input.ReadExactly(bulk);
        return Encoding.UTF8.GetString(bulk.AsSpan(0, bytes));
    }

    private string ReadLine()
    {
        var line = new StringBuilder();
        for (int next = _input.ReadByte(); next != '\r'; next = _input.ReadByte())
        {
            if (next < 0) throw new IOException("the server closed the connection");
            line.Append((char)next);
        }

        _input.ReadByte(); // The line feed.
        return line.ToString();
    }
}
