using System.Buffers;
using RedKite.Persistence.Files;
using RedKite.Persistence.Rdb;
using RedKite.Server.Replication;

namespace RedKite.Server.SlotMoves;

/// <summary>
/// The data of a snapshot between the thread that walks and the one that sends. The walk waits while much is on the way, but not while commands wait for the walk: then more is kept, up to a limit beyond which the move fails.
/// </summary>
internal sealed class SlotPipe(IReplicatedData data)
{
    private const int WindowBytes = 1 << 20;
    private const int WaitMs = 10;

    private readonly object _lock = new(); // a monitor: both sides wait on it
    private readonly Queue<(byte[] Rented, int Length)> _pieces = new();
    private long _bytes;
    private bool _isWhole;
    private IOException? _failure;

    /// <summary>Adds a piece. On the thread of the walk.</summary>
    /// <exception cref="FileFailure">Nothing more is taken.</exception>
    internal void Add(ReadOnlySpan<byte> piece)
    {
        byte[] copy = ArrayPool<byte>.Shared.Rent(piece.Length);
        piece.CopyTo(copy);
        lock (_lock)
        {
            while (_failure is null && _bytes > WindowBytes && !data.SnapshotEnds && (!data.SnapshotIsAwaited || _bytes > SlotMoveLimits.WaitingBytesMax))
            {
                if (data.SnapshotIsAwaited && _bytes > SlotMoveLimits.WaitingBytesMax) _failure = new IOException("the destination takes the data too slowly: commands wait for it");
                else Monitor.Wait(_lock, WaitMs);
            }

            if (_failure is not null || data.SnapshotEnds) throw new FileFailure("write", "the slots", FileFailure.Canceled);
            _pieces.Enqueue((copy, piece.Length));
            _bytes += piece.Length;
            Monitor.PulseAll(_lock);
        }
    }

    /// <summary>The walk has ended.</summary>
    internal void End(IOException? failure)
    {
        lock (_lock)
        {
            _isWhole = true;
            _failure ??= failure;
            Monitor.PulseAll(_lock);
        }
    }

    /// <summary>Nothing more is taken: the walk goes on without.</summary>
    internal void Abandon() => End(new IOException("the move has ended"));

    /// <summary>Waits for a piece, and passes it on; false: there is no more.</summary>
    /// <exception cref="IOException">The walk has failed.</exception>
    internal bool Receive(RdbSink take)
    {
        (byte[] Rented, int Length) piece;
        lock (_lock)
        {
            while (!_pieces.TryDequeue(out piece))
            {
                if (_failure is not null) throw _failure;
                if (_isWhole) return false;
                Monitor.Wait(_lock);
            }

            _bytes -= piece.Length;
            Monitor.PulseAll(_lock);
        }

        take(piece.Rented.AsSpan(0, piece.Length));
        ArrayPool<byte>.Shared.Return(piece.Rented);
        return true;
    }
}
