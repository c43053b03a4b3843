namespace RedKite.Net;

// Replies that leave by a deadline or not at all. All that is sent comes by here: when it is sent or queued, and again when it was held (for replicas, for a log, for the end of the iteration) and is
// let go. What the socket was offered once is not recalled.
internal sealed partial class Connection
{
    private OutputDeadline? _deadline; // of the replies that are being sent, or are held or queued
    private bool _isReplying;

    /// <summary>What is sent until <see cref="EndReplies"/> leaves before a deadline, or the connection is closed without it. On the loop's thread.</summary>
    /// <param name="deadline">The deadline; null: there is none for these replies. Those before, which are held still, keep their own, and these are behind them.</param>
    public void BeginReplies(OutputDeadline? deadline)
    {
        _isReplying = true;
        _deadline ??= deadline;
    }

    /// <inheritdoc cref="BeginReplies"/>
    public void EndReplies()
    {
        _isReplying = false;
        ForgetDeadline();
    }

    // Whether nothing is sent any more.
    private bool HasEnded => IsClosing || (_deadline is not null && IsLate());

    private bool IsLate()
    {
        if (!_deadline!.HasPassed) return false;
        _deadline.NoteMissed();
        Close();
        return true;
    }

    // Messages, and replies of another term, have nothing to do with a deadline of what has left.
    private void ForgetDeadline()
    {
        if (!_isReplying && !_isUnflushed && _gated is null && _awaiting is null && _unacked is null) _deadline = null;
    }
}
