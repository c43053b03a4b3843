using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// The subcommands of CLUSTER that move slots as a whole: MIGRATESLOTS and its kind on the source, as in Valkey 9, and MIGRATION on the destination, as in Redis 8.4. SYNCSLOTS is what nodes of RedKite say to each other.
/// </summary>
internal sealed class SlotMoveCommands(Func<SlotMoveService> service, IClusterOwnership cluster, IClusterHost host)
{
    private const string InvalidSlot = "ERR Invalid or out of range slot";

    // CLUSTER MIGRATESLOTS SLOTSRANGE start-slot end-slot [start-slot end-slot ...] NODE node-id [SLOTSRANGE ... NODE node-id ...]
    internal void MigrateSlots(ref CommandContext cmd)
    {
        List<(SlotSet Slots, string Target)> wanted = [];
        SlotSet all = SlotSet.Empty;
        for (int i = 2; i < cmd.Count;)
        {
            if (!cmd.Is(i, "SLOTSRANGE"u8))
            {
                cmd.ReplySyntaxError();
                return;
            }

            i++;
            List<SlotRange> ranges = [];
            while (i < cmd.Count && RespNumber.TryParseInt64(cmd[i], out _))
            {
                if (!TrySlot(cmd, i, out int first) || i + 1 >= cmd.Count || !TrySlot(cmd, i + 1, out int last))
                {
                    cmd.Reply.Error(InvalidSlot);
                    return;
                }

                if (first > last)
                {
                    cmd.Reply.Error($"ERR Start slot number {first} is greater than end slot number {last}.");
                    return;
                }

                foreach (SlotRange range in ranges)
                {
                    if (first > range.Last || last < range.First) continue;
                    cmd.Reply.Error($"ERR Slot range {first}-{last} overlaps with previous range {range.First}-{range.Last}.");
                    return;
                }

                ranges.Add(new SlotRange(first, last));
                i += 2;
            }

            if (ranges.Count == 0)
            {
                cmd.Reply.Error("ERR No slot ranges specified"u8);
                return;
            }

            if (i + 1 >= cmd.Count || !cmd.Is(i, "NODE"u8))
            {
                cmd.ReplySyntaxError();
                return;
            }

            string id = cmd.Text(i + 1), shown = cmd.ShownText(i + 1);
            i += 2;
            if (FaultOfTarget(id, shown) is { } fault)
            {
                cmd.Reply.Error(fault);
                return;
            }

            SlotSet slots = SlotSet.Of(ranges);
            if (all.Overlaps(slots))
            {
                cmd.Reply.Error("ERR Slot ranges in migrations overlap"u8);
                return;
            }

            all = all.With(slots);
            wanted.Add((slots, id));
        }

        if (FaultOfSlots(all) is { } refusal)
        {
            cmd.Reply.Error(refusal);
            return;
        }

        long nowMs = cmd.NowMs;
        service().Export([.. wanted.Select(move => new SlotMove(SlotMoveService.NewId(), isExport: true, move.Slots, cluster.SelfId, move.Target, nowMs))]);
        cmd.Reply.Ok();
    }

    // CLUSTER GETSLOTMIGRATIONS
    internal void GetMigrations(ref CommandContext cmd)
    {
        SlotMove[] moves = service().Moves;
        ReplyWriter reply = cmd.Reply;
        reply.Array(moves.Length);
        foreach (SlotMove move in moves)
        {
            reply.Map(12);
            Text(reply, "name", move.Id);
            Text(reply, "operation", move.IsExport ? "EXPORT" : "IMPORT");
            Text(reply, "slot_ranges", RangesText(move.Slots));
            Text(reply, "target_node", move.TargetId);
            Text(reply, "source_node", move.SourceId);
            Number(reply, "create_time", move.CreatedMs / 1000);
            Number(reply, "last_update_time", move.UpdatedMs / 1000);
            Number(reply, "last_ack_time", move.AckedMs / 1000);
            Text(reply, "state", StateOfValkey(move));
            Text(reply, "message", move.Message);
            Number(reply, "cow_size", 0);
            Number(reply, "remaining_repl_size", move.WaitingBytes);
        }
    }

    // CLUSTER CANCELSLOTMIGRATIONS
    internal void CancelMigrations(ref CommandContext cmd)
    {
        if (service().Cancel(static move => move.IsExport) > 0) cmd.Reply.Ok();
        else cmd.Reply.Error("ERR No migrations ongoing"u8);
    }

