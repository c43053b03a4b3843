using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>Opens and stores sorted sets for handlers, and replies members and scores.</summary>
internal static class SortedSetAccess
{
    /// <summary>The size of a buffer for the digits of members that are stored as numbers.</summary>
    internal const int DigitsMax = CanonicalInteger.TextBytesMax;

    /// <summary>Opens a key's sorted set to read it, an empty one for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToReadSortedSetOrReply(this scoped in CommandContext cmd, int argument, out SortedSetValue set) =>
        TryOpenOrReply(cmd, cmd.Find(argument), out set);

    /// <summary>Opens a key's sorted set to change it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToWriteSortedSetOrReply(this scoped in CommandContext cmd, int argument, out SortedSetValue set) =>
        TryOpenOrReply(cmd, cmd.FindToWrite(argument), out set);

    /// <summary>Creates an empty sorted set at the first key, which is missing, in the encoding that suits its first member.</summary>
    internal static SortedSetValue CreateSortedSet(this scoped in CommandContext cmd, ReadOnlySpan<byte> firstMember) =>
        SortedSetValue.Create(cmd.Database, cmd.Key, cmd.HashOf(1), default, cmd.SortedSetLimits().Admit(1, firstMember.Length, 0), cmd.Accesses.NewClock);

    /// <summary>The settings that limit the size of a packed sorted set.</summary>
    internal static SortedSetLimits SortedSetLimits(this scoped in CommandContext cmd)
    {
        Settings settings = cmd.Settings;
        return new SortedSetLimits(settings.SortedSetMaxListpackEntries, settings.SortedSetMaxListpackValueBytes);
    }

    /// <summary>Replaces the value of a key by a result, or removes the key if the result is empty. Replies the number of members.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="key">The key's argument.</param>
    /// <param name="builder">The result.</param>
    /// <param name="stored">The event of a result that is stored.</param>
    /// <param name="changes">How many changes it counts for.</param>
    internal static void StoreAndReplyCount(this scoped in CommandContext cmd, int key, scoped in SortedSetBuilder builder, KeyEvent stored, long changes = 1)
    {
        Entry existing = cmd.FindToReplace(key);
        long count = builder.Count;
        if (count > 0)
        {
            builder.Store(cmd.Database, cmd[key], cmd.HashOf(key), existing, cmd.SortedSetLimits(), cmd.Accesses.ClockOfRewritten(existing));
            cmd.Changed(key, stored, changes);
        }
        else
        {
            builder.Free();
            RemoveStored(cmd, key, existing);
        }

        cmd.Reply.Integer(count);
    }

    /// <summary>Removes the key of an empty result and replies 0.</summary>
    internal static void StoreNothing(this scoped in CommandContext cmd, int key)
    {
        RemoveStored(cmd, key, cmd.FindToReplace(key));
        cmd.Reply.Integer(0);
    }

    /// <summary>Writes the header of a reply of <paramref name="count"/> members.</summary>
    internal static void MembersHead(this ReplyWriter reply, long count, bool withScores) =>
        reply.Array((int)Math.Min(int.MaxValue, withScores && !reply.Resp3 ? count * 2 : count));

    /// <summary>Writes a member, optionally with its score. In RESP3, both are a pair.</summary>
    internal static void Member(this ReplyWriter reply, ReadOnlySpan<byte> member, double score, bool withScores)
    {
        if (withScores) reply.MemberAndScore(member, score, isPair: reply.Resp3);
        else reply.Bulk(member);
    }

    /// <summary>Writes a member and its score, as an array of two or as two replies.</summary>
    internal static void MemberAndScore(this ReplyWriter reply, ReadOnlySpan<byte> member, double score, bool isPair)
    {
        if (isPair) reply.Array(2);
        reply.Bulk(member);
        reply.Double(score);
    }

    private static void RemoveStored(scoped in CommandContext cmd, int key, Entry existing)
    {
        if (!existing.Exists) return;
        cmd.Database.Unlink(existing, UnlinkReason.Deleted);
        cmd.Changed(key, KeyEvent.Del);
    }

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, out SortedSetValue set)
    {
        set = new SortedSetValue(cmd.Database, entry);
        return cmd.IsTypeOrReply(entry, DataType.SortedSet);
    }
}
