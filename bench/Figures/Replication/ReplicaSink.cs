using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Figures.Replication;

/// <summary>A replica that keeps nothing: it takes the data and the stream, and acknowledges once a second. So the primary's cost is measured alone.</summary>
internal sealed class ReplicaSink : IDisposable
{
    private const int BufferBytes = 256 * 1024;
    private const int AcknowledgeMs = 1000;
    private const int MarkBytes = 40;

    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private readonly ManualResetEventSlim _isOnline = new();
    private readonly Thread _thread;
    private readonly long _start = Stopwatch.GetTimestamp();
    private volatile bool _isDisposed;
    private string? _failure;

    internal ReplicaSink(ServerUnderTest primary, int number = 0)
    {
        _socket.Connect(new IPEndPoint(IPAddress.Loopback, primary.Port));
        _thread = new Thread(() => Work(number)) { IsBackground = true };
        _thread.Start();
    }

    /// <summary>Seconds from the connection to the end of the data.</summary>
    internal double SyncSeconds { get; private set; }

    /// <summary>Bytes of the data.</summary>
    internal long SyncBytes { get; private set; }

    /// <summary>Waits until it has the data.</summary>
    internal void WaitForData()
    {
        _isOnline.Wait();
        if (_failure is not null) throw new CannotMeasureException($"a replica's connection has ended: {_failure}");
    }

    public void Dispose()
    {
        _isDisposed = true;
        _socket.Dispose();
        _thread.Join();
        _isOnline.Dispose();
    }

    private void Work(int number)
    {
        try
        {
            byte[] buffer = new byte[BufferBytes];
            foreach (string request in (string[])[$"REPLCONF listening-port {number + 1}", "REPLCONF capa eof capa psync2"])
            {
                Send(request);
                ReadLine();
            }

            Send("PSYNC ? -1");
            long offset = long.Parse(ReadLine().Split(' ')[2], CultureInfo.InvariantCulture);
            string head = ReadLine();
            ReadData(head, buffer);
            SyncSeconds = Stopwatch.GetElapsedTime(_start).TotalSeconds;
            Send($"REPLCONF ACK {offset}");
            _isOnline.Set();
            long acknowledged = Stopwatch.GetTimestamp();
            while (true)
            {
                _socket.ReceiveTimeout = AcknowledgeMs;
                try
                {
                    int read = _socket.Receive(buffer);
                    if (read == 0) throw new IOException("closed");
                    offset += read;
                }
                catch (SocketException failure) when (failure.SocketErrorCode is SocketError.TimedOut or SocketError.WouldBlock)
                {
                    // Nothing was written.
                }

                if (Stopwatch.GetElapsedTime(acknowledged).TotalMilliseconds < AcknowledgeMs) continue;
                acknowledged = Stopwatch.GetTimestamp();
                Send($"REPLCONF ACK {offset}");
            }
        }
        catch (Exception failure) when (failure is SocketException or IOException or ObjectDisposedException)
        {
            if (!_isDisposed) _failure = failure.Message;
            if (!_isDisposed) _isOnline.Set();
        }
    }

    private void ReadData(string head, byte[] buffer)
    {
        if (!head.StartsWith("$EOF:", StringComparison.Ordinal))
        {
            for (long left = SyncBytes = long.Parse(head.AsSpan(1), CultureInfo.InvariantCulture); left > 0;) left -= Receive(buffer.AsSpan(0, (int)Math.Min(left, buffer.Length)));
            return;
        }

        // Nothing follows the mark before the acknowledgement.
        byte[] mark = Encoding.ASCII.GetBytes(head[^MarkBytes..]), tail = new byte[MarkBytes];
        while (!tail.AsSpan().SequenceEqual(mark))
        {
            int read = Receive(buffer);
            SyncBytes += read;
            if (read >= MarkBytes)
            {
                buffer.AsSpan(read - MarkBytes, MarkBytes).CopyTo(tail);
                continue;
            }

            tail.AsSpan(read).CopyTo(tail);
            buffer.AsSpan(0, read).CopyTo(tail.AsSpan(MarkBytes - read));
        }
    }

    private int Receive(Span<byte> target)
    {
        int read = _socket.Receive(target);
        return read > 0 ? read : throw new IOException("closed");
    }

    // Empty lines say that the primary lives.
    private string ReadLine()
    {
        var line = new StringBuilder();
        byte[] one = new byte[1];
        while (true)
        {
            Receive(one);
            if (one[0] != '\n') line.Append((char)one[0]);
            else if (line.ToString().Trim().Length > 0) return line.ToString().Trim();
        }
    }

    private void Send(string request) => _socket.Send(Encoding.ASCII.GetBytes(request + "\r\n"));
}
