using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Config;
using RedKite.Server.Model;
using RedKite.Server.Replication;
using RedKite.Server.SlotMoves;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>The subcommands of CLUSTER that describe the cluster as this node knows it.</summary>
internal sealed class ClusterReplies(ClusterService cluster, ReplicationState replication, Func<SlotMoveService> moves)
{
    private const int BusPortDistance = 10_000;

    // The last reply to CLUSTER SLOTS, with and without TLS, in each protocol: all clients ask for it when the slots change.
    private readonly SlotsReply?[] _slots = new SlotsReply?[4];

    // CLUSTER MYID
    internal void MyId(ref CommandContext cmd) => cmd.Reply.Bulk(cluster.State.SelfId);

    // CLUSTER MYSHARDID
    internal void MyShardId(ref CommandContext cmd) => cmd.Reply.Bulk(cluster.State.Self.ShardId);

    // CLUSTER KEYSLOT key
    internal static void KeySlotOf(ref CommandContext cmd) => cmd.Reply.Integer(KeySlot.Of(cmd[2]));

    // CLUSTER LINKS: nodes do not speak to each other.
    internal static void Links(ref CommandContext cmd) => cmd.Reply.Array(0);

    // CLUSTER INFO: as Redis 8.6 has it. What Redis calls a trim is the removal of keys whose slots another node has.
    internal void Info(ref CommandContext cmd)
    {
        ClusterTopology topology = cluster.State.Topology;
        SlotRemovals removals = cluster.Removals;
        int assigned = topology.AssignedSlots;
        string text = string.Create(CultureInfo.InvariantCulture, $"cluster_state:{(cluster.IsUp ? "ok" : "fail")}\r\ncluster_slots_assigned:{assigned}\r\ncluster_slots_ok:{assigned}\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:{topology.Nodes.Length}\r\ncluster_size:{topology.Size}\r\ncluster_current_epoch:{topology.Epoch}\r\ncluster_my_epoch:{EpochOf(cluster.State)}\r\n")
            + "cluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\ntotal_cluster_links_buffer_limit_exceeded:0\r\n"
            + string.Create(CultureInfo.InvariantCulture, $"cluster_slot_migration_active_tasks:{moves().Active}\r\ncluster_slot_migration_active_trim_running:{(removals.IsRunning ? 1 : 0)}\r\ncluster_slot_migration_active_trim_current_job_keys:{removals.Keys}\r\ncluster_slot_migration_active_trim_current_job_trimmed:{Math.Max(0, removals.Keys - removals.KeysLeft)}\r\n")
            + string.Create(CultureInfo.InvariantCulture, $"cluster_slot_migration_stats_active_trim_started:{removals.Started}\r\ncluster_slot_migration_stats_active_trim_completed:{removals.Completed}\r\ncluster_slot_migration_stats_active_trim_cancelled:{removals.Canceled}\r\n");
        cmd.Reply.Verbatim("txt"u8, Encoding.Latin1.GetBytes(text));
    }

    // CLUSTER NODES
    internal void Nodes(ref CommandContext cmd)
    {
        var text = new StringBuilder();
        ClusterState state = cluster.State;
        foreach (ClusterNode node in state.Topology.Nodes) text.Append(LineOf(node, state, cmd)).Append('\n');
        cmd.Reply.Verbatim("txt"u8, Encoding.Latin1.GetBytes(text.ToString()));
    }

    // CLUSTER REPLICAS node-id
    // CLUSTER SLAVES node-id
    internal void Replicas(ref CommandContext cmd)
    {
        ClusterState state = cluster.State;
        if (!TryNodeOrReply(cmd, state, out ClusterNode node)) return;
        if (!node.IsPrimary)
        {
            cmd.Reply.Error("ERR The specified node is not a master"u8);
            return;
        }

        ClusterNode[] replicas = [.. state.Topology.ReplicasOf(node.Id)];
        cmd.Reply.Array(replicas.Length);
        foreach (ClusterNode replica in replicas) cmd.Reply.Bulk(Encoding.Latin1.GetBytes(LineOf(replica, state, cmd)));
    }

    // CLUSTER COUNT-FAILURE-REPORTS node-id: no node reports another.
    internal void CountFailureReports(ref CommandContext cmd)
    {
        if (TryNodeOrReply(cmd, cluster.State, out _)) cmd.Reply.Integer(0);
    }

