using System.Buffers.Text;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Figures.Types;

/// <summary>
/// A connection that sends arbitrary commands, written argument by argument, in large batches. It loads the servers before a
/// measurement, so it only needs to be fast; every reply is checked for errors.
/// </summary>
internal sealed class CommandPipe : IDisposable
{
    private const int BatchBytes = 64 * 1024;
    private const int ArgumentHeadBytesMax = 16;
    private const int NumberBytesMax = 20;

    private readonly Socket _socket = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
    private byte[] _requests = new byte[2 * BatchBytes];
    private byte[] _replies = new byte[BatchBytes];
    private int _requestBytes;
    private int _unanswered;

    internal CommandPipe(int port) => _socket.Connect(IPAddress.Loopback, port);

    /// <summary>Starts a command with this many arguments, including the name.</summary>
    internal CommandPipe Begin(int arguments, ReadOnlySpan<byte> name)
    {
        if (_requestBytes >= BatchBytes) Flush();
        _unanswered++;
        WriteHead((byte)'*', arguments);
        return Add(name);
    }

    internal CommandPipe Add(ReadOnlySpan<byte> argument)
    {
        WriteHead((byte)'$', argument.Length);
        EnsureRoom(argument.Length + 2);
        argument.CopyTo(_requests.AsSpan(_requestBytes));
        _requestBytes += argument.Length;
        WriteLineEnd();
        return this;
    }

    internal CommandPipe Add(string argument) => Add(Encoding.UTF8.GetBytes(argument));

    /// <summary>Writes a prefix and a number with at least this many digits.</summary>
    internal CommandPipe AddNumbered(ReadOnlySpan<byte> prefix, long number, int digits = 0)
    {
        Span<byte> argument = stackalloc byte[prefix.Length + NumberBytesMax];
        prefix.CopyTo(argument);
        Utf8Formatter.TryFormat(number, argument[prefix.Length..], out int written, new('D', (byte)digits));
        return Add(argument[..(prefix.Length + written)]);
    }

    /// <summary>Writes a whole command and returns the bytes of its reply.</summary>
    internal int Run(params ReadOnlySpan<string> command)
    {
        Flush();
        Begin(command.Length, Encoding.UTF8.GetBytes(command[0]));
        foreach (string argument in command[1..]) Add(argument);
        return Flush();
    }

    /// <summary>Sends the remaining commands and waits for all replies.</summary>
    /// <returns>The bytes of the replies.</returns>
    internal int Flush()
    {
        SendAll();
        int total = 0, received = 0;
        while (_unanswered > 0)
        {
            if (received == _replies.Length) Array.Resize(ref _replies, 2 * _replies.Length);
            int read = _socket.Receive(_replies.AsSpan(received));
            if (read == 0) throw new CannotMeasureException("the server closed the connection");
            received += read;

            int at = 0;
            while (_unanswered > 0 && Replies.TryMeasure(_replies.AsSpan(at, received - at), out int bytes))
            {
                at += bytes;
                _unanswered--;
            }

            total += at;
            _replies.AsSpan(at, received - at).CopyTo(_replies);
            received -= at;
        }

        return total;
    }

    /// <summary>Sends the buffered commands without waiting for the replies; <see cref="Flush"/> does that.</summary>
    internal void SendAll()
    {
        for (int sent = 0; sent < _requestBytes;) sent += _socket.Send(_requests.AsSpan(sent, _requestBytes - sent));
        _requestBytes = 0;
    }

    public void Dispose() => _socket.Dispose();

    private void WriteHead(byte mark, int number)
    {
        EnsureRoom(ArgumentHeadBytesMax);
        _requests[_requestBytes++] = mark;
        Utf8Formatter.TryFormat(number, _requests.AsSpan(_requestBytes), out int digits);
        _requestBytes += digits;
        WriteLineEnd();
    }

    private void WriteLineEnd()
    {
        _requests[_requestBytes++] = (byte)'\r';
        _requests[_requestBytes++] = (byte)'\n';
    }

    private void EnsureRoom(int bytes)
    {
        if (_requests.Length - _requestBytes < bytes) Array.Resize(ref _requests, Math.Max(2 * _requests.Length, _requestBytes + bytes));
    }
}
