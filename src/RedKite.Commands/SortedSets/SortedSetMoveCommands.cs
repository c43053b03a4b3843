using System.Buffers;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.SortedSets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>
/// ZMOVE, BZMOVE and ZMOVEMEMBER: move members with their scores to another sorted set, and reply them. The table is their single declaration and this
/// file's contents. Replicas and the log get ZREM and ZADD.
/// </summary>
internal static class SortedSetMoveCommands
{
    private static readonly KeySpec[] SourceAndDestination = [new(1, 1, 1, ReadWrite | Access | Delete), new(2, 2, 1, ReadWrite | Insert)];

    internal static readonly CommandFamily Family = new("sorted-set", "sortedset",
    [
        new("ZMOVE", -4, Write | DenyOom, SourceAndDestination, ZMove,
            new("8.12.0", "O(log(N) + K*(log(N)+log(M))) where N and M are the source and destination sizes and K is the number of moved members.", "Moves members with the lowest or highest scores, or with scores in a range, to another sorted set.",
                "source destination selection:<MIN | MAX | score-range:(BYSCORE score-min:double score-max:double)> [COUNT count]")),
        new("BZMOVE", -5, Write | DenyOom | CommandFlags.Blocking, SourceAndDestination, BZMove,
            new("8.12.0", "O(K*(log(N)+log(M))) where K is the number of moved members and N and M are the source and destination sizes.", "Moves members with the lowest or highest scores to another sorted set. Blocks until there is a member.",
                "source destination selection:<MIN | MAX> timeout:double [COUNT count]")),
        new("ZMOVEMEMBER", -6, Write | DenyOom, SourceAndDestination, ZMoveMember,
            new("8.12.0", "O(K*(log(N)+log(M))) where K is the number of given members and N and M are the source and destination sizes.", "Moves members to another sorted set, optionally only those that it has or that it lacks.",
                "source destination condition:[NX | XX] members:<MEMBERS (num-members:integer member [member ...])>")),
    ]);

    // ZMOVE source destination MIN | MAX | BYSCORE min max [COUNT count]
    private static void ZMove(ref CommandContext cmd)
    {
        var options = new OptionReader(cmd, first: 3);
        SortedSetRange range = default;
        bool byScore = options.TakeWithValues("BYSCORE"u8, 2, out int ends);
        bool fromMax = !byScore && options.Take("MAX"u8);
        if (!byScore && !fromMax && !options.Take("MIN"u8))
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (!TryCountOrReply(cmd, ref options, byScore ? long.MaxValue : 1, out long countMax)) return;
        if (byScore && !SortedSetRange.TryParseEndsOrReply(cmd, SortedSetRangeKind.Score, out range, first: ends)) return;
        if (!TryOpenOrReply(cmd, out SortedSetValue source)) return;
        long first = 0, count = source.Count;
        if (byScore) count = range.RanksIn(source, out first);
        count = Math.Min(count, countMax);
        if (count == 0 || IsOneKey(cmd)) cmd.Reply.NullArray();
        else MoveRange(cmd, source, fromMax ? source.Count - count : first, count, fromMax);
    }

    // BZMOVE source destination MIN | MAX timeout [COUNT count]
    private static void BZMove(ref CommandContext cmd)
    {
        var options = new OptionReader(cmd, first: 3);
        bool fromMax = options.Take("MAX"u8);
        if ((!fromMax && !options.Take("MIN"u8)) || !options.TakeAny(out int timeout))
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (!TryCountOrReply(cmd, ref options, 1, out long countMax)) return;
        if (!TimeoutArgument.TrySecondsOrReply(cmd, timeout, out long deadlineMs)) return;
        if (!TryOpenOrReply(cmd, out SortedSetValue source)) return;
        long count = Math.Min(source.Count, countMax);
        if (IsOneKey(cmd)) cmd.Reply.NullArray();
        else if (count > 0) MoveRange(cmd, source, fromMax ? source.Count - count : 0, count, fromMax);
        else if (!cmd.BlockOnKeys(DataType.SortedSet, deadlineMs)) cmd.Reply.NullArray();
    }

    // ZMOVEMEMBER source destination [NX | XX] MEMBERS num-members member [member ...]
    private static void ZMoveMember(ref CommandContext cmd)
    {
        var options = new OptionReader(cmd, first: 3);
        bool onlyNew = options.Take("NX"u8);
        bool onlyExisting = !onlyNew && options.Take("XX"u8);
        if (!options.Take("MEMBERS"u8) || !options.TakeAny(out int number))
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (!cmd.TryPositiveOrReply(number, "ERR Number of members must be a positive integer"u8, out long members)) return;
        if (members != options.Left)
        {
            cmd.Reply.Error("ERR The `num-members` parameter must match the number of arguments"u8);
            return;
        }

        if (!TryOpenOrReply(cmd, out SortedSetValue source)) return;
        if (source.Exists && !IsOneKey(cmd)) MoveMembers(cmd, number + 1, onlyNew, onlyExisting);
        else cmd.Reply.NullArray();
    }

