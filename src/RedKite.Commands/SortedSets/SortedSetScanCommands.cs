using RedKite.Store.Values.Members;
using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Memory;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>
/// Sorted set commands that return some of the members: ZSCAN in portions, ZRANDMEMBER at random. The table is their single
/// declaration and this file's contents.
/// </summary>
internal static class SortedSetScanCommands
{
    // Up to a third of a set is sampled rank by rank, more in one pass over it.
    private const int RankedShare = 3;

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);

    internal static readonly CommandFamily Family = new("sorted-set", "sortedset",
    [
        new("ZRANDMEMBER", -2, CommandFlags.ReadOnly, Accessed, ZRandMember,
            new("6.2.0", "O(N) where N is the number of members returned", "Returns random members of a sorted set: distinct ones, or with a negative count possibly repeated ones.", "key options:[count [WITHSCORES]]")) { Tips = ["nondeterministic_output"] },
        new("ZSCAN", -3, CommandFlags.ReadOnly, Accessed, ZScan,
            new("2.8.0", "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
                "Returns some members of a sorted set with their scores, and a cursor from which the next call continues.", "key cursor [MATCH pattern] [COUNT count]")) { Tips = ["nondeterministic_output"] },
    ]);

    // ZRANDMEMBER key [count [WITHSCORES]]
    private static void ZRandMember(ref CommandContext cmd)
    {
        if (cmd.Count > 2)
        {
            ReplySeveral(ref cmd);
            return;
        }

        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        if (set.Exists) cmd.Reply.Bulk(set.At(Below(set.Count), digits).Member);
        else cmd.Reply.Null();
    }

    private static void ReplySeveral(ref CommandContext cmd)
    {
        if (!SampleCount.TryReadOrReply(cmd, "WITHSCORES"u8, out long count, out bool withScores)) return;
        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        if (!set.Exists || count == 0) cmd.Reply.Array(0);
        else if (count < 0) ReplyRepeatedly(cmd.Reply, set, -count, withScores);
        else ReplyDistinct(cmd.Reply, set, Math.Min(count, set.Count), withScores);
    }

    // Each member is sampled independently of the others, so members may repeat.
    private static void ReplyRepeatedly(ReplyWriter reply, scoped in SortedSetValue set, long count, bool withScores)
    {
        if (!reply.TryBeginRepeating(count, withScores ? 2 : 1)) return;
        reply.MembersHead(count, withScores);
        long members = set.Count;
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        for (long i = 0; i < count && reply.MayRepeat(); i++)
        {
            SortedSetCursor cursor = set.At(Below(members), digits);
            reply.Member(cursor.Member, cursor.Score, withScores);
        }
    }

    private static void ReplyDistinct(ReplyWriter reply, scoped in SortedSetValue set, long count, bool withScores)
    {
        reply.MembersHead(count, withScores);
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        if (count <= set.Count / RankedShare && NativeList<long>.HasRoom(count))
        {
            using var chosen = new NativeList<long>((int)count);
            Span<long> ranks = chosen.Items;
            ChooseRanks(ranks, set.Count);
            for (int i = 0; i < count && !reply.Overflowed; i++)
            {
                SortedSetCursor cursor = set.At(ranks[i], digits);
                reply.Member(cursor.Member, cursor.Score, withScores);
            }

            return;
        }

        // One pass: each member is taken with the probability that completes the sample.
        long left = set.Count;
        for (SortedSetCursor cursor = set.At(0, digits); count > 0 && !reply.Overflowed; cursor.MoveNext())
        {
            if (Below(left--) >= count) continue;
            reply.Member(cursor.Member, cursor.Score, withScores);
            count--;
        }
    }

    // Distinct ranks in ascending order. Duplicates are replaced by new random ranks until there are none, so that every choice of
    // that many ranks has the same probability.
    private static void ChooseRanks(Span<long> ranks, long members)
    {
        int distinct = 0;
        while (distinct < ranks.Length)
        {
            for (int i = distinct; i < ranks.Length; i++) ranks[i] = Below(members);
            ranks.Sort();
            distinct = 1;
            for (int i = 1; i < ranks.Length; i++)
            {
                if (ranks[i] != ranks[i - 1]) ranks[distinct++] = ranks[i];
            }
        }
    }

#pragma warning disable CA5394 // Not a secret: a sample.
    private static long Below(long limit) => SamplingRandom.Current.NextInt64(limit);
#pragma warning restore CA5394

    // ZSCAN key cursor [MATCH pattern] [COUNT count]
    private static void ZScan(ref CommandContext cmd)
    {
        if (!CursorArgument.TryReadOrReply(cmd, 2, out ulong cursor)) return;
        if (!cmd.OpenToReadSortedSetOrReply(1, out SortedSetValue set)) return;
        if (!MemberScan.TryBeginOrReply(cmd, set.Exists, out MemberScanOptions options, haveScores: true)) return;
        MemberScan.Reply(cmd.Reply, cursor, options, new ScannedSortedSet(set));
    }

    // Scores are bulk strings in RESP3 too. As in Redis, those of a table have up to 17 digits.
    private readonly ref struct ScannedSortedSet(SortedSetValue set) : IScannable
    {
        private readonly SortedSetValue _set = set;

        public bool IsTable => !_set.IsPacked;

        public int ReplyAll(ReplyWriter reply, scoped in MemberScanOptions options)
        {
            int count = 0;
            Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
            Span<byte> text = stackalloc byte[RespDouble.TextMax];
            for (SortedSetCursor cursor = _set.At(0, digits); cursor.Exists; cursor.MoveNext())
            {
                if (!options.Accepts(cursor.Member)) continue;
                reply.Bulk(cursor.Member);
                if (!options.NoScores) reply.Bulk(text[..RespDouble.Format(cursor.Score, text)]);
                count += options.NoScores ? 1 : 2;
            }

            return count;
        }

        public int ReplyBucket(ReplyWriter reply, scoped in MemberScanOptions options, ref ulong cursor, ref long seen)
        {
            int count = 0;
            Span<byte> text = stackalloc byte[SeventeenDigits.TextMax];
            for (MemberEnumerator members = _set.ScanBucket(ref cursor); members.MoveNext(); seen++)
            {
                var member = new SortedSetMember(members.Current);
                if (!options.Accepts(member.Member)) continue;
                reply.Bulk(member.Member);
                if (!options.NoScores) reply.Bulk(text[..SeventeenDigits.Format(member.Score, text)]);
                count += options.NoScores ? 1 : 2;
            }

            return count;
        }
    }
}
