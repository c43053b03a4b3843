using System.Net;
using System.Net.Sockets;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Replication;

/// <summary>A connection that speaks as a replica does, one step at a time. Strings are Latin-1.</summary>
internal sealed class RawReplica : IDisposable
{
    private const int TimeoutMs = 60_000;

    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true, ReceiveTimeout = TimeoutMs, SendTimeout = TimeoutMs };
    private readonly byte[] _buffer = new byte[64 * 1024];
    private int _start;
    private int _end;

    internal RawReplica(int port, int receiveBufferBytes = 0)
    {
        if (receiveBufferBytes > 0) _socket.ReceiveBufferSize = receiveBufferBytes;
        _socket.Connect(new IPEndPoint(IPAddress.Loopback, port));
    }

    internal void Send(string command) => _socket.Send(CommandLine.Encode(CommandLine.Split(command)));

    internal string Run(string command)
    {
        Send(command);
        return ReadLine();
    }

    /// <summary>A line without its end; an empty one is a newline that keeps the connection alive.</summary>
    internal string ReadLine()
    {
        var line = new StringBuilder();
        for (int next = ReadByte(); next != '\n'; next = ReadByte())
        {
            if (next < 0) throw new EndOfStreamException($"closed behind '{line}'");
            line.Append((char)next);
        }

        return line.ToString().TrimEnd('\r');
    }

    /// <summary>Asks for all data, and reads it with its mark.</summary>
    /// <returns>The offset of the stream, and the data.</returns>
    internal (long Offset, byte[] Data) Synchronize(int listeningPort = 1)
    {
        Assert.Equal("+OK", Run($"REPLCONF listening-port {listeningPort} capa eof capa psync2"));
        Send("PSYNC ? -1");
        return ReadAll();
    }

    /// <summary>Acknowledges an offset until the primary has noticed: one that comes before the end of the data counts for nothing.</summary>
    internal void BecomeOnline(ReplicatedServer primary, long offset, int replicas = 1) => primary.WaitFor(
        () =>
        {
            Send("REPLCONF ACK " + offset.ToString(System.Globalization.CultureInfo.InvariantCulture));
            return SpinWait.SpinUntil(() => primary.Server.Parts.Replicas.Replicas.Count(static replica => replica.State == RedKite.Server.Replication.ReplicaState.Online) == replicas, 100);
        },
        "the replica");

    internal (long Offset, byte[] Data) ReadAll()
    {
        string[] words = ReadLineWithText().Split(' ');
        Assert.Equal("+FULLRESYNC", words[0]);
        string head = ReadLineWithText();
        Assert.StartsWith("$EOF:", head, StringComparison.Ordinal);
        byte[] mark = Encoding.Latin1.GetBytes(head[5..]);
        var data = new List<byte>();
        while (data.Count < mark.Length || !data[^mark.Length..].SequenceEqual(mark)) data.Add(NextByte());
        return (long.Parse(words[2], System.Globalization.CultureInfo.InvariantCulture), [.. data[..^mark.Length]]);
    }

    internal string ReadLineWithText()
    {
        string line;
        do line = ReadLine();
        while (line.Length == 0);
        return line;
    }

    internal string ReadText(int bytes)
    {
        var text = new StringBuilder();
        while (text.Length < bytes) text.Append((char)NextByte());
        return text.ToString();
    }

    /// <summary>Reads a number of bytes, or to the connection's end.</summary>
    internal int Skip(int bytes)
    {
        int read = 0;
        while (read < bytes && ReadByte() >= 0) read++;
        return read;
    }

    /// <summary>Whether the server has closed the connection: whatever is still on its way is discarded.</summary>
    internal void WaitForEnd()
    {
        while (ReadByte() >= 0)
        {
        }
    }

    public void Dispose() => _socket.Dispose();

    private byte NextByte() => ReadByte() is >= 0 and int next ? (byte)next : throw new EndOfStreamException();

    private int ReadByte()
    {
        if (_start == _end)
        {
            _start = 0;
            try
            {
                _end = _socket.Receive(_buffer);
            }
            catch (SocketException failure) when (failure.SocketErrorCode == SocketError.ConnectionReset)
            {
                _end = 0;
            }

            if (_end == 0) return -1;
        }

        return _buffer[_start++];
    }
}
