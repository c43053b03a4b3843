using RedKite.Persistence.Log;
using RedKite.Server.Replication;
using RedKite.Store.Tests.Keyspace;

namespace RedKite.Server.Tests.Replication;

/// <summary>
/// The stream itself, with a replica that is sent it, and beside that, at every point at which another thread could be in between: appends, another loop's replica,
/// and releases. A replica must get the bytes that were appended, in their order.
/// </summary>
internal sealed class StreamModel : ThreadModel, IStreamReaders
{
    private const int RecordBytes = LogChain.SegmentBytes;
    private const int ProbeBytes = 4096;

    private readonly ReplicationStream _stream = new(static () => 1);
    private readonly ReplicaPosition _slow;
    private readonly ReplicaPosition _quick;
    private readonly byte[] _record = new byte[RecordBytes];
    private readonly bool _advancesFirst;
    private int _recordsLeft;
    private bool _isSending;
    private bool _hasLeft;
    private byte _next;

    internal StreamModel(Schedule schedule, int records, bool advancesFirst = false, long behindBytes = ReplicationStream.BehindBytesMax)
        : base(schedule)
    {
        _stream.BehindBytes = behindBytes;
        _stream.Tell(this);
        (_recordsLeft, _advancesFirst) = (records, advancesFirst);
        _stream.Begin();
        (_slow, _quick) = (_stream.TryPin(0)!, _stream.TryPin(0)!);
        Append();
        Threads.Add(Replica());
    }

    public void Appended()
    {
    }

    public void Abandoned(ReplicaPosition position) => _hasLeft |= position == _slow;

    // The thread under test; what it calls lets the others run in between.
    private IEnumerator<Step> Replica()
    {
        long sent = 0;
        while (sent < 2 * RecordBytes)
        {
            yield return Now;
            StreamEnd end = _stream.End;
            Others();
            int bytes = _advancesFirst ? SendLate(end) : ReplicationStream.Send(_slow, end, RecordBytes / 2, piece => Take(piece, sent));
            Check(bytes == 0 || !_hasLeft || _advancesFirst, "the replica was sent what is not kept for it");
            if (bytes == 0 && (_hasLeft || _recordsLeft == 0)) yield break;
            sent += bytes;
            Others();

            // The order that lost: a position that is beyond what is still being read.
            int SendLate(StreamEnd until)
            {
                if (until.Position <= _slow.Offset) return 0;
                ReadOnlyMemory<byte> piece = _slow.Chain.Read(_slow.Offset, Math.Min(RecordBytes / 2, until.Position - _slow.Offset));
                _slow.Advance(piece.Length);
                Take(piece.Span, sent);
                return piece.Length;
            }
        }
    }

    private void Take(ReadOnlySpan<byte> bytes, long position)
    {
        _isSending = true;
        Others();
        for (int at = 0; at < bytes.Length; at += ProbeBytes) Check(bytes[at] == (byte)((position + at) / RecordBytes), $"the replica was sent byte {bytes[at]} at {position + at}");
        Others();
        _isSending = false;
    }

    // Any number of the other threads' steps.
    private void Others()
    {
        for (int step = Choose(3); step > 0; step = Choose(3))
        {
            if (step == 1)
            {
                if (_recordsLeft == 0) return;
                _recordsLeft--;
                Append();
            }
            else
            {
                StreamEnd end = _stream.End;
                if (_quick.Offset == end.Position) return;
                while (ReplicationStream.Send(_quick, end, RecordBytes, static _ => { }) > 0)
                {
                }

                _stream.Trim();
            }
        }
    }

    private void Append()
    {
        _record.AsSpan().Fill(_next++);
        _stream.Append(_record);
        Check(_isSending || _stream.KeptBytes <= _stream.BehindBytes + RecordBytes, $"{_stream.KeptBytes} bytes are kept");
    }
}
