using RedKite.Protocol;
using RedKite.Server.Model;
using RedKite.Store.Memory;
using RedKite.Store.Values.VectorSets;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.VectorSets;

/// <summary>Commands that list elements of a vector set: an element's links, elements at random, and elements in the order of their names.</summary>
internal static class VectorListCommands
{
    internal static readonly CommandFamily Family = new(VectorSetCommands.Group, "",
    [
        new("VLINKS", -3, CommandFlags.ReadOnly | Fast, VectorSetCommands.Key, VLinks,
            new("8.0.0", "O(1)", "Returns the elements that an element is linked with, for each level of the graph.", "key element [WITHSCORES]")) { Module = ServerModule.VectorSets },
        new("VRANDMEMBER", -2, CommandFlags.ReadOnly, VectorSetCommands.Key, VRandMember,
            new("8.0.0", "O(N) where N is the absolute value of the count.", "Returns random elements: distinct ones, or with a negative count possibly repeated ones.", "key [count:integer]")) { Module = ServerModule.VectorSets },
        new("VRANGE", -4, CommandFlags.ReadOnly, VectorSetCommands.Key, VRange,
            new("8.4.0", "O(N*log(M)) for M of N elements.", "Returns elements in the order of their names.", "key start:string end:string [count]")) { Module = ServerModule.VectorSets },
    ]);

    // VLINKS key element [WITHSCORES]
    private static void VLinks(ref CommandContext cmd)
    {
        if (!cmd.IsCountOrReply("VLINKS", 4)) return;
        bool withScores = cmd.Count == 4;
        if (withScores && !cmd.Is(3, "WITHSCORES"u8))
        {
            cmd.ReplyWrongCount("VLINKS");
            return;
        }

        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        VectorElement element = set.Find(cmd[2]);
        if (!element.Exists)
        {
            cmd.Reply.Null();
            return;
        }

        cmd.Reply.Array(element.Level + 1);
        for (int level = element.Level; level >= 0; level--) ReplyLinks(cmd.Reply, set, element, level, withScores);
    }

    private static void ReplyLinks(ReplyWriter reply, VectorSetValue set, VectorElement element, int level, bool withScores)
    {
        ReadOnlySpan<int> links = element.Links(level);
        if (withScores) reply.Map(links.Length);
        else reply.Array(links.Length);
        foreach (int number in links)
        {
            VectorElement linked = set.At(number);
            reply.Bulk(linked.Name);
            if (withScores) reply.Double(VectorSetAccess.ScoreOf(element.DistanceTo(linked)));
        }
    }

    // VRANDMEMBER key [count]
    private static void VRandMember(ref CommandContext cmd)
    {
        if (!cmd.IsCountOrReply("VRANDMEMBER", 3)) return;
        bool hasCount = cmd.Count == 3;
        long count = 0;
        if (hasCount && (!RespNumber.TryParseInt64(cmd[2], out count) || count == long.MinValue))
        {
            cmd.Reply.Error("ERR COUNT value is not an integer"u8);
            return;
        }

        if (hasCount && count == 0)
        {
            cmd.Reply.Array(0); // whatever the key holds
            return;
        }

        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        if (!hasCount)
        {
            if (set.Exists) cmd.Reply.Bulk(set.Pick(SamplingRandom.Current).Name);
            else cmd.Reply.Null();
        }
        else if (!set.Exists)
        {
            cmd.Reply.Array(0);
        }
        else if (count < 0)
        {
            ReplyRepeatedly(cmd.Reply, set, -count);
        }
        else
        {
            ReplyDistinct(cmd.Reply, set, (int)Math.Min(count, set.Count));
        }
    }

    // Stops as soon as the reply is larger than allowed.
    private static void ReplyRepeatedly(ReplyWriter reply, VectorSetValue set, long count)
    {
        if (!reply.TryBeginRepeating(count)) return;
        reply.Array((int)count);
        for (long i = 0; i < count && reply.MayRepeat(); i++) reply.Bulk(set.Pick(SamplingRandom.Current).Name);
    }

