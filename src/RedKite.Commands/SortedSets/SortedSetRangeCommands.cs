using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>
/// Sorted set commands over ranges: by rank, score or member. The table is their single declaration and this file's
/// contents. Every range is converted to ranks first (see <see cref="SortedSetRange"/>), so that its length is known.
/// </summary>
internal static class SortedSetRangeCommands
{
    private const string RangeComplexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements returned.";

    private const string LimitedComplexity =
        "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements being returned. "
        + "If M is constant (e.g. always asking for the first 10 elements with LIMIT), you can consider it O(log(N)).";

    private const string RemovalComplexity = "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements removed by the operation.";

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec[] Deleted = KeySpecs.One(1, ReadWrite | Delete);

    internal static readonly CommandFamily Family = new("sorted-set", "sortedset",
    [
        new("ZRANGE", -4, CommandFlags.ReadOnly, Accessed, ZRange,
            new("1.2.0", RangeComplexity, "Returns the members of a sorted set in a range of ranks, scores or members.",
                "key start:string stop:string sortby:[BYSCORE | BYLEX]@6.2.0 [REV@6.2.0] [LIMIT@6.2.0 limit:(offset count)] [WITHSCORES]") { History = [("6.2.0", "Adds `REV`, `BYSCORE`, `BYLEX` and `LIMIT`.")] }),
        new("ZREVRANGE", -4, CommandFlags.ReadOnly, Accessed, ZRevRange,
            new("1.2.0", RangeComplexity, "Returns the members of a sorted set in a range of ranks, in descending order.", "key start stop [WITHSCORES]") { DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `REV` argument" }),
        new("ZRANGEBYSCORE", -4, CommandFlags.ReadOnly, Accessed, ZRangeByScore,
            new("1.0.5", LimitedComplexity, "Returns the members of a sorted set in a range of scores.", "key min:double max:double [WITHSCORES@2.0.0] [LIMIT limit:(offset count)]") { History = [("2.0.0", "Adds `WITHSCORES`.")], DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `BYSCORE` argument" }),
        new("ZREVRANGEBYSCORE", -4, CommandFlags.ReadOnly, Accessed, ZRevRangeByScore,
            new("2.2.0", LimitedComplexity, "Returns the members of a sorted set in a range of scores, in descending order.", "key max:double min:double [WITHSCORES] [LIMIT limit:(offset count)]") { History = [("2.1.6", "Accepts exclusive bounds.")], DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `REV` and `BYSCORE` arguments" }),
        new("ZRANGEBYLEX", -4, CommandFlags.ReadOnly, Accessed, ZRangeByLex,
            new("2.8.9", LimitedComplexity, "Returns the members of a sorted set in a lexicographic range.", "key min max [LIMIT limit:(offset count)]") { DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `BYLEX` argument" }),
        new("ZREVRANGEBYLEX", -4, CommandFlags.ReadOnly, Accessed, ZRevRangeByLex,
            new("2.8.9", LimitedComplexity, "Returns the members of a sorted set in a lexicographic range, in descending order.", "key max min [LIMIT limit:(offset count)]") { DeprecatedSince = "6.2.0", ReplacedBy = "`ZRANGE` with the `REV` and `BYLEX` arguments" }),
        new("ZCOUNT", 4, CommandFlags.ReadOnly | Fast, Accessed, ZCount,
            new("2.0.0", "O(log(N)) with N being the number of elements in the sorted set.", "Counts the members of a sorted set in a range of scores.", "key min:double max:double")),
        new("ZLEXCOUNT", 4, CommandFlags.ReadOnly | Fast, Accessed, ZLexCount,
            new("2.8.9", "O(log(N)) with N being the number of elements in the sorted set.", "Counts the members of a sorted set in a lexicographic range.", "key min max")),
        new("ZRANGESTORE", -5, Write | DenyOom, [new(1, 1, 1, Overwrite | Update), new(2, 2, 1, KeyFlags.ReadOnly | Access)], ZRangeStore,
            new("6.2.0", "O(log(N)+M) with N being the number of elements in the sorted set and M the number of elements stored into the destination key.", "Stores a range of a sorted set at another key.",
                "dst src min max sortby:[BYSCORE | BYLEX] [REV] [LIMIT limit:(offset count)]")),
        new("ZREMRANGEBYRANK", 4, Write, Deleted, ZRemRangeByRank,
            new("2.0.0", RemovalComplexity, "Removes the members of a sorted set in a range of ranks.", "key start stop")),
        new("ZREMRANGEBYSCORE", 4, Write, Deleted, ZRemRangeByScore,
            new("1.2.0", RemovalComplexity, "Removes the members of a sorted set in a range of scores.", "key min:double max:double")),
        new("ZREMRANGEBYLEX", 4, Write, Deleted, ZRemRangeByLex,
            new("2.8.9", RemovalComplexity, "Removes the members of a sorted set in a lexicographic range.", "key min max")),
    ]);

    // ZRANGE key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]
    private static void ZRange(ref CommandContext cmd) => ReplyRange(ref cmd, SortedSetRangeKind.Unknown, reverse: false);

    // ZREVRANGE key start stop [WITHSCORES]
    private static void ZRevRange(ref CommandContext cmd) => ReplyRange(ref cmd, SortedSetRangeKind.Rank, reverse: true);

    // ZRANGEBYSCORE key min max [WITHSCORES] [LIMIT offset count]
    private static void ZRangeByScore(ref CommandContext cmd) => ReplyRange(ref cmd, SortedSetRangeKind.Score, reverse: false);

    // ZREVRANGEBYSCORE key max min [WITHSCORES] [LIMIT offset count]
    private static void ZRevRangeByScore(ref CommandContext cmd) => ReplyRange(ref cmd, SortedSetRangeKind.Score, reverse: true);

    // ZRANGEBYLEX key min max [LIMIT offset count]
    private static void ZRangeByLex(ref CommandContext cmd) => ReplyRange(ref cmd, SortedSetRangeKind.Member, reverse: false);

    // ZREVRANGEBYLEX key max min [LIMIT offset count]
    private static void ZRevRangeByLex(ref CommandContext cmd) => ReplyRange(ref cmd, SortedSetRangeKind.Member, reverse: true);

    private static void ReplyRange(ref CommandContext cmd, SortedSetRangeKind kind, bool reverse)
    {
        if (!SortedSetRange.TryParseOrReply(cmd, 2, kind, reverse, stores: false, out SortedSetRange range)) return;
        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        long count = range.RanksIn(set, out long start);
        cmd.Reply.MembersHead(count, range.WithScores);
        if (count == 0) return;

        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        SortedSetCursor cursor = set.At(range.Reverse ? start + count - 1 : start, digits);
        for (; count > 0 && !cmd.Reply.Overflowed; count--, cursor.Move(range.Reverse))
        {
            cmd.Reply.Member(cursor.Member, range.WithScores ? cursor.Score : 0, range.WithScores);
        }
    }

    // ZCOUNT key min max
    private static void ZCount(ref CommandContext cmd) => ReplyCount(ref cmd, SortedSetRangeKind.Score);

    // ZLEXCOUNT key min max
    private static void ZLexCount(ref CommandContext cmd) => ReplyCount(ref cmd, SortedSetRangeKind.Member);

    private static void ReplyCount(ref CommandContext cmd, SortedSetRangeKind kind)
    {
        if (!SortedSetRange.TryParseEndsOrReply(cmd, kind, out SortedSetRange range)) return;
        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        cmd.Reply.Integer(range.RanksIn(set, out _));
    }

    // ZRANGESTORE dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]
    private static void ZRangeStore(ref CommandContext cmd)
    {
        if (!SortedSetRange.TryParseOrReply(cmd, 3, SortedSetRangeKind.Unknown, reverse: false, stores: true, out SortedSetRange range)) return;
        if (!cmd.OpenToReadSortedSetOrReply(2, out SortedSetValue set)) return;
        long count = range.RanksIn(set, out long start);
        if (count == 0)
        {
            cmd.StoreNothing(1);
            return;
        }

        var builder = new SortedSetBuilder(cmd.Database, cmd.HashOf(1));
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        SortedSetCursor cursor = set.At(range.Reverse ? start + count - 1 : start, digits);

        // Redis adds the members one by one. While its new set is packed, which it is at first unless it is known to become large,
        // a zero loses its sign.
        SortedSetLimits limits = cmd.SortedSetLimits();
        bool packed = !range.IsByRank || count <= limits.MembersMax;
        for (; count > 0; count--, cursor.Move(range.Reverse))
        {
            packed = packed && builder.Count < limits.MembersMax && cursor.Member.Length <= limits.MemberBytesMax;
            builder.Add(cursor.Member, packed ? cursor.Score + 0.0 : cursor.Score);
        }

        cmd.StoreAndReplyCount(1, builder, KeyEvent.ZRangeStore);
    }

    // ZREMRANGEBYRANK key start stop
    private static void ZRemRangeByRank(ref CommandContext cmd) => RemoveRange(ref cmd, SortedSetRangeKind.Rank, KeyEvent.ZRemRangeByRank);

    // ZREMRANGEBYSCORE key min max
    private static void ZRemRangeByScore(ref CommandContext cmd) => RemoveRange(ref cmd, SortedSetRangeKind.Score, KeyEvent.ZRemRangeByScore);

    // ZREMRANGEBYLEX key min max
    private static void ZRemRangeByLex(ref CommandContext cmd) => RemoveRange(ref cmd, SortedSetRangeKind.Member, KeyEvent.ZRemRangeByLex);

    private static void RemoveRange(ref CommandContext cmd, SortedSetRangeKind kind, KeyEvent removed)
    {
        if (!SortedSetRange.TryParseEndsOrReply(cmd, kind, out SortedSetRange range)) return;
        if (!cmd.OpenToWriteSortedSetOrReply(1, out SortedSetValue set)) return;
        long count = range.RanksIn(set, out long start);
        if (count > 0)
        {
            set.RemoveRange(start, count);
            cmd.Changed(1, removed, count);
        }

        cmd.Reply.Integer(count);
    }
}
