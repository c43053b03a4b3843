using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>
/// CLUSTER FLUSHSLOT and TRIMSLOTS: what removes the keys of slots, in all databases. A stripe is locked for some keys at a time, and replicas and the log get a DEL for each: another client may add
/// a key to a slot whose removal has begun, which a repeated command would take from them.
/// </summary>
internal sealed class SlotKeyCommands(ClusterService cluster, ReplicationState replication)
{
    // Some ten microseconds, as other removals of many keys.
    private const int KeysPerSlice = 32;

    // In a transaction or script, which holds its stripes, and what it has changed, until its end.
    internal const int KeysInUnitMax = 4096;

    private const string BeingGiven = "TRYAGAIN The slot is being given to another node";

    // CLUSTER FLUSHSLOT slot [ASYNC | SYNC]
    internal void Flush(ref CommandContext cmd)
    {
        if (cmd.Count > 4)
        {
            cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");
        }
        else if (!RespNumber.TryParseInt64(cmd[2], out long slot) || slot is < 0 or >= KeySlot.Count)
        {
            cmd.Reply.Error("ERR Invalid or out of range slot"u8);
        }
        else if (cmd.Count == 4 && !cmd.Is(3, "ASYNC"u8) && !cmd.Is(3, "SYNC"u8))
        {
            cmd.ReplySyntaxError();
        }
        else
        {
            bool isHere = IsHere((int)slot);
            Remove(cmd, [(int)slot], UnlinkReason.Flushed, slot => RefusalOfFlush(slot, isHere));
        }
    }

    // TRIMSLOTS RANGES numranges startslot endslot [startslot endslot ...]
    internal void Trim(ref CommandContext cmd)
    {
        if (!cmd.Is(1, "RANGES"u8))
        {
            cmd.Reply.Error("ERR missing ranges argument"u8);
            return;
        }

        if (!cmd.TryIntegerOrReply(2, out long ranges)) return;
        if (ranges < 1 || cmd.Count - 3 != ranges * 2)
        {
            cmd.Reply.Error("ERR invalid number of ranges"u8);
            return;
        }

        var slots = new SortedSet<int>();
        for (int i = 3; i < cmd.Count; i += 2)
        {
            if (!RespNumber.TryParseInt64(cmd[i], out long first) || !RespNumber.TryParseInt64(cmd[i + 1], out long last) || first is < 0 or >= KeySlot.Count || last is < 0 or >= KeySlot.Count)
            {
                cmd.Reply.Error("ERR Invalid or out of range slot"u8);
                return;
            }

            if (first > last)
            {
                cmd.Reply.Error(string.Create(CultureInfo.InvariantCulture, $"ERR start slot number {first} is greater than end slot number {last}"));
                return;
            }

            for (int slot = (int)first; slot <= last; slot++)
            {
                if (slots.Add(slot)) continue;
                cmd.Reply.Error(string.Create(CultureInfo.InvariantCulture, $"ERR Slot {slot} specified multiple times"));
                return;
            }
        }

        foreach (int slot in slots)
        {
            if (RefusalOfTrim(slot) is not { } refusal) continue;
            cmd.Reply.Error(refusal);
            return;
        }

        Remove(cmd, slots, UnlinkReason.Moved, RefusalOfTrim);
    }

    // Between the last change that the slot's next owner is sent and the change of the owner, a key that is removed here would be there again. Behind that, what is left lives on there.
    private string? RefusalOfFlush(int slot, bool wasHere)
    {
        if (RefusalOfDoubt(slot) is { } refusal) return refusal;
        return cluster.Routing is { } routing && (routing.IsHeld(slot) || routing.IsClosed(slot) || routing.IsAwaited(slot) || (wasHere && !IsHere(slot))) ? BeingGiven : null;
    }

    private bool IsHere(int slot) => cluster.Routing is { } routing && routing.OwnerOf(slot) == routing.Self;

    private string? RefusalOfTrim(int slot) =>
        RefusalOfDoubt(slot) ?? (IsHere(slot) ? string.Create(CultureInfo.InvariantCulture, $"ERR the slot {slot} is served by this node") : null);

    // While it is not known whose a slot is, it may turn out to be this node's, with its keys, or another one's.
    private string? RefusalOfDoubt(int slot)
    {
        if (cluster.HasLostLease || cluster.Routing is { MayBeReplaced: true }) return "CLUSTERDOWN The cluster is down";
        return cluster.Routing?.Doubtful?.Contains(slot) == true ? BeingGiven : null;
    }

    private void Remove(scoped in CommandContext cmd, IReadOnlyCollection<int> slots, UnlinkReason reason, Func<int, string?> refusalOf)
    {
        bool isInUnit = cmd.Environment.IsInUnit;
        if (isInUnit)
        {
            // A log and a primary's stream contain what was accepted: it is never refused later.
            Keyspace keyspace = cmd.Keyspace;
            bool mayTakeLong = cmd.WasAccepted;
            if (!mayTakeLong && slots.Sum(slot => SlotMemory.CountKeys(keyspace, slot)) > KeysInUnitMax)
            {
                cmd.Reply.Error("ERR the command takes too long for a transaction or script"u8);
                return;
            }

            cmd.ReplaceEffect(); // each key has its own
        }

        var entries = new EntryList();
        foreach (int slot in slots)
        {
            foreach (Database database in cmd.Keyspace.Databases)
            {
                if (database.CountOfSlot(slot) > 0 && !TryRemove(cmd, database, slot, reason, refusalOf, entries)) return;
            }
        }

        cmd.Reply.Ok();
    }

    // False: there is a reply.
    private bool TryRemove(scoped in CommandContext cmd, Database database, int slot, UnlinkReason reason, Func<int, string?> refusalOf, EntryList entries)
    {
        int stripe = slot % cmd.Keyspace.Stripes.Length;
        var walk = new SlotWalk(cmd.Keyspace, database, new SlotRange(slot, slot));
        while (walk.Stripe < stripe) walk.Next(entries); // others have none of its keys
        while (walk.Stripe == stripe)
        {
            if (!cmd.Environment.TryEnterStripe(stripe)) return false;
            string? refusal = RefusalOfRole(cmd) ?? refusalOf(slot);

            // Keys that clients do not see are removed in the background, or are being received.
            bool isOver = refusal is not null || cmd.Keyspace.HiddenSlots?.Contains(slot) == true;
            entries.Clear();
            while (!isOver && walk.Stripe == stripe && entries.Count < KeysPerSlice) walk.Next(entries);
            foreach (Entry entry in entries) database.UnlinkOfSlot(entry.Key, cmd.Keyspace.Hash(entry.Key), reason);
            cmd.Metrics.CountChanges(entries.Count);
            cmd.Environment.ExitStripe(stripe, cmd.Session);
            if (refusal is not null) cmd.Reply.Error(refusal);
            if (isOver) return refusal is null;
        }

        return true;
    }

    // The role changes behind the commands of loops, but not behind those of callers in the process.
    private string? RefusalOfRole(scoped in CommandContext cmd) =>
        replication.IsReplica && cmd.Settings.ReplicaReadOnly && !cmd.WasAccepted ? "READONLY You can't write against a read only replica." : null;
}
