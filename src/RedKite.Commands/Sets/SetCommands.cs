using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Sets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Sets;

/// <summary>
/// Set commands that name their members or list all of them. Unions and the like are in SetAlgebraCommands, SPOP is in
/// SetPopCommands, and SSCAN and SRANDMEMBER are in SetScanCommands.
/// </summary>
internal static class SetCommands
{
    internal static readonly CommandFamily Family = new("set", "set",
    [
        new("SADD", -3, Write | DenyOom | Fast, KeySpecs.One(1, ReadWrite | Insert), SAdd,
            new("1.0.0", "O(1) for each element added, so O(N) to add N elements when the command is called with multiple arguments.", "Adds members to a set. Creates the key if it doesn't exist.", "key member [member ...]") { History = [("2.4.0", "Accepts several members.")] }),
        new("SREM", -3, Write | Fast, KeySpecs.One(1, ReadWrite | Delete), SRem,
            new("1.0.0", "O(N) where N is the number of members to be removed.", "Removes members from a set. Deletes the key with the last member.", "key member [member ...]") { History = [("2.4.0", "Accepts several members.")] }),
        new("SISMEMBER", 3, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), SIsMember,
            new("1.0.0", "O(1)", "Returns whether a set contains a member.", "key member")),
        new("SMISMEMBER", -3, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly | Access), SMIsMember,
            new("6.2.0", "O(N) where N is the number of elements being checked for membership", "Returns for each of several members whether a set contains it.", "key member [member ...]")),
        new("SCARD", 2, CommandFlags.ReadOnly | Fast, KeySpecs.One(1, KeyFlags.ReadOnly), SCard,
            new("1.0.0", "O(1)", "Returns the number of members of a set.", "key")),
        new("SMEMBERS", 2, CommandFlags.ReadOnly, KeySpecs.One(1, KeyFlags.ReadOnly | Access), SMembers,
            new("1.0.0", "O(N) where N is the set cardinality.", "Returns every member of a set.", "key")) { Tips = ["nondeterministic_output_order"] },
        new("SMOVE", 4, Write | Fast, [new(1, 1, 1, ReadWrite | Access | Delete), new(2, 2, 1, ReadWrite | Insert)], SMove,
            new("1.0.0", "O(1)", "Moves a member from one set to another.", "source destination member")),
    ]);

    // SADD key member [member ...]
    private static void SAdd(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteSetOrReply(1, firstMember: cmd[2], count: cmd.Count - 2, out SetValue set)) return;
        int added = 0;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (set.Add(cmd[i])) added++;
        }

        if (added > 0) cmd.Changed(1, KeyEvent.SAdd, added);
        cmd.Reply.Integer(added);
    }

    // SREM key member [member ...]
    private static void SRem(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteSetOrReply(1, out SetValue set)) return;
        int removed = 0;
        if (set.Exists)
        {
            for (int i = 2; i < cmd.Count; i++)
            {
                if (set.Remove(cmd[i])) removed++;
            }
        }

        if (removed > 0) cmd.Changed(1, KeyEvent.SRem, removed);
        cmd.Reply.Integer(removed);
    }

    // SISMEMBER key member
    private static void SIsMember(ref CommandContext cmd)
    {
        if (!cmd.OpenToLookUpOrReply(1, out SetView set)) return;
        cmd.Reply.Integer(set.Contains(cmd[2]) ? 1 : 0);
    }

    // SMISMEMBER key member [member ...]
    private static void SMIsMember(ref CommandContext cmd)
    {
        if (!cmd.OpenToLookUpOrReply(1, out SetView set)) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Integer(set.Contains(cmd[i]) ? 1 : 0);
    }

    // SCARD key
    private static void SCard(ref CommandContext cmd)
    {
        if (cmd.OpenToReadSetOrReply(1, out SetView set)) cmd.Reply.Integer(set.Count);
    }

    // SMEMBERS key
    private static void SMembers(ref CommandContext cmd)
    {
        if (!cmd.OpenToReadSetOrReply(1, out SetView set)) return;
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
        bool isMember = SetAccess.Looking(cmd, source).Contains(cmd[3]);
        if (!isMember || cmd[1].SequenceEqual(cmd[2]))
        {
            cmd.Reply.Integer(isMember ? 1 : 0);
            return;
        }

        SetValue from = SetValue.Open(cmd.Database, source, cmd.SetLimits(), cmd.Expiry.ToWrite);
        from.Remove(cmd[3]);
        cmd.Changed(1, KeyEvent.SRem);

        // The destination is opened only now: writing the source may have moved its entry.
        cmd.OpenToWriteSetOrReply(2, firstMember: cmd[3], count: 1, out SetValue to);
        if (to.Add(cmd[3])) cmd.Changed(2, KeyEvent.SAdd);
        cmd.Reply.Integer(1);
    }

    /// <summary>Writes all members; their count has been written before.</summary>
    internal static void ReplyMembers(ReplyWriter reply, SetView set)
    {
        SetEnumerator members = set.Enumerate(stackalloc byte[SetEnumerator.NumberBytesMax]);
        while (members.MoveNext()) reply.Bulk(members.Current);
    }
}
