using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Model;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>The subcommands of CLUSTER on slots: who has them, which move key by key, and which keys they have here.</summary>
internal sealed class ClusterSlotChanges(ClusterService cluster, IClusterHost host, Func<SlotMoveService> moves)
{
    private const string InvalidSlot = "ERR Invalid or out of range slot";

    // CLUSTER ADDSLOTS slot [slot ...]
    internal void Add(ref CommandContext cmd) => Change(cmd, adds: true, step: 1);

    // CLUSTER DELSLOTS slot [slot ...]
    internal void Remove(ref CommandContext cmd) => Change(cmd, adds: false, step: 1);

    // CLUSTER ADDSLOTSRANGE start-slot end-slot [start-slot end-slot ...]
    internal void AddRanges(ref CommandContext cmd) => Change(cmd, adds: true, step: 2);

    // CLUSTER DELSLOTSRANGE start-slot end-slot [start-slot end-slot ...]
    internal void RemoveRanges(ref CommandContext cmd) => Change(cmd, adds: false, step: 2);

    // CLUSTER FLUSHSLOTS
    internal void RemoveAll(ref CommandContext cmd)
    {
        if (ClusterChanges.HasKeys(cmd))
        {
            cmd.Reply.Error("ERR DB must be empty to perform CLUSTER FLUSHSLOTS."u8);
            return;
        }

        string? refusal = cluster.Change(static state =>
        {
            int self = state.Topology.IndexOf(state.SelfId);
            List<int> own = [];
            for (int slot = 0; slot < KeySlot.Count; slot++)
            {
                if (state.Topology.Owners[slot] == self) own.Add(slot);
            }

            return (state.With(state.Topology.WithOwner(own, null)), null);
        }, out Func<string?>? rest);
        ReplyChanged(cmd, cluster, host, refusal, rest);
    }

    // CLUSTER SETSLOT slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>
    internal void SetSlot(ref CommandContext cmd)
    {
        if (!cluster.State.Self.IsPrimary)
        {
            cmd.Reply.Error("ERR Please use SETSLOT only with masters."u8);
            return;
        }

        if (!TrySlot(cmd[2], out int slot))
        {
            cmd.Reply.Error(InvalidSlot);
            return;
        }

        bool hasNode = cmd.Count == 5;
        string id = hasNode ? cmd.Text(4) : "", shown = hasNode ? cmd.ShownText(4) : "";
        string? refusal;
        Func<string?>? rest = null;
        if (hasNode && cmd.Is(3, "MIGRATING"u8)) refusal = ChangeUnlessMoving(slot, state => Migrate(state, slot, id, shown));
        else if (hasNode && cmd.Is(3, "IMPORTING"u8)) refusal = ChangeUnlessMoving(slot, state => Import(state, slot, id, shown));
        else if (cmd.Count == 4 && cmd.Is(3, "STABLE"u8)) refusal = cluster.ChangeHere(state => (state.WithMigrating(slot, null).WithImporting(slot, null), null));
        else if (hasNode && cmd.Is(3, "NODE"u8))
        {
            if (cluster.Agreement is not null && !MayWaitForStoreOrReply(cmd)) return;
            if (!TryAssign(cmd, slot, id, shown, out refusal, out rest)) return;
        }
        else refusal = "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP";
        ReplyChanged(cmd, cluster, host, refusal, rest);
    }

