using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>The kinds of bounds of a sorted set's range.</summary>
internal enum SortedSetRangeKind
{
    /// <summary>ZRANGE: the options decide.</summary>
    Unknown,
    Rank,
    Score,
    Member,
}

/// <summary>
/// A range of a sorted set as the arguments of the ZRANGE family describe it: by rank, score or member, in either direction, with
/// an optional limit. <see cref="RanksIn"/> converts it to ranks.
/// </summary>
internal ref struct SortedSetRange
{
    private SortedSetRangeKind _kind;
    private long _startRank;
    private long _stopRank;
    private ScoreEnd _minScore;
    private ScoreEnd _maxScore;
    private MemberEnd _minMember;
    private MemberEnd _maxMember;
    private long _offset;
    private long _limit;

    /// <summary>Whether the bounds are ranks.</summary>
    internal readonly bool IsByRank => _kind == SortedSetRangeKind.Rank;

    /// <summary>From the last member to the first.</summary>
    internal bool Reverse { get; private set; }

    internal bool WithScores { get; private set; }

    /// <summary>Reads the bounds of a range and the options after them.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="first">The argument of the first bound.</param>
    /// <param name="kind">The kind of bounds, where the command determines it.</param>
    /// <param name="reverse">Whether the command returns descending ranges.</param>
    /// <param name="stores">Whether the range is stored, so that WITHSCORES is refused.</param>
    /// <param name="result">The range.</param>
    internal static bool TryParseOrReply(
        scoped in CommandContext cmd, int first, SortedSetRangeKind kind, bool reverse, bool stores, out SortedSetRange result)
    {
        result = new SortedSetRange { _kind = kind, Reverse = reverse, _limit = -1 };
        return result.TryReadOptionsOrReply(cmd, first + 2, stores) && result.TryReadEndsOrReply(cmd, first);
    }

    /// <summary>Reads the bounds of a range that has no options, as in ZCOUNT and ZREMRANGEBYSCORE.</summary>
    internal static bool TryParseEndsOrReply(scoped in CommandContext cmd, SortedSetRangeKind kind, out SortedSetRange result, int first = 2)
    {
        result = new SortedSetRange { _kind = kind, _limit = -1 };
        return result.TryReadEndsOrReply(cmd, first);
    }

    /// <summary>Converts the range to ranks of a set, which count from its first member in either direction.</summary>
    /// <param name="set">The set.</param>
    /// <param name="start">The lowest rank.</param>
    /// <returns>The number of members in the range.</returns>
    internal readonly long RanksIn(scoped in SortedSetValue set, out long start)
    {
        long count = set.Count;
        long end;
        switch (_kind)
        {
            case SortedSetRangeKind.Score:
                start = set.CountBefore(new ScoreBound(_minScore.Score, afterEqual: _minScore.IsExclusive));
                end = set.CountBefore(new ScoreBound(_maxScore.Score, afterEqual: !_maxScore.IsExclusive));
                break;
            case SortedSetRangeKind.Member:
                start = _minMember.CountBefore(set, count, isMin: true);
                end = _maxMember.CountBefore(set, count, isMin: false);
                break;
            default:
                start = Math.Clamp(FromStart(_startRank, count), 0, count);
                end = Math.Clamp(FromStart(_stopRank, count), -1, count - 1) + 1;
                if (Reverse && start < end) (start, end) = (count - end, count - start);
                break;
        }

        return Limit(ref start, end);
    }

    private readonly long Limit(ref long start, long end)
    {
        long count = Math.Max(0, end - start);
        if (_offset < 0 || _offset >= count) return 0;
        long limited = _limit < 0 ? count - _offset : Math.Min(_limit, count - _offset);
        start = Reverse ? end - _offset - limited : start + _offset;
        return limited;
    }

    private static long FromStart(long rank, long count) => rank < 0 ? count + rank : rank;

    private bool TryReadOptionsOrReply(scoped in CommandContext cmd, int first, bool stores)
    {
        bool isOpen = _kind == SortedSetRangeKind.Unknown;
        var options = new OptionReader(cmd, first);
        while (options.More)
        {
            if (!stores && options.Take("WITHSCORES"u8))
            {
                WithScores = true;
            }
            else if (options.TakeWithValues("LIMIT"u8, 2, out int limit))
            {
                if (!cmd.TryIntegerOrReply(limit, out _offset) || !cmd.TryIntegerOrReply(limit + 1, out _limit)) return false;
            }
            else if (isOpen && !Reverse && options.Take("REV"u8))
            {
                Reverse = true;
            }
            else if (_kind == SortedSetRangeKind.Unknown && options.Take("BYLEX"u8))
            {
                _kind = SortedSetRangeKind.Member;
            }
            else if (_kind == SortedSetRangeKind.Unknown && options.Take("BYSCORE"u8))
            {
                _kind = SortedSetRangeKind.Score;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        if (_kind == SortedSetRangeKind.Unknown) _kind = SortedSetRangeKind.Rank;
        if (_limit != -1 && _kind == SortedSetRangeKind.Rank) cmd.Reply.Error("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"u8);
        else if (WithScores && _kind == SortedSetRangeKind.Member) cmd.Reply.Error("ERR syntax error, WITHSCORES not supported in combination with BYLEX"u8);
        else return true;
        return false;
    }

    private bool TryReadEndsOrReply(scoped in CommandContext cmd, int first)
    {
        if (_kind == SortedSetRangeKind.Rank)
        {
            _offset = 0;
            return cmd.TryIntegerOrReply(first, out _startRank) && cmd.TryIntegerOrReply(first + 1, out _stopRank);
        }

        // In a descending range, the greater bound comes first.
        ReadOnlySpan<byte> min = cmd[Reverse ? first + 1 : first];
        ReadOnlySpan<byte> max = cmd[Reverse ? first : first + 1];
        if (_kind == SortedSetRangeKind.Score)
        {
            if (ScoreEnd.TryParse(min, out _minScore) && ScoreEnd.TryParse(max, out _maxScore)) return true;
            cmd.Reply.Error("ERR min or max is not a float"u8);
            return false;
        }

        if (MemberEnd.TryParse(min, out _minMember) && MemberEnd.TryParse(max, out _maxMember)) return true;
        cmd.Reply.Error("ERR min or max not valid string range item"u8);
        return false;
    }

    /// <summary>A bound of a score range: "1.5", or "(1.5" to exclude the score itself.</summary>
    private readonly struct ScoreEnd
    {
        internal double Score { get; private init; }

        internal bool IsExclusive { get; private init; }

        internal static bool TryParse(ReadOnlySpan<byte> text, out ScoreEnd end)
        {
            bool exclusive = text is [(byte)'(', ..];
            bool parsed = FloatText.TryParseLoosely(exclusive ? text[1..] : text, out double score);
            end = new ScoreEnd { Score = score, IsExclusive = exclusive };
            return parsed;
        }
    }

    /// <summary>A bound of a lexicographic range: "[member", "(member" to exclude the member itself, "-" before and "+" after all members.</summary>
    private ref struct MemberEnd
    {
        private byte _kind;
        private ReadOnlySpan<byte> _member;

        internal static bool TryParse(ReadOnlySpan<byte> text, out MemberEnd end)
        {
            end = default;
            if (text.IsEmpty) return false;
            end._kind = text[0];
            end._member = text[1..];
            return text[0] switch
            {
                (byte)'-' or (byte)'+' => text.Length == 1,
                (byte)'[' or (byte)'(' => true,
                _ => false,
            };
        }

        internal readonly long CountBefore(scoped in SortedSetValue set, long count, bool isMin) => _kind switch
        {
            (byte)'-' => 0,
            (byte)'+' => count,
            _ => set.CountBefore(new MemberBound(_member, afterEqual: isMin == (_kind == '('))),
        };
    }
}
