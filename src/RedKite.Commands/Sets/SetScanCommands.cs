using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values.Sets;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Sets;

/// <summary>Set commands that return some of the members: SSCAN in portions, SRANDMEMBER at random.</summary>
internal static class SetScanCommands
{
    internal static readonly CommandFamily Family = new("set", "set",
    [
        new("SRANDMEMBER", -2, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), SRandMember,
            new("1.0.0", "Without the count argument O(1), otherwise O(N) where N is the absolute value of the passed count.",
                "Returns random members of a set: distinct ones, or with a negative count possibly repeated ones.", "key [count@2.6.0]") { History = [("2.6.0", "Accepts a count.")] }) { Tips = ["nondeterministic_output"] },
        new("SSCAN", -3, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), SScan,
            new("2.8.0", "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection.",
                "Returns some members of a set and a cursor from which the next call continues.", "key cursor [MATCH pattern] [COUNT count]")) { Tips = ["nondeterministic_output"] },
    ]);

    // SRANDMEMBER key [count]
    private static void SRandMember(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            cmd.ReplySyntaxError();
            return;
        }

        long count = 0;
        bool hasCount = cmd.Count == 3;
        if (hasCount && !cmd.TrySignedOrReply(2, out count)) return;
        if (!cmd.OpenToReadSetOrReply(1, out SetView set)) return;
        if (!hasCount)
        {
            if (set.Count == 0) cmd.Reply.Null();
            else cmd.Reply.Bulk(set.Pick(SamplingRandom.Current, stackalloc byte[SetEnumerator.NumberBytesMax], out _));
        }
        else if (set.Count == 0 || count == 0)
        {
            cmd.Reply.Array(0);
        }
        else if (count < 0)
        {
            ReplyRepeatedly(cmd.Reply, set, -count);
        }
        else
        {
            ReplyDistinct(cmd.Reply, set, count);
        }
    }

    // Stops as soon as the reply is larger than allowed.
    private static void ReplyRepeatedly(ReplyWriter reply, SetView set, long count)
    {
        if (!reply.TryBeginRepeating(count)) return;
        if (set.Hides && !NativeList<nint>.HasRoom(set.Count))
        {
            reply.Error("ERR Insufficient memory, failed allocating transient memory for SRANDMEMBER"u8);
            return;
        }

        Span<byte> number = stackalloc byte[SetEnumerator.NumberBytesMax];
        reply.Array((int)count);
        if (set.Hides)
        {
            ReplyOfLiving(reply, set, count);
            return;
        }

        for (long i = 0; i < count && reply.MayRepeat(); i++) reply.Bulk(set.Pick(SamplingRandom.Current, number, out _));
    }

    // Among members that have expired and cannot be removed now: the others are looked for once.
    private static void ReplyOfLiving(ReplyWriter reply, SetView set, long count)
    {
        using var living = new NativeList<nint>((int)set.Count);
        int found = 0;
        SetEnumerator members = set.Enumerate(default);
        while (members.MoveNext()) living.Items[found++] = members.Block;
#pragma warning disable CA5394 // Not a secret: a sample.
        for (long i = 0; i < count && reply.MayRepeat(); i++) reply.Bulk(SetView.MemberAt(living.Items[SamplingRandom.Current.Next(found)]));
#pragma warning restore CA5394
    }

    private static void ReplyDistinct(ReplyWriter reply, SetView set, long count)
    {
        reply.Array((int)Math.Min(count, set.Count));
        if (count >= set.Count)
        {
            SetCommands.ReplyMembers(reply, set);
            return;
        }

        if (!SetSample.HasRoom(count))
        {
            ReplyInOnePass(reply, set, count);
            return;
        }

        var sample = new SetSample(set, (int)count);
        sample.Reply(reply);
        sample.Release();
    }

    // Each member in turn is replied with the probability that completes the sample: that needs no memory.
    private static void ReplyInOnePass(ReplyWriter reply, SetView set, long count)
    {
        long left = set.Count;
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        for (; count > 0 && members.MoveNext() && !reply.Overflowed; left--)
        {
#pragma warning disable CA5394 // Not a secret: a sample.
            if (SamplingRandom.Current.NextInt64(left) >= count) continue;
#pragma warning restore CA5394
            reply.Bulk(members.Current);
            count--;
        }
    }

    // SSCAN key cursor [MATCH pattern] [COUNT count]
    private static void SScan(ref CommandContext cmd)
    {
        if (!CursorArgument.TryReadOrReply(cmd, 2, out ulong cursor)) return;
        Entry entry = cmd.Find(1);
        if (entry.Exists && !cmd.IsTypeOrReply(entry, DataType.Set)) return;
        if (!MemberScan.TryBeginOrReply(cmd, entry.Exists, out MemberScanOptions options)) return;
        MemberScan.Reply(cmd.Reply, cursor, options, new ScannedSet(SetAccess.Looking(cmd, entry)));
    }

    private readonly struct ScannedSet(SetView set) : IScannable
    {
        public bool IsTable => set.IsTable;

        public int ReplyAll(ReplyWriter reply, scoped in MemberScanOptions options)
        {
            long seen = 0;
            return ReplyMatching(reply, set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]), options, ref seen);
        }

        public int ReplyBucket(ReplyWriter reply, scoped in MemberScanOptions options, ref ulong cursor, ref long seen) =>
            ReplyMatching(reply, set.ScanBucket(ref cursor, default), options, ref seen);
    }

    private static int ReplyMatching(ReplyWriter reply, SetEnumerator members, scoped in MemberScanOptions options, ref long seen)
    {
        int count = 0;
        for (; members.MoveNext(); seen++)
        {
            ReadOnlySpan<byte> member = members.Current;
            if (!options.Accepts(member)) continue;
            reply.Bulk(member);
            count++;
        }

        return count;
    }
}