    // CLUSTER SLOTS
    internal void Slots(ref CommandContext cmd)
    {
        ClusterState state = cluster.State;
        bool tls = UsesTls(cmd), resp3 = cmd.Reply.Resp3;
        var basis = new SlotsBasis(state, cluster.DescribeSelf(state.Self), cmd.Settings.ClusterEndpointType);
        int form = (tls ? 1 : 0) + (resp3 ? 2 : 0);
        if (_slots[form] is not { } prepared || prepared.Basis != basis)
        {
            prepared = new SlotsReply(basis, SlotsOf(basis, tls, new ReplyWriter(cmd.Environment.Buffers) { Resp3 = resp3 }));
            Volatile.Write(ref _slots[form], prepared);
        }

        cmd.Reply.Raw(prepared.Bytes);
    }

    private static byte[] SlotsOf(SlotsBasis basis, bool tls, ReplyWriter reply)
    {
        ClusterState state = basis.State;
        (SlotRange Range, ClusterNode Owner)[] ranges = [.. state.Topology.Ranges()];
        ILookup<string?, ClusterNode> replicas = state.Topology.Nodes.ToLookup(static node => node.PrimaryId);
        reply.Array(ranges.Length);
        foreach ((SlotRange range, ClusterNode owner) in ranges)
        {
            ClusterNode[] nodes = [owner, .. replicas[owner.Id]];
            reply.Array(2 + nodes.Length);
            reply.Integer(range.First);
            reply.Integer(range.Last);
            foreach (ClusterNode node in nodes) WriteSlotsNode(reply, node.Id == state.SelfId ? basis.Self : node, basis.EndpointType, tls);
        }

        byte[] bytes = new byte[reply.Length];
        int length = 0;
        foreach (ReplyChunk chunk in reply.Chunks)
        {
            chunk.Bytes.CopyTo(bytes.AsSpan(length));
            length += chunk.Length;
        }

        reply.Tail.CopyTo(bytes.AsSpan(length));
        reply.Clear();
        return bytes;
    }

    // CLUSTER SHARDS
    internal void Shards(ref CommandContext cmd)
    {
        ClusterState state = cluster.State;
        ILookup<string?, ClusterNode> replicas = state.Topology.Nodes.ToLookup(static node => node.PrimaryId);
        ClusterNode[] primaries = [.. replicas[null]];
        ReplyWriter reply = cmd.Reply;
        reply.Array(primaries.Length);
        foreach (ClusterNode primary in primaries)
        {
            IReadOnlyList<SlotRange> ranges = state.Topology.RangesOf(primary.Id);
            reply.Map(2);
            reply.Bulk("slots"u8);
            reply.Array(ranges.Count * 2);
            foreach (SlotRange range in ranges)
            {
                reply.Integer(range.First);
                reply.Integer(range.Last);
            }

            ClusterNode[] nodes = [primary, .. replicas[primary.Id]];
            reply.Bulk("nodes"u8);
            reply.Array(nodes.Length);
            foreach (ClusterNode node in nodes) ReplyShardsNode(cmd, Described(node, state), isSelf: node.Id == state.SelfId);
        }
    }

    /// <summary>Finds the node that the third argument names, or replies that there is none.</summary>
    internal static bool TryNodeOrReply(scoped in CommandContext cmd, ClusterState state, out ClusterNode node)
    {
        node = state.Topology.Find(cmd.Text(2))!;
        if (node is not null) return true;
        cmd.Reply.Error($"ERR Unknown node {cmd.ShownText(2)}");
        return false;
    }

    // A replica's epoch is its primary's.
    private static long EpochOf(ClusterState state) => state.Self.PrimaryId is { } primary ? state.Topology.Find(primary)!.Epoch : state.Self.Epoch;

    private static bool UsesTls(scoped in CommandContext cmd) => cmd.Session.Connection is { HasLayer: true };

    private ClusterNode Described(ClusterNode node, ClusterState state) => node.Id == state.SelfId ? cluster.DescribeSelf(node) : node;

    private static int PortOf(ClusterNode node, bool tls) => tls ? (node.TlsPort != 0 ? node.TlsPort : node.Port) : node.Port != 0 ? node.Port : node.TlsPort;