    private static void ReplyDistinct(ReplyWriter reply, VectorSetValue set, int count)
    {
        // Few of many are drawn until they differ; otherwise each in turn is taken with the probability that completes the sample, which needs no memory.
        const int ManyTimes = 3;
        reply.Array(count);
        if (count <= set.Count / ManyTimes && VectorSetValue.HasRoomToDraw(count))
        {
            using var drawn = new NativeList<nint>(count);
            set.Draw(SamplingRandom.Current, drawn.Items);
            foreach (nint block in drawn.Items) reply.Bulk(VectorSetValue.NameOf(block));
            return;
        }

        long left = set.Count;
        for (int number = 0; count > 0 && !reply.Overflowed; number++)
        {
            VectorElement element = set.AtOrNone(number);
#pragma warning disable CA5394 // Not a secret: a sample.
            if (!element.Exists || SamplingRandom.Current.NextInt64(left--) >= count) continue;
#pragma warning restore CA5394
            reply.Bulk(element.Name);
            count--;
        }
    }

    // VRANGE key start end [count]
    private static void VRange(ref CommandContext cmd)
    {
        if (!cmd.IsCountOrReply("VRANGE", 5)) return;
        long count = -1;
        if (cmd.Count == 5 && !RespNumber.TryParseInt64(cmd[4], out count))
        {
            cmd.Reply.Error("ERR invalid COUNT value"u8);
            return;
        }

        if (!NameBound.TryReadOrReply(cmd, 2, "ERR invalid start range format"u8, out NameBound start)) return;
        if (!NameBound.TryReadOrReply(cmd, 3, "ERR invalid end range format"u8, out NameBound end)) return;
        if (cmd.Is(2, "+"u8) || cmd.Is(3, "-"u8))
        {
            cmd.Reply.Error("ERR '-' can only be used as first argument, '+' only as second"u8);
            return;
        }

        if (!cmd.OpenToReadVectorSetOrReply(out VectorSetValue set)) return;
        if (count < 0) count = set.Count;
        count = Math.Min(count, set.Count);

        ReplyInOrder(cmd.Reply, set, start, end, count);
    }

    // The lowest names within the bounds, as many at a time as there is memory for: the highest of them is on top of a heap as long as more come.
    private static void ReplyInOrder(ReplyWriter reply, VectorSetValue set, NameBound start, NameBound end, long count)
    {
        var atOnce = (int)Math.Min(count, NativeList<nint>.CountMax / 2); // it doubles
        using var heap = new NameHeap();
        for (bool isFirst = true; count > 0 || isFirst; isFirst = false)
        {
            heap.Clear();
            long within = 0;
            for (int number = 0; number < set.Numbers && count > 0; number++)
            {
                VectorElement element = set.AtOrNone(number);
                if (!element.Exists || start.IsAbove(element.Name) || end.IsBelow(element.Name)) continue;
                within++;
                if (heap.Count < Math.Min(atOnce, count)) heap.Add(element.Block);
                else heap.ReplaceHighest(element.Block);
            }

            count = Math.Min(count, within);
            if (isFirst) reply.Array((int)count);
            foreach (nint block in heap.Sorted()) reply.Bulk(VectorSetValue.NameOf(block));
            count -= heap.Count;
            if (heap.Count == 0 || reply.Overflowed) return;
            start = NameBound.Behind(VectorSetValue.NameOf(heap.Sorted()[^1]));
        }
    }

    // A bound of VRANGE.
    private readonly ref struct NameBound
    {
        private readonly ReadOnlySpan<byte> _name;
        private readonly bool _isOpen; // every name is within
        private readonly bool _isExclusive;

        private NameBound(ReadOnlySpan<byte> name, bool isOpen, bool isExclusive)
        {
            _name = name;
            _isOpen = isOpen;
            _isExclusive = isExclusive;
        }

        internal static bool TryReadOrReply(scoped in CommandContext cmd, int argument, ReadOnlySpan<byte> message, out NameBound bound)
        {
            ReadOnlySpan<byte> text = cmd[argument];
            bool isOpen = text.SequenceEqual("-"u8) || text.SequenceEqual("+"u8);
            bool isName = text.Length > 1 && text[0] is ((byte)'[' or (byte)'(');
            bound = isName ? new NameBound(cmd[argument][1..], isOpen: false, isExclusive: text[0] == '(') : new NameBound(default, isOpen, isExclusive: false);
            if (!isOpen && !isName) cmd.Reply.Error(message);
            return isOpen || isName;
        }

        internal static NameBound Behind(ReadOnlySpan<byte> name) => new(name, isOpen: false, isExclusive: true);

        internal bool IsAbove(ReadOnlySpan<byte> name) => !_isOpen && IsBeyond(name.SequenceCompareTo(_name));

        internal bool IsBelow(ReadOnlySpan<byte> name) => !_isOpen && IsBeyond(_name.SequenceCompareTo(name));

        private bool IsBeyond(int order) => order < 0 || (_isExclusive && order == 0);
    }
}
