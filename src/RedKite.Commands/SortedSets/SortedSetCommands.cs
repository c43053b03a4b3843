using System.Buffers;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>
/// Sorted set commands that name their members. The table is their single declaration and this file's contents. Ranges are
/// in SortedSetRangeCommands, unions and the like in SortedSetAlgebraCommands, pops in SortedSetPopCommands and
/// BlockingSortedSetCommands, ZSCAN and ZRANDMEMBER in SortedSetScanCommands.
/// </summary>
internal static class SortedSetCommands
{
    // Up to this many scores of one command are parsed into a buffer on the stack.
    private const int ScoresOnStack = 64;

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("sorted-set", "sortedset",
    [
        new("ZADD", -4, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Update), ZAdd,
            new("1.2.0", "O(log(N)) for each item added, where N is the number of elements in the sorted set.", "Adds members to a sorted set or sets their scores. Creates the key if it doesn't exist.",
                "key condition:[NX | XX]@3.0.2 comparison:[GT | LT]@6.2.0 [change:CH@3.0.2] [increment:INCR@3.0.2] data:<score member [score member ...]>") { History = [("2.4.0", "Accepts several members."), ("3.0.2", "Adds `NX`, `XX`, `CH` and `INCR`."), ("6.2.0", "Adds `GT` and `LT`.")] }),
        new("ZINCRBY", 4, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Access | Update), ZIncrBy,
            new("1.2.0", "O(log(N)) where N is the number of elements in the sorted set.", "Increments the score of a member of a sorted set. Adds the member if it doesn't exist.", "key increment member")),
        new("ZREM", -3, Write | Fast, KeySpecs.One(1, ReadWrite | Delete), ZRem,
            new("1.2.0", "O(M*log(N)) with N being the number of elements in the sorted set and M the number of elements to be removed.", "Removes members from a sorted set. Deletes the key with the last member.", "key member [member ...]") { History = [("2.4.0", "Accepts several members.")] }),
        new("ZCARD", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), ZCard,
            new("1.2.0", "O(1)", "Returns the number of members of a sorted set.", "key")),
        new("ZSCORE", 3, CommandFlags.ReadOnly | Fast, Accessed, ZScore,
            new("1.2.0", "O(1)", "Returns the score of a member of a sorted set.", "key member")),
        new("ZMSCORE", -3, CommandFlags.ReadOnly | Fast, Accessed, ZMScore,
            new("6.2.0", "O(N) where N is the number of members being requested.", "Returns the scores of several members of a sorted set.", "key member [member ...]")),
        new("ZRANK", -3, CommandFlags.ReadOnly | Fast, Accessed, ZRank,
            new("2.0.0", "O(log(N))", "Returns the rank of a member of a sorted set, 0 for the lowest score.", "key member [WITHSCORE]") { History = [("7.2.0", "Adds `WITHSCORE`.")] }),
        new("ZREVRANK", -3, CommandFlags.ReadOnly | Fast, Accessed, ZRevRank,
            new("2.0.0", "O(log(N))", "Returns the rank of a member of a sorted set, 0 for the highest score.", "key member [WITHSCORE]") { History = [("7.2.0", "Adds `WITHSCORE`.")] }),
    ]);

    // ZADD key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]
    private static void ZAdd(ref CommandContext cmd)
    {
        if (SortedSetAddOptions.TryParseOrReply(cmd, SortedSetRule.Always, out SortedSetAddOptions options)) Add(ref cmd, options);
    }

    // ZINCRBY key increment member
    private static void ZIncrBy(ref CommandContext cmd)
    {
        if (SortedSetAddOptions.TryParseOrReply(cmd, SortedSetRule.Increment, out SortedSetAddOptions options)) Add(ref cmd, options);
    }

    private static void Add(ref CommandContext cmd, SortedSetAddOptions options)
    {
        // All scores are parsed before the set is touched: the command runs fully or not at all.
        int pairs = (cmd.Count - options.First) / 2;
        double[]? rented = pairs > ScoresOnStack ? ArrayPool<double>.Shared.Rent(pairs) : null;
        Span<double> scores = rented ?? stackalloc double[ScoresOnStack];
        if (TryScoresOrReply(cmd, options.First, scores[..pairs])) AddScores(cmd, options, scores[..pairs], options.First + 1, 2);
        if (rented is not null) ArrayPool<double>.Shared.Return(rented);
    }

    private static bool TryScoresOrReply(scoped in CommandContext cmd, int first, Span<double> scores)
    {
        for (int i = 0; i < scores.Length; i++)
        {
            if (!cmd.TryFloatOrReply(first + (2 * i), out scores[i])) return false;
        }

        return true;
    }

    /// <summary>Sets the scores of members and replies as ZADD does.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="options">The options of the command.</param>
    /// <param name="scores">A score for each member.</param>
    /// <param name="firstMember">The argument of the first member.</param>
    /// <param name="step">The distance, in arguments, from one member to the next.</param>
    internal static void AddScores(scoped in CommandContext cmd, SortedSetAddOptions options, scoped ReadOnlySpan<double> scores, int firstMember, int step)
    {
        if (!cmd.OpenToWriteSortedSetOrReply(1, out SortedSetValue set)) return;
        if (!set.Exists)
        {
            if ((options.Rule & SortedSetRule.OnlyExisting) != 0)
            {
                ReplyAdded(cmd, options, 0, 0, isRefused: true, 0);
                return;
            }

            set = cmd.CreateSortedSet(cmd[firstMember]);
        }

        // As in Redis, the number of arguments decides, although some may name the same member.
        SortedSetLimits limits = cmd.SortedSetLimits();
        if (set.IsPacked && !limits.Admit(scores.Length, 0, 0)) set.Unpack();
        int added = 0;
        int updated = 0;
        bool refused = false;
        double score = 0;
        for (int i = 0; i < scores.Length; i++)
        {
            SortedSetOutcome outcome = set.Set(cmd[firstMember + (step * i)], scores[i], options.Rule, limits, out score);
            if (outcome == SortedSetOutcome.NotANumber)
            {
                // Only an increment can fail like this, and it is the only pair: nothing has changed.
                cmd.Reply.Error("ERR resulting score is not a number (NaN)"u8);
                return;
            }

            if (outcome == SortedSetOutcome.Added) added++;
            else if (outcome == SortedSetOutcome.Updated) updated++;
            else if (outcome == SortedSetOutcome.Refused) refused = true;
        }

        if (added + updated > 0) cmd.Changed(1, options.Increments ? KeyEvent.ZIncr : KeyEvent.ZAdd, added + updated);
        ReplyAdded(cmd, options, added, updated, refused, score);
    }

    private static void ReplyAdded(scoped in CommandContext cmd, SortedSetAddOptions options, int added, int updated, bool isRefused, double score)
    {
        if (!options.Increments) cmd.Reply.Integer(options.CountsChanges ? added + updated : added);
        else if (isRefused) cmd.Reply.Null();
        else cmd.Reply.Double(score);
    }

    // ZREM key member [member ...]
    private static void ZRem(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteSortedSetOrReply(1, out SortedSetValue set)) return;
        long removed = 0;
        for (int i = 2; i < cmd.Count && set.Count > 0; i++)
        {
            if (set.Remove(cmd[i])) removed++;
        }

        if (removed > 0) cmd.Changed(1, KeyEvent.ZRem, removed);
        cmd.Reply.Integer(removed);
    }

    // ZCARD key
    private static void ZCard(ref CommandContext cmd)
    {
        if (cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) cmd.Reply.Integer(set.Count);
    }

    // ZSCORE key member
    private static void ZScore(ref CommandContext cmd)
    {
        if (cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) ReplyScoreOrNull(cmd.Reply, set, cmd[2]);
    }

    // ZMSCORE key member [member ...]
    private static void ZMScore(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) ReplyScoreOrNull(cmd.Reply, set, cmd[i]);
    }

    private static void ReplyScoreOrNull(ReplyWriter reply, scoped in SortedSetValue set, ReadOnlySpan<byte> member)
    {
        if (set.TryScore(member, out double score)) reply.Double(score);
        else reply.Null();
    }

    // ZRANK key member [WITHSCORE]
    private static void ZRank(ref CommandContext cmd) => ReplyRank(ref cmd, reverse: false);

    // ZREVRANK key member [WITHSCORE]
    private static void ZRevRank(ref CommandContext cmd) => ReplyRank(ref cmd, reverse: true);

    private static void ReplyRank(ref CommandContext cmd, bool reverse)
    {
        if (cmd.Count > 4)
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return;
        }

        var options = new OptionReader(cmd, first: 3);
        bool withScore = options.Take("WITHSCORE"u8);
        if (options.More)
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        long rank = set.RankOf(cmd[2], out double score);
        if (rank < 0)
        {
            if (withScore) cmd.Reply.NullArray();
            else cmd.Reply.Null();
            return;
        }

        if (withScore) cmd.Reply.Array(2);
        cmd.Reply.Integer(reverse ? set.Count - 1 - rank : rank);
        if (withScore) cmd.Reply.Double(score);
    }
}
