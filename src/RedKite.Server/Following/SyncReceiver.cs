using System.Globalization;
using System.Text;
using RedKite.Persistence.Files;

namespace RedKite.Server.Following;

/// <summary>
/// Receives the data of a full synchronization into a file, in either of its forms:
/// <code>
/// "$" size CR LF, then the data; or "$EOF:" and 40 characters CR LF, then the data, then these characters again
/// </code>
/// A file, because the old data stays in use until the new one is whole: a link that breaks meanwhile costs nothing.
/// </summary>
internal sealed class SyncReceiver(PrimaryConnection connection, IOpenFile file)
{
    private const int MarkBytes = 40;
    private const string MarkPrefix = "$EOF:";

    private readonly byte[] _held = new byte[MarkBytes]; // the last bytes, which may be the beginning of the mark
    private int _heldBytes;
    private long _received;
    private long _written;
    private long _lastReceivedMs;

    /// <summary>The length of the data; 0: it is not known.</summary>
    internal long TotalBytes { get; private set; }

    /// <summary>Bytes of it that were received.</summary>
    internal long ReceivedBytes => Volatile.Read(ref _received);

    /// <summary>When some of it was received, by <see cref="Environment.TickCount64"/>.</summary>
    internal long LastReceivedMs => Volatile.Read(ref _lastReceivedMs);

    /// <summary>Receives all of it. What follows is left in the connection.</summary>
    /// <exception cref="IOException">The connection has ended, or the file cannot be written.</exception>
    internal void Receive()
    {
        _lastReceivedMs = Environment.TickCount64;
        string head = connection.ReceiveLine();
        if (head[0] == '-') throw new IOException($"the primary aborted the synchronization: {head[1..]}");
        if (head.StartsWith(MarkPrefix, StringComparison.Ordinal) && head.Length == MarkPrefix.Length + MarkBytes) ReceiveToMark(Encoding.Latin1.GetBytes(head[MarkPrefix.Length..]));
        else if (head[0] == '$' && long.TryParse(head.AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture, out long bytes)) ReceiveSized(bytes);
        else throw new IOException("the primary's data does not begin as expected");
    }

    private void ReceiveSized(long bytes)
    {
        TotalBytes = bytes;
        while (bytes > 0)
        {
            ReadOnlySpan<byte> received = connection.Receive();
            received = received[..(int)Math.Min(received.Length, bytes)];
            Write(received);
            connection.Take(received.Length);
            bytes -= received.Length;
            NoteReceived(received.Length);
        }
    }

    private void ReceiveToMark(ReadOnlySpan<byte> mark)
    {
        Span<byte> seam = stackalloc byte[2 * MarkBytes];
        while (true)
        {
            ReadOnlySpan<byte> received = connection.Receive();
            NoteReceived(received.Length);

            // The mark may begin in what is held and end in what has come.
            _held.AsSpan(0, _heldBytes).CopyTo(seam);
            int more = Math.Min(received.Length, MarkBytes);
            received[..more].CopyTo(seam[_heldBytes..]);
            if (seam[..(_heldBytes + more)].IndexOf(mark) is >= 0 and int at)
            {
                Write(seam[..Math.Min(at, _heldBytes)]);
                if (at > _heldBytes) Write(received[..(at - _heldBytes)]);
                connection.Take(at + MarkBytes - _heldBytes);
                return;
            }

            if (received.IndexOf(mark) is >= 0 and int inside)
            {
                Write(_held.AsSpan(0, _heldBytes));
                Write(received[..inside]);
                connection.Take(inside + MarkBytes);
                return;
            }

            Hold(received);
            connection.Take(received.Length);
        }
    }

    // Writes all but the last bytes.
    private void Hold(ReadOnlySpan<byte> received)
    {
        int written = Math.Max(0, _heldBytes + received.Length - MarkBytes);
        int ofHeld = Math.Min(written, _heldBytes);
        Write(_held.AsSpan(0, ofHeld));
        _held.AsSpan(ofHeld, _heldBytes - ofHeld).CopyTo(_held);
        _heldBytes -= ofHeld;
        Write(received[..(written - ofHeld)]);
        received[(written - ofHeld)..].CopyTo(_held.AsSpan(_heldBytes));
        _heldBytes += received.Length - (written - ofHeld);
    }

    private void Write(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty) return;
        file.Write(_written, bytes);
        _written += bytes.Length;
    }

    private void NoteReceived(int bytes)
    {
        Volatile.Write(ref _received, _received + bytes);
        Volatile.Write(ref _lastReceivedMs, Environment.TickCount64);
    }
}
