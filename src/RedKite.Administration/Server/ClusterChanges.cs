using System.Globalization;
using System.Net;
using RedKite.Protocol;
using RedKite.Server.Cluster;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Server;

/// <summary>The subcommands of CLUSTER and CLUSTERX that change what this node knows of the others, and its place among them.</summary>
internal sealed class ClusterChanges(ClusterService cluster, IClusterHost host)
{
    private const int AddressPortMax = ushort.MaxValue;

    // CLUSTERX SETNODES nodes version [FORCE]
    internal void SetNodes(ref CommandContext cmd)
    {
        if (!RespNumber.TryParseInt64(cmd[3], out long version) || version < 0)
        {
            cmd.Reply.Error("ERR Invalid version"u8);
            return;
        }

        if (cmd.Count > 5 || (cmd.Count == 5 && !cmd.Is(4, "FORCE"u8)))
        {
            cmd.Reply.Error("ERR Invalid setnodes options"u8);
            return;
        }

        if (cmd[2].Length > ClusterLimits.DocumentBytesMax)
        {
            cmd.Reply.Error($"ERR the list of nodes has more than {ClusterLimits.DocumentBytesMax} bytes");
            return;
        }

        if (cluster.Agreement is not null)
        {
            cmd.Reply.Error("ERR the topology is the one in the cluster's store"u8);
            return;
        }

        string list = ArgumentText(cmd[2]);
        bool forces = cmd.Count == 5;
        string? refusal = cluster.Change(state =>
        {
            if (!forces && version == state.Topology.Version) return (null, null);
            if (!forces && version < state.Topology.Version) return (null, "ERR Invalid cluster version");
            ClusterTopology topology = NodeList.Read(list, version, state.Topology);
            return topology.Find(state.SelfId) is not null
                ? (state.With(topology), null)
                : (null, $"ERR the list does not name this node, {state.SelfId}: CLUSTERX SETNODEID gives it another id");
        }, out Func<string?>? rest);
        ReplyChanged(cmd, refusal, rest);
    }

    // CLUSTERX SETNODEID node-id
    internal void SetNodeId(ref CommandContext cmd)
    {
        string id = cmd.Text(2);
        if (!ClusterNode.IsId(id))
        {
            cmd.Reply.Error("ERR Invalid cluster node id"u8);
            return;
        }

        string? refusal = cluster.Agreement is not null ? "ERR the node keeps its id: its cluster has a store" : cluster.ChangeHere(state => id == state.SelfId ? (null, null) : (state.WithSelf(id), null));
        if (refusal is null) cmd.Reply.Ok();
        else cmd.Reply.Error(refusal);
    }

    // CLUSTER REPLICATE node-id
    internal void Replicate(ref CommandContext cmd)
    {
        string id = cmd.Text(2), shown = cmd.ShownText(2);
        bool hasKeys = HasKeys(cmd);
        string? refusal = cluster.Change(state =>
        {
            ClusterTopology topology = state.Topology;
            if (topology.Find(id) is not { } primary) return (null, "ERR Unknown node " + shown);
            if (id == state.SelfId) return (null, "ERR Can't replicate myself");
            if (!primary.IsPrimary) return (null, "ERR I can only replicate a master, not a replica.");
            if (state.Self.IsPrimary && (hasKeys || topology.RangesOf(state.SelfId).Count > 0)) return (null, "ERR To set a master the node must be empty and without assigned slots.");
            if (primary.Ip.Length == 0 && primary.HostName.Length == 0) return (null, "ERR the address of the node is not known");
            return (state.With(topology.WithNode(state.SelfId, state.Self with { PrimaryId = id, ShardId = primary.ShardId })), null);
        }, out Func<string?>? rest);
        ReplyChanged(cmd, refusal, rest);
    }

    // CLUSTER FORGET node-id
    internal void Forget(ref CommandContext cmd)
    {
        string id = cmd.Text(2), shown = cmd.ShownText(2);
        string? refusal = cluster.Change(state =>
            state.Topology.Find(id) is null ? state.Topology.Terms.Removed.Contains(id) ? (state, null) : (null, "ERR Unknown node " + shown)
            : id == state.SelfId ? (null, "ERR I tried hard but I can't forget myself...")
            : id == state.Self.PrimaryId ? (null, "ERR Can't forget my master!")
            : (state.With(state.Topology.WithoutForGood(id)), null), out Func<string?>? rest);
        ReplyChanged(cmd, refusal, rest);
    }

