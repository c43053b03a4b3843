using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// Commands of newer versions that give entries up: XDELEX and XACKDEL delete them with regard to the groups that refer to them, XNACK refuses them.
/// The table is their single declaration and this file's contents. Replicas and the log get XDEL, XACK and XCLAIM.
/// </summary>
/// <remarks>
/// An entry that XNACK refuses has no consumer. It belongs to the consumer with the empty name and was delivered at time 0, which is what the formats
/// of Redis 8.0 can say.
/// </remarks>
internal static class StreamRemovalCommands
{
    private const string IdsSyntax = "ids:<IDS (numids:integer id [id ...])>";
    private const string RemovalSyntax = "condition:[KEEPREF | DELREF | ACKED] " + IdsSyntax;

    // What is replied for an id.
    private const long Missing = -1;
    private const long Deleted = 1;
    private const long StillReferenced = 2;

    internal static readonly CommandFamily Family = new("stream", "stream",
    [
        new("XDELEX", -5, Write | Fast, KeySpecs.One(1, ReadWrite | KeyFlags.Delete), XDelEx,
            new("8.2.0", "O(1) for each entry, whatever the stream's length.", "Deletes entries of a stream, with or without the references of consumer groups to them.", "key " + RemovalSyntax)),
        new("XACKDEL", -6, Write | Fast, KeySpecs.One(1, ReadWrite | Update | KeyFlags.Delete), XAckDel,
            new("8.2.0", "O(1) for each entry.", "Acknowledges entries in a consumer group and deletes them, with or without the references of other groups to them.", "key group " + RemovalSyntax)),
        new("XNACK", -7, Write | Fast, KeySpecs.One(1, ReadWrite | Update), XNack,
            new("8.8.0", "O(1) for each entry.", "Releases pending entries of a consumer group without acknowledging them, so that any consumer may claim them at once.",
                "key group mode:<SILENT | FAIL | FATAL> " + IdsSyntax + " [RETRYCOUNT count] [FORCE]")),
    ]);

    // XDELEX key [KEEPREF | DELREF | ACKED] IDS numids id [id ...]
    private static void XDelEx(ref CommandContext cmd)
    {
        // As in Redis, the key's type is checked before the arguments.
        if (!cmd.OpenToWriteStreamOrReply(1, out StreamValue stream)) return;
        if (!TryParseOrReply(cmd, first: 2, out StreamIdBlock ids, out StreamReferencePolicy policy)) return;
        if (stream.Exists && !ids.AreIdsOrReply(cmd)) return;
        cmd.ReplaceEffect();
        cmd.Reply.Array(ids.Count);
        int deleted = 0;
        for (int i = 0; i < ids.Count; i++) cmd.Reply.Integer(stream.Exists ? Delete(cmd, stream, ids.Id(cmd, i), policy, ref deleted) : Missing);
        if (deleted > 0) cmd.Changed(1, KeyEvent.XDel, deleted);
    }

    // XACKDEL key group [KEEPREF | DELREF | ACKED] IDS numids id [id ...]
    private static void XAckDel(ref CommandContext cmd)
    {
        if (!cmd.OpenToWriteStreamOrReply(1, out StreamValue stream)) return;
        if (!TryParseOrReply(cmd, first: 3, out StreamIdBlock ids, out StreamReferencePolicy policy)) return;
        StreamGroup group = stream.FindGroup(cmd[2]);
        if (group.Exists && !ids.AreIdsOrReply(cmd)) return;
        cmd.ReplaceEffect();
        cmd.Reply.Array(ids.Count);
        int deleted = 0;
        for (int i = 0; i < ids.Count; i++)
        {
            StreamId id = group.Exists ? ids.Id(cmd, i) : default;
            if (!group.Exists || !group.RemovePending(id))
            {
                cmd.Reply.Integer(Missing);
                continue;
            }

            StreamEffects.Acknowledge(cmd, 1, group, id);
            cmd.Changed(1, KeyEvent.Bookkeeping);
            // What was pending is gone now, even if the entry was deleted before.
            long removal = Delete(cmd, stream, id, policy, ref deleted);
            cmd.Reply.Integer(removal == Missing ? Deleted : removal);
        }

        if (deleted > 0) cmd.Changed(1, KeyEvent.XDel, deleted);
    }

    // Deletes one entry if the policy allows it. The deletions of a command are one event.
    private static long Delete(scoped in CommandContext cmd, StreamValue stream, in StreamId id, StreamReferencePolicy policy, ref int deleted)
    {
        // Groups may refer to an entry that was deleted, or have still to read beyond its id.
        if (policy == StreamReferencePolicy.OnlyUnreferenced && stream.HasReferences(id)) return StillReferenced;
        if (policy == StreamReferencePolicy.Remove)
        {
            var removals = new StreamRemovals();
            stream.RemoveReferences(id, removals);
            StreamEffects.Removals(cmd, 1, stream, removals);
            if (removals.References.Count > 0) cmd.Changed(1, KeyEvent.Bookkeeping);
        }

        if (!stream.Delete(id)) return Missing;
        StreamEffects.Delete(cmd, 1, id);
        deleted++;
        return Deleted;
    }