    // CLUSTER MIGRATION <IMPORT start-slot end-slot [start-slot end-slot ...] | STATUS <ID id | ALL> | CANCEL <ID id | ALL>>
    internal void Migration(ref CommandContext cmd)
    {
        if (cmd.Is(2, "IMPORT"u8)) Import(ref cmd);
        else if (cmd.Is(2, "STATUS"u8)) Status(ref cmd);
        else if (cmd.Is(2, "CANCEL"u8)) Cancel(ref cmd);
        else cmd.Reply.Error("ERR unknown argument"u8);
    }

    // CLUSTER SYNCSLOTS <ESTABLISH | ACK | PROMISE | TAKE | OWNS | REQUEST | STATE> ...
    internal void Sync(ref CommandContext cmd)
    {
        if (cmd.Session.Connection is null) cmd.Reply.Error("ERR CLUSTER SYNCSLOTS is for nodes of the cluster"u8);
        else if (cmd.Is(2, "ESTABLISH"u8) && cmd.Count >= 7) Establish(ref cmd);
        else if (cmd.Is(2, "ACK"u8) && (cmd.Count == 4 || (cmd.Count == 5 && cmd.Is(4, "REPLICATED"u8)))) Acknowledge(ref cmd);
        else if (cmd.Is(2, "PROMISE"u8) && cmd.Count == 4) Promise(ref cmd);
        else if (cmd.Is(2, "TAKE"u8) && cmd.Count == 4) Take(ref cmd);
        else if (cmd.Is(2, "OWNS"u8) && cmd.Count >= 6) Owns(ref cmd);
        else if (cmd.Is(2, "REQUEST"u8) && cmd.Count >= 7) Request(ref cmd);
        else if (cmd.Is(2, "STATE"u8) && cmd.Count == 4) State(ref cmd);
        else cmd.Reply.Error("ERR nodes of RedKite do not speak this form of CLUSTER SYNCSLOTS"u8);
    }

    private void Import(ref CommandContext cmd)
    {
        if (cmd.Count < 5 || cmd.Count % 2 == 0)
        {
            cmd.Reply.Error("ERR wrong number of arguments for 'cluster|migration' command"u8);
            return;
        }

        if (!TryRangesOrReply(cmd, 3, out SlotSet slots)) return;
        if (!cluster.IsPrimary)
        {
            cmd.Reply.Error("ERR slot migration not allowed on replica."u8);
            return;
        }

        string? source = null;
        foreach (int slot in slots.Slots())
        {
            string? owner = cluster.OwnerOf(slot);
            string? fault = owner is null ? string.Create(CultureInfo.InvariantCulture, $"ERR slot has no owner: {slot}")
                : owner == cluster.SelfId ? "ERR this node is already the owner of the slot range"
                : source is not null && owner != source ? "ERR slots belong to different source nodes"
                : null;
            if (fault is not null)
            {
                cmd.Reply.Error(fault);
                return;
            }

            source = owner;
        }

        if (Array.Exists(service().Moves, move => !move.HasEnded && !move.IsExport && move.Slots.Overlaps(slots)))
        {
            cmd.Reply.Error("ERR overlapping import exists"u8);
            return;
        }

        if (service().FaultOfStates(slots) is { } moving)
        {
            cmd.Reply.Error(moving);
            return;
        }

        var move = new SlotMove(SlotMoveService.NewId(), isExport: false, slots, source!, cluster.SelfId, cmd.NowMs);
        service().Import(move);
        cmd.Reply.Bulk(move.Id);
    }

    private void Status(ref CommandContext cmd)
    {
        if (!TryMeantOrReply(cmd, out string? id)) return;
        SlotMove[] moves = [.. service().Moves.Where(move => id is null || move.Id == id)];
        ReplyWriter reply = cmd.Reply;
        reply.Array(moves.Length);
        foreach (SlotMove move in moves)
        {
            reply.Map(12);
            Text(reply, "id", move.Id);
            Text(reply, "slots", RangesText(move.Slots));
            Text(reply, "source", move.SourceId);
            Text(reply, "dest", move.TargetId);
            Text(reply, "operation", move.IsExport ? "migrate" : "import");
            Text(reply, "state", StateOfRedis(move));
            Text(reply, "last_error", move.Message);
            Number(reply, "retries", move.Retries);
            Number(reply, "create_time", move.CreatedMs);
            Number(reply, "start_time", move.StartedMs);
            Number(reply, "end_time", move.EndedMs);
            Number(reply, "write_pause_ms", move.PauseMs);
        }
    }

    private void Cancel(ref CommandContext cmd)
    {
        if (TryMeantOrReply(cmd, out string? id)) cmd.Reply.Integer(service().Cancel(move => id is null || move.Id == id));
    }