    // CLUSTER COUNTKEYSINSLOT slot
    internal static void CountKeys(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long slot)) return;
        if (slot is < 0 or >= KeySlot.Count)
        {
            cmd.Reply.Error("ERR Invalid slot"u8);
            return;
        }

        cmd.Reply.Integer(CountVisible(cmd, (int)slot));
    }

    // CLUSTER GETKEYSINSLOT slot count
    internal static void GetKeys(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long slot) || !cmd.TryIntegerOrReply(3, out long max)) return;
        if (slot is < 0 or >= KeySlot.Count || max < 0)
        {
            cmd.Reply.Error("ERR Invalid slot or number of keys"u8);
            return;
        }

        var walk = new SlotWalk(cmd.Keyspace, cmd.Database, new SlotRange((int)slot, (int)slot));
        int stripe = StripeOf(cmd, (int)slot);
        if (!cmd.Environment.TryEnterStripe(stripe)) return;
        try
        {
            long left = Math.Min(max, CountVisible(cmd, (int)slot));
            cmd.Reply.Array((int)left);
            var entries = new EntryList();
            while (left > 0 && !walk.IsComplete)
            {
                walk.Next(entries);
                foreach (Entry entry in entries)
                {
                    if (left-- <= 0) break;
                    cmd.Reply.Bulk(entry.Key);
                }

                entries.Clear();
            }
        }
        finally
        {
            cmd.Environment.ExitStripe(stripe);
        }
    }

    /// <summary>Replies about a change. It is in force for new commands; here those end that began before, and then what waits for slots that are elsewhere now.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="cluster">The node.</param>
    /// <param name="host">The server.</param>
    /// <param name="refusal">Why nothing has changed; null: it has.</param>
    /// <param name="rest">What is left of the change. The reply follows it, but in a transaction, whose keys it may wait for.</param>
    internal static void ReplyChanged(scoped in CommandContext cmd, ClusterService cluster, IClusterHost host, string? refusal, Func<string?>? rest = null)
    {
        if (refusal is not null)
        {
            cmd.Reply.Error(refusal);
            return;
        }

        CommandEnvironment environment = cmd.Environment;
        for (int stripe = 0; stripe < cmd.Keyspace.Stripes.Length; stripe++)
        {
            // A busy script asks before each of its commands, so it does not have to end.
            if (environment.TryEnterStripe(stripe)) environment.ExitStripe(stripe);
            else environment.TakeBusy();
        }

        host.SlotsMoved();
        if (rest is not null)
        {
            if (cmd.DoElsewhere(host.ReplyLater, () => rest() is { } failure ? Encoding.ASCII.GetBytes($"-{failure}\r\n") : "+OK\r\n"u8.ToArray())) return;
            cluster.DoLater(rest);
        }

        cmd.Reply.Ok();
    }

    /// <summary>Whether the command may wait for the cluster's store; otherwise that is the reply.</summary>
    internal static bool MayWaitForStoreOrReply(scoped in CommandContext cmd)
    {
        if (!cmd.Environment.IsInUnit && !cmd.Environment.Blocking.NeverWaits) return true;
        cmd.Reply.Error("ERR the topology in the cluster's store cannot be changed in a transaction or script"u8);
        return false;
    }

    private void Change(scoped in CommandContext cmd, bool adds, int step)
    {
        if (step == 2 && cmd.Count % 2 != 0)
        {
            cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.FullName}' command");
            return;
        }

        // As in Redis: single slots are all read before any is looked at, ranges one after the other.
        for (int i = 2; step == 1 && i < cmd.Count; i++)
        {
            if (TrySlot(cmd[i], out _)) continue;
            cmd.Reply.Error(InvalidSlot);
            return;
        }

        var slots = new HashSet<int>();
        ClusterTopology topology = cluster.State.Topology;
        for (int i = 2; i < cmd.Count; i += step)
        {
            if (!TrySlot(cmd[i], out int first) || !TrySlot(cmd[i + step - 1], out int last))
            {
                cmd.Reply.Error(InvalidSlot);
                return;
            }

            if (first > last)
            {
                cmd.Reply.Error(string.Create(CultureInfo.InvariantCulture, $"ERR start slot number {first} is greater than end slot number {last}"));
                return;
            }

            for (int slot = first; slot <= last; slot++)
            {
                string? fault = FaultOf(topology, slot, adds) ?? (slots.Add(slot) ? null : string.Create(CultureInfo.InvariantCulture, $"ERR Slot {slot} specified multiple times"));
                if (fault is null) continue;
                cmd.Reply.Error(fault);
                return;
            }
        }

        string? refusal = cluster.Change(state =>
        {
            foreach (int slot in slots)
            {
                if (FaultOf(state.Topology, slot, adds) is { } fault) return (null, fault);
                if (adds) state = state.WithImporting(slot, null);
            }

            return (state.With(state.Topology.WithOwner(slots, adds ? state.SelfId : null)), null);
        }, out Func<string?>? rest);
        ReplyChanged(cmd, cluster, host, refusal, rest);
    }

    private static string? FaultOf(ClusterTopology topology, int slot, bool adds)
    {
        if (adds == topology.Owners[slot] < 0) return null;
        return string.Create(CultureInfo.InvariantCulture, $"ERR Slot {slot} is already {(adds ? "busy" : "unassigned")}");
    }

    // A slot moves as a whole or key by key. A move looks at the slot's state behind its own beginning, so one that has begun in between is seen here or does not go on.
    private string? ChangeUnlessMoving(int slot, Func<ClusterState, (ClusterState? Next, string? Refusal)> change)
    {
        string refusal = string.Create(CultureInfo.InvariantCulture, $"ERR Slot {slot} is moving as a whole, and does not move key by key until that has ended");
        if (cluster.ChangeHere(state => IsMoving(state) ? (null, refusal) : change(state)) is { } fault) return fault;
        if (!IsMoving(cluster.State)) return null;
        return cluster.ChangeHere(state => (state.WithMigrating(slot, null).WithImporting(slot, null), null)) ?? refusal;

        bool IsMoving(ClusterState state) => moves().IsMoving(slot) || state.Giving.ContainsKey(slot);
    }

    private static (ClusterState? Next, string? Refusal) Migrate(ClusterState state, int slot, string id, string shown)
    {
        if (state.Topology.OwnerOf(slot)?.Id != state.SelfId) return (null, string.Create(CultureInfo.InvariantCulture, $"ERR I'm not the owner of hash slot {slot}"));
        return FaultOfTarget(state, id, "I don't know about node " + shown) is { } fault ? (null, fault) : (state.WithMigrating(slot, id), null);
    }

    // With the node's state locked: no other topology takes the slot away in between.
    private (ClusterState? Next, string? Refusal) Import(ClusterState state, int slot, string id, string shown)
    {
        if (state.Topology.OwnerOf(slot)?.Id == state.SelfId) return (null, string.Create(CultureInfo.InvariantCulture, $"ERR I'm already the owner of hash slot {slot}"));
        if (FaultOfTarget(state, id, "I don't know about node " + shown) is { } fault) return (null, fault);
        return cluster.IsRemoving(slot) ? (null, "TRYAGAIN keys of the slot are still here, and being removed") : (state.WithImporting(slot, id), null);
    }

    // Its keys are counted when no new one can be added to it, so that the stripe is not locked while the file is written. False: a script is busy.
    private bool TryAssign(scoped in CommandContext cmd, int slot, string id, string shown, out string? refusal, out Func<string?>? rest)
    {
        (refusal, rest) = (null, null);
        LeavingSlot? leaving = id == cluster.State.SelfId ? null : cluster.BeginGiving(slot, id);
        Func<string?>? assign = null;
        try
        {
            bool wasMine = cluster.State.Topology.OwnerOf(slot)?.Id == cluster.State.SelfId;
            if (!TryCount(cmd, slot, out long keys)) return false;
            refusal = Assign(slot, id, shown, cmd.Keyspace, wasMine ? keys : null, leaving, out assign);
        }
        finally
        {
            if (leaving is not null && assign is null) cluster.EndGiving(leaving);
        }

        rest = assign is null || leaving is null ? assign : () =>
        {
            try
            {
                return assign();
            }
            finally
            {
                cluster.EndGiving(leaving);
            }
        };
        return true;
    }

    // Its keys were counted if it was this node's before. It may have come since, or have gone and come back, with keys: no client can add any.
    private string? Assign(int slot, string id, string shown, RedKite.Store.Keyspace.Keyspace keyspace, long? counted, LeavingSlot? leaving, out Func<string?>? rest)
    {
        return cluster.Change(state =>
        {
            if (FaultOfTarget(state, id, "Unknown node " + shown) is { } fault) return (null, fault);
            bool isMine = state.Topology.OwnerOf(slot)?.Id == state.SelfId, becomesMine = id == state.SelfId;
            if (isMine && !becomesMine && counted is null) return (null, "TRYAGAIN The slot has become this node's meanwhile, and its keys have not been counted");
            bool hasKeys = counted > 0 || Count(keyspace, slot) > 0;
            if (isMine && !becomesMine && hasKeys) return (null, string.Create(CultureInfo.InvariantCulture, $"ERR Can't assign hashslot {slot} to a different node while I still hold keys for this hash slot."));
            if (!hasKeys && state.Migrating.ContainsKey(slot)) state = state.WithMigrating(slot, null);
            ClusterTopology topology = state.Topology;
            if (becomesMine && state.Importing.ContainsKey(slot))
            {
                // As in Redis, the importing node gets the greatest epoch: by that, other nodes prefer it as the slot's owner.
                long epoch = Math.Max(topology.Epoch, topology.Nodes.Max(static node => node.Epoch));
                if (state.Self.Epoch == 0 || state.Self.Epoch != epoch) topology = topology.WithNode(state.SelfId, state.Self with { Epoch = epoch + 1 }).WithEpoch(epoch + 1);
                state = state.WithImporting(slot, null);
            }

            return (state.With(topology.WithOwner([slot], id)), null);
        }, out rest, leaving?.Attempt);
    }

    private static string? FaultOfTarget(ClusterState state, string id, string unknown) =>
        state.Topology.Find(id) is not { } node ? "ERR " + unknown : node.IsPrimary ? null : "ERR Target node is not a master";

    private static bool TrySlot(ReadOnlySpan<byte> argument, out int slot)
    {
        bool isNumber = RespNumber.TryParseInt64(argument, out long number);
        slot = (int)number;
        return isNumber && number is >= 0 and < KeySlot.Count;
    }

    private static int StripeOf(scoped in CommandContext cmd, int slot) => slot % cmd.Keyspace.Stripes.Length;

    private static long CountVisible(scoped in CommandContext cmd, int slot) => cmd.Keyspace.HiddenSlots?.Contains(slot) == true ? 0 : cmd.Database.CountOfSlot(slot);

    // Hidden ones of a slot in doubt, too.
    private static long Count(RedKite.Store.Keyspace.Keyspace keyspace, int slot)
    {
        long keys = 0;
        foreach (Database database in keyspace.Databases) keys += database.CountOfSlot(slot);
        return keys;
    }

    // False: a script is busy, which is the reply. What had begun to add keys before the stripe was free has ended.
    private static bool TryCount(scoped in CommandContext cmd, int slot, out long keys)
    {
        keys = 0;
        int stripe = StripeOf(cmd, slot);
        if (!cmd.Environment.TryEnterStripe(stripe)) return false;
        try
        {
            keys = Count(cmd.Keyspace, slot);
            return true;
        }
        finally
        {
            cmd.Environment.ExitStripe(stripe);
        }
    }
}