    private static void MoveMembers(scoped in CommandContext cmd, int first, bool onlyNew, bool onlyExisting)
    {
        cmd.ReplaceEffect();
        long start = cmd.Reply.Length;
        int moved = 0;
        for (int i = first; i < cmd.Count; i++)
        {
            var source = new SortedSetValue(cmd.Database, cmd.Peek(1));
            if (!source.TryScore(cmd[i], out double score)) continue;
            bool isThere = new SortedSetValue(cmd.Database, cmd.Peek(2)).TryScore(cmd[i], out _);
            if (isThere ? onlyNew : onlyExisting) continue;
            source.Remove(cmd[i]);
            Add(cmd, cmd[i], score);
            if (cmd.Recording.TakesEffects) cmd.Effect("ZREM"u8, 3).Argument(cmd[1]).Argument(cmd[i]);
            cmd.Reply.Bulk(cmd[i]);
            moved++;
        }

        if (moved == 0)
        {
            cmd.Reply.NullArray();
            return;
        }

        long end = cmd.Reply.Length;
        cmd.Reply.Array(moved);
        cmd.Reply.MoveToFront(start, end);
        Report(cmd, moved);
    }

    // The members are replied first: the source has them in the order of the reply. Each is copied while both sets change.
    private static void MoveRange(scoped in CommandContext cmd, scoped in SortedSetValue source, long first, long count, bool fromMax)
    {
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        cmd.Reply.Array((int)Math.Min(int.MaxValue, count));
        SortedSetCursor cursor = source.At(fromMax ? first + count - 1 : first, digits);
        for (long i = 0; i < count && !cmd.Reply.Overflowed; i++, cursor.Move(fromMax)) cmd.Reply.Bulk(cursor.Member);
        if (cmd.Reply.Overflowed) return;

        cmd.ReplaceEffect();
        byte[] copy = [];
        for (long left = count; left > 0; left--)
        {
            var from = new SortedSetValue(cmd.Database, cmd.Peek(1));
            SortedSetCursor next = from.At(first + left - 1, digits);
            int length = next.Member.Length;
            double score = next.Score;
            if (copy.Length < length)
            {
                if (copy.Length > 0) ArrayPool<byte>.Shared.Return(copy);
                copy = ArrayPool<byte>.Shared.Rent(length);
            }

            next.Member.CopyTo(copy);
            from.RemoveRange(first + left - 1, 1);
            Add(cmd, copy.AsSpan(0, length), score);
            if (cmd.Recording.TakesEffects) cmd.Effect("ZREM"u8, 3).Argument(cmd[1]).Argument(copy.AsSpan(0, length));
        }

        if (copy.Length > 0) ArrayPool<byte>.Shared.Return(copy);
        Report(cmd, count);
    }

    private static void Add(scoped in CommandContext cmd, scoped ReadOnlySpan<byte> member, double score)
    {
        SortedSetLimits limits = cmd.SortedSetLimits();
        var destination = new SortedSetValue(cmd.Database, cmd.Peek(2));
        if (!destination.Exists) destination = SortedSetValue.Create(cmd.Database, cmd[2], cmd.HashOf(2), default, limits.Admit(1, member.Length, 0), cmd.Accesses.NewClock);
        destination.Set(member, score, SortedSetRule.Always, limits, out _);
        if (cmd.Recording.TakesEffects) cmd.Effect("ZADD"u8, 4).Argument(cmd[2]).Score(score).Argument(member);
    }

    private static void Report(scoped in CommandContext cmd, long count)
    {
        cmd.Changed(2, KeyEvent.ZAdd, count: 0);
        cmd.Changed(1, KeyEvent.ZRem, count);
    }

    // Both keys are checked, and announced to a snapshot, before anything moves. Without a source, the destination does not matter.
    private static bool TryOpenOrReply(scoped in CommandContext cmd, out SortedSetValue source)
    {
        if (!cmd.OpenToWriteSortedSetOrReply(1, out source)) return false;
        if (!source.Exists) return true;
        if (!cmd.OpenToWriteSortedSetOrReply(2, out _)) return false;
        source = new SortedSetValue(cmd.Database, cmd.Peek(1));
        return true;
    }

    private static bool IsOneKey(scoped in CommandContext cmd) => cmd[1].SequenceEqual(cmd[2]);

    private static bool TryCountOrReply(scoped in CommandContext cmd, ref OptionReader options, long usual, out long count)
    {
        count = usual;
        if (!options.More) return true;
        if (options.TakeWithValue("COUNT"u8, out int argument) && !options.More) return cmd.TryPositiveOrReply(argument, "ERR count should be greater than 0"u8, out count);
        cmd.ReplySyntaxError();
        return false;
    }
}
