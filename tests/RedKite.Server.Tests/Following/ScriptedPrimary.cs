using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Server.Tests.Following;

/// <summary>
/// A primary that sends what a test gives it, and stops in the middle of it until the test lets it go on or breaks the connection. It never continues a stream.
/// </summary>
internal sealed class ScriptedPrimary : IDisposable
{
    private const int PatienceMs = 60_000;

    // No end of it is its beginning: otherwise data that happens to end with the first of its characters, as a checksum may, would seem to end before them.
    private static readonly string Mark = new string('m', 39) + 'n';

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly SemaphoreSlim _isHeld = new(0);
    private readonly SemaphoreSlim _goesOn = new(0);
    private readonly List<string> _requests = [];
    private readonly Thread _thread;
    private volatile Socket? _connection;
    private volatile bool _breaks;
    private volatile bool _hasEnded;

    internal ScriptedPrimary()
    {
        _listener.Start();
        _thread = new Thread(Work) { IsBackground = true, Name = "scripted primary" };
        _thread.Start();
    }

    internal int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

    /// <summary>The id of its history.</summary>
    internal string Id { get; set; } = new('a', 40);

    internal byte[] Data { get; set; } = [];

    /// <summary>After how many bytes of the data it stops; negative: it does not.</summary>
    internal int HoldsAt { get; set; } = -1;

    /// <summary>Whether it stops when it has said that data follows, before the first line of it.</summary>
    internal bool HoldsBeforeData { get; set; }

    /// <summary>Whether it sends the length in front of the data.</summary>
    internal bool SendsLength { get; set; }

    /// <summary>What replicas have asked for with PSYNC, oldest first.</summary>
    internal string[] Requests
    {
        get
        {
            lock (_requests) return [.. _requests];
        }
    }

    /// <summary>Waits until it has stopped in the middle of the data.</summary>
    internal void WaitUntilHeld() => Assert.True(_isHeld.Wait(PatienceMs), "no replica asks for data");

    /// <summary>Sends the rest.</summary>
    internal void GoOn() => _goesOn.Release();

    /// <summary>Breaks the connection in the middle of the data.</summary>
    internal void BreakOff()
    {
        _breaks = true;
        _goesOn.Release();
    }

    /// <summary>Sends a part of the stream, at once, to a replica that has loaded the data. Each request is a command line.</summary>
    internal void Stream(params string[] requests) => StreamRaw([.. requests.SelectMany(request => TestSupport.CommandLine.Encode(TestSupport.CommandLine.Split(request)))]);

    internal void StreamRaw(byte[] bytes) => _connection!.Send(bytes);

    /// <summary>Breaks a connection that has the data.</summary>
    internal void Break() => _connection?.Shutdown(SocketShutdown.Both);

    public void Dispose()
    {
        _hasEnded = true;
        _listener.Dispose();
        _goesOn.Release();
        Close();
        _thread.Join();
        _isHeld.Dispose();
        _goesOn.Dispose();
    }

    private void Close()
    {
        try
        {
            _connection?.Close();
        }
        catch (SocketException)
        {
            // It has ended already.
        }
    }

    private void Work()
    {
        while (!_hasEnded)
        {
            try
            {
                using Socket connection = _listener.AcceptSocket();
                _connection = connection;
                using var stream = new NetworkStream(connection);
                while (Request(stream) is { } request) Answer(stream, request);
            }
            catch (Exception failure) when (failure is IOException or SocketException or ObjectDisposedException)
            {
                // The replica comes again, or the test ends.
            }
        }
    }

    private void Answer(NetworkStream stream, string[] request)
    {
        switch (request[0].ToUpperInvariant())
        {
            case "PING":
                Send(stream, "+PONG\r\n");
                break;
            case "INFO":
                Send(stream, "$0\r\n\r\n");
                break;
            case "REPLCONF" when request[1].Equals("ACK", StringComparison.OrdinalIgnoreCase):
                break;
            case "PSYNC":
                lock (_requests) _requests.Add($"{request[1]} {request[2]}");
                SendData(stream);
                break;
            default:
                Send(stream, "+OK\r\n");
                break;
        }
    }

    private void SendData(NetworkStream stream)
    {
        byte[] data = Data;
        int held = HoldsAt;
        Send(stream, $"+FULLRESYNC {Id} 1000\r\n");
        if (HoldsBeforeData) Hold();
        Send(stream, $"{(SendsLength ? $"${data.Length.ToString(CultureInfo.InvariantCulture)}" : $"$EOF:{Mark}")}\r\n");
        if (held >= 0)
        {
            stream.Write(data, 0, held);
            Hold();
            data = data[held..];
        }

        stream.Write(data);
        if (!SendsLength) Send(stream, Mark);
    }

    private void Hold()
    {
        _isHeld.Release();
        _goesOn.Wait();
        if (!_breaks) return;
        _breaks = false;
        throw new IOException("broken off");
    }

    private static void Send(NetworkStream stream, string text) => stream.Write(Encoding.Latin1.GetBytes(text));

    // Null: the connection has ended.
    private static string[]? Request(NetworkStream stream)
    {
        while (true)
        {
            if (Line(stream) is not { } line) return null;
            if (line.Length == 0) continue; // a sign of life
            var words = new string[int.Parse(line.AsSpan(1), CultureInfo.InvariantCulture)];
            for (int i = 0; i < words.Length; i++)
            {
                if (Line(stream) is not { } length) return null;
                byte[] text = new byte[int.Parse(length.AsSpan(1), CultureInfo.InvariantCulture) + 2];
                stream.ReadExactly(text);
                words[i] = Encoding.Latin1.GetString(text, 0, text.Length - 2);
            }

            return words;
        }
    }

    private static string? Line(NetworkStream stream)
    {
        var line = new StringBuilder();
        while (true)
        {
            int next = stream.ReadByte();
            if (next < 0) return null;
            if (next == '\n') return line.ToString().TrimEnd('\r');
            line.Append((char)next);
        }
    }
}
