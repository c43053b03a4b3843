using System.Globalization;
using System.Text;
using RedKite.Server.Cluster;
using RedKite.Server.Cluster.Agreement;
using RedKite.Server.Cluster.Planning;
using RedKite.Store.Keyspace;
using static RedKite.Server.Logging.QuantityText;

namespace RedKite.Host.Clusters;

/// <summary>The state of a cluster for people.</summary>
internal static class StatusText
{
    internal static string Of(ClusterView view, IReadOnlyDictionary<string, NodeAnswer> answers, IReadOnlyList<ClusterFault> faults)
    {
        var text = new StringBuilder();
        if (view.Topology is { } topology)
        {
            string controller = view.Controller.Length == 0 ? "none" : view.Show(view.Controller);
            text.Append(CultureInfo.InvariantCulture, $"cluster {topology.Terms.ClusterId}, version {topology.Version}, {topology.AssignedSlots} of {KeySlot.Count} slots, controller {controller}\n");
            foreach (ClusterNode primary in ClusterReport.Primaries(view)) AppendShard(text, view, topology, primary, answers);
        }

        string[] others = [.. ClusterReport.Others(view).Select(status => NodeLine(view, status.Node, answers))];
        if (others.Length > 0) text.Append("registered, not in the cluster\n");
        foreach (string other in others) text.Append(CultureInfo.InvariantCulture, $"  node     {other}\n");
        foreach (RunningMove move in answers.Values.SelectMany(static answer => answer.Moves)) text.Append(CultureInfo.InvariantCulture, $"moving {move.Slots} from {view.Show(move.FromId)} to {view.Show(move.ToId)}: {move.State}, {Bytes(move.WaitingBytes)} wait\n");
        foreach (ClusterFault fault in faults.OrderByDescending(static fault => fault.IsError)) text.Append(CultureInfo.InvariantCulture, $"{(fault.IsError ? "error" : "warning")}: {fault.Text}\n");
        if (faults.Count == 0) text.Append("nothing is wrong\n");
        return text.ToString();
    }

    private static void AppendShard(StringBuilder text, ClusterView view, ClusterTopology topology, ClusterNode primary, IReadOnlyDictionary<string, NodeAnswer> answers)
    {
        ShardTerms terms = topology.Terms.Of(primary.ShardId);
        SlotSet slots = SlotSet.Of(topology.RangesOf(primary.Id));
        text.Append(CultureInfo.InvariantCulture, $"shard {primary.ShardId[..8]}, {(slots.IsEmpty ? "no slots" : PlanStep.ShowSlots(slots))}{(terms.Acks > 0 ? $", replica-acks {terms.Acks}" : "")}{(terms.IsSealed ? ", without a primary" : "")}\n");
        text.Append(CultureInfo.InvariantCulture, $"  primary  {NodeLine(view, primary, answers)}\n");
        foreach (ClusterNode replica in topology.ReplicasOf(primary.Id))
        {
            string lag = ClusterReport.LagOf(view, answers, primary, replica) is { } bytes ? $", {(bytes == 0 ? "has everything" : Bytes(bytes) + " behind")}" : "";
            text.Append(CultureInfo.InvariantCulture, $"  replica  {NodeLine(view, replica, answers)}{lag}\n");
        }
    }

    private static string NodeLine(ClusterView view, ClusterNode node, IReadOnlyDictionary<string, NodeAnswer> answers)
    {
        var line = new StringBuilder(ClusterView.Show(node));
        if (node.Zone.Length > 0) line.Append(", zone ").Append(node.Zone);
        NodeStatus? status = view.Alive.GetValueOrDefault(node.Id);
        if (status is null) return line.Append(", gone").ToString();
        NodeAnswer? answer = answers.GetValueOrDefault(node.Id);
        if (answer is { Keys: >= 0 }) line.Append(", ").Append(Times(answer.Keys, "key"));
        return line.Append(CultureInfo.InvariantCulture, $", offset {(answer is { Offset: >= 0 } ? answer.Offset : status.Position.Offset)}").ToString();
    }
}
