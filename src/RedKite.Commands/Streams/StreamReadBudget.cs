using RedKite.Protocol;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// What MAXCOUNT and MAXSIZE leave for the streams of one XREAD or XREADGROUP, in the order of their names. An entry is written first, and
/// taken back if it is one too many. The first one stays, whatever its size, so that a reader always gets on.
/// </summary>
internal struct StreamReadBudget
{
    private readonly long _end; // the reply's length that is not exceeded by a second entry
    private long _left;
    private bool _isUsed;
    private bool _isFull;

    internal StreamReadBudget(in StreamReadOptions options, long start)
    {
        _left = options.TotalMax ?? long.MaxValue;
        _end = options.BytesMax is { } bytesMax && bytesMax < long.MaxValue - start ? start + bytesMax : long.MaxValue;
    }

    /// <summary>Whether no entry can follow.</summary>
    internal readonly bool IsSpent => _isFull || _left == 0;

    /// <summary>The number of entries that a stream may have at most.</summary>
    /// <param name="countMax">COUNT; 0: there is none.</param>
    /// <returns>0: there is no limit.</returns>
    internal readonly long CountMax(long countMax) => _left == long.MaxValue ? countMax : countMax == 0 ? _left : Math.Min(countMax, _left);

    /// <summary>Accepts an entry that was just written, or takes it back.</summary>
    /// <param name="reply">The reply.</param>
    /// <param name="start">The reply's length before the entry.</param>
    internal bool Keeps(ReplyWriter reply, long start)
    {
        if (_isUsed && (IsSpent || reply.Length > _end))
        {
            reply.Truncate(start);
            _isFull = true;
            return false;
        }

        _isUsed = true;
        if (_left != long.MaxValue) _left--;
        return true;
    }
}