    private static bool TryParseOrReply(scoped in CommandContext cmd, int first, out StreamIdBlock ids, out StreamReferencePolicy policy)
    {
        ids = default;
        policy = StreamReferencePolicy.Keep;
        bool namesPolicy = false;
        var options = new OptionReader(cmd, first);
        while (options.More)
        {
            // As in Redis, the last list counts.
            if (options.Take("IDS"u8))
            {
                if (!StreamIdBlock.TryTakeOrReply(cmd, ref options, out ids)) return false;
            }
            else if (namesPolicy || !StreamIdBlock.TryTakePolicy(ref options, out policy))
            {
                cmd.ReplySyntaxError();
                return false;
            }
            else
            {
                namesPolicy = true;
            }
        }

        if (ids.Exists) return true;
        cmd.ReplySyntaxError();
        return false;
    }

    // XNACK key group SILENT | FAIL | FATAL IDS numids id [id ...] [RETRYCOUNT count] [FORCE]
    private static void XNack(ref CommandContext cmd)
    {
        if (!Refusal.TryParseOrReply(cmd, out Refusal refusal)) return;
        if (!cmd.OpenToWriteStreamOrReply(1, out StreamValue stream)) return;
        StreamGroup group = stream.FindGroup(cmd[2]);
        if (!group.Exists)
        {
            cmd.ReplyNoGroup(1, 2);
            return;
        }

        cmd.ReplaceEffect();
        int refused = 0;
        for (int i = 0; i < refusal.Ids.Count; i++)
        {
            if (Refuse(cmd, stream, group, refusal.Ids.Id(cmd, i), refusal)) refused++;
        }

        cmd.Reply.Integer(refused);
    }

    private static bool Refuse(scoped in CommandContext cmd, StreamValue stream, StreamGroup group, in StreamId id, in Refusal refusal)
    {
        PendingEntry pending = group.FindPending(id);
        if ((!pending.Exists && !refusal.Force) || !stream.Contains(id)) return false;
        long deliveries = refusal.DeliveriesOf(pending);
        StreamConsumer unnamed = group.FindOrCreateConsumer(default, cmd.NowMs, out _);
        if (pending.Exists) group.GivePending(id, pending, unnamed, deliveredMs: 0, deliveries);
        else group.AddPending(id, unnamed, deliveredMs: 0, deliveries);
        StreamEffects.Refuse(cmd, 1, group, id, deliveries);
        cmd.Changed(1, KeyEvent.Bookkeeping);
        return true;
    }

    /// <summary>The arguments of XNACK.</summary>
    private readonly record struct Refusal(StreamIdBlock Ids, bool IsSilent, bool IsFatal, long RetryCount, bool Force)
    {
        private const long NoRetryCount = -1;

        internal static bool TryParseOrReply(scoped in CommandContext cmd, out Refusal refusal)
        {
            refusal = default;
            var options = new OptionReader(cmd, first: 3);
            bool isSilent = options.Take("SILENT"u8), isFatal = !isSilent && options.Take("FATAL"u8);
            if (!isSilent && !isFatal && !options.Take("FAIL"u8)) return SyntaxError(cmd);
            StreamIdBlock ids = default;
            long retryCount = NoRetryCount;
            bool force = false;
            while (options.More)
            {
                if (!ids.Exists && options.Take("IDS"u8))
                {
                    if (!StreamIdBlock.TryTakeOrReply(cmd, ref options, out ids)) return false;
                }
                else if (options.TakeWithValue("RETRYCOUNT"u8, out int argument))
                {
                    if (RespNumber.TryParseInt64(cmd[argument], out retryCount) && retryCount >= 0) continue;
                    cmd.Reply.Error("ERR Invalid RETRYCOUNT option argument for XNACK"u8);
                    return false;
                }
                else if (!options.Take("FORCE"u8))
                {
                    return SyntaxError(cmd);
                }
                else
                {
                    force = true;
                }
            }

            refusal = new Refusal(ids, isSilent, isFatal, retryCount, force);
            return ids.Exists ? ids.AreIdsOrReply(cmd) : SyntaxError(cmd);
        }

        /// <summary>The number of deliveries that an entry has from now on.</summary>
        internal long DeliveriesOf(PendingEntry pending)
        {
            if (RetryCount != NoRetryCount) return RetryCount;
            if (IsFatal) return long.MaxValue;
            if (!pending.Exists) return 0;
            return IsSilent ? Math.Max(0, pending.Deliveries - 1) : pending.Deliveries;
        }

        private static bool SyntaxError(scoped in CommandContext cmd)
        {
            cmd.ReplySyntaxError();
            return false;
        }
    }
}
