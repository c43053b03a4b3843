using RedKite.Server.Changes;
using RedKite.Server.Commands.Sets;
using RedKite.Server.Model;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>
/// Unions, intersections and differences of sorted sets. The table is their single declaration and this file's contents.
/// A result is built in the arena of a locked stripe (see <see cref="SortedSetBuilder"/>), ordered, and replied or stored.
/// </summary>
internal static class SortedSetAlgebraCommands
{
    private const string InterComplexity =
        "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted set, K being the number of input sorted sets and M being the number of elements in the resulting sorted set.";

    private const string DiffComplexity =
        "O(L + (N-K)log(N)) worst case where L is the total number of elements in all the sets, N is the size of the first set, and K is the size of the result set.";

    private const string WeightSyntax = " [WEIGHTS weight [weight ...]] [AGGREGATE aggregate:<SUM | MIN | MAX | COUNT@8.8.0>]";

    private static readonly (string Version, string Change)[] CountHistory = [("8.8.0", "Adds `COUNT` to `AGGREGATE`.")];

    private static readonly KeySpec[] Counted = [new(2, 2, 1, KeyFlags.ReadOnly | Access, CountAt: 1)];
    private static readonly KeySpec[] Stored = [new(1, 1, 1, Overwrite | Update), new(3, 3, 1, KeyFlags.ReadOnly | Access, CountAt: 2)];

    internal static readonly CommandFamily Family = new("sorted-set", "sortedset",
    [
        new("ZUNION", -3, CommandFlags.ReadOnly, Counted, ZUnion,
            new("6.2.0", "O(N)+O(M*log(M)) with N being the sum of the sizes of the input sorted sets, and M being the number of elements in the resulting sorted set.", "Returns the members that at least one of several sorted sets contains.", "numkeys key [key ...]" + WeightSyntax + " [WITHSCORES]") { History = CountHistory }),
        new("ZUNIONSTORE", -4, Write | DenyOom, Stored, ZUnionStore,
            new("2.0.0", "O(N)+O(M log(M)) with N being the sum of the sizes of the input sorted sets, and M being the number of elements in the resulting sorted set.", "Stores the members that at least one of several sorted sets contains at a key.", "destination numkeys key [key ...]" + WeightSyntax) { History = CountHistory }),
        new("ZINTER", -3, CommandFlags.ReadOnly, Counted, ZInter,
            new("6.2.0", InterComplexity, "Returns the members that all of several sorted sets contain.", "numkeys key [key ...]" + WeightSyntax + " [WITHSCORES]") { History = CountHistory }),
        new("ZINTERSTORE", -4, Write | DenyOom, Stored, ZInterStore,
            new("2.0.0", InterComplexity, "Stores the members that all of several sorted sets contain at a key.", "destination numkeys key [key ...]" + WeightSyntax) { History = CountHistory }),
        new("ZINTERCARD", -3, CommandFlags.ReadOnly, Counted, ZInterCard,
            new("7.0.0", "O(N*K) worst case with N being the smallest input sorted set, K being the number of input sorted sets.", "Counts the members that all of several sorted sets contain, optionally up to a limit.", "numkeys key [key ...] [LIMIT limit]")),
        new("ZDIFF", -3, CommandFlags.ReadOnly, Counted, ZDiff,
            new("6.2.0", DiffComplexity, "Returns the members of the first sorted set that no other set contains.", "numkeys key [key ...] [WITHSCORES]")),
        new("ZDIFFSTORE", -4, Write | DenyOom, Stored, ZDiffStore,
            new("6.2.0", DiffComplexity, "Stores the members of the first sorted set that no other set contains at a key.", "destination numkeys key [key ...]")),
    ]);

    private enum Operation
    {
        Union,
        Inter,
        Diff,
    }

    // ZUNION numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX | COUNT] [WITHSCORES]
    private static void ZUnion(ref CommandContext cmd) => ReplyResult(ref cmd, Operation.Union);

    // ZINTER numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX | COUNT] [WITHSCORES]
    private static void ZInter(ref CommandContext cmd) => ReplyResult(ref cmd, Operation.Inter);

    // ZDIFF numkeys key [key ...] [WITHSCORES]
    private static void ZDiff(ref CommandContext cmd) => ReplyResult(ref cmd, Operation.Diff);

    // ZUNIONSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX | COUNT]
    private static void ZUnionStore(ref CommandContext cmd) => StoreResult(ref cmd, Operation.Union, KeyEvent.ZUnionStore);

    // ZINTERSTORE destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM | MIN | MAX | COUNT]
    private static void ZInterStore(ref CommandContext cmd) => StoreResult(ref cmd, Operation.Inter, KeyEvent.ZInterStore);

    // ZDIFFSTORE destination numkeys key [key ...]
    private static void ZDiffStore(ref CommandContext cmd) => StoreResult(ref cmd, Operation.Diff, KeyEvent.ZDiffStore);

