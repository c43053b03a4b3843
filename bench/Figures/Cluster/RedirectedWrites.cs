using System.Buffers.Text;
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Figures.Cluster;

/// <summary>
/// Writes of random keys at a steady rate, in batches, on a thread of its own, to the node that has the slots. What is refused, or gets no reply, is sent again at once: to the node that
/// the reply names, or else to the next one, until it is accepted. How long each batch waited for that is kept.
/// </summary>
internal sealed class RedirectedWrites : IDisposable
{
    private const int RetryMs = 1;
    private const int TimeoutMs = 60_000;

    private readonly int[] _ports;
    private readonly Socket?[] _sockets;
    private readonly SlotKeys _keys;
    private readonly int _perSecond;
    private readonly int[] _pending;
    private readonly byte[] _value;
    private readonly byte[] _requests;
    private readonly byte[] _replies;
    private readonly Thread _thread;
    private readonly Lock _gate = new();
    private List<double> _waitsMs = [];
    private volatile bool _hasEnded;
    private volatile int _acceptedBy;
    private int _at;

    /// <param name="servers">The first one has the slots.</param>
    internal RedirectedWrites(IEnumerable<ServerUnderTest> servers, SlotKeys keys, int valueBytes, int batch, int perSecond)
    {
        _ports = [.. servers.Select(static server => server.Port)];
        _sockets = new Socket?[_ports.Length];
        _keys = keys;
        _perSecond = perSecond;
        _pending = new int[batch];
        _value = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"${valueBytes}\r\n{new string('v', valueBytes)}\r\n"));
        _requests = new byte[batch * (_value.Length + 64)];
        _replies = new byte[batch * 128];
        _thread = new Thread(Work) { IsBackground = true };
        _thread.Start();
    }

    /// <summary>The port of the node that has accepted the last batch; 0: none has.</summary>
    internal int AcceptedBy => _acceptedBy;

    /// <summary>How long the batches have waited since the last call, in order of length.</summary>
    internal List<double> Take()
    {
        lock (_gate)
        {
            List<double> taken = _waitsMs;
            _waitsMs = [];
            taken.Sort();
            return taken;
        }
    }

    public void Dispose()
    {
        _hasEnded = true;
        _thread.Join();
        foreach (Socket? socket in _sockets) socket?.Dispose();
    }

    private void Work()
    {
        var random = new Random(_pending.Length);
        long start = Stopwatch.GetTimestamp();
        for (long batches = 0; !_hasEnded; batches++)
        {
            // A batch that the one before it has delayed counts from when it was due. Otherwise it counts from when it is sent: that this thread woke up late is not the server's fault.
            double due = batches * _pending.Length / (double)_perSecond;
            double rest = due - Stopwatch.GetElapsedTime(start).TotalSeconds;
            if (rest > 0) Thread.Sleep(TimeSpan.FromSeconds(rest));
            double begins = rest < 0 ? due : Stopwatch.GetElapsedTime(start).TotalSeconds;
            for (int i = 0; i < _pending.Length; i++) _pending[i] = random.Next(_keys.Count);
            int left = _pending.Length;
            while (left > 0 && !_hasEnded) left = Send(left);
            lock (_gate) _waitsMs.Add(1000 * (Stopwatch.GetElapsedTime(start).TotalSeconds - begins));
            if (left == 0) _acceptedBy = _ports[_at];
        }
    }

    // Returns how many of the pending ones are still pending.
    private int Send(int left)
    {
        try
        {
            Socket socket = _sockets[_at] ??= Connect(_ports[_at]);
            for (int sent = 0, bytes = Encode(left); sent < bytes;) sent += socket.Send(_requests.AsSpan(sent, bytes - sent));
            return Read(socket, left);
        }
        catch (SocketException)
        {
            _sockets[_at]?.Dispose();
            _sockets[_at] = null;
            TryNext();
            return left;
        }
    }

    private static Socket Connect(int port)
    {
        var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = TimeoutMs };
        try
        {
            socket.Connect(IPAddress.Loopback, port);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private int Encode(int count)
    {
        Span<byte> key = stackalloc byte[KeyForm.BytesMax];
        int at = 0;
        for (int i = 0; i < count; i++)
        {
            Append("*3\r\n$3\r\nSET\r\n$"u8, ref at);
            int length = _keys.Write(key, _pending[i]);
            Utf8Formatter.TryFormat(length, _requests.AsSpan(at), out int digits);
            at += digits;
            Append("\r\n"u8, ref at);
            Append(key[..length], ref at);
            Append("\r\n"u8, ref at);
            Append(_value, ref at);
        }

        return at;
    }

    private void Append(ReadOnlySpan<byte> bytes, ref int at)
    {
        bytes.CopyTo(_requests.AsSpan(at));
        at += bytes.Length;
    }

    // Every reply is a line.
    private int Read(Socket socket, int count)
    {
        int received = 0, at = 0, kept = 0;
        string refusal = "";
        for (int i = 0; i < count; i++)
        {
            int length;
            while ((length = _replies.AsSpan(at, received - at).IndexOf((byte)'\n') + 1) == 0)
            {
                int read = socket.Receive(_replies.AsSpan(received));
                if (read == 0) throw new SocketException((int)SocketError.ConnectionReset);
                received += read;
            }

            if (_replies[at] != (byte)'+')
            {
                refusal = Encoding.ASCII.GetString(_replies.AsSpan(at, length)).TrimEnd();
                _pending[kept++] = _pending[i];
            }

            at += length;
        }

        if (kept == 0) return 0;
        int named = refusal.StartsWith("-MOVED", StringComparison.Ordinal) ? Array.FindIndex(_ports, port => refusal.EndsWith(string.Create(CultureInfo.InvariantCulture, $":{port}"), StringComparison.Ordinal)) : -1;
        if (named >= 0 && named != _at) _at = named;
        else TryNext();
        return kept;
    }

    private void TryNext()
    {
        Thread.Sleep(RetryMs);
        _at = (_at + 1) % _ports.Length;
    }
}
