using System.Net.Sockets;
using System.Text;

namespace RedKite.Server.Migration;

/// <summary>A connection to the target of MIGRATE, which one transfer at a time uses.</summary>
internal sealed class MigrationConnection : IDisposable
{
    // As in Redis, an error's text is cut off here, its mark included. The rest of a longer line is passed over.
    private const int ReplyBytesKept = 1023;
    private const int ReplyBytesMax = 64 * 1024;

    // What the target has taken is progress: the timeout begins anew behind each piece.
    private const int PieceBytes = 64 * 1024;

    private readonly Socket _socket;
    private readonly byte[] _received = new byte[4096];
    private int _start;
    private int _end;

    private MigrationConnection(Socket socket, string key)
    {
        _socket = socket;
        Key = key;
    }

    /// <inheritdoc cref="MigrationTarget.ConnectionKey"/>
    internal string Key { get; }

    /// <summary>The database that is selected; -1: not known.</summary>
    internal long Database { get; private set; } = -1;

    /// <summary>Whether the target has refused payloads of the current version, and takes older ones.</summary>
    internal bool TakesOnlyOldPayloads { get; private set; }

    /// <summary>Since when it is idle, by the steady clock.</summary>
    internal long IdleSinceMs { get; private set; }

    /// <summary>A database was selected; -1: it is not known which.</summary>
    internal void NoteSelected(long database) => Database = database;

    /// <summary>The target has refused a payload of the current version.</summary>
    internal void NoteRefusedVersion() => TakesOnlyOldPayloads = true;

    /// <summary>It is idle from now on.</summary>
    internal void Rest(long steadyMs) => IdleSinceMs = steadyMs;

    /// <summary>Whether the target has closed it, or has sent what nothing asked for. While it is idle.</summary>
    internal bool IsBroken
    {
        get
        {
            try
            {
                return _start != _end || _socket.Poll(0, SelectMode.SelectRead);
            }
            catch (SocketException)
            {
                return true;
            }
        }
    }

    /// <summary>Connects to the first of the target's addresses that answers.</summary>
    /// <exception cref="SocketException">None does, or the name is unknown.</exception>
    internal static async Task<MigrationConnection> OpenAsync(MigrationTarget target, TransferTimeout timeout)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(target.Host, target.Port, timeout.Restart()).ConfigureAwait(false);
            return new MigrationConnection(socket, target.ConnectionKey);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    internal async Task SendAsync(ReadOnlyMemory<byte> bytes, TransferTimeout timeout)
    {
        for (int sent = 0; sent < bytes.Length;)
        {
            ReadOnlyMemory<byte> piece = bytes.Slice(sent, Math.Min(PieceBytes, bytes.Length - sent));
            sent += await _socket.SendAsync(piece, timeout.Restart()).ConfigureAwait(false);
        }
    }

    /// <summary>Receives a reply of one line, with its mark.</summary>
    /// <exception cref="IOException">The target has closed the connection, or its reply has no end.</exception>
    internal async Task<string> ReceiveAsync(TransferTimeout timeout)
    {
        var line = new StringBuilder();
        int bytes = 0;
        while (true)
        {
            if (_start == _end)
            {
                _start = _end = 0;
                _end = await _socket.ReceiveAsync(_received, timeout.Restart()).ConfigureAwait(false);
                if (_end == 0) throw new IOException("the target has closed the connection");
            }

            int end = _received.AsSpan(_start, _end - _start).IndexOf((byte)'\n');
            int taken = end < 0 ? _end - _start : end + 1;
            int kept = Math.Min(taken, ReplyBytesKept - line.Length);
            if (kept > 0) line.Append(Encoding.Latin1.GetString(_received, _start, kept));
            _start += taken;
            bytes += taken;
            if (end >= 0) return line.ToString().TrimEnd('\r', '\n');
            if (bytes > ReplyBytesMax) throw new IOException("the target's reply has no end");
        }
    }

    public void Dispose() => _socket.Dispose();
}