    private string LineOf(ClusterNode stored, ClusterState state, scoped in CommandContext cmd)
    {
        ClusterNode node = Described(stored, state);
        bool isSelf = node.Id == state.SelfId;
        int port = PortOf(node, UsesTls(cmd)), busPort = node.BusPort != 0 ? node.BusPort : port + BusPortDistance;
        var line = new StringBuilder();
        line.Append(CultureInfo.InvariantCulture, $"{node.Id} {node.Ip}:{port}@{busPort}");
        if (node.HostName.Length > 0) line.Append(',').Append(node.HostName);
        line.Append(isSelf ? " myself," : " ").Append(node.IsPrimary ? "master" : "slave").Append(isSelf && cmd.Settings.ClusterReplicaNoFailover ? ",nofailover " : " ").Append(node.PrimaryId ?? "-");
        line.Append(CultureInfo.InvariantCulture, $" 0 0 {(node.PrimaryId is { } primary ? state.Topology.Find(primary)!.Epoch : node.Epoch)} connected");
        foreach (SlotRange range in state.Topology.RangesOf(node.Id))
        {
            line.Append(CultureInfo.InvariantCulture, $" {range.First}");
            if (range.Last > range.First) line.Append(CultureInfo.InvariantCulture, $"-{range.Last}");
        }

        if (!isSelf) return line.ToString();
        foreach (int slot in state.Migrating.Keys.Union(state.Importing.Keys).Order())
        {
            line.Append(state.Migrating.TryGetValue(slot, out string? to) ? $" [{slot}->-{to}]" : $" [{slot}-<-{state.Importing[slot]}]");
        }

        return line.ToString();
    }

    private static void WriteSlotsNode(ReplyWriter reply, ClusterNode node, ClusterEndpointType type, bool tls)
    {
        reply.Array(4);
        if (type == ClusterEndpointType.Unknown) reply.Null();
        else reply.Bulk(ClusterService.EndpointOf(node, type));
        reply.Integer(PortOf(node, tls));
        reply.Bulk(node.Id);
        bool hasIp = type != ClusterEndpointType.Ip, hasHostName = type != ClusterEndpointType.HostName && node.HostName.Length > 0;
        reply.Map((hasIp ? 1 : 0) + (hasHostName ? 1 : 0));
        if (hasIp)
        {
            reply.Bulk("ip"u8);
            reply.Bulk(node.Ip);
        }

        if (!hasHostName) return;
        reply.Bulk("hostname"u8);
        reply.Bulk(node.HostName);
    }

    private void ReplyShardsNode(scoped in CommandContext cmd, ClusterNode node, bool isSelf)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Map(6 + (node.Port != 0 ? 1 : 0) + (node.TlsPort != 0 ? 1 : 0) + (node.HostName.Length > 0 ? 1 : 0));
        reply.Bulk("id"u8);
        reply.Bulk(node.Id);
        if (node.Port != 0)
        {
            reply.Bulk("port"u8);
            reply.Integer(node.Port);
        }

        if (node.TlsPort != 0)
        {
            reply.Bulk("tls-port"u8);
            reply.Integer(node.TlsPort);
        }

        reply.Bulk("ip"u8);
        reply.Bulk(node.Ip);
        reply.Bulk("endpoint"u8);
        reply.Bulk(ClusterService.EndpointOf(node, cmd.Settings.ClusterEndpointType));
        if (node.HostName.Length > 0)
        {
            reply.Bulk("hostname"u8);
            reply.Bulk(node.HostName);
        }

        reply.Bulk("role"u8);
        reply.Bulk(node.IsPrimary ? "master"u8 : "replica"u8);
        reply.Bulk("replication-offset"u8);
        reply.Integer(isSelf ? replication.Stream?.Offset ?? 0 : 0); // a node knows no other's
        reply.Bulk("health"u8);
        reply.Bulk(isSelf && IsWithoutData(node) ? "loading"u8 : "online"u8);
    }

    // A replica before its first synchronization.
    private bool IsWithoutData(ClusterNode self) => !self.IsPrimary && replication.LinkStatus is not { State: ReplicaLinkState.Connected } && replication.Stream is not { Offset: > 0 };

    // What the reply to CLUSTER SLOTS follows from.
    private sealed record SlotsBasis(ClusterState State, ClusterNode Self, ClusterEndpointType EndpointType)
    {
        public bool Equals(SlotsBasis? other) => other is not null && ReferenceEquals(State, other.State) && Self == other.Self && EndpointType == other.EndpointType;

        public override int GetHashCode() => Self.GetHashCode();
    }

    private sealed record SlotsReply(SlotsBasis Basis, byte[] Bytes);
}
