using System.Buffers;
using System.Net.Security;
using System.Net.Sockets;
using System.Net;
using System.Text;
using RedKite.Net;
using RedKite.Protocol;

namespace RedKite.Server.Following;

/// <summary>
/// A replica's connection to its primary. One thread reads; acknowledgements are sent from any. Waiting ends when it is closed, from
/// any thread: <see cref="Close"/>.
/// </summary>
internal sealed class PrimaryConnection : IDisposable
{
    private const int LineBytesMax = 4096;
    private const int ReceivedBytes = 256 * 1024;
    private const int BufferPollMs = 5; // how soon it notices that buffering ends: a synchronization lasts as much longer
    private const int SendTimeoutMs = 10_000; // what is sent is small: a primary that does not take it for so long is stuck

    private readonly Socket _socket;
    private readonly Stream _stream;
    private readonly Lock _sending = new();
    private readonly ArrayBufferWriter<byte> _request = new(256);
    private readonly byte[] _received = GC.AllocateUninitializedArray<byte>(ReceivedBytes);
    private int _start; // of what is received and not taken
    private int _end;
    private Task<int>? _pending; // a read that WaitForInput has not seen the end of; nothing else reads then
    private long _lastReceivedMs = Environment.TickCount64;
    private volatile bool _isClosed;
    private volatile StreamBuffer? _buffer; // before what is received
    private IOException? _bufferFailure;
    private Thread? _reader;
    private volatile bool _endsBuffering;

    private PrimaryConnection(Socket socket, Stream stream)
    {
        _socket = socket;
        _stream = stream;
        RemoteAddress = Shown(socket.RemoteEndPoint);
        LocalAddress = Shown(socket.LocalEndPoint);
    }

