namespace RedKite.Net;

// Output that waits until replicas have acknowledged what it tells of. It comes before the gate of a log: what replicas have acknowledged may still have to wait for the disk.
internal sealed partial class Connection
{
    private UnackedOutput? _unacked;

    /// <summary>
    /// Makes replies wait for replicas, of which the bytes are sent or queued next, and everything behind the first of them with it. What comes
    /// before it, and what is acknowledged already, leaves with the next <see cref="Acknowledge"/>. On the loop's thread.
    /// </summary>
    public void AwaitAcks(ReadOnlySpan<WriteReply> replies)
    {
        if (IsClosing || replies.IsEmpty) return;
        (_unacked ??= Loop.TakeUnacked()).Add(replies);
    }

    /// <summary>Sends what may leave now that replicas have acknowledged an offset. On the loop's thread.</summary>
    public void Acknowledge(long offset)
    {
        if (HasEnded || _unacked is not { } unacked) return;
        if (unacked.Acknowledge(offset)) unacked.MoveTo(Acknowledged());
        AfterAcknowledged(unacked);
    }

    /// <summary>As <see cref="Acknowledge"/> for an offset that replicas have acknowledged; other replies up to a second offset become an error.</summary>
    /// <param name="offset">The second offset.</param>
    /// <param name="acknowledged">The first.</param>
    /// <param name="error">The error's line.</param>
    /// <returns>The number of replies that became the error.</returns>
    public int FailUnacked(long offset, long acknowledged, ReadOnlySpan<byte> error)
    {
        if (HasEnded || _unacked is not { } unacked) return 0;
        int failed = 0;
        while (unacked.TryTake(offset, out WriteReply reply))
        {
            if (reply.Offset <= acknowledged || reply.Bytes == 0) continue;
            OutputQueue target = Acknowledged();
            unacked.Drop(reply, target);
            target.Append(error);
            failed++;
        }

        Acknowledge(acknowledged);
        return failed;
    }

    // Where output goes that replicas have acknowledged; something is added to it.
    private OutputQueue Acknowledged() => MustGate ? Gated() : Output();

    private void AfterAcknowledged(UnackedOutput unacked)
    {
        if (unacked.Replies == 0)
        {
            _unacked = null;
            Loop.Keep(unacked);
            ForgetDeadline();
        }

        if (_gated is not null) OnGated();
        if (!IsClosing && (_output is not null || _gated is null)) Flush(); // at once: the iteration may be over
    }

    private void UnackedMore()
    {
        if (_unacked!.Bytes >= FlushedBytesMin) Loop.Handler.OnOutputBuffered(this);
    }
}
