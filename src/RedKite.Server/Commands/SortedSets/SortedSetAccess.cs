using RedKite.Protocol;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>How handlers get at sorted sets, and how they reply members and scores.</summary>
internal static class SortedSetAccess
{
    /// <summary>Room for the digits of members that are kept as numbers.</summary>
    internal const int DigitsMax = CanonicalInteger.TextBytesMax;

    /// <summary>Opens a key's sorted set to read it, an empty one for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenSortedSetOrReply(this scoped in CommandContext cmd, int argument, out SortedSetValue set) =>
        TryOpenOrReply(cmd, cmd.Find(argument), out set);

    /// <summary>Opens a key's sorted set to change it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenSortedSetToWriteOrReply(this scoped in CommandContext cmd, int argument, out SortedSetValue set) =>
        TryOpenOrReply(cmd, cmd.FindToWrite(argument), out set);

    /// <summary>Makes the first key hold a set without members, where there is none, in the form that suits its first member.</summary>
    internal static SortedSetValue CreateSortedSet(this scoped in CommandContext cmd, ReadOnlySpan<byte> firstMember) =>
        SortedSetValue.Create(cmd.Database, cmd.Key, cmd.HashOf(1), default, cmd.SortedSetLimits().Admit(1, firstMember.Length, 0), cmd.NewAccessClock);

    /// <summary>The settings that say up to which size a sorted set stays packed.</summary>
    internal static SortedSetLimits SortedSetLimits(this scoped in CommandContext cmd)
    {
        Settings settings = cmd.Server.Settings;
        return new SortedSetLimits(settings.SortedSetMaxListpackEntries, settings.SortedSetMaxListpackValueBytes);
    }

    /// <summary>Says how many members were removed, and removes the key with the last one.</summary>
    internal static void MembersRemoved(this scoped in CommandContext cmd, scoped in SortedSetValue set, long removed)
    {
        if (removed == 0) return;
        if (set.Count == 0) cmd.Database.Unlink(set.Entry, UnlinkReason.Emptied);
        cmd.Changed(removed);
    }

    /// <summary>
    /// Stores what was built at a key, in place of what that held, or removes the key where nothing was built. Replies the
    /// number of members.
    /// </summary>
    internal static void StoreAndReplyCount(this scoped in CommandContext cmd, int key, scoped in SortedSetBuilder builder)
    {
        Entry existing = cmd.FindToWrite(key);
        long count = builder.Count;
        if (count > 0)
        {
            builder.Store(cmd.Database, cmd[key], cmd.HashOf(key), existing, cmd.SortedSetLimits(), cmd.NewAccessClock);
            cmd.Changed();
        }
        else
        {
            builder.Free();
            RemoveStored(cmd, existing);
        }

        cmd.Reply.Integer(count);
    }

    /// <summary>Removes what a key holds, because nothing is stored there, and replies 0.</summary>
    internal static void StoreNothing(this scoped in CommandContext cmd, int key)
    {
        RemoveStored(cmd, cmd.FindToWrite(key));
        cmd.Reply.Integer(0);
    }

    /// <summary>The head of a reply of so many members.</summary>
    internal static void MembersHead(this ReplyWriter reply, long count, bool withScores) =>
        reply.Array((int)Math.Min(int.MaxValue, withScores && !reply.Resp3 ? count * 2 : count));

    /// <summary>A member, and behind it its score; RESP3 has a pair of both.</summary>
    internal static void Member(this ReplyWriter reply, ReadOnlySpan<byte> member, double score, bool withScores)
    {
        if (withScores) reply.MemberAndScore(member, score, isPair: reply.Resp3);
        else reply.Bulk(member);
    }

    /// <summary>A member and its score, in an array of their own or not.</summary>
    internal static void MemberAndScore(this ReplyWriter reply, ReadOnlySpan<byte> member, double score, bool isPair)
    {
        if (isPair) reply.Array(2);
        reply.Bulk(member);
        reply.Double(score);
    }

    private static void RemoveStored(scoped in CommandContext cmd, Entry existing)
    {
        if (!existing.Exists) return;
        cmd.Database.Unlink(existing, UnlinkReason.Deleted);
        cmd.Changed();
    }

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, out SortedSetValue set)
    {
        set = new SortedSetValue(cmd.Database, entry);
        return cmd.IsTypeOrReply(entry, DataType.SortedSet);
    }
}
