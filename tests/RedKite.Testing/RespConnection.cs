using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Testing;

/// <summary>A plain blocking client: it sends bytes exactly as told and reads replies with their bytes.</summary>
public sealed class RespConnection : IDisposable
{
    // Long enough for a machine that stops for seconds: a time that is up means that no reply will come.
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

    /// <summary>The bytes of the reply that was read last.</summary>
    public ReadOnlySpan<byte> LastBytes => _reader.LastBytes;

    public EndPoint LocalEndPoint => _socket.LocalEndPoint!;

    /// <summary>Push messages that came while waiting for replies, oldest first.</summary>
    public List<RespValue> Pushes { get; } = [];

    /// <summary>Connects to a port of loopback.</summary>
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

    /// <summary>Sends bytes as they are. A connection that the server has closed is not an error here: reading tells it.</summary>
    public void Send(ReadOnlySpan<byte> bytes)
    {
        try
        {
            while (bytes.Length > 0) bytes = bytes[_socket.Send(bytes)..];
        }
        catch (SocketException)
        {
            // The replies that came before the close can still be read.
        }
    }

    public void Send(string text) => Send(Encoding.Latin1.GetBytes(text));

    /// <summary>Sends a command and leaves its reply to be read.</summary>
    public void SendCommand(string line) => Send(CommandLine.Encode(CommandLine.Split(line)));

    /// <summary>Tells the server that nothing more will be sent.</summary>
    public void FinishSending() => _socket.Shutdown(SocketShutdown.Send);

    /// <summary>Closes at once, with a reset, as a client that died does.</summary>
    public void Reset()
    {
        _socket.LingerState = new LingerOption(enable: true, seconds: 0);
        _socket.Dispose();
    }

    /// <summary>The next reply; push messages that come before it are put aside.</summary>
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

    /// <summary>The next frame, push messages included.</summary>
    public RespValue ReadFrame() => _reader.Read();

    /// <summary>Limits how long the next reads wait.</summary>
    public void SetTimeout(int timeoutMs) => _socket.ReceiveTimeout = timeoutMs;

    /// <summary>
    /// Reads raw bytes until the server closes or stays quiet for a while. Not to be mixed with reading replies.
    /// </summary>
    /// <param name="quietMs">How long a silence ends the reading.</param>
    /// <param name="expectedBytes">Silence counts only after so many bytes, or after the whole time.</param>
    /// <param name="expectClose">Silence does not count: the server is expected to close.</param>
    /// <param name="timeoutMs">The whole time.</param>
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

    /// <summary>Bytes that the kernel holds for this client, unread.</summary>
    public int AvailableBytes => _socket.Available;

    /// <summary>Whether the kernel holds neither bytes for this client nor the end of the connection.</summary>
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