    private static void ReplyResult(ref CommandContext cmd, Operation operation)
    {
        if (SortedSetInputs.TryParseOrReply(cmd, 1, weighs: operation != Operation.Diff, stores: false, counts: false, out SortedSetInputs inputs))
        {
            SortedSetBuilder builder = Build(cmd, inputs, operation, cmd.HashOf(2));
            cmd.Reply.MembersHead(builder.Count, inputs.WithScores);
            for (SortedSetCursor cursor = builder.At(0); cursor.Exists && !cmd.Reply.Overflowed; cursor.MoveNext())
            {
                cmd.Reply.Member(cursor.Member, cursor.Score, inputs.WithScores);
            }

            builder.Free();
        }

        inputs.Release();
    }

    private static void StoreResult(ref CommandContext cmd, Operation operation, KeyEvent stored)
    {
        if (SortedSetInputs.TryParseOrReply(cmd, 2, weighs: operation != Operation.Diff, stores: true, counts: false, out SortedSetInputs inputs))
        {
            bool existed = cmd.Peek(1).Exists;
            cmd.StoreAndReplyCount(1, Build(cmd, inputs, operation, cmd.HashOf(1)), stored);
            if (inputs.CountsInputs && (existed || cmd.Peek(1).Exists)) SortedSetEffects.Replace(cmd, 1); // Redis 8.0 cannot count
        }

        inputs.Release();
    }

    private static SortedSetBuilder Build(scoped in CommandContext cmd, scoped in SortedSetInputs inputs, Operation operation, ulong hash)
    {
        var builder = new SortedSetBuilder(cmd.Database, hash);
        switch (operation)
        {
            case Operation.Union:
                Unite(ref builder, inputs);
                break;
            case Operation.Inter:
                Intersect(ref builder, inputs);
                break;
            default:
                Subtract(cmd, ref builder, inputs.Sources, hash);
                break;
        }

        return builder;
    }

    private static void Unite(ref SortedSetBuilder builder, scoped in SortedSetInputs inputs)
    {
        inputs.Sources.Sort();
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        foreach (ref WeightedSource input in inputs.Sources)
        {
            ScoredCursor members = input.Source.Members(digits);
            while (members.MoveNext()) builder.Combine(members.Member, input.Weigh(members.Score), inputs.Aggregate);
        }

        builder.Order();
    }

    private static void Intersect(ref SortedSetBuilder builder, scoped in SortedSetInputs inputs)
    {
        inputs.Sources.Sort();
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        ScoredCursor members = inputs.Sources[0].Source.Members(digits);
        while (members.MoveNext())
        {
            if (TryCombine(inputs, members.Member, members.Score, out double score)) builder.Add(members.Member, score);
        }
    }

    private static bool TryCombine(scoped in SortedSetInputs inputs, ReadOnlySpan<byte> member, double firstScore, out double score)
    {
        score = inputs.Sources[0].Weigh(firstScore);
        foreach (ref WeightedSource input in inputs.Sources[1..])
        {
            if (!input.Source.TryScore(member, out double other)) return false;
            score = SortedSetBuilder.Aggregate(score, input.Raw(other), inputs.Aggregate);
        }

        return true;
    }

    private static void Subtract(scoped in CommandContext cmd, ref SortedSetBuilder builder, scoped Span<WeightedSource> sources, ulong hash)
    {
        Span<WeightedSource> others = sources[1..];
        int count = 0;
        long subtracted = 0;
        foreach (ref readonly WeightedSource other in others)
        {
            if (other.Source.Count == 0) continue;
            others[count++] = other;
            subtracted += other.Source.Count;
        }

        others = others[..count];
        bool unites = SetSources.Unites(sources[0].Source.Count, count, subtracted);
        SetValue united = unites ? UnionOf(cmd, others, hash) : default;
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        ScoredCursor members = sources[0].Source.Members(digits);
        while (members.MoveNext())
        {
            bool found = unites && united.View.Contains(members.Member);
            for (int i = 0; !unites && i < others.Length && !found; i++) found = others[i].Source.TryScore(members.Member, out _);
            if (!found) builder.Add(members.Member, members.Score);
        }

        if (unites) united.Free();
    }

    private static SetValue UnionOf(scoped in CommandContext cmd, scoped ReadOnlySpan<WeightedSource> sources, ulong hash)
    {
        SetValue union = SetValue.CreateDetached(cmd.Database, hash, cmd.SetLimits(), isIntegers: true);
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        foreach (ref readonly WeightedSource source in sources)
        {
            ScoredCursor members = source.Source.Members(digits);
            while (members.MoveNext()) union.Add(members.Member);
        }

        return union;
    }

    // ZINTERCARD numkeys key [key ...] [LIMIT limit]
    private static void ZInterCard(ref CommandContext cmd)
    {
        if (SortedSetInputs.TryParseOrReply(cmd, 1, weighs: false, stores: false, counts: true, out SortedSetInputs inputs))
        {
            inputs.Sources.Sort();
            long limit = inputs.Limit == 0 ? long.MaxValue : inputs.Limit;
            long count = 0;
            Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
            ScoredCursor members = inputs.Sources[0].Source.Members(digits);
            while (count < limit && members.MoveNext())
            {
                if (TryCombine(inputs, members.Member, members.Score, out _)) count++;
            }

            cmd.Reply.Integer(count);
        }

        inputs.Release();
    }
}