    /// <summary>Connects to a primary: to the first of its addresses that answers.</summary>
    /// <param name="host">Its name or address.</param>
    /// <param name="port">Its port.</param>
    /// <param name="localAddress">The local address; empty: the system chooses.</param>
    /// <param name="tls">How TLS is used; null: it is not.</param>
    /// <param name="cancellation">Ends the attempt.</param>
    /// <exception cref="IOException">It cannot be reached.</exception>
    internal static PrimaryConnection Open(string host, int port, string localAddress, SslClientAuthenticationOptions? tls, CancellationToken cancellation)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, SendTimeout = SendTimeoutMs };
        try
        {
            if (localAddress.Length > 0) socket.Bind(new IPEndPoint(IPAddress.Parse(localAddress), 0));
            socket.ConnectAsync(host, port, cancellation).AsTask().GetAwaiter().GetResult();
            socket.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.KeepAlive, true);
            Stream stream = new NetworkStream(socket, ownsSocket: false);
            if (tls is not null)
            {
                var secured = new SslStream(stream);
                secured.AuthenticateAsClientAsync(tls, cancellation).GetAwaiter().GetResult();
                stream = secured;
            }

            return new PrimaryConnection(socket, stream);
        }
        catch (Exception failure) when (failure is SocketException or FormatException or ArgumentException or System.Security.Authentication.AuthenticationException)
        {
            socket.Dispose();
            throw new IOException(SocketFailure.ReasonOf(failure), failure);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    internal string RemoteAddress { get; }

    internal string LocalAddress { get; }

    /// <summary>When the primary last sent something, by <see cref="Environment.TickCount64"/>.</summary>
    internal long LastReceivedMs => Volatile.Read(ref _lastReceivedMs);

    internal bool IsClosed => _isClosed;

    /// <summary>Notes a moment until which nothing was read, because the thread did something else.</summary>
    internal void NoteAlive() => Volatile.Write(ref _lastReceivedMs, Environment.TickCount64);

    /// <summary>The bytes that are received and not taken yet; waits for some if there are none. Valid until the next call.</summary>
    /// <exception cref="IOException">The connection has ended.</exception>
    internal ReadOnlySpan<byte> Receive()
    {
        if (_start == _end)
        {
            _start = _end = 0;
            _end = ReceiveInto(_received);
        }

        return _received.AsSpan(_start, _end - _start);
    }

    /// <summary>Takes the first of the received bytes.</summary>
    internal void Take(int bytes) => _start += bytes;

    /// <summary>Receives into a caller's buffer: first what was received before.</summary>
    internal int ReceiveInto(Span<byte> target)
    {
        if (_end > _start)
        {
            int bytes = Math.Min(target.Length, _end - _start);
            _received.AsSpan(_start, bytes).CopyTo(target);
            _start += bytes;
            return bytes;
        }

        if (_buffer is { } buffer)
        {
            if (buffer.Take(target) is > 0 and int taken) return taken;
            _buffer = null;
            if (_bufferFailure is { } failed) throw failed;
        }

        return ReadSome(target);
    }

    private int ReadSome(Span<byte> target)
    {
        try
        {
            int read = _stream.Read(target);
            if (read == 0) throw new IOException("the primary has closed the connection");
            Volatile.Write(ref _lastReceivedMs, Environment.TickCount64);
            return read;
        }
        catch (ObjectDisposedException failure)
        {
            throw new IOException("the connection was closed", failure);
        }
    }

    /// <summary>Receives into memory on a thread of its own, up to a limit, until <see cref="EndBuffering"/>.</summary>
    /// <param name="limit">How many bytes may wait.</param>
    /// <param name="failed">Called on that thread if the connection ends.</param>
    /// <returns>What has been received; <see cref="ReceiveInto"/> returns it first.</returns>
    internal StreamBuffer BeginBuffering(long limit, Action failed)
    {
        var buffer = new StreamBuffer();
        if (_end > _start) buffer.Add(_received.AsSpan(_start, _end - _start));
        _start = _end = 0;
        _reader = new Thread(() => Buffer(buffer, limit, failed)) { Name = "redkite-replica-stream", IsBackground = true };
        _reader.Start();
        return buffer;
    }

    /// <summary>Ends what <see cref="BeginBuffering"/> began.</summary>
    internal void EndBuffering(StreamBuffer buffer)
    {
        _endsBuffering = true;
        _reader?.Join();
        _reader = null;
        _buffer = buffer;
    }

    private void Buffer(StreamBuffer buffer, long limit, Action failed)
    {
        try
        {
            while (!_endsBuffering)
            {
                if (buffer.Bytes >= limit) Thread.Sleep(BufferPollMs);
                else if (_socket.Poll(BufferPollMs * 1000, SelectMode.SelectRead)) buffer.Add(_received.AsSpan(0, ReadSome(_received)));
            }
        }
        catch (Exception failure) when (failure is IOException or SocketException or ObjectDisposedException)
        {
            _bufferFailure = failure as IOException ?? new IOException(failure.Message, failure);
            failed();
        }
    }

    /// <summary>Receives a line, without its end. Empty ones are a primary's signs of life, and are passed over.</summary>
    /// <exception cref="IOException">It is too long, or the connection has ended.</exception>
    internal string ReceiveLine()
    {
        var line = new StringBuilder();
        while (true)
        {
            ReadOnlySpan<byte> received = Receive();
            int end = received.IndexOf((byte)'\n');
            line.Append(Encoding.Latin1.GetString(received[..(end < 0 ? received.Length : end)]));
            Take(end < 0 ? received.Length : end + 1);
            if (line.Length > LineBytesMax) throw new IOException("the primary's reply is longer than a line may be");
            if (end < 0) continue;
            string text = line.ToString().TrimEnd('\r');
            if (text.Length > 0) return text;
            line.Clear();
        }
    }

    /// <summary>Sends a request. From any thread.</summary>
    /// <exception cref="IOException">The connection has ended.</exception>
    internal void Send(params ReadOnlySpan<string> arguments)
    {
        lock (_sending)
        {
            _request.ResetWrittenCount();
            RequestText.Begin(_request, arguments.Length);
            foreach (string argument in arguments) RequestText.AddArgument(_request, Encoding.Latin1.GetBytes(argument));
            Write(_request.WrittenSpan);
        }
    }

    /// <summary>Sends requests in the protocol's form. From any thread.</summary>
    /// <exception cref="IOException">The connection has ended.</exception>
    internal void SendBytes(ReadOnlySpan<byte> requests)
    {
        lock (_sending) Write(requests);
    }

    /// <summary>Whether something has been received within a time. Then alone what is received is taken.</summary>
    /// <exception cref="IOException">The connection has ended.</exception>
    internal bool WaitForInput(int milliseconds)
    {
        if (_start != _end) return true;
        if (_pending is null && _stream is NetworkStream)
        {
            // The answer wakes this thread itself: writes may be waiting for it.
            if (!_socket.Poll(TimeSpan.FromMilliseconds(milliseconds), SelectMode.SelectRead)) return false;
            (_start, _end) = (0, _stream.Read(_received));
            return _end > 0 ? true : throw new IOException("the connection was closed");
        }

        _pending ??= _stream.ReadAsync(_received).AsTask(); // not a poll of the socket, which does not know what TLS has decrypted
        if (Task.WaitAny([_pending], milliseconds) < 0) return false;
        Task<int> read = _pending;
        (_pending, _start) = (null, 0);
        _end = read.GetAwaiter().GetResult();
        return _end > 0 ? true : throw new IOException("the connection was closed");
    }

    /// <summary>Sends an empty line: a sign of life while data is loaded. From any thread.</summary>
    internal void SendEmptyLine()
    {
        lock (_sending) Write("\n"u8);
    }

    /// <summary>Ends the connection: what waits for it throws. From any thread.</summary>
    internal void Close()
    {
        _isClosed = true;
        try
        {
            _socket.Shutdown(SocketShutdown.Both);
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
            // It has ended already.
        }
    }

    public void Dispose()
    {
        _stream.Dispose();
        _socket.Dispose();
    }

    private void Write(ReadOnlySpan<byte> bytes)
    {
        if (_isClosed) throw new IOException("the connection was closed");
        try
        {
            _stream.Write(bytes);
        }
        catch (ObjectDisposedException failure)
        {
            throw new IOException("the connection was closed", failure);
        }
    }

    private static string Shown(EndPoint? end) =>
        end is not IPEndPoint address ? "?:0" : (address.Address.IsIPv4MappedToIPv6 ? new IPEndPoint(address.Address.MapToIPv4(), address.Port) : address).ToString();
}
