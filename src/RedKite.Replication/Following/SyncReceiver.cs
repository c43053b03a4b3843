using System.Globalization;
using System.Text;

namespace RedKite.Server.Following;

/// <summary>Takes a piece of what was received.</summary>
internal delegate void ReceivedPiece(ReadOnlySpan<byte> bytes);

/// <summary>
/// Receives the data of a full synchronization piece by piece, in either of its forms:
/// <code>
/// "$" size CR LF, then the data; or "$EOF:" and 40 characters CR LF, then the data, then these characters again
/// </code>
/// </summary>
internal sealed class SyncReceiver(PrimaryConnection connection)
{
    private const int MarkBytes = 40;
    private const string MarkPrefix = "$EOF:";

    private readonly byte[] _held = new byte[MarkBytes]; // the last bytes, which may be the beginning of the mark
    private byte[]? _mark; // null: the length is known
    private int _heldBytes;
    private bool _isWhole;
    private long _received;
    private long _lastReceivedMs = Environment.TickCount64;
    private long _waitsSinceMs;
    private ReceivedPiece _receiver = static _ => { };

    /// <summary>Hands each piece of the data over from now on.</summary>
    internal void HandTo(ReceivedPiece receiver) => _receiver = receiver;

    /// <summary>Whether the data has begun: how long it is, if that can be known, is known.</summary>
    internal bool HasBegun { get; private set; }

    /// <summary>The length of the data; 0: it is not known.</summary>
    internal long TotalBytes { get; private set; }

    /// <summary>Bytes of it that were received.</summary>
    internal long ReceivedBytes => Volatile.Read(ref _received);

    /// <summary>When some of it was received, by <see cref="Environment.TickCount64"/>.</summary>
    internal long LastReceivedMs => Volatile.Read(ref _lastReceivedMs);

    /// <summary>Since when the primary is waited for; 0: it is not, because what has arrived is being used.</summary>
    internal long WaitsSinceMs => Volatile.Read(ref _waitsSinceMs);

    /// <summary>Waits for the beginning of the data.</summary>
    /// <exception cref="IOException">The connection has ended, or the primary sends no data.</exception>
    internal void Begin()
    {
        string head = connection.ReceiveLine();
        if (head[0] == '-') throw new IOException($"the primary aborted the synchronization: {head[1..]}");
        if (head.StartsWith(MarkPrefix, StringComparison.Ordinal) && head.Length == MarkPrefix.Length + MarkBytes) _mark = Encoding.Latin1.GetBytes(head[MarkPrefix.Length..]);
        else if (head[0] == '$' && long.TryParse(head.AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture, out long bytes)) TotalBytes = bytes;
        else throw new IOException("the primary's data does not begin as expected");
        HasBegun = true;
    }

    /// <summary>Waits for some of the data. What follows it is left in the connection.</summary>
    /// <returns>False: all of it has been received.</returns>
    /// <exception cref="IOException">The connection has ended.</exception>
    internal bool ReceiveSome()
    {
        if (_mark is null) _isWhole |= ReceivedBytes == TotalBytes;
        if (_isWhole) return false;
        Volatile.Write(ref _waitsSinceMs, Environment.TickCount64);
        ReadOnlySpan<byte> received = connection.Receive();
        Volatile.Write(ref _waitsSinceMs, 0);
        if (_mark is not null) TakeToMark(received, _mark);
        else TakeSized(received[..(int)Math.Min(received.Length, TotalBytes - ReceivedBytes)]);
        return true;
    }

    private void TakeSized(ReadOnlySpan<byte> received)
    {
        _receiver(received);
        connection.Take(received.Length);
        NoteReceived(received.Length);
    }

    private void TakeToMark(ReadOnlySpan<byte> received, ReadOnlySpan<byte> mark)
    {
        NoteReceived(received.Length);

        // The mark may begin in what is held and end in what has come.
        Span<byte> seam = stackalloc byte[2 * MarkBytes];
        _held.AsSpan(0, _heldBytes).CopyTo(seam);
        int more = Math.Min(received.Length, MarkBytes);
        received[..more].CopyTo(seam[_heldBytes..]);
        if (seam[..(_heldBytes + more)].IndexOf(mark) is >= 0 and int at)
        {
            HandOver(seam[..Math.Min(at, _heldBytes)]);
            if (at > _heldBytes) HandOver(received[..(at - _heldBytes)]);
            connection.Take(at + MarkBytes - _heldBytes);
            _isWhole = true;
        }
        else if (received.IndexOf(mark) is >= 0 and int inside)
        {
            HandOver(_held.AsSpan(0, _heldBytes));
            HandOver(received[..inside]);
            connection.Take(inside + MarkBytes);
            _isWhole = true;
        }
        else
        {
            Hold(received);
            connection.Take(received.Length);
        }
    }

    // Hands over all but the last bytes.
    private void Hold(ReadOnlySpan<byte> received)
    {
        int written = Math.Max(0, _heldBytes + received.Length - MarkBytes);
        int ofHeld = Math.Min(written, _heldBytes);
        HandOver(_held.AsSpan(0, ofHeld));
        _held.AsSpan(ofHeld, _heldBytes - ofHeld).CopyTo(_held);
        _heldBytes -= ofHeld;
        HandOver(received[..(written - ofHeld)]);
        received[(written - ofHeld)..].CopyTo(_held.AsSpan(_heldBytes));
        _heldBytes += received.Length - (written - ofHeld);
    }

    private void HandOver(ReadOnlySpan<byte> bytes)
    {
        if (!bytes.IsEmpty) _receiver(bytes);
    }

    private void NoteReceived(int bytes)
    {
        Volatile.Write(ref _received, _received + bytes);
        Volatile.Write(ref _lastReceivedMs, Environment.TickCount64);
    }
}
