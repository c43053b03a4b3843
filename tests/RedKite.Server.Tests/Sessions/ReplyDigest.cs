using System.Net.Sockets;
using System.Security.Cryptography;
using RedKite.Protocol;

namespace RedKite.Server.Tests.Sessions;

/// <summary>Reads replies that are too large to be kept: counts and hashes them as they come.</summary>
internal sealed class ReplyDigest : IDisposable
{
    private readonly IncrementalHash _hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
    private readonly byte[] _buffer = new byte[1 << 20];
    private ReplyReader _reader;
    private int _at;
    private int _end;

    internal long Bytes { get; private set; }

    internal string Hash => Convert.ToHexString(_hash.GetHashAndReset());

    /// <summary>Adds bytes that were received elsewhere.</summary>
    internal void Add(ReadOnlySpan<byte> bytes)
    {
        _hash.AppendData(bytes);
        Bytes += bytes.Length;
    }

    /// <summary>Reads a number of replies; returns how many arrived before the connection ended.</summary>
    internal int Read(Socket socket, int replies, Action? afterEach = null)
    {
        for (int read = 0; read < replies;)
        {
            int start = _at;
            bool isWhole = _reader.TrySkip(_buffer.AsSpan(0, _end), ref _at, out ReplyClass kind);
            Assert.NotEqual(ReplyClass.Malformed, kind);
            Add(_buffer.AsSpan(start.._at));
            if (isWhole)
            {
                read++;
                afterEach?.Invoke();
                continue;
            }

            _buffer.AsSpan(_at.._end).CopyTo(_buffer);
            (_at, _end) = (0, _end - _at);
            int received = Receive(socket, _buffer.AsSpan(_end));
            if (received == 0) return read;
            _end += received;
        }

        return replies;
    }

    public void Dispose() => _hash.Dispose();

    private static int Receive(Socket socket, Span<byte> buffer)
    {
        int received = socket.Receive(buffer, SocketFlags.None, out SocketError error);
        Assert.NotEqual(SocketError.TimedOut, error);
        return error == SocketError.Success ? received : 0;
    }
}
