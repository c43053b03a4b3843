using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.TestSupport;

/// <summary>A simple blocking client: it sends the given bytes and reads replies with their bytes.</summary>
public sealed class RespConnection : IDisposable
{
    // Long enough for a machine that stalls for seconds: after this time no reply will arrive.
    private const int DefaultTimeoutMs = 60_000;

    private readonly Socket _socket;
    private readonly RespReader _reader;

    private RespConnection(Socket socket, int timeoutMs)
    {
        _socket = socket;
        _socket.ReceiveTimeout = timeoutMs;
        _socket.SendTimeout = timeoutMs;
        _reader = new RespReader(Receive);
    }

    /// <summary>The bytes of the last reply.</summary>
    public ReadOnlySpan<byte> LastBytes => _reader.LastBytes;

    public EndPoint LocalEndPoint => _socket.LocalEndPoint!;

    /// <summary>Push messages received while waiting for replies, oldest first.</summary>
    public List<RespValue> Pushes { get; } = [];

    /// <summary>Connects to a loopback port.</summary>
    public static RespConnection Connect(int port, int timeoutMs = DefaultTimeoutMs) => Connect(new IPEndPoint(IPAddress.Loopback, port), timeoutMs);

    public static RespConnection Connect(IPEndPoint server, int timeoutMs = DefaultTimeoutMs)
    {
        Socket socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        return Open(socket, server, timeoutMs);
    }

    public static RespConnection ConnectUnix(string path, int timeoutMs = DefaultTimeoutMs) =>
        Open(new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified), new UnixDomainSocketEndPoint(path), timeoutMs);

    /// <summary>Runs a command written as in redis-cli and returns its reply.</summary>
    public RespValue Run(string line) => Run(CommandLine.Split(line));

    public RespValue Run(params byte[][] arguments)
    {
        Send(CommandLine.Encode(arguments));
        return Read();
    }

    /// <summary>Sends raw bytes. A connection closed by the server is not an error here: reading reports it.</summary>
    public void Send(ReadOnlySpan<byte> bytes)
    {
        try
        {
            while (bytes.Length > 0) bytes = bytes[_socket.Send(bytes)..];
        }
        catch (SocketException)
        {
            // Replies received before the close can still be read.
        }
    }

    public void Send(string text) => Send(Encoding.Latin1.GetBytes(text));

    /// <summary>Sends a command without reading its reply.</summary>
    public void SendCommand(string line) => Send(CommandLine.Encode(CommandLine.Split(line)));

    /// <summary>Shuts down the sending side.</summary>
    public void FinishSending() => _socket.Shutdown(SocketShutdown.Send);

    /// <summary>Closes at once with a reset, like a client that crashed.</summary>
    public void Reset()
    {
        _socket.LingerState = new LingerOption(enable: true, seconds: 0);
        _socket.Dispose();
    }

    /// <summary>Reads the next reply; preceding push messages are stored.</summary>
    public RespValue Read()
    {
        RespValue value = _reader.Read();
        while (value.Marker == '>')
        {
            Pushes.Add(value);
            value = _reader.Read();
        }

        return value;
    }

    /// <summary>Reads the next reply or push message.</summary>
    public RespValue ReadAny() => _reader.Read();

    /// <summary>Sets the timeout of later reads.</summary>
    public void SetTimeout(int timeoutMs) => _socket.ReceiveTimeout = timeoutMs;

    /// <summary>
    /// Reads raw bytes until the server closes or is silent for a while. Not to be mixed with reading replies.
    /// </summary>
    /// <param name="quietMs">The length of a silence that ends the reading.</param>
    /// <param name="expectedBytes">Silence counts only after this many bytes, or after the whole timeout.</param>
    /// <param name="expectClose">Silence does not count, because the server is expected to close.</param>
    /// <param name="timeoutMs">The total timeout.</param>
    public (byte[] Bytes, bool Closed) ReadUntilQuiet(int quietMs, int expectedBytes = 0, bool expectClose = false, int timeoutMs = DefaultTimeoutMs)
    {
        using MemoryStream bytes = new();
        byte[] buffer = new byte[64 * 1024];
        Stopwatch clock = Stopwatch.StartNew();
        while (clock.ElapsedMilliseconds < timeoutMs)
        {
            bool satisfied = bytes.Length >= expectedBytes && !expectClose;
            if (!_socket.Poll((satisfied ? quietMs : 10) * 1000, SelectMode.SelectRead))
            {
                if (satisfied) return (bytes.ToArray(), false);
                continue;
            }

            int count = Receive(buffer, 0);
            if (count <= 0) return (bytes.ToArray(), count == 0);
            bytes.Write(buffer, 0, count);
        }

        return (bytes.ToArray(), false);
    }

    /// <summary>Unread bytes in the kernel for this client.</summary>
    public int AvailableBytes => _socket.Available;

    /// <summary>Whether the kernel has neither bytes for this client nor the end of the connection.</summary>
    public bool IsSilent => !_socket.Poll(0, SelectMode.SelectRead);

    public void Dispose() => _socket.Dispose();

    private static RespConnection Open(Socket socket, EndPoint server, int timeoutMs)
    {
        try
        {
            socket.Connect(server);
            return new RespConnection(socket, timeoutMs);
        }
        catch (SocketException)
        {
            socket.Dispose();
            throw;
        }
    }

    private int Receive(byte[] buffer, int offset)
    {
        try
        {
            return _socket.Receive(buffer, offset, buffer.Length - offset, SocketFlags.None);
        }
        catch (SocketException e) when (e.SocketErrorCode is SocketError.TimedOut or SocketError.WouldBlock)
        {
            return -1;
        }
        catch (SocketException)
        {
            return 0;
        }
    }
}
