using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Sets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Sets;

/// <summary>
/// Members of single sets: added, removed, moved, asked for, listed. Drawing members is in SetRandomCommands, several sets
/// together are in SetAlgebraCommands.
/// </summary>
internal static class SetCommands
{
    // SSCAN looks at so many buckets for each member that COUNT asks for, so that a sparse table ends a call as well.
    private const long BucketsForEachMember = 10;

    internal static readonly CommandFamily Family = new("set", "set",
    [
        new("SADD", -3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), SAdd,
            new("1.0.0", "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.", "Adds members to a set; creates the key if need be.", "key member [member ...]")),
        new("SREM", -3, Write | Fast, KeySpecs.One(1, ReadWrite | Delete), SRem,
            new("1.0.0", "O(N) where N is the number of members to be removed.", "Removes members from a set; an empty one is deleted.", "key member [member ...]")),
        new("SISMEMBER", 3, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), SIsMember,
            new("1.0.0", "O(1)", "Tells whether a set has a member.", "key member")),
        new("SMISMEMBER", -3, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly | Access), SMIsMember,
            new("6.2.0", "O(N) where N is the number of elements being checked for membership", "Tells of several members whether a set has them.", "key member [member ...]")),
        new("SCARD", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), SCard,
            new("1.0.0", "O(1)", "Returns how many members a set has.", "key")),
        new("SMEMBERS", 2, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), SMembers,
            new("1.0.0", "O(N) where N is the set cardinality.", "Lists all members of a set.", "key")) { Tips = ["nondeterministic_output_order"] },
        new("SMOVE", 4, Write | Fast, [new(1, 1, 1, ReadWrite | Access | Delete), new(2, 2, 1, ReadWrite | Insert)], SMove,
            new("1.0.0", "O(1)", "Moves a member from one set to another.", "source destination member")),
        new("SSCAN", -3, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), SScan,
            new("2.8.0", "O(1) for every call. O(N) for a complete iteration, including enough command calls for the cursor to return back to 0. N is the number of elements inside the collection..", "Lists members of a set a few at a time; the next call goes on from the cursor.", "key cursor [MATCH pattern] [COUNT count]")) { Tips = ["nondeterministic_output"] },
    ]);

    // SADD key member [member ...]
    private static void SAdd(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsTypeOrReply(entry, DataType.Set)) return;
        SetValue set = SetAccess.OpenOrCreate(cmd, 1, entry, cmd[2], cmd.Count - 2);
        int added = 0;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (set.Add(cmd[i])) added++;
        }

        if (added > 0) cmd.Changed(added);
        cmd.Reply.Integer(added);
    }

    // SREM key member [member ...]
    private static void SRem(ref CommandContext cmd)
    {
        Entry entry = cmd.FindToWrite(1);
        if (!cmd.IsTypeOrReply(entry, DataType.Set)) return;
        int removed = 0;
        if (entry.Exists)
        {
            SetValue set = SetAccess.Open(cmd, entry);
            for (int i = 2; i < cmd.Count; i++)
            {
                if (set.Remove(cmd[i])) removed++;
            }

            SetAccess.RemoveIfEmpty(cmd, 1, set);
        }

        if (removed > 0) cmd.Changed(removed);
        cmd.Reply.Integer(removed);
    }

    // SISMEMBER key member
    private static void SIsMember(ref CommandContext cmd)
    {
        if (!SetAccess.TryReadOrReply(cmd, 1, out SetView set)) return;
        cmd.Reply.Integer(set.Contains(cmd[2]) ? 1 : 0);
    }

    // SMISMEMBER key member [member ...]
    private static void SMIsMember(ref CommandContext cmd)
    {
        if (!SetAccess.TryReadOrReply(cmd, 1, out SetView set)) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Integer(set.Contains(cmd[i]) ? 1 : 0);
    }

    // SCARD key
    private static void SCard(ref CommandContext cmd)
    {
        if (SetAccess.TryReadOrReply(cmd, 1, out SetView set)) cmd.Reply.Integer(set.Count);
    }

    // SMEMBERS key
    private static void SMembers(ref CommandContext cmd)
    {
        if (!SetAccess.TryReadOrReply(cmd, 1, out SetView set)) return;
        cmd.Reply.Set((int)set.Count);
        ReplyMembers(cmd.Reply, set);
    }

    // SMOVE source destination member
    private static void SMove(ref CommandContext cmd)
    {
        Entry source = cmd.FindToWrite(1);
        Entry destination = cmd.FindToWrite(2);
        if (!source.Exists)
        {
            cmd.Reply.Integer(0);
            return;
        }

        if (!cmd.IsTypeOrReply(source, DataType.Set) || !cmd.IsTypeOrReply(destination, DataType.Set)) return;
        bool isOneKey = cmd[1].SequenceEqual(cmd[2]);
        if (isOneKey || !SetAccess.View(cmd, source).Contains(cmd[3]))
        {
            cmd.Reply.Integer(SetAccess.View(cmd, source).Contains(cmd[3]) ? 1 : 0);
            return;
        }

        SetValue from = SetAccess.Open(cmd, source);
        from.Remove(cmd[3]);
        SetAccess.RemoveIfEmpty(cmd, 1, from);

        // The destination is looked up again: the source's entry was written.
        SetValue to = SetAccess.OpenOrCreate(cmd, 2, cmd.Peek(2), cmd[3], 1);
        cmd.Changed(to.Add(cmd[3]) ? 2 : 1);
        cmd.Reply.Integer(1);
    }

    // SSCAN key cursor [MATCH pattern] [COUNT count]
    private static void SScan(ref CommandContext cmd)
    {
        if (!CursorArgument.TryReadOrReply(cmd, 2, out ulong cursor)) return;
        Entry entry = cmd.Find(1);
        if (!entry.Exists)
        {
            cmd.Reply.Array(2);
            cmd.Reply.BulkInteger(0);
            cmd.Reply.Array(0);
            return;
        }

        if (!cmd.IsTypeOrReply(entry, DataType.Set) || !MemberScanOptions.TryParseOrReply(cmd, out MemberScanOptions options)) return;
        SetView set = SetAccess.View(cmd, entry);
        ReplyWriter reply = cmd.Reply;
        long start = reply.Length;
        int replied = set.IsTable ? ScanTable(reply, set, options, ref cursor) : ScanAll(reply, set, options, ref cursor);
        long end = reply.Length;
        reply.Array(2);
        reply.BulkInteger((long)cursor);
        reply.Array(replied);
        reply.MoveToFront(start, end);
    }

    // A small set comes whole, whatever the cursor and the count are.
    private static int ScanAll(ReplyWriter reply, SetView set, scoped in MemberScanOptions options, ref ulong cursor)
    {
        cursor = 0;
        int replied = 0;
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext()) replied += ReplyMatching(reply, members.Current, options);
        return replied;
    }

    private static int ScanTable(ReplyWriter reply, SetView set, scoped in MemberScanOptions options, ref ulong cursor)
    {
        var places = new List<nint>();
        long bucketsLeft = options.Count > long.MaxValue / BucketsForEachMember ? long.MaxValue : options.Count * BucketsForEachMember;
        do
        {
            cursor = set.Scan(cursor, places);
        }
        while (cursor != 0 && places.Count < options.Count && --bucketsLeft > 0);

        int replied = 0;
        foreach (nint place in places) replied += ReplyMatching(reply, SetView.MemberAt(place), options);
        return replied;
    }

    private static int ReplyMatching(ReplyWriter reply, ReadOnlySpan<byte> member, scoped in MemberScanOptions options)
    {
        if (!options.Accepts(member)) return 0;
        reply.Bulk(member);
        return 1;
    }

    /// <summary>Replies all members; their number was replied before.</summary>
    internal static void ReplyMembers(ReplyWriter reply, SetView set)
    {
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext()) reply.Bulk(members.Current);
    }
}