    private static bool TryMeantOrReply(scoped in CommandContext cmd, out string? id)
    {
        id = null;
        if (cmd.Count == 4 && cmd.Is(3, "ALL"u8)) return true;
        if (cmd.Count == 5 && cmd.Is(3, "ID"u8))
        {
            id = cmd.Text(4);
            return true;
        }

        cmd.Reply.Error("ERR unknown argument"u8);
        return false;
    }

    // The connection executes what follows as the source's data.
    private void Establish(ref CommandContext cmd)
    {
        if (!TryRangesOrReply(cmd, 5, out SlotSet slots)) return;
        SlotMoveService moves = service();
        var reception = new SlotReception(cmd.Text(3), cmd.Text(4), slots, cmd.Session.Connection!, moves.NoteEnded);
        if (cmd.Session.Reception is not null) cmd.Reply.Error("ERR this connection receives slots already"u8);
        else if (moves.Receive(reception) is { } refusal) cmd.Reply.Error(refusal);
        else
        {
            cmd.Session.Receive(reception);
            cmd.Reply.Ok();
        }
    }

    // With REPLICATED, when enough replicas have what was received: it is as safe as what clients write here.
    private void Acknowledge(ref CommandContext cmd)
    {
        cmd.Session.ReplyMode = ReplyMode.On;
        if (cmd.Session.Reception is not { } reception) cmd.Reply.Error("ERR this connection receives no slots"u8);
        else if (reception.Failure is { } failure) cmd.Reply.Error("ERR " + failure);
        else if (!cmd.TryIntegerOrReply(3, out long number)) return;
        else if (cmd.Count == 4 || service().Parts.Core.Replication.Acks is not { Term: { } term } acks) cmd.Reply.Integer(number);
        else
        {
            (long offset, Settings settings) = (cmd.Session.Own.ReplicatedOffset, service().Parts.Core.Settings);
            if (!cmd.DoElsewhere(host.ReplyLater, Wait)) cmd.Reply.Error("ERR CLUSTER SYNCSLOTS ACK may not wait in a transaction"u8);

            byte[] Wait()
            {
                ReadOnlySpan<byte> error = acks.Wait(term, offset, () => settings.ReplicaAcksTimeoutMs);
                if (reception.Failure is { } since) return Encoding.UTF8.GetBytes($"-ERR {since}\r\n");
                return error.IsEmpty ? Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $":{number}\r\n")) : error.ToArray();
            }
        }
    }

    // With a store.
    private void Promise(ref CommandContext cmd)
    {
        cmd.Session.ReplyMode = ReplyMode.On;
        if (!cluster.HasStore) cmd.Reply.Error("ERR the destination has no store: both nodes must be of one cluster"u8);
        else if (cmd.Session.Reception is not { } reception || !reception.TryTake()) cmd.Reply.Error("ERR " + (cmd.Session.Reception?.Failure ?? "this connection receives no slots"));
        else if (!cmd.DoElsewhere(host.ReplyLater, () => Encoding.UTF8.GetBytes(service().Promise(reception).ReplaceLineEndings(" ") + "\r\n")))
        {
            reception.EndTaking();
            cmd.Reply.Error("ERR CLUSTER SYNCSLOTS PROMISE may not be in a transaction"u8);
        }
    }

    private void Take(ref CommandContext cmd)
    {
        cmd.Session.ReplyMode = ReplyMode.On;
        if (cmd.Session.Reception is not { } reception || !reception.TryTake()) cmd.Reply.Error("ERR " + (cmd.Session.Reception?.Failure ?? "this connection receives no slots"));
        else if (!cmd.DoElsewhere(host.ReplyLater, () => service().Take(reception)))
        {
            reception.EndTaking();
            cmd.Reply.Error("ERR CLUSTER SYNCSLOTS TAKE may not be in a transaction"u8);
        }
    }

    // What may still be received of the slots ends first, so the answer is the last word.
    private void Owns(ref CommandContext cmd)
    {
        if (!TryRangesOrReply(cmd, 4, out SlotSet slots)) return;
        string source = cmd.Text(3);
        if (!service().EndReceptionsOf(source, slots) || cluster.SettleFile() is not null)
        {
            cmd.Reply.Error("TRYAGAIN the slots are being taken"u8);
            return;
        }

        foreach (int slot in slots.Slots())
        {
            if (cluster.OwnerOf(slot) != source) continue;
            cmd.Reply.Integer(0);
            return;
        }

        cmd.Reply.Integer(1);
    }

    // Another node asks that slots of this one be moved to it.
    private void Request(ref CommandContext cmd)
    {
        if (!TryRangesOrReply(cmd, 5, out SlotSet slots)) return;
        if ((FaultOfTarget(cmd.Text(4), cmd.ShownText(4)) ?? FaultOfSlots(slots)) is { } fault)
        {
            cmd.Reply.Error(fault);
            return;
        }

        service().Export(new SlotMove(cmd.Text(3), isExport: true, slots, cluster.SelfId, cmd.Text(4), cmd.NowMs));
        cmd.Reply.Ok();
    }

    private void State(ref CommandContext cmd)
    {
        string id = cmd.Text(3);
        if (Array.Find(service().Moves, move => move.Id == id && move.IsExport) is not { } move) cmd.Reply.Error("ERR the source does not know the move"u8);
        else if (move.State is SlotMoveState.Failed or SlotMoveState.Canceled) cmd.Reply.Error($"ERR the source has ended the move: {(move.Message.Length > 0 ? move.Message : move.State)}");
        else cmd.Reply.Ok();
    }

    private string? FaultOfTarget(string id, string shown) =>
        !ClusterNode.IsId(id) ? "ERR Invalid node name: " + shown
        : id == cluster.SelfId ? "ERR Target node can not be this node."
        : !cluster.IsKnown(id, out bool isPrimary) ? "ERR Unknown node name: " + shown
        : isPrimary ? null
        : "ERR Target node is not a master";

    private string? FaultOfSlots(SlotSet slots)
    {
        if (!cluster.IsPrimary) return "ERR Slot migration can only be used on primary nodes.";
        foreach (int slot in slots.Slots())
        {
            if (cluster.OwnerOf(slot) != cluster.SelfId) return "ERR Slots are not served by this node.";
        }

        foreach (int slot in slots.Slots())
        {
            if (service().ExportOf(slot) is not null) return string.Create(CultureInfo.InvariantCulture, $"ERR I am already migrating slot {slot}.");
        }

        return service().FaultOfStates(slots);
    }

    private static bool TryRangesOrReply(scoped in CommandContext cmd, int start, out SlotSet slots)
    {
        slots = SlotSet.Empty;
        string? fault = (cmd.Count - start) % 2 != 0 ? InvalidSlot : null;
        List<SlotRange> ranges = [];
        bool[] seen = new bool[KeySlot.Count];
        for (int i = start; fault is null && i < cmd.Count; i += 2)
        {
            if (!TrySlot(cmd, i, out int first) || !TrySlot(cmd, i + 1, out int last))
            {
                fault = InvalidSlot;
                break;
            }

            if (first > last) fault = string.Create(CultureInfo.InvariantCulture, $"ERR start slot number {first} is greater than end slot number {last}");
            for (int slot = first; fault is null && slot <= last; slot++)
            {
                if (seen[slot]) fault = string.Create(CultureInfo.InvariantCulture, $"ERR Slot {slot} specified multiple times");
                seen[slot] = true;
            }

            ranges.Add(new SlotRange(first, last));
        }

        if (fault is null) slots = SlotSet.Of(ranges);
        else cmd.Reply.Error(fault);
        return fault is null;
    }

    private static bool TrySlot(scoped in CommandContext cmd, int index, out int slot)
    {
        bool isNumber = RespNumber.TryParseInt64(cmd[index], out long number);
        slot = (int)number;
        return isNumber && number is >= 0 and < KeySlot.Count;
    }

    private static string RangesText(SlotSet slots) => string.Join(' ', slots.Ranges().Select(static range => string.Create(CultureInfo.InvariantCulture, $"{range.First}-{range.Last}")));

    private static string StateOfValkey(SlotMove move) => move.State switch
    {
        SlotMoveState.Waiting => "waiting-to-connect",
        SlotMoveState.Connecting => "connecting",
        SlotMoveState.Snapshot => move.IsExport ? "snapshotting" : "receiving-snapshot",
        SlotMoveState.Streaming => "replicating",
        SlotMoveState.Handover => "waiting-for-paused",
        SlotMoveState.InDoubt => "failover-granted",
        SlotMoveState.Completed => "success",
        SlotMoveState.Canceled => "cancelled",
        _ => "failed",
    };

    private static string StateOfRedis(SlotMove move) => move.State switch
    {
        SlotMoveState.Waiting => "none",
        SlotMoveState.Connecting => "connecting",
        SlotMoveState.Snapshot => "snapshot",
        SlotMoveState.Streaming => "streaming",
        SlotMoveState.Handover => "handoff",
        SlotMoveState.InDoubt => "in-doubt",
        SlotMoveState.Completed => "completed",
        SlotMoveState.Canceled => "canceled",
        _ => "failed",
    };

    private static void Text(ReplyWriter reply, string name, string value)
    {
        reply.Bulk(name);
        reply.Bulk(value);
    }

    private static void Number(ReplyWriter reply, string name, long value)
    {
        reply.Bulk(name);
        reply.Integer(value);
    }
}