    // CLUSTER RESET [HARD | SOFT]
    internal void Reset(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            ReplyWrongCount(cmd);
            return;
        }

        bool isHard = cmd.Count == 3 && cmd.Is(2, "HARD"u8);
        if (cmd.Count == 3 && !isHard && !cmd.Is(2, "SOFT"u8))
        {
            cmd.ReplySyntaxError();
            return;
        }

        RedKite.Store.Keyspace.Keyspace keyspace = cmd.Keyspace;
        if (cluster.Agreement is not { } agreement)
        {
            ReplyChanged(cmd, cluster.ChangeHere(state => WithReset(state, HasKeys(keyspace), isHard)));
            return;
        }

        // It may become one of the cluster while the store answers, and have keys then.
        ClusterState seen = cluster.State;
        ReplyChanged(cmd, refusal: null, () => agreement.IsMember() ?? cluster.ChangeHere(state => ReferenceEquals(state, seen) ? WithReset(state, HasKeys(keyspace), isHard) : (null, "TRYAGAIN The topology has changed meanwhile")));
    }

    private static (ClusterState? Next, string? Refusal) WithReset(ClusterState state, bool hasKeys, bool isHard)
    {
        if (hasKeys) return (null, state.Self.IsPrimary ? "ERR CLUSTER RESET can't be called with master nodes containing keys" : "ERR CLUSTER RESET does not remove the keys of a replica: make it a primary, and FLUSHALL");
        long epoch = isHard ? 0 : state.Topology.Epoch;
        ClusterNode old = state.Self;
        ClusterNode self = old with
        {
            Id = isHard ? ClusterNode.NewId() : old.Id,
            PrimaryId = null,
            ShardId = isHard || !old.IsPrimary ? ClusterNode.NewId() : old.ShardId,
            Epoch = isHard ? 0 : old.Epoch,
        };
        return (new ClusterState(self.Id, new ClusterTopology(version: 0, epoch, [self], ClusterTopology.NoOwners())), null);
    }

    // CLUSTER MEET ip port [cluster-bus-port]: as Redis says what is wrong with the arguments, and then what it would take.
    internal void Meet(ref CommandContext cmd)
    {
        if (cmd.Count > 5)
        {
            ReplyWrongCount(cmd);
            return;
        }

        if (!RespNumber.TryParseInt64(cmd[3], out long port))
        {
            cmd.Reply.Error($"ERR Invalid base port specified: {cmd.ShownText(3)}");
            return;
        }

        long busPort = 1;
        if (cmd.Count == 5 && !RespNumber.TryParseInt64(cmd[4], out busPort))
        {
            cmd.Reply.Error($"ERR Invalid bus port specified: {cmd.ShownText(4)}");
            return;
        }

        if (port is <= 0 or > AddressPortMax || busPort is <= 0 or > AddressPortMax || !IPAddress.TryParse(cmd.Text(2), out _))
        {
            cmd.Reply.Error($"ERR Invalid node address specified: {cmd.ShownText(2)}:{cmd.ShownText(3)}");
            return;
        }

        if (cluster.Agreement is { } agreement)
        {
            string address = cmd.Text(2);
            ClusterSlotChanges.ReplyChanged(cmd, cluster, host, refusal: null, () => agreement.Meet(address, (int)port));
            return;
        }

        cmd.Reply.Error("ERR CLUSTER MEET needs a cluster bus, which nodes of RedKite do not have: CLUSTERX SETNODES names the nodes to each of them"u8);
    }

    // CLUSTER FAILOVER [FORCE | TAKEOVER]
    internal void FailOver(ref CommandContext cmd)
    {
        if (cmd.Count > 3) ReplyWrongCount(cmd);
        else if (cmd.Count == 3 && !cmd.Is(2, "FORCE"u8) && !cmd.Is(2, "TAKEOVER"u8)) cmd.ReplySyntaxError();
        else if (cluster.State.Self.IsPrimary) cmd.Reply.Error("ERR You should send CLUSTER FAILOVER to a replica"u8);
        else if (cluster.Agreement is not null) ReplyChanged(cmd, cluster.Change(WithHandover(cmd.Count == 3), out Func<string?>? rest), rest);
        else cmd.Reply.Error("ERR CLUSTER FAILOVER needs a vote of primaries, which nodes of RedKite do not hold: CLUSTERX SETNODES makes this replica the primary on every node"u8);
    }

    // The primary hands its role over when it sees this. One that is gone cannot: then it is for the controller, and FORCE and TAKEOVER say that what was acknowledged may be lost.
    private static Func<ClusterState, (ClusterState? Next, string? Refusal)> WithHandover(bool acceptsLoss) => state =>
    {
        if (state.Self.IsPrimary) return (null, "ERR You should send CLUSTER FAILOVER to a replica");
        ShardTerms terms = state.Topology.Terms.Of(state.Self.ShardId);
        if (terms.IsSealed && !acceptsLoss) return (null, "ERR Master is down or failed, please use CLUSTER FAILOVER FORCE");
        return (state.With(state.Topology.WithTerms(state.Self.ShardId, terms.IsSealed ? terms with { AcceptsLoss = true } : terms with { HandoverTo = state.SelfId })), null);
    };

    // CLUSTER BUMPEPOCH
    internal void BumpEpoch(ref CommandContext cmd)
    {
        if (cluster.Agreement is not null)
        {
            cmd.Reply.Error("ERR epochs are given by the cluster's store"u8);
            return;
        }

        (bool isBumped, long epoch) = (false, 0);
        string? refusal = cluster.ChangeHere(state =>
        {
            long greatest = Math.Max(state.Topology.Epoch, state.Topology.Nodes.Max(static node => node.Epoch));
            (isBumped, epoch) = (state.Self.Epoch == 0 || state.Self.Epoch != greatest, state.Self.Epoch);
            if (!isBumped) return (null, null);
            epoch = greatest + 1;
            return (state.With(state.Topology.WithNode(state.SelfId, state.Self with { Epoch = epoch }).WithEpoch(epoch)), null);
        });
        if (refusal is not null) cmd.Reply.Error(refusal);
        else cmd.Reply.SimpleString(System.Text.Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{(isBumped ? "BUMPED" : "STILL")} {epoch}")));
    }

    // CLUSTER SET-CONFIG-EPOCH config-epoch
    internal void SetConfigEpoch(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(2, out long epoch)) return;
        string? refusal = cluster.Change(state =>
            epoch < 0 ? (null, string.Create(CultureInfo.InvariantCulture, $"ERR Invalid config epoch specified: {epoch}"))
            : state.Topology.Nodes.Length > 1 ? (null, "ERR The user can assign a config epoch only when the node does not know any other node.")
            : state.Self.Epoch != 0 ? (null, "ERR Node config epoch is already non-zero")
            : (state.With(state.Topology.WithNode(state.SelfId, state.Self with { Epoch = epoch }).WithEpoch(Math.Max(state.Topology.Epoch, epoch))), null), out Func<string?>? rest);
        ReplyChanged(cmd, refusal, rest);
    }

    // CLUSTER SAVECONFIG
    internal void SaveConfig(ref CommandContext cmd)
    {
        if (cluster.SaveAgain() is { } refusal) cmd.Reply.Error(refusal);
        else cmd.Reply.Ok();
    }

    /// <summary>Replies about a change, once it is in force for every command that began before.</summary>
    private void ReplyChanged(scoped in CommandContext cmd, string? refusal, Func<string?>? rest = null) => ClusterSlotChanges.ReplyChanged(cmd, cluster, host, refusal, rest);

    /// <summary>Whether there is a key in any database.</summary>
    internal static bool HasKeys(scoped in CommandContext cmd) => HasKeys(cmd.Keyspace);

    private static bool HasKeys(RedKite.Store.Keyspace.Keyspace keyspace)
    {
        foreach (Database database in keyspace.Databases)
        {
            if (database.Count > 0) return true;
        }

        return false;
    }

    // A list may be longer than other arguments that become text.
    private static string ArgumentText(ReadOnlySpan<byte> argument) => System.Text.Encoding.Latin1.GetString(argument);

    private static void ReplyWrongCount(scoped in CommandContext cmd) =>
        cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");
}
