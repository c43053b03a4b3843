using System.Globalization;
using RedKite.Bench;
using RedKite.Host.Transfer;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Planning;
using RedKite.Store.Keyspace;

namespace RedKite.Host.Clusters;

/// <summary>What the nodes of a cluster are asked. A connection each time: it is seldom, and a node may be another process by then.</summary>
internal sealed class NodeLinks(TransferArguments arguments)
{
    private const int StatusPatienceMs = 3_000;
    private const int SlotsPerBatch = 1024;

    /// <exception cref="TransferException">It is not reached.</exception>
    internal ServerLink Open(ClusterNode node, int patienceMs = ClusterArguments.PatienceMs)
    {
        ServerAddress address = ClusterArguments.AddressOf(arguments, node.Ip.Length > 0 ? node.Ip : node.HostName, node.Port, node.TlsPort);
        return ServerLink.Open(address, patienceMs);
    }

    /// <summary>What nodes say of themselves, asked at the same time.</summary>
    internal IReadOnlyDictionary<string, NodeAnswer> Ask(IEnumerable<ClusterNode> nodes)
    {
        (string Id, Task<NodeAnswer> Answer)[] asked = [.. nodes.Select(node => (node.Id, Task.Run(() => Ask(node))))];
        return asked.ToDictionary(static pair => pair.Id, static pair => pair.Answer.GetAwaiter().GetResult(), StringComparer.Ordinal);
    }

    /// <summary>Refuses nodes that are not reached, are others than they seem, or have keys: those would be lost, or be hidden.</summary>
    /// <exception cref="TransferException">One is.</exception>
    internal void CheckEmpty(IEnumerable<ClusterNode> nodes)
    {
        foreach (ClusterNode node in nodes)
        {
            using ServerLink link = Open(node);
            if (link.RunOrFail("CLUSTER", "MYID").Text is var id && id != node.Id) throw link.Fail($"this is the node {id}, and the store has {node.Id} at this address");
            if (link.RunOrFail("DBSIZE").Number is > 0 and long keys) throw link.Fail($"the node has {QuantityOf(keys)}: FLUSHALL removes them, redkite export saves them");
        }
    }

    /// <summary>Refuses moves of slots that move key by key, as their nodes would, but before anything has begun.</summary>
    /// <exception cref="TransferException">One does, or a node is not reached.</exception>
    internal void CheckStable(ClusterView view, IReadOnlyList<PlanStep> moves)
    {
        foreach (string id in moves.SelectMany(static move => (string[])[move.NodeId, move.OtherId!]).Distinct())
        {
            SlotSet slots = moves.Where(move => move.NodeId == id || move.OtherId == id).Aggregate(SlotSet.Empty, static (all, move) => all.With(move.Slots));
            using ServerLink link = Open(view.Topology!.Find(id)!);
            HashSet<int> moving = [.. MovingKeyByKey(link).Where(slots.Contains)];
            if (moving.Count > 0) throw link.Fail($"{PlanStep.ShowSlots(SlotSet.Of(moving.Contains))}: MIGRATING or IMPORTING there, and slots move either key by key or as a whole. End that first: CLUSTER SETSLOT ... STABLE, or redis-cli --cluster fix");
        }
    }

    // As CLUSTER NODES says of the node itself: [slot->-id] leaves, [slot-<-id] comes.
    private static IEnumerable<int> MovingKeyByKey(ServerLink link) => link.RunOrFail("CLUSTER", "NODES").Text.Split('\n')
        .Where(static line => line.Contains("myself", StringComparison.Ordinal))
        .SelectMany(static line => line.Split(' '))
        .Where(static word => word.StartsWith('['))
        .Select(static word => int.Parse(word.AsSpan(1, word.IndexOf('-', StringComparison.Ordinal) - 1), CultureInfo.InvariantCulture));

    /// <summary>The keys of each slot, of those that a primary has.</summary>
    internal void CountKeys(ClusterNode primary, SlotSet slots, long[] counts)
    {
        using ServerLink link = Open(primary);
        foreach (int[] batch in slots.Slots().Chunk(SlotsPerBatch))
        {
            foreach (int slot in batch) link.Queue("CLUSTER", "COUNTKEYSINSLOT", slot);
            link.Flush();
            foreach (int slot in batch) counts[slot] = link.Read() is { IsError: false } reply ? reply.Number : throw link.Fail("CLUSTER COUNTKEYSINSLOT is refused");
        }
    }

    private static string QuantityOf(long keys) => Server.Logging.QuantityText.Times(keys, "key");

    private NodeAnswer Ask(ClusterNode node)
    {
        try
        {
            using ServerLink link = Open(node, StatusPatienceMs);
            string info = link.RunOrFail("INFO", "replication").Text;
            bool isReplica = SourceServer.FieldOf(info, "role") == "slave";
            _ = long.TryParse(SourceServer.FieldOf(info, isReplica ? "slave_repl_offset" : "master_repl_offset"), NumberStyles.None, CultureInfo.InvariantCulture, out long offset);
            return new NodeAnswer
            {
                Offset = offset,
                IsLinked = isReplica ? SourceServer.FieldOf(info, "master_link_status") == "up" : null,
                Keys = link.Run("DBSIZE") is { IsError: false } size ? size.Number : -1,
                Moves = [.. MovesOf(link).Where(static move => !SlotMigration.HasEnded(move.State))],
            };
        }
        catch (TransferException failure)
        {
            return new NodeAnswer { Failure = failure.Message };
        }
    }

    /// <summary>The moves of slots that a node has as their source, the latest ones.</summary>
    internal static IEnumerable<RunningMove> MovesOf(ServerLink link)
    {
        Reply reply = link.Run("CLUSTER", "GETSLOTMIGRATIONS");
        return reply.Array.Where(static move => move["operation"]?.Text == "EXPORT").Select(static move => new RunningMove(
            move["source_node"]?.Text ?? "", move["target_node"]?.Text ?? "", move["slot_ranges"]?.Text ?? "", move["state"]?.Text ?? "", move["remaining_repl_size"]?.Number ?? 0)
        { Message = move["message"]?.Text ?? "", Name = move["name"]?.Text ?? "" });
    }
}
